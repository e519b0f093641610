/* SPDX-License-Identifier: MIT */
/* Who is stopped does not have the lock. */
int a;
/*
 * The head is granted.  What is released goes to
 * the next; nothing is left.
 */
int b;	/* somebody waits here */
