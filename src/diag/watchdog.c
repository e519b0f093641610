/* SPDX-License-Identifier: MIT */
/*
 * The watchdog thread: WEIR_DIAG=watchdog.  In each period the thread takes a
 * snapshot of the registry of this process, and reports the findings
 * (finding.h).
 *
 * The thread waits only for the end of its period.  It reads the registry
 * without a lock, and does not use the heap or the dynamic loader.  So a thread
 * that hangs while it holds a lock of the heap or the loader does not stop the
 * watchdog.  All signals are blocked in the watchdog thread.
 *
 * The thread ends
 *   - when the library is unloaded or the process calls exit: stop().
 *   - when it is the last one: the initial thread and all others have called
 *     pthread_exit.  The C library then ends the process, as it would without
 *     the watchdog.
 * It does not exist in the child of a fork.  The child has no registry either,
 * and starts a thread of its own with its first watched object.
 *
 * Pairs
 *
 *   [D6] thread  release: start   acquire: stop
 *                The thread that ends the process knows the thread to join.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/hook.h"
#include "base/print.h"
#include "base/shared.h"
#include "base/thread.h"
#include "base/ticks.h"
#include "base/timespec.h"
#include "diag/finding.h"
#include "diag/limit.h"
#include "diag/maps.h"
#include "diag/own.h"
#include "diag/timeout.h"
#include "record/registry.h"
#include "record/watchdog.h"
#include "record/words.h"

#define NAME "weir-watchdog"
#define STACK_SIZE ((size_t)256 << 10)
#define REPORT_ROOM 16384u
#define MS INT64_C(1000000)

/* How long exit and dlclose wait for the end of the thread. */
#define STOP_NS (1000 * MS)

/* If a round is later than this, the process was stopped. */
#define LATE_NS (1000 * MS)

/* The state of weir_registry_->watchdog. */
enum { NONE, STARTING, RUNNING };

struct state {
	struct dg_watchdog dog;
	struct dg_own own;
	char room[REPORT_ROOM];
};

static pthread_t thread;
static uint32_t stopping;
static uint64_t spent;
static size_t stack_size = STACK_SIZE;

static bool may(void *user)
{
	uint32_t most = weir_diag_words_()->report;

	(void)user;
	return weir_diag_may_print_(&spent, most ? most : WEIR_DIAG_REPORTS_);
}

static void report(void *user, const struct dg_text *text,
		   const struct dg_object *object, enum dg_verdict verdict)
{
	weir_diag_report_fn *fn = weir_diag_reporter_();
	int before;

	(void)user;
	/* If the function times out in an acquire, do not call it again. */
	if (fn && weir_diag_begin_(&before)) {
		fn(text->to);
		weir_diag_end_(before);
	} else if (!fn) {
		weir_print_(STDERR_FILENO, text->to, text->used);
	}
	weir_hook_emit_(WEIR_EVENT_FOUND_,
			(const void *)(uintptr_t)object->address, object->name,
			weir_diag_number_(verdict), WEIR_OK);
}

/* Read a file of /proc as a string.  Returns false if that fails. */
static bool read_file(const char *path, char *room, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, room, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	room[n] = '\0';
	return true;
}

/* Returns true if the thread is a watchdog or a zombie: "PID (NAME) Z". */
static bool is_over(const char *task)
{
	static const char before[] = "/proc/self/task/", after[] = "/stat";
	char path[64], room[512];
	const char *name_end;
	size_t length = strlen(task);

	if (length > sizeof(path) - sizeof(before) - sizeof(after))
		return false;
	memcpy(path, before, sizeof(before));
	memcpy(path + sizeof(before) - 1, task, length);
	memcpy(path + sizeof(before) - 1 + length, after, sizeof(after));
	if (!read_file(path, room, sizeof(room)))
		return false;
	name_end = strrchr(room, ')');
	return name_end && (!strncmp(name_end, ") Z ", 4) ||
			    strstr(room, "(" NAME ")"));
}

struct entry {			/* of getdents64(2) */
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

/*
 * Returns true if only watchdogs are left: another copy of the library may have
 * one, too.  The initial thread remains as a zombie, and /proc/self/exe of a
 * zombie cannot be read.  So the usual round opens no file.  opendir(3) would
 * use the heap.
 */
static bool is_last_thread(void)
{
	_Alignas(struct entry) char room[1024];
	bool last = true;
	long n;
	int fd;

	if (readlink("/proc/self/exe", room, sizeof(room)) >= 0)
		return false;
	fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = weir_thread_list_(fd, room, sizeof(room))) > 0)
		for (long at = 0; at < n;) {
			const struct entry *entry =
				(const void *)(room + at);

			if (entry->name[0] != '.' && !is_over(entry->name))
				last = false;
			at += entry->size;
		}
	close(fd);
	return last && !n;
}

static bool is_stopping(void)
{
	/* relaxed: it orders nothing. */
	return at_load_relaxed(&stopping);
}

static void *watch(void *arg)
{
	const struct weir_diag_words_ *words = weir_diag_words_();
	struct state *state = arg;

	(void)prctl(PR_SET_NAME, NAME);
	state->dog = (struct dg_watchdog){
		.hold_ns = words->hold_ms * MS,
		.may = may,
		.report = report,
		.text = { .to = state->room, .size = REPORT_ROOM,
			  .site = weir_diag_map_site_ },
	};
	while (!is_stopping() && !is_last_thread()) {
		/* Rounds do not follow each other faster if one was late. */
		int64_t next = weir_now_ns() + words->watchdog_ms * MS;

		while (!is_stopping() && weir_now_ns() < next)
			weir_futex_wait_(&stopping, 0, next);
		if (weir_now_ns() - next > LATE_NS)
			state->dog.resumed_ns = weir_now_ns();
		if (is_stopping() || weir_diag_own_(&state->own, 0))
			continue;
		weir_diag_examine_(&state->dog, &state->own.model);
		weir_diag_own_free_(&state->own);
	}
	weir_unmap_(state, sizeof(*state));
	return NULL;
}

/* At load time, because in the child of a fork the loader may be locked. */
__attribute__((constructor)) static void find_stack_size(void)
{
	if (weir_diag_words_()->watchdog_ms)
		stack_size += weir_thread_local_size_();
}

/* Start the thread with all signals blocked.  Returns an errno. */
static int start(struct state *state)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int failed = pthread_attr_init(&attr);

	if (failed)
		return failed;
	/* If the C library rejects this size, use the default. */
	(void)pthread_attr_setstacksize(&attr, stack_size);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, &attr, watch, state);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!failed)
		/* [D6] release */
		at_store_release(&weir_registry_->watchdog, RUNNING);
	return failed;
}

void weir_diag_watch_(void)
{
	static const char failed[] = "weir: WEIR_DIAG: the watchdog thread "
				     "could not be started\n";
	struct weir_registry_ *registry = weir_registry_;
	uint32_t state = NONE;
	int before = errno;
	void *memory;

	/* relaxed: the CAS alone decides which thread starts the watchdog. */
	if (at_load_relaxed(&registry->watchdog))
		return;
	while (!at_cas_weak_relaxed(&registry->watchdog, &state, STARTING))
		if (state != NONE)
			return;
	/* relaxed: there is no watchdog thread yet. */
	at_store_relaxed(&stopping, 0);
	memory = weir_map_zero_(sizeof(struct state));
	if (!memory || start(memory)) {
		weir_print_(STDERR_FILENO, failed, sizeof(failed) - 1);
		if (memory)
			weir_unmap_(memory, sizeof(struct state));
	}
	errno = before;
}

/*
 * Called at exit, and before the library is unloaded.  The wait for the thread
 * has a limit, because the thread may be in a function of the program.
 */
__attribute__((destructor)) static void stop(void)
{
	struct timespec limit;

	/* [D6] acquire */
	if (at_load_acquire(&weir_registry_->watchdog) != RUNNING ||
	    pthread_equal(thread, pthread_self()))
		return;
	/* relaxed: the thread reads it after each sleep. */
	at_store_relaxed(&stopping, 1);
	weir_futex_wake_(&stopping);
	limit = weir_timespec_(weir_wall_ns_() + STOP_NS);
	(void)pthread_timedjoin_np(thread, NULL, &limit);
}
