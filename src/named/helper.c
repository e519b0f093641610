/* SPDX-License-Identifier: MIT */
/*
 * Helpers: threads that sleep on the liveness words beyond the keeper's limit.
 * A thread can sleep on WEIR_WATCH_MAX_ words at once, one of which is the
 * helper's `order`.  On kernels without futex_waitv a thread can sleep on one
 * word only, and each watched word has its own helper.  A helper that wakes
 * kicks its keeper, which takes the lock and sweeps.
 *
 * The keeper changes a helper's words in two steps, through the word `order`:
 * an odd order takes the helper off its words, the next even order gives it new
 * ones.  No helper gets new words before every helper that loses words has
 * acknowledged an odd order.  Otherwise two helpers could sleep on one word for
 * a while, and the single wake-up of a death could go to the helper that is
 * being taken off; the other helper would continue to sleep.  A helper compares
 * its words with their expected values before it sleeps, so it notices a death
 * that occurred while no helper slept on the word.
 *
 * Pairs
 *
 *   [NH1] order  release: next_order   acquire: help
 *                The helper sees the words to sleep on.
 *   [NH2] seen   release: help   acquire: await_off
 *                The keeper changes the words, and gives them to other helpers,
 *                only when the helper neither reads them nor sleeps on them.
 */
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "named/handle.h"

#define WORDS (WEIR_WATCH_MAX_ - 1)
#define SEEN_PAUSE_NS 20000

struct nm_helper {
	struct nm_helper *next;
	struct nm_slot *mine;		/* slot whose keeper to kick */
	pthread_t thread;
	bool can_wait_any;
	uint32_t order;			/* atomic; odd: off the words */
	uint32_t seen;			/* atomic; last order acknowledged */
	uint32_t kicked;		/* atomic; has kicked the keeper */
	uint32_t count;
	bool stop;
	struct weir_watch_ watches[WORDS + 1];
};

/* Returns true if a watched word has changed: its owner has died. */
static bool has_news(const struct nm_helper *helper)
{
	for (uint32_t i = 1; i <= helper->count; i++)
		/* relaxed: the keeper examines the slots under the lock. */
		if (at_load_relaxed(helper->watches[i].word) !=
		    helper->watches[i].value)
			return true;
	return false;
}

static void sleep_once(struct nm_helper *helper, uint32_t order)
{
	helper->watches[0].word = &helper->order;
	helper->watches[0].value = order;
	if (helper->can_wait_any)
		weir_shared_wait_any_(helper->watches, 1 + helper->count,
				      WEIR_FOREVER);
	else if (helper->count)
		weir_shared_wait_(helper->watches[1].word,
				  helper->watches[1].value, WEIR_FOREVER);
	else
		weir_shared_wait_(&helper->order, order, WEIR_FOREVER);
}

static void *help(void *arg)
{
	struct nm_helper *helper = arg;
	uint32_t kicked = 0;

	for (;;) {
		/* [NH1] acquire */
		uint32_t order = at_load_acquire(&helper->order);

		/* relaxed: only this thread writes it. */
		if (order != at_load_relaxed(&helper->seen)) {
			/* [NH2] release */
			at_store_release(&helper->seen, order);
			kicked = 0;
		}
		/* relaxed: read by the keeper after the kick. */
		at_store_relaxed(&helper->kicked, kicked);
		if (order & 1) {
			weir_shared_wait_(&helper->order, order, WEIR_FOREVER);
		} else if (helper->stop) {
			return NULL;
		} else if (kicked) {
			/* The keeper has been kicked; await its next order. */
			weir_shared_wait_(&helper->order, order, WEIR_FOREVER);
		} else if (has_news(helper)) {
			kicked = 1;
			/* relaxed: as above. */
			at_store_relaxed(&helper->kicked, kicked);
			weir_nm_kick_(helper->mine);
		} else {
			sleep_once(helper, order);
		}
	}
}

static void next_order(struct nm_helper *helper)
{
	/* relaxed: only the keeper writes it. */
	uint32_t order = at_load_relaxed(&helper->order) + 1;

	/* [NH1] release */
	at_store_release(&helper->order, order);
	weir_shared_wake_(&helper->order);
}

static bool is_ordered_off(const struct nm_helper *helper)
{
	/* relaxed: only the keeper writes it. */
	return at_load_relaxed(&helper->order) & 1;
}

/* Wait until the helper has acknowledged that it is off its words. */
static void await_off(struct nm_helper *helper)
{
	/* relaxed: only the keeper writes it. */
	uint32_t order = at_load_relaxed(&helper->order);

	/* [NH2] acquire */
	while (at_load_acquire(&helper->seen) != order) {
		weir_shared_wake_(&helper->order);
		/*
		 * Wake all: a sleeper of another process on the word finds it
		 * unchanged and sleeps again.
		 */
		if (!helper->can_wait_any && helper->count)
			weir_shared_wake_all_(helper->watches[1].word);
		weir_futex_nap_(SEEN_PAUSE_NS);
	}
}

/*
 * Returns true if the helper watches exactly these words, and has not kicked
 * the keeper since it got them.
 */
static bool is_at(const struct nm_helper *helper,
		  const struct weir_watch_ *watches, uint32_t count)
{
	return count == helper->count &&
	       !memcmp(helper->watches + 1, watches,
		       count * sizeof(*watches)) &&
	       /* relaxed: a helper kicks the keeper after it sets this. */
	       !at_load_relaxed(&helper->kicked);
}

static struct nm_helper *add_helper(weir_named *h)
{
	struct nm_helper *helper = weir_mem_alloc_(sizeof(*helper));

	if (!helper)
		return NULL;
	helper->mine = h->mine;
	helper->can_wait_any = h->can_wait_any;
	/* The keeper blocks all signals; the new thread inherits that. */
	if (pthread_create(&helper->thread, NULL, help, helper)) {
		weir_mem_free_(helper);
		return NULL;
	}
	helper->next = h->helpers;
	h->helpers = helper;
	return helper;
}

/* Returns how many of `count` words the next helper takes. */
static uint32_t share_of(const weir_named *h, uint32_t count)
{
	uint32_t most = h->can_wait_any ? WORDS : 1;

	return count < most ? count : most;
}

/*
 * Make enough helpers for `count` words.  If a thread cannot be created, the
 * deaths it would have reported are found by the next sweep.
 */
static void have_helpers(weir_named *h, uint32_t count)
{
	struct nm_helper *helper;

	for (helper = h->helpers; helper; helper = helper->next)
		count -= share_of(h, count);
	while (count && add_helper(h))
		count -= share_of(h, count);
}

void weir_nm_helpers_watch_(weir_named *h, const struct weir_watch_ *watches,
			    unsigned count)
{
	const struct weir_watch_ *rest = watches;
	struct nm_helper *helper;
	uint32_t left = count, share;

	have_helpers(h, count);
	for (helper = h->helpers; helper; helper = helper->next) {
		share = share_of(h, left);
		if (!is_at(helper, rest, share))
			next_order(helper);
		rest += share;
		left -= share;
	}
	for (helper = h->helpers; helper; helper = helper->next)
		if (is_ordered_off(helper))
			await_off(helper);
	rest = watches;
	left = count;
	for (helper = h->helpers; helper; helper = helper->next) {
		share = share_of(h, left);
		if (is_ordered_off(helper)) {
			helper->count = share;
			memcpy(helper->watches + 1, rest,
			       share * sizeof(*rest));
			next_order(helper);
		}
		rest += share;
		left -= share;
	}
}

bool weir_nm_helpers_are_idle_(const weir_named *h)
{
	for (struct nm_helper *helper = h->helpers; helper;
	     helper = helper->next)
		if (helper->count)
			return false;
	return true;
}

void weir_nm_helpers_stop_(weir_named *h)
{
	while (h->helpers) {
		struct nm_helper *helper = h->helpers;

		h->helpers = helper->next;
		next_order(helper);
		await_off(helper);
		helper->stop = true;
		next_order(helper);
		pthread_join(helper->thread, NULL);
		weir_mem_free_(helper);
	}
}
