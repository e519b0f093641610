/* SPDX-License-Identifier: MIT */
/* The ledger: ledger.h.  Also names semaphore fields and values in traces. */
#define LEDGER_IMPLEMENTATION
#include "ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "explore.h"
#include "weir/ctx.h"

#define ACCOUNTS 2
#define QUEUE_MAX EX_THREADS

static struct account {
	weir_sem *sem;
	bool stopped;
	int64_t held;		/* by calls that have returned */
	int64_t least, most;	/* change by calls in progress */
	/* The queue when the word was last unlocked. */
	const struct weir_waiter_ *queue[QUEUE_MAX];
	int queued;
} accounts[ACCOUNTS];

static struct account *account_of(const weir_sem *sem)
{
	for (int i = 0; i < ACCOUNTS; i++)
		if (accounts[i].sem == sem)
			return &accounts[i];
	return NULL;
}

void ledger_begin(weir_sem *sem, int64_t least, int64_t most)
{
	struct account *a = account_of(sem);

	if (!a)
		return;
	a->least += least;
	a->most += most;
}

void ledger_end(weir_sem *sem, int64_t least, int64_t most, int64_t change)
{
	struct account *a = account_of(sem);

	if (!a)
		return;		/* destroyed meanwhile */
	a->least -= least;
	a->most -= most;
	a->held += change;
}

/*
 * Checks after a write to the word.
 */
static void check_identity(const struct account *a, uint64_t word)
{
	int64_t out = a->sem->capacity_ - weir_value_(word);
	int64_t granted = a->sem->granted_;

	if (out - granted < a->held + a->least ||
	    out - granted > a->held + a->most)
		ex_fail("identity: %" PRId64 " are out, %" PRId64 " of them "
			"granted; held are %" PRId64 " (%+" PRId64 " to %+"
			PRId64 " in progress)", out, granted, a->held, a->least,
			a->most);
}

static bool is_among(const struct weir_waiter_ *w,
		     const struct weir_waiter_ *const *queue, int n)
{
	for (int i = 0; i < n; i++)
		if (queue[i] == w)
			return true;
	return false;
}

/*
 * A waiter that was in the queue before and is not now was granted or has left.
 * Its memory is still valid: it is notified after this step.
 */
static void check_order(const struct account *a,
			const struct weir_waiter_ *const *queue, int n)
{
	bool older_waits = false;

	for (int i = 0; i < a->queued; i++) {
		const struct weir_waiter_ *w = a->queue[i];

		if (is_among(w, queue, n))
			older_waits = true;
		else if (w->outcome == WEIR_OK && weir_waiter_got_(w) &&
			 older_waits)
			ex_fail("order: a waiter was granted before one that "
				"waits longer");
	}
}

static int read_queue(const weir_sem *sem, const struct weir_waiter_ **queue)
{
	int n = 0;

	RING_EACH(link, next, end, sem->queue_) {
		if (n == QUEUE_MAX)
			ex_fail("the queue has no end");
		queue[n++] = weir_waiter_of_(link);
	}
	return n;
}

static void check_word(struct account *a, uint64_t before, uint64_t after)
{
	const struct weir_waiter_ *queue[QUEUE_MAX];
	bool fifo = !(a->sem->state_ & WEIR_STATE_BARGING_);
	int n;

	if (a->stopped || weir_door_(after) == WEIR_LOCKED_)
		return;
	check_identity(a, after);
	n = read_queue(a->sem, queue);
	if (fifo && weir_door_(before) != WEIR_LOCKED_ && a->queued &&
	    weir_value_(after) < weir_value_(before))
		ex_fail("order: a newcomer took permits that others wait "
			"for");
	if (fifo)
		check_order(a, queue, n);
	memset(a->queue, 0, sizeof(a->queue));
	memcpy(a->queue, queue, (size_t)n * sizeof(*queue));
	a->queued = n;
}

static void written(const void *address, uint64_t before, uint64_t after)
{
	for (int i = 0; i < ACCOUNTS; i++)
		if (accounts[i].sem && address == &accounts[i].sem->word_)
			check_word(&accounts[i], before, after);
}

/*
 * Names and values for the trace.
 */
static bool name(const void *address, char *text, size_t size)
{
	static const struct {
		size_t offset;
		const char *name;
	} fields[] = {
		{ offsetof(weir_sem, word_), "word" },
		{ offsetof(weir_sem, capacity_), "capacity" },
		{ offsetof(weir_sem, granted_), "granted" },
		{ offsetof(weir_sem, waiters_), "waiters" },
		{ offsetof(weir_sem, state_), "state" },
		{ offsetof(weir_sem, resizes_), "resizes" },
		{ offsetof(weir_sem, forks_), "forks" },
	};

	for (int i = 0; i < ACCOUNTS; i++) {
		size_t at = (size_t)((const char *)address -
				     (const char *)accounts[i].sem);

		for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
			if (!accounts[i].sem || fields[f].offset != at)
				continue;
			snprintf(text, size, "%s%c", fields[f].name,
				 i ? '0' + i : ' ');
			return true;
		}
	}
	return false;
}

static bool show(const void *address, uint64_t value, char *text, size_t size)
{
	static const char *const doors[] = { "", " spinning", " shut",
					     " locked" };

	for (int i = 0; i < ACCOUNTS; i++) {
		if (!accounts[i].sem || address != &accounts[i].sem->word_)
			continue;
		snprintf(text, size, "%" PRId64 "%s", weir_value_(value),
			 weir_is_marked_(value) ? " watched" :
						  doors[weir_door_(value)]);
		return true;
	}
	return false;
}

const struct ex_meaning ex_meaning = {
	.written = written,
	.name = name,
	.show = show,
};

/*
 * The wrapped calls.
 */
weir_err ledger_init(weir_sem *sem, const weir_sem_opts *opts)
{
	weir_sem_opts changed = *opts;
	struct account *a = account_of(sem);
	weir_err err;

	if (ex_is_watched())
		changed.flags |= WEIR_SEM_TRACKED;
	err = weir_sem_init_opts(sem, &changed);
	/* The first unlock turns SHUT into the form with a fast path. */
	if (!err && changed.flags & WEIR_SEM_TRACKED)
		err = weir_sem_acquire(sem, 0, NULL);

	if (!a)
		a = account_of(NULL);
	if (err || !a)
		return err;
	*a = (struct account){
		.sem = sem,
		.held = sem->capacity_ - weir_value_(sem->word_),
	};
	return err;
}

void ledger_stop(weir_sem *sem)
{
	struct account *a = account_of(sem);

	if (a)
		a->stopped = true;
}

weir_err ledger_destroy(weir_sem *sem)
{
	weir_err err = weir_sem_destroy(sem);

	/* The memory may be initialised as another semaphore. */
	if (!err && account_of(sem))
		*account_of(sem) = (struct account){ 0 };
	return err;
}

weir_err ledger_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	weir_err err;

	ledger_begin(sem, 0, n);
	err = weir_sem_acquire(sem, n, ctx);
	ledger_end(sem, 0, n, err ? 0 : n);
	return err;
}

weir_err ledger_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns)
{
	weir_err err;

	ledger_begin(sem, 0, n);
	err = weir_sem_acquire_for(sem, n, timeout_ns);
	ledger_end(sem, 0, n, err ? 0 : n);
	return err;
}

weir_err ledger_acquire_upto(weir_sem *sem, int64_t min, int64_t max,
			     struct weir_ctx *ctx, int64_t *got)
{
	weir_err err;

	ledger_begin(sem, 0, max);
	err = weir_sem_acquire_upto(sem, min, max, ctx, got);
	ledger_end(sem, 0, max, *got);
	return err;
}

weir_err ledger_try_acquire(weir_sem *sem, int64_t n)
{
	weir_err err;

	ledger_begin(sem, 0, n);
	err = weir_sem_try_acquire(sem, n);
	ledger_end(sem, 0, n, err ? 0 : n);
	return err;
}

weir_err ledger_drain(weir_sem *sem, int64_t *got)
{
	int64_t most = sem->capacity_;
	weir_err err;

	ledger_begin(sem, 0, most);
	err = weir_sem_drain(sem, got);
	ledger_end(sem, 0, most, *got);
	return err;
}

void ledger_release(weir_sem *sem, int64_t n)
{
	ledger_begin(sem, -n, 0);
	weir_sem_release(sem, n);
	ledger_end(sem, -n, 0, -n);
}

weir_err ledger_try_release(weir_sem *sem, int64_t n)
{
	weir_err err;

	ledger_begin(sem, -n, 0);
	err = weir_sem_try_release(sem, n);
	ledger_end(sem, -n, 0, err ? 0 : -n);
	return err;
}

/* During a resize value and capacity do not agree. */
weir_err ledger_resize(weir_sem *sem, int64_t n, int64_t *debt)
{
	int64_t change = n - sem->capacity_;
	weir_err err;

	if (change < 0)
		change = -change;
	ledger_begin(sem, -change, change);
	err = weir_sem_resize(sem, n, debt);
	ledger_end(sem, -change, change, 0);
	return err;
}

weir_err ledger_forget(weir_sem *sem, int64_t n)
{
	weir_err err;

	ledger_begin(sem, -n, n);
	err = weir_sem_forget(sem, n);
	ledger_end(sem, -n, n, err ? 0 : -n);
	return err;
}
