/* SPDX-License-Identifier: MIT */
/* Bytes as a sequence of operations; any bytes are one. */
#ifndef TESTS_FUZZ_SEQUENCE_H
#define TESTS_FUZZ_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The form: what the two semaphores are like, then operations, each with the
 * bytes that it decides by.  One that is changed, put in or taken out leaves
 * the others what they are.
 */
#define SEQUENCE_HEAD 18
#define SEQUENCE_OP 6

/* The threads that wait are there from start to stop. */
void sequence_start(int64_t patience_ns);
void sequence_stop(void);

/* Do what the bytes say, and compare every step with the model. */
void sequence_run(const uint8_t *bytes, size_t size);

/* Steps done so far, in all sequences. */
int64_t sequence_steps(void);

#endif /* TESTS_FUZZ_SEQUENCE_H */
