/* SPDX-License-Identifier: MIT */
/* Interprets bytes as a sequence of operations; all bytes are valid. */
#ifndef TESTS_FUZZ_SEQUENCE_H
#define TESTS_FUZZ_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The format: a head that describes the two semaphores, then operations of
 * fixed size.  Changing, inserting or removing one operation does not change
 * the others.
 */
#define SEQUENCE_HEAD 18
#define SEQUENCE_OP 6

/* Start and stop the threads that wait. */
void sequence_start(int64_t patience_ns);
void sequence_stop(void);

/* Execute the operations and compare every step with the model. */
void sequence_run(const uint8_t *bytes, size_t size);

/* The number of steps executed so far, in all sequences. */
int64_t sequence_steps(void);

#endif /* TESTS_FUZZ_SEQUENCE_H */
