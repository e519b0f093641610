/* SPDX-License-Identifier: MIT */
/*
 * The releasing thread wakes the head of the queue.  Is a waiter that says what it
 * wants a good subject?  It is.  The word "nobody" in quotation marks is mentioned,
 * not used; so is `somebody`.
 */
static const char *text = "Whoever reads a string is not the lint.";
/*
 * Tables, diagrams and examples are not sentences:
 *
 *   FREE    nobody has it   -> QUEUED by submit
 *   QUEUED  somebody waits  -> FREE by the callback
 *
 *     err = ask(&queue);	// whoever is first
 *     tell(somebody, err);
 *
 *   [S1] lock  release: whoever   acquire: somebody,
 *              nobody
 *              The next lock holder sees the queue.
 *
 * A count is in 0 .. WHAT, and the sentence continues after two dots.
 */
