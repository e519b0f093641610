/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_KEEPER_H
#define WEIR_NAMED_KEEPER_H

#include "named/handle.h"

/*
 * The keeper thread of a handle; called without the lock.
 *
 * weir_nm_keeper_start_ starts the thread, which puts our liveness word on its
 * robust list and makes our slot live.  weir_nm_keeper_stop_ ends it.  Then our
 * liveness word is that of a dead participant.  NM_ABANDON: our slot stays in
 * use, and other processes must bury it; one of their keepers has been woken.
 */
#define NM_STOP 1u
#define NM_ABANDON 2u
weir_err weir_nm_keeper_start_(weir_named *h);
void weir_nm_keeper_stop_(weir_named *h, uint32_t stop);

/*
 * Do the work of the keeper thread until it is stopped or its slot is lost.
 * kick is the value of the kick word when the handle was joined.
 */
void weir_nm_keep_watch_(weir_named *h, uint32_t kick);

/* Wake the waiting threads of this handle. */
void weir_nm_wake_ours_(weir_named *h);

/* Let our keeper run a round. */
void weir_nm_kick_(weir_named *h);

/*
 * weir_nm_arm_ is called by a thread of a queued call before it sleeps, after it
 * has read the state word of its record.  Then a death wakes a keeper.
 * weir_nm_is_armed_ returns true if our keeper is armed: then each death so far
 * has been noticed.
 */
void weir_nm_arm_(weir_named *h);
bool weir_nm_is_armed_(const weir_named *h);

#endif /* WEIR_NAMED_KEEPER_H */
