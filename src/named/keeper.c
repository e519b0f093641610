/* SPDX-License-Identifier: MIT */
/*
 * The keeper thread of a handle owns the handle's liveness words and watches
 * those of other participants.
 *
 * The kernel marks a thread's words when the thread ends.  So the words need a
 * thread that ends with the process and not before: the keeper.  The keeper
 * sleeps until a watched participant dies, or when it is kicked because the set
 * of words to watch has changed.
 *
 * Pairs
 *
 *   [NK1] ready   release: keep   acquire: weir_nm_keeper_start_
 *                 The opening thread sees that the liveness words are listed.
 *   [NK2] kick    release: weir_nm_kick_   acquire: keep_watch
 *                 A keeper that sleeps on the kicked value of the word has seen
 *                 the reason for the kick, such as a request to stop.
 *   [NK3] joined  release: weir_nm_keeper_go_   acquire: keep
 *                 The keeper sees the handle as it is after joining.
 *   [NK4] ended   release: keep   acquire: weir_nm_keeper_stop_
 *                 The closing thread sees that the keeper has finished.
 *   [NK5] stop    release: weir_nm_keeper_stop_   acquire: keep_watch
 *                 A keeper that sees `stop` before the kick also sees that the
 *                 handle's records are free.
 */
#include <errno.h>
#include <link.h>
#include <signal.h>

#include "named/handle.h"
#include "named/lock.h"

#define STACK_SIZE ((size_t)128 << 10)
#define WAITING 0u
#define READY 1u
#define FAILED 2u
#define JOINED 3u
#define ENDED 4u

/*
 * The time to wait for the end of the keeper thread before it is kicked again.
 */
#define STOP_NS 20000000

/*
 * The interval at which the keeper checks whether a dead process has ended
 * completely (STRICT): a lock on a byte of the file shows that, and no futex
 * sleep can wait for it.
 */
#define LINGER_MIN_NS 50000
#define LINGER_MAX_NS 2000000

static void sleep_on(weir_named *h, struct weir_watch_ *watches,
		     unsigned count, int64_t until)
{
	unsigned own = nm_own_watches(h);

	/* watches[0] is the kick word; the watched words follow. */
	weir_nm_helpers_watch_(h, watches + 1 + own,
			       count > own ? count - own : 0);
	if (h->can_wait_any)
		weir_shared_wait_any_(watches, 1 + (count < own ? count : own),
				      until);
	else
		weir_shared_wait_(watches[0].word, watches[0].value, until);
}

static void keep_watch(weir_named *h)
{
	int64_t pause_ns = LINGER_MIN_NS;
	struct weir_watch_ *watches = h->scratch->watches;

	watches[0].word = &h->mine->kick;
	for (;;) {
		int64_t until = WEIR_FOREVER;
		unsigned count;

		/* [NK2] acquire */
		watches[0].value = at_load_acquire(watches[0].word);
		/* [NK5] acquire */
		if (at_load_acquire(&h->stop) || !nm_lock(h))
			return;
		weir_nm_sweep_(h);
		weir_nm_grant_all_(h);
		count = weir_nm_arm_(h, watches + 1);
		if (h->lingers) {
			until = weir_deadline_after(pause_ns);
			pause_ns = pause_ns < LINGER_MAX_NS ? 2 * pause_ns :
							      LINGER_MAX_NS;
		} else {
			pause_ns = LINGER_MIN_NS;
		}
		nm_unlock(h);
		sleep_on(h, watches, count, until);
	}
}

/*
 * Wake the calls of this handle that wait.  This is needed if the file is
 * damaged and our slot is not ours any more: then no other process wakes these
 * calls.  On a regular stop there are no such calls.
 */
static void wake_ours(weir_named *h)
{
	uint32_t high = nm_records_high(h);

	for (uint32_t i = 0; i < high; i++)
		if (h->records[i].owner == h->me)
			weir_nm_record_wake_(&h->records[i]);
}

static void *keep(void *arg)
{
	weir_named *h = arg;
	bool entered;

	h->alive = weir_alive_value_();
	for (int i = 0; i < WEIR_ALIVE_WORDS_; i++)
		/* relaxed: the slot is not live yet. */
		at_store_relaxed(&h->mine->alive[i].word, h->alive);
	entered = weir_robust_enter_(&h->robust, h->mine->alive,
				      WEIR_ALIVE_WORDS_, NULL);
	/* [NK1] release */
	at_store_release(&h->ready, entered ? READY : FAILED);
	weir_futex_wake_(&h->ready);
	if (!entered)
		return NULL;
	/* Wait until the slot is live.  [NK3] acquire */
	while (at_load_acquire(&h->ready) == READY)
		weir_futex_wait_(&h->ready, READY, WEIR_FOREVER);
	keep_watch(h);
	wake_ours(h);
	weir_nm_helpers_stop_(h);
	/*
	 * Clear the words before they leave the robust list: a word off the
	 * list must not seem alive, and the kernel must not mark words of the
	 * slot's next owner.
	 */
	for (int i = 0; i < WEIR_ALIVE_WORDS_; i++)
		/* relaxed: the word carries no other data. */
		at_store_relaxed(&h->mine->alive[i].word, 0);
	weir_robust_leave_(&h->robust);
	/* [NK4] release */
	at_store_release(&h->ready, ENDED);
	weir_futex_wake_(&h->ready);
	return NULL;
}

/*
 * Add up the sizes of thread-local storage, which glibc allocates on the
 * thread's stack.
 */
static int add_own(struct dl_phdr_info *object, size_t size, void *arg)
{
	size_t *sum = arg;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*sum += object->dlpi_phdr[i].p_memsz +
				object->dlpi_phdr[i].p_align;
	return 0;
}

/*
 * The sum is computed once: in the child of a fork the loader's lock may be
 * held by a thread that does not exist there.
 */
static size_t stack_size(void)
{
	static size_t known;
	/* relaxed: all threads compute the same value. */
	size_t size = at_load_relaxed(&known);

	if (!size) {
		size = STACK_SIZE;
		(void)dl_iterate_phdr(add_own, &size);
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
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return failed;
}

weir_err weir_nm_keeper_start_(weir_named *h)
{
	uint32_t ready;
	int failed;

	h->ready = WAITING;
	h->stop = 0;
	h->helpers = NULL;
	failed = start(&h->keeper, keep, h);
	if (failed) {
		errno = failed;
		return WEIR_ESYSTEM;
	}
	/* [NK1] acquire */
	while ((ready = at_load_acquire(&h->ready)) == WAITING)
		weir_futex_wait_(&h->ready, WAITING, WEIR_FOREVER);
	if (ready == READY)
		return WEIR_OK;
	pthread_join(h->keeper, NULL);
	errno = ENOSYS;
	return WEIR_ESYSTEM;
}

void weir_nm_keeper_go_(weir_named *h)
{
	/* [NK3] release */
	at_store_release(&h->ready, JOINED);
	weir_futex_wake_(&h->ready);
}

/*
 * A single kick could be lost only if a process that may write the file sets
 * the kick word back between the keeper's load of it and its sleep: the kick
 * then restores the loaded value, and the keeper sleeps.  So kick the keeper
 * until it has ended.
 */
void weir_nm_keeper_stop_(weir_named *h)
{
	uint32_t ready;

	/* [NK5] release */
	at_store_release(&h->stop, 1);
	weir_nm_kick_(h->mine);
	/* [NK4] acquire */
	while ((ready = at_load_acquire(&h->ready)) != ENDED)
		if (weir_futex_wait_(&h->ready, ready,
				     weir_deadline_after(STOP_NS)) ==
		    WEIR_WOKE_LATE_)
			weir_nm_kick_(h->mine);
	pthread_join(h->keeper, NULL);
}
