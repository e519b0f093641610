/* SPDX-License-Identifier: MIT */
/* Who is stopped does not have the lock. */
int a;
/*
 * The head is granted.  What is released goes to
 * the next; nothing is left.
 */
int b;	/* somebody waits here */
/*
 * The functions below take the lock.
 *
 *   [S1] lock  release: unlock_it   acquire: lock_it,
 *              Who_is_not_here
 *              A thread that is told sees the count.
 *   OPEN       Whoever comes first takes the permits.
 */
int c;		/* the short path, which is taken most of
		   the time */
int d;		/* counts the waiters of which */
		/* nobody is decided */
/* The same, and unlock. */
int e;
