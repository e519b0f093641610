/* SPDX-License-Identifier: MIT */
/*
 * Resources that the machine may refuse: memory, descriptors, writing, the CPU
 * number.  This program is linked with --wrap for the calls that request them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/futex.h"
#include "base/mem.h"
#include "base/memfd.h"
#include "base/panic.h"
#include "base/thread.h"
#include "base/timespec.h"
#include "job.h"

int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
int __real_sched_getcpu(void);
int __wrap_sched_getcpu(void);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static bool no_memory, no_cpu;

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	if (no_memory)
		return ENOMEM;
	return __real_posix_memalign(memory, alignment, size);
}

int __wrap_sched_getcpu(void)
{
	if (!no_cpu)
		return __real_sched_getcpu();
	errno = ENOSYS;
	return -1;
}

/*
 * Scripted results of the next calls with one number: a count of bytes (write
 * no more), or a negative error.  After the script, calls are made unchanged.
 */
static long scripted_number, line_end;
static struct timespec slept_until;
static const long *script;
static int scripted, polls;

static void set_results(long number, const long *results, int count)
{
	scripted_number = number;
	script = results;
	scripted = count;
}

long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	/* Exactly one descriptor is polled. */
	if (number == SYS_ppoll) {
		CHECK_EQ(arg[1], 1);
		polls++;
	}
	/* All pieces of a line end at the same address. */
	if (number == SYS_write) {
		if (!line_end)
			line_end = arg[1] + arg[2];
		CHECK_EQ(arg[1] + arg[2], line_end);
	}
	/* A private futex is not woken by a wake of a shared one, or vice versa. */
	if (number == SYS_futex)
		CHECK(arg[1] & 128 /* FUTEX_PRIVATE_FLAG */);
	if (number == SYS_futex && arg[3])
		slept_until = *(struct timespec *)arg[3];
	if (scripted && number == scripted_number) {
		long next = *script++;

		scripted--;
		if (next < 0) {
			errno = (int)-next;
			return -1;
		}
		arg[2] = next;
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

/* The kernel rounds to whole pages; the memory beside must not be zero in a child. */
TEST(c29_a_part_of_a_page_is_not_zeroed_in_a_child)
{
	static _Alignas(65536) char pages[2 * 65536];
	int status = -1;
	pid_t child;

	CHECK(!weir_memfd_wipe_on_fork_(pages, 100));
	CHECK(!weir_memfd_wipe_on_fork_(pages + 8, 65536));
	pages[65535] = 1;
	child = fork();
	if (!child)
		_exit(pages[65535] != 1);
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* C15: conversion of times for the system; none is negative. */
TEST(c15_times_for_the_system)
{
	static const struct {
		int64_t ns;
		time_t s;
		long rest;
	} times[] = {
		{ INT64_MIN, 0, 0 },
		{ -1, 0, 0 },
		{ 0, 0, 0 },
		{ 1, 0, 1 },
		{ 999999999, 0, 999999999 },
		{ 1000000000, 1, 0 },
		{ 7000000003, 7, 3 },
		{ 999999999999999999, 999999999, 999999999 },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct timespec at = weir_timespec_(times[i].ns);
		uint32_t word = 0;

		CHECK_EQ(at.tv_sec, times[i].s);
		CHECK_EQ(at.tv_nsec, times[i].rest);
		/*
		 * The same through the library; the word is not 1, so the wait
		 * returns.
		 */
		(void)!weir_futex_wait_(&word, 1, times[i].ns);
		CHECK_EQ(slept_until.tv_sec, times[i].s);
		CHECK_EQ(slept_until.tv_nsec, times[i].rest);
	}
}

/* C26: memory from the heap is zeroed and aligned to cache lines. */
TEST(c26_heap_memory)
{
	unsigned char *memory = weir_mem_alloc_(65);

	CHECK_EQ((uintptr_t)memory % 64, 0);
	for (int i = 0; i < 128; i++)
		CHECK_EQ(memory[i], 0);
	weir_mem_free_(memory);
}

/* C16: without memory there is no semaphore; the next call succeeds. */
TEST(c16_no_memory)
{
	weir_sem_opts opts = { .permits = 1 };
	weir_sem *sem;

	no_memory = true;
	CHECK(weir_sem_new(&opts) == NULL);
	CHECK(weir_mem_alloc_(1) == NULL);
	no_memory = false;
	sem = weir_sem_new(&opts);
	CHECK(sem != NULL);
	weir_sem_unref(sem);
}

/*
 * C16: without descriptors errno has the reason, and the context goes on; once
 * one is available, the call succeeds.
 */
TEST(c16_no_descriptors)
{
	struct rlimit all, none;
	weir_ctx ctx = WEIR_CTX_INIT;
	int fd = 7, first = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
	close(first);
	none = all;
	none.rlim_cur = (rlim_t)first;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	errno = 0;
	CHECK_ERR(weir_ctx_fd(&ctx, &fd), WEIR_ESYSTEM);
	CHECK_EQ(errno, EMFILE);
	CHECK_OK(weir_ctx_err(&ctx));
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	CHECK_EQ(fd, first);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/*
 * C13: when the cancel returns, the descriptor is readable, although signals
 * interrupted the poll; and the cancel returns although the poll fails.
 */
TEST(c13_a_timer_that_fires_under_signals)
{
	static const long results[] = { -EINTR, -EINTR };
	static const long refused[] = { -ENOMEM };
	weir_ctx ctx = WEIR_CTX_INIT, other = WEIR_CTX_INIT;
	struct pollfd ready = { .events = POLLIN };

	CHECK_OK(weir_ctx_fd(&ctx, &ready.fd));
	set_results(SYS_ppoll, results, 2);
	errno = 12345;
	weir_ctx_cancel(&ctx);
	CHECK_EQ(errno, 12345);
	CHECK_EQ(scripted, 0);
	CHECK_EQ(poll(&ready, 1, 0), 1);
	CHECK_OK(weir_ctx_fd(&other, &ready.fd));
	polls = 0;
	set_results(SYS_ppoll, refused, 1);
	weir_ctx_cancel(&other);
	CHECK_EQ(errno, 12345);
	CHECK_EQ(scripted, 0);
	CHECK_EQ(polls, 1);
	CHECK_EQ(poll(&ready, 1, 60000), 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_destroy(&other));
}

/* C13: the wait for the timer ends: after 100 signals, or at another error. */
TEST(c13_a_timer_that_does_not_fire)
{
	static const long refused[] = { -ENOMEM, -ENOMEM };
	static long signals[150];
	weir_ctx late;
	int fd;

	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	set_results(SYS_ppoll, refused, 2);
	errno = 12345;
	CHECK_OK(weir_ctx_fd(&late, &fd));
	CHECK_EQ(scripted, 1);
	CHECK_EQ(errno, 12345);
	/* A descriptor is closed once, although the kernel reports a signal. */
	signals[0] = -EINTR;
	set_results(SYS_close, signals, 1);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_EQ(scripted, 0);
	CHECK_EQ(errno, 12345);
	close(fd);
	for (int i = 0; i < 150; i++)
		signals[i] = -EINTR;
	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	set_results(SYS_ppoll, signals, 150);
	CHECK_OK(weir_ctx_fd(&late, &fd));
	CHECK_EQ(scripted, 50);
	CHECK_EQ(errno, 12345);
	set_results(SYS_ppoll, signals, 0);
	CHECK_OK(weir_ctx_destroy(&late));
}

/* C25: the CPU number is a hint; a release works without it. */
TEST(c25_no_cpu)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	no_cpu = true;
	errno = 12345;
	CHECK_EQ(weir_cpu_(), 0);
	CHECK_EQ(weir_cpu_number_(), 0);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	weir_sem_release(&sem, 1);
	CHECK_EQ(errno, 12345);
	no_cpu = false;
	CHECK(weir_cpu_() > 0);
	CHECK(weir_cpu_number_() < weir_cpu_span_());
	CHECK_EQ(weir_sem_available(&sem), 1);
}

/* C6: no sleep on a word that has already changed, as its wake is over. */
TEST(c6_the_word_has_changed)
{
	const int64_t far = weir_deadline_after(WEIR_FOREVER / 2);
	uint32_t word = 1;

	errno = 12345;
	CHECK_EQ(weir_futex_wait_(&word, 0, WEIR_FOREVER), WEIR_WOKEN_);
	CHECK_EQ(weir_futex_wait_(&word, 0, far), WEIR_WOKEN_);
	CHECK_EQ(weir_futex_wait_(&word, 1, 1), WEIR_WOKE_LATE_);
	CHECK_EQ(errno, 12345);
}

/* C18: a sleep and a wake that the kernel refuses leave errno as it was. */
TEST(c18_errno_is_kept)
{
	static const long refused[] = { -ENOSYS };
	uint32_t word = 1;

	errno = 12345;
	weir_futex_doze_(&word, 0, 1000);
	CHECK_EQ(errno, 12345);
	set_results(SYS_futex, refused, 1);
	weir_futex_doze_(&word, 1, 1000);
	CHECK_EQ(scripted, 0);
	CHECK_EQ(errno, 12345);
	set_results(SYS_futex, refused, 1);
	weir_futex_wake_(&word);
	CHECK_EQ(scripted, 0);
	CHECK_EQ(errno, 12345);
}

struct nap {
	uint32_t word;
	int over;
	enum weir_woke_ woke;
};

static void *nap(void *arg)
{
	struct nap *n = arg;

	errno = EINTR;
	n->woke = weir_futex_wait_(&n->word, 0, WEIR_FOREVER);
	CHECK_EQ(errno, EINTR);
	__atomic_store_n(&n->over, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* C18: a signal before the sleep is not reported as one during it. */
TEST(c18_an_errno_from_before)
{
	struct nap n = { .woke = WEIR_WOKE_LATE_ };
	check_thread thread = start(nap, &n);

	while (!__atomic_load_n(&n.over, __ATOMIC_ACQUIRE)) {
		weir_futex_wake_(&n.word);
		sched_yield();
	}
	finish(thread);
	CHECK_EQ(n.woke, WEIR_WOKEN_);
}

static weir_sem unnamed = WEIR_SEM_INIT(3);

static void write_in_pieces(void)
{
	static const long results[] = { 0, -EINTR, 5, 0, -EINTR, 1 };

	/* An errno from before does not count. */
	errno = 0;
	set_results(SYS_write, results, 6);
	weir_sem_release(&unnamed, 1);
}

/* Standard error takes nothing for long: the 101st write would succeed. */
static void write_without_progress(void)
{
	static long results[100];
	weir_sem sem = WEIR_SEM_INIT(3);

	for (int i = 0; i < 100; i++)
		results[i] = i % 2 ? -EINTR : 0;
	set_results(SYS_write, results, 100);
	weir_sem_release(&sem, 1);
}

static void write_nothing(void)
{
	static const long results[] = { 4, -EIO };
	weir_sem sem = WEIR_SEM_INIT(3);

	set_results(SYS_write, results, 2);
	weir_sem_release(&sem, 1);
}

/*
 * C8: the line of the default hook is complete, in however many pieces it is
 * written; if it cannot be written, the program still aborts.
 */
TEST(c8_the_line_is_written_in_pieces)
{
	char text[512], expected[512];
	int status = in_child(write_in_pieces, text, sizeof(text));

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	snprintf(expected, sizeof(expected),
		 "weir: weir_sem_release: semaphore %p: 1 permits released, "
		 "0 held (capacity 3, free 3)\n", (void *)&unnamed);
	CHECK(!strcmp(text, expected));
	status = in_child(write_nothing, text, sizeof(text));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(!strcmp(text, "weir"));
	status = in_child(write_without_progress, text, sizeof(text));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(!strcmp(text, ""));
}

/* Check the message for a semaphore whose name has `length` characters. */
static void release_too_many(char *name, size_t length)
{
	weir_sem_opts opts = { .permits = WEIR_SEM_MAX, .name = name };
	weir_sem sem;

	memset(name, 'x', length);
	memcpy(name, "a\nb c", 5);
	name[length] = '\0';
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, WEIR_SEM_MAX - 1, NULL));
	CHECK_PANICS("weir: weir_sem_release: semaphore \"a?b cxxx",
		     weir_sem_release(&sem, WEIR_SEM_MAX));
	CHECK(strstr(panic_message,
		     "\": 1152921504606846976 permits released, "
		     "1152921504606846975 held "
		     "(capacity 1152921504606846976, free 1)"));
}

/*
 * C8: however long the name is, the counts are in the message, and it stays one
 * line; a message that is too long does not overflow its buffer.
 */
TEST(c8_a_name_too_long)
{
	char name[400], whole[400];

	release_too_many(name, 128);
	CHECK(strstr(panic_message, name + 2));
	release_too_many(name, 129);
	CHECK(strstr(panic_message, "x...\": "));
	CHECK(!strstr(panic_message, name + 2));
	snprintf(whole, sizeof(whole), "\"a?%.126s...\": ", name + 2);
	CHECK(strstr(panic_message, whole));
	release_too_many(name, sizeof(name) - 1);
	CHECK(strstr(panic_message, whole));
	CHECK_PANICS("weir: a?b c",
		     (void)weir_panic_("%s%s%s", name, name, name));
	CHECK_EQ(strlen(panic_message), 318);
}

/* An empty name does not identify the object either. */
TEST(c8_an_empty_name)
{
	CHECK_PANICS("weir: call: 0x12ab, \"name\".",
		     (void)weir_panic_("%s: %o, %o.", "call", "",
				       (void *)0x12ab, "name", (void *)1));
}

/* Volatile: the compiler must not leave it out. */
static _Thread_local volatile char storage[5000];

/* The stacks of the library's own threads have room for all of it. */
TEST(thread_local_storage_is_counted)
{
	storage[0] = 1;
	CHECK(weir_thread_local_size_() >= sizeof(storage));
}

TEST(threads_are_listed)
{
	_Alignas(8) char room[4096];
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(weir_thread_list_(fd, room, sizeof(room)) > 0);
	CHECK(weir_thread_list_(fd, room, sizeof(room)) == 0);
	close(fd);
}

TEST(threads_exist_or_not)
{
	uint32_t pid = (uint32_t)getpid(), tid = weir_thread_id_();

	errno = 99;
	CHECK(weir_thread_exists_(pid, tid));
	CHECK(!weir_thread_is_zombie_(tid));
	/* No thread has this ID. */
	CHECK(!weir_thread_exists_(pid, INT32_MAX));
	CHECK(!weir_thread_is_zombie_(INT32_MAX));
	/* The system refuses to answer. */
	set_results(SYS_tgkill, (long[]){ -EPERM }, 1);
	CHECK(weir_thread_exists_(pid, INT32_MAX));
	CHECK_EQ(errno, 99);
}
