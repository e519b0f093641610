/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_LOCKORDER_H
#define WEIR_RECORD_LOCKORDER_H

/*
 * Prediction of deadlocks: WEIR_DIAG=order.
 *
 * The classes of semaphores are the nodes of a graph.  A class is a name, or the
 * place where a semaphore without a name was initialised.  There is an edge from
 * A to B if a thread asked for permits of B, and could have waited for them,
 * while it held permits of A.  A cycle of the graph is a deadlock that can
 * happen: lockgraph.h.
 *
 * If threads release permits of a semaphore that other threads have acquired,
 * or use permit objects of other threads, then it is not known how many of
 * these permits a thread holds.  No edge leaves such a semaphore.
 *
 * A sequence of holds and a request has a 64-bit hash, so that each sequence is
 * examined once.  Memory is bounded: if a table is full, further sequences are
 * not examined, and one report says so.  No thread waits: if another thread is
 * examining a sequence, then the sequence of this thread is examined when it
 * occurs again.
 */
#include <stdbool.h>
#include <stdint.h>

#include "record/lockgraph.h"

/* Begin to examine sequences, if WEIR_DIAG asks for it. */
void weir_order_begin_(void);

/* The class of an object. */
uint64_t weir_order_class_(const char *name, uint64_t made_at);

/*
 * The calling thread has asked for n permits of an object.  `granted`: its slot
 * of this call site contains them already.  Called without a lock.  Does nothing
 * without WEIR_DIAG=order.
 */
void weir_order_request_(char *base, uint64_t id, int64_t n, uint64_t site,
			 bool granted);

/*
 * orderlog.c: add an order of two classes to the registry, if it is not there; with
 * `to` 0, the key of a predicted cycle.  Called with the lock of the graph.
 */
void weir_order_log_(char *base, uint64_t from, uint64_t to);

/* Report a cycle; src/diag implements it. */
void weir_diag_predict_(const struct weir_cycle_ *cycle);

#endif /* WEIR_RECORD_LOCKORDER_H */
