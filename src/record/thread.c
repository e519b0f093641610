/* SPDX-License-Identifier: MIT */
/*
 * The context of a thread (context.h): from its first watched call until it ends.
 * The destructor of a key of the C library runs at the end of the thread.  If the
 * thread still holds permits, then its context becomes ENDED, and a later thread
 * frees it when the permits have come back (sweep).
 */
#include "record/context.h"

#include <pthread.h>

#include "base/ticks.h"

static pthread_key_t key;
static uint32_t has_key;

/* The destructor of the key: the thread ends. */
static void end_thread(void *unused)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_context *context = my->context;
	char *base = my->base;

	(void)unused;
	/* relaxed: in the child of a fork it is another one, or null. */
	if (!base || base != at_load_relaxed(&weir_registry_->base))
		return;
	my->busy = true;
	my->base = NULL;
	my->context = NULL;
	my->last = NULL;
	my->sem = NULL;
	if (weir_context_empty_(base, context)) {
		weir_context_free_(base, context);
	} else {
		/* relaxed: for display. */
		at_store_relaxed(&context->ended, (uint64_t)weir_ticks_());
		/* [D5] release */
		at_store_release(&context->state, RG_ENDED);
	}
	my->busy = false;
}

/*
 * glibc has room for the values of the first 32 keys in every thread, and
 * allocates memory for those of others: C26.  Without a key, the end of a thread
 * goes unnoticed here.  A reader looks whether the thread exists (has_gone).
 */
__attribute__((constructor)) static void make_key(void)
{
	if (pthread_key_create(&key, end_thread))
		return;
#ifdef __GLIBC__
	if (key >= 32) {
		pthread_key_delete(key);
		return;
	}
#endif
	/* relaxed: it orders nothing. */
	at_store_relaxed(&has_key, 1);
}

/*
 * At exit, and before the library is unloaded: a thread that ends later must not
 * call end_thread.
 */
__attribute__((destructor)) static void delete_key(void)
{
	/* relaxed: both; it orders nothing. */
	if (!at_load_relaxed(&has_key))
		return;
	at_store_relaxed(&has_key, 0);
	pthread_key_delete(key);
}

bool weir_context_enter_(char *base)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_context *context;

	my->busy = true;
	context = weir_context_make_(base, RG_THREAD, NULL);
	if (context) {
		my->context = context;
		my->last = &context->slots[0];
		my->sem = NULL;
		my->base = base;
		/* relaxed: it orders nothing. */
		if (at_load_relaxed(&has_key))
			(void)pthread_setspecific(key, my);
	}
	my->busy = false;
	return context;
}
