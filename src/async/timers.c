/* SPDX-License-Identifier: MIT */
/* The deadlines of a loop; timers.h describes the lists. */
#include "async/timers.h"

#include "base/ring.h"

#define LISTS (int)(sizeof(((weir_loop *)0)->timers_) / sizeof(void *))
#define UNKNOWN 0		/* soonest_: compute it from the lists */
#define SCANNED_MAX 64		/* nodes searched for the soonest deadline */

_Static_assert(LISTS == 64 - WEIR_TICK_SHIFT_, "a list for each bit, and one");

/*
 * A node is removed without knowing the head of its list: prev_ is the address
 * of the pointer to the node.
 */
static struct weir_ring_ **place_of(struct weir_ring_ *node)
{
	return (struct weir_ring_ **)(void *)node->prev_;
}

static void put(struct weir_ring_ **list, struct weir_ring_ *node)
{
	node->next_ = *list;
	node->prev_ = (struct weir_ring_ *)(void *)list;
	if (node->next_)
		node->next_->prev_ = (struct weir_ring_ *)(void *)&node->next_;
	*list = node;
}

static void take(struct weir_ring_ *node)
{
	*place_of(node) = node->next_;
	if (node->next_)
		node->next_->prev_ = node->prev_;
	node->prev_ = NULL;
}

static struct weir_waiter_ *waiter_of(struct weir_ring_ *node)
{
	return ring_entry(node, struct weir_waiter_, timer);
}

static int64_t tick_of(int64_t ns)
{
	return ns >> WEIR_TICK_SHIFT_;
}

static int list_of(const weir_loop *loop, int64_t tick)
{
	uint64_t differ = (uint64_t)(tick ^ loop->passed_);

	if (tick <= loop->passed_)
		return 0;
	return 64 - __builtin_clzll(differ);
}

static void sort_in(weir_loop *loop, struct weir_waiter_ *w)
{
	put(&loop->timers_[list_of(loop, tick_of(w->deadline_ns))], &w->timer);
}

/* Returns a lower bound of all deadlines, computed from the lists. */
static int64_t soonest_in_lists(const weir_loop *loop)
{
	int64_t soonest = WEIR_FOREVER;
	int list = 0, seen = 0;

	while (list < LISTS && !loop->timers_[list])
		list++;
	if (list == LISTS)
		return WEIR_FOREVER;
	for (struct weir_ring_ *node = loop->timers_[list]; node;
	     node = node->next_) {
		int64_t deadline_ns = waiter_of(node)->deadline_ns;

		if (deadline_ns < soonest)
			soonest = deadline_ns;
		/*
		 * The list has too many nodes: return the start of its period.
		 * List 0 covers one tick and is searched completely.
		 */
		if (list && ++seen == SCANNED_MAX)
			return ((loop->passed_ >> (list - 1) | 1) << (list - 1))
			       << WEIR_TICK_SHIFT_;
	}
	return soonest;
}

bool weir_timers_add_(weir_loop *loop, struct weir_waiter_ *w)
{
	/*
	 * Do not recompute soonest_, even if loose_ is set: a thread that waits
	 * for the loop wakes at soonest_ at the latest.
	 */
	int64_t soonest = loop->soonest_ != UNKNOWN ? loop->soonest_ :
						      soonest_in_lists(loop);

	sort_in(loop, w);
	loop->soonest_ = w->deadline_ns < soonest ? w->deadline_ns : soonest;
	return w->deadline_ns < soonest;
}

void weir_timers_remove_(weir_loop *loop, struct weir_waiter_ *w)
{
	if (!w->timer.prev_)
		return;
	take(&w->timer);
	if (w->deadline_ns == loop->soonest_)
		loop->loose_ = 1;
}

/*
 * Move the nodes whose deadline has passed to due_, and the others to lower
 * lists.
 */
static void sort_out(weir_loop *loop, int list, int64_t now_ns)
{
	struct weir_ring_ *node = loop->timers_[list], *next;

	for (; node; node = next) {
		struct weir_waiter_ *w = waiter_of(node);

		next = node->next_;
		if (w->deadline_ns <= now_ns) {
			take(node);
			put(&loop->due_, node);
		} else if (list) {
			take(node);
			sort_in(loop, w);
		}
	}
}

void weir_timers_advance_(weir_loop *loop, int64_t now_ns)
{
	int64_t tick = tick_of(now_ns);
	int top = list_of(loop, tick);

	if (now_ns < weir_timers_soonest_(loop))
		return;
	/* The clock of some machines goes back; passed_ never does. */
	if (tick > loop->passed_)
		loop->passed_ = tick;
	for (int list = top; list >= 0; list--)
		sort_out(loop, list, now_ns);
	loop->soonest_ = UNKNOWN;
	loop->loose_ = 0;
}

struct weir_waiter_ *weir_timers_next_(weir_loop *loop)
{
	struct weir_ring_ *node = loop->due_;

	if (!node)
		return NULL;
	take(node);
	return waiter_of(node);
}

int64_t weir_timers_soonest_(weir_loop *loop)
{
	if (loop->soonest_ == UNKNOWN || loop->loose_) {
		int64_t soonest = soonest_in_lists(loop);

		/*
		 * Never decrease soonest_: a thread that was given the later
		 * time may sleep until then.
		 */
		if (soonest > loop->soonest_)
			loop->soonest_ = soonest;
		loop->loose_ = 0;
	}
	return loop->soonest_;
}
