/* SPDX-License-Identifier: MIT */
/*
 * The context of a thread (context.h): from its first watched call until it ends.
 * The destructor of a key of the C library runs at the end of the thread.  If the
 * thread still holds permits, then its context becomes ENDED, and a later thread
 * frees it when the permits have come back (sweep).
 */
#include "record/context.h"

#include <pthread.h>
#include <string.h>

#include "base/ticks.h"
#include "record/record.h"

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

/* Returns the context of the calling thread in the registry; null: none. */
static struct rg_context *mine(void)
{
	const struct weir_self_ *my = &weir_mine_;

	/* relaxed: as in end_thread. */
	return my->base && my->base == at_load_relaxed(&weir_registry_->base) ?
		       my->context : NULL;
}

void weir_record_away_(const char *name)
{
	struct rg_context *context = mine();
	size_t length = name ? strnlen(name, RG_NAME - 1) : 0;

	if (!context)
		return;
	/* relaxed: all; readers compare seq. */
	at_add_relaxed(&context->seq, 1);
	for (size_t i = 0; i < RG_NAME; i++)
		/* relaxed: as above. */
		at_store_relaxed(&context->named[i],
				 i < length ? name[i] : '\0');
	/* relaxed: as above. */
	at_store_relaxed(&context->named_since, (uint64_t)weir_ticks_());
	at_add_relaxed(&context->seq, 1);
}

void weir_record_back_(void)
{
	struct rg_context *context = mine();

	/* relaxed: one word. */
	if (context)
		at_store_relaxed(&context->named_since, 0);
}
