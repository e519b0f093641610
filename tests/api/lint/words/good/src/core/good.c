/* SPDX-License-Identifier: MIT */
/*
 * The releasing thread wakes the head of the queue.  Is a waiter that says what it
 * wants a good subject?  It is.  The word "nobody" in quotation marks is mentioned,
 * not used; so is `somebody`.
 */
static const char *text = "Whoever reads a string is not the lint.";
