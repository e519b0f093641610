/* SPDX-License-Identifier: MIT */
/*
 * The keeper thread of a handle.
 *
 * The kernel marks a thread's liveness word when the thread ends.  So the word
 * needs a thread that ends with the process and not before: the keeper.  The
 * death word of the slot is on the same list.
 *
 * Pairs
 *
 *   [NK1] ready   release: report   acquire: weir_nm_keeper_start_
 *                 The opening thread sees that the liveness word is listed.
 */
#include "named/keeper.h"

#include <errno.h>
#include <signal.h>

#include "base/spin.h"
#include "base/thread.h"
#include "named/table.h"

#define STACK_SIZE ((size_t)128 << 10)
#define WAITING 0u
#define READY 1u
#define FAILED 2u
#define ENDED 3u

/*
 * The time to wait for the end of the keeper thread before it is kicked again.
 */
#define STOP_NS 20000000

/* Publish the progress of the keeper for the opening or closing thread. */
static void report(weir_named *h, uint32_t ready)
{
	/* [NK1] release */
	at_store_release(&h->ready, ready);
	weir_futex_wake_(&h->ready);
}

/* Set both words of our slot that are on the robust list. */
static void set_words(weir_named *h, uint32_t value)
{
	/* relaxed: the words carry no other data. */
	at_store_relaxed(&h->mine->alive.word, value);
	at_store_relaxed(&h->mine->death.word, value);
}

static void *keep(void *arg)
{
	weir_named *h = arg;
	/* relaxed: the slot is not live yet. */
	uint32_t kick = at_load_relaxed(&h->mine->kick);
	bool entered;

	h->alive = weir_alive_value_();
	set_words(h, h->alive);
	entered = weir_robust_enter_(&h->robust, &h->mine->alive, 2,
				     &h->head->obituary);
	if (entered)
		/* [NT1] release: from now on we are a participant. */
		at_store_release(&h->mine->state, h->state);
	report(h, entered ? READY : FAILED);
	if (!entered)
		return NULL;
	weir_nm_keep_watch_(h, kick);
	/*
	 * If the keeper was not stopped, the slot is lost: the file is damaged,
	 * and no other process wakes the calls of this handle.
	 */
	/* relaxed: weir_nm_wake_ours_ publishes it with the states of records. */
	at_store_relaxed(&h->lost, 1);
	/* relaxed: on a regular stop there are no calls. */
	if (at_load_relaxed(&h->calls))
		weir_nm_wake_ours_(h);
	/*
	 * Change the words before they leave the robust list: a word off the
	 * list must not seem alive, and the kernel must not mark the words of
	 * the slot's next owner.
	 */
	set_words(h, WEIR_DIED_);
	/*
	 * This keeper may have used up a wake-up that other keepers need, or
	 * its slot must be buried.  Pass the wake-up on while the obituary word
	 * is on the robust list: if this process is killed before, the kernel
	 * wakes a keeper.
	 */
	/* relaxed: its value alone matters. */
	if (at_load_relaxed(&h->stop) == NM_ABANDON || weir_nm_any_dead_(h))
		weir_shared_wake_(&h->head->obituary);
	weir_robust_leave_(&h->robust);
	report(h, ENDED);
	return NULL;
}

/*
 * The size is computed once, because weir_thread_local_size_ takes the lock of
 * the loader: in the child of a fork, a thread that does not exist there may
 * hold that lock.
 */
static size_t stack_size(void)
{
	static size_t known;
	/* relaxed: all threads compute the same value. */
	size_t size = at_load_relaxed(&known);

	if (!size) {
		size = STACK_SIZE + weir_thread_local_size_();
		/* relaxed: as above. */
		at_store_relaxed(&known, size);
	}
	return size;
}

/* Start a thread with all signals blocked. */
static int start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int failed;

	failed = pthread_attr_init(&attr);
	if (failed)
		return failed;
	/* If the C library rejects this size, use the default. */
	(void)pthread_attr_setstacksize(&attr, stack_size());
	sigfillset(&all);
	/* A blocked SIGBUS would end the process without calling its handler. */
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return failed;
}

/*
 * Spin until the condition is true, for about as long as a thread takes to start
 * or to end on another CPU.  To sleep at once would take longer, by a wake-up on
 * each of the two CPUs.
 */
static bool spin_until(bool (*is_true)(const weir_named *h),
		       const weir_named *h)
{
	struct weir_spin_wait_ spin;
	bool done;

	if (!weir_spin_wait_may_pay_())
		return false;
	spin = weir_spin_wait_begin_(WEIR_SPIN_THREAD_NS_);
	do
		done = is_true(h);
	while (!done && weir_spin_wait_continue_(&spin));
	weir_spin_wait_end_(done);
	return done;
}

static bool has_started(const weir_named *h)
{
	/* relaxed: the caller loads it again. */
	return at_load_relaxed(&h->ready) != WAITING;
}

static bool is_joined(const weir_named *h)
{
	return !pthread_tryjoin_np(h->keeper, NULL);
}

weir_err weir_nm_keeper_start_(weir_named *h)
{
	uint32_t ready;
	int failed;

	h->ready = WAITING;
	h->stop = h->lost = h->checked = 0;
	h->round = h->listens = 1;
	h->polls = false;
	failed = start(&h->keeper, keep, h);
	if (failed) {
		errno = failed;
		return WEIR_ESYSTEM;
	}
	(void)spin_until(has_started, h);
	/* [NK1] acquire */
	while ((ready = at_load_acquire(&h->ready)) == WAITING)
		weir_futex_wait_(&h->ready, WAITING, WEIR_FOREVER);
	if (ready == READY)
		return WEIR_OK;
	pthread_join(h->keeper, NULL);
	errno = ENOSYS;
	return WEIR_ESYSTEM;
}

/*
 * A single kick could be lost only if a process that may write the file sets
 * the kick word back between the keeper's load of it and its sleep: the kick
 * then restores the loaded value, and the keeper sleeps.  So kick the keeper
 * until it has ended.
 */
void weir_nm_keeper_stop_(weir_named *h, uint32_t stop)
{
	uint32_t ready;
	bool joined;

	/* relaxed: the kick orders it. */
	at_store_relaxed(&h->stop, stop);
	weir_nm_kick_(h);
	joined = spin_until(is_joined, h);
	/* relaxed: the join orders what the keeper did. */
	while ((ready = at_load_relaxed(&h->ready)) != ENDED)
		if (weir_futex_wait_(&h->ready, ready,
				     weir_deadline_after(STOP_NS)) ==
		    WEIR_WOKE_LATE_)
			weir_nm_kick_(h);
	if (!joined)
		pthread_join(h->keeper, NULL);
}
