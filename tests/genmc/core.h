/* SPDX-License-Identifier: MIT */
/*
 * The core as one translation unit on a small machine, for GenMC.
 *
 * The clock stands still unless a program moves it.  A futex wait ends when the
 * word has changed; executions in which it would sleep for ever are not
 * explored, so lost wake-ups are left to tests/model.  A panic fails, unless the
 * program expects panics.
 */
#ifndef TESTS_GENMC_CORE_H
#define TESTS_GENMC_CORE_H

#include <assert.h>
#include <genmc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/hook.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/spin.h"
#include "base/thread.h"
#include "base/timer.h"
#include "core/waiter.h"
#include "weir/ctx.h"
#include "weir/sem.h"

static int64_t now_ns = 1000;
static bool panics_expected;

int64_t weir_now_ns(void)
{
	return at_load_relaxed(&now_ns);
}

int64_t weir_recent_ns_(void)
{
	return weir_now_ns();
}

int64_t weir_deadline_after(int64_t timeout_ns)
{
	return weir_now_ns() + timeout_ns;
}

#ifndef FORKS		/* shown.c has a count that changes */
#define FORKS 0
#endif
uint32_t weir_forks_(void)
{
	return FORKS;
}

void weir_hook_emit_(enum weir_event_kind_ kind, const void *object,
		     const char *name, int64_t n, weir_err err)
{
	(void)kind, (void)object, (void)name, (void)n, (void)err;
}

weir_err weir_panic_(const char *format, ...)
{
	(void)format;
	assert(panics_expected);
	return WEIR_EINVAL;
}

/* Only operations use the list. */
struct weir_to_run_ *weir_thread_to_run_(void)
{
	static struct weir_to_run_ to_run;

	return &to_run;
}

int weir_timer_open_(int64_t deadline_ns)
{
	(void)deadline_ns;
	return -1;
}

void weir_timer_fire_(int fd)
{
	(void)fd;
}

void weir_timer_close_(int fd)
{
	(void)fd;
}

#ifndef CONTENDED	/* contend.c has its own */
enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	if (deadline_ns != WEIR_FOREVER && weir_now_ns() >= deadline_ns)
		return WEIR_WOKE_LATE_;
	__VERIFIER_assume(at_load_relaxed(word) != value);
	return WEIR_WOKEN_;
}

void weir_futex_wake_(uint32_t *word)
{
	(void)word;
}
#endif

void *weir_mem_alloc_(size_t size)
{
	return __VERIFIER_malloc_aligned(64, size);
}

void weir_mem_free_(void *memory)
{
	free(memory);
}

/*
 * GenMC does not copy a struct through a pointer.  tools/genmc replaces such
 * assignments in its copy of the core by these functions.
 */
#define COPY(member) to->member = from->member

static inline void copy_sem(weir_sem *to, weir_sem *from)
{
	COPY(word_), COPY(capacity_), COPY(queue_), COPY(oversized_);
	COPY(name_), COPY(granted_), COPY(state_), COPY(waiters_);
	COPY(max_waiters_), COPY(resizes_), COPY(cpu_), COPY(forks_);
}

static inline void copy_ctx(weir_ctx *to, weir_ctx *from)
{
	COPY(root_), COPY(parent_), COPY(children_), COPY(sibling_.prev_);
	COPY(sibling_.next_), COPY(waiters_), COPY(deadline_), COPY(ended_);
	COPY(lock_), COPY(fd_), COPY(state_), COPY(cause_);
}

static inline void copy_info(weir_sem_info *to, weir_sem_info *from)
{
	COPY(name), COPY(capacity), COPY(free), COPY(held), COPY(granted);
	COPY(debt), COPY(waiting_permits), COPY(oldest_wait_ns);
	COPY(waiters), COPY(oversized), COPY(policy), COPY(unbounded);
	COPY(closed);
}

#include "base/lock.c"
#include "core/ctx.c"
#include "core/ctx_cancel.c"
#include "core/ctx_wait.c"
#include "core/notify.c"
#include "core/sem.c"
#include "core/sem_admin.c"
#ifdef CONTENDED
#define pthread_atfork(prepare, parent, child) ((void)(child), 0)
#include "core/sem_contend.c"
#endif
#define join enqueue_join	/* one translation unit: rename static functions */
#include "core/sem_enqueue.c"
#undef join
#include "core/sem_grant.c"
#include "core/sem_heap.c"
#include "core/sem_lock.c"
#include "core/sem_queue.c"
#include "core/sem_release.c"
#include "core/sem_resize.c"
#include "core/sem_rouse.c"
#include "core/sem_shown.c"
#include "core/sem_spin.c"
#include "core/sem_stat.c"
#include "core/sem_try.c"
#include "core/sem_wait.c"
#include "core/waiter.c"

#endif /* TESTS_GENMC_CORE_H */
