/* SPDX-License-Identifier: MIT */
/* The test runner: check.h. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TESTS_MAX 512

static struct {
	const char *name;
	check_test_fn *fn;
} tests[TESTS_MAX];
static int test_count;
static int passed;
static const char *current = "(none)";
static uint64_t seed;

void check_register(const char *name, check_test_fn *fn)
{
	if (test_count == TESTS_MAX)
		abort();
	tests[test_count].name = name;
	tests[test_count++].fn = fn;
}

static void end_failed(void)
{
	printf("FAIL %s (WEIR_SEED=%" PRIu64 ")\n%d passed, 1 failed\n",
	       current, seed, passed);
	fflush(NULL);
	_exit(1);
}

void check_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("%s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	end_failed();
	__builtin_unreachable();
}

void check_int(const char *file, int line, const char *what, int64_t got,
	       int64_t want)
{
	if (got != want)
		check_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what,
			   got, want);
}

void check_err(const char *file, int line, const char *what, weir_err got,
	       weir_err want)
{
	if (got != want)
		check_fail(file, line, "%s is %s, not %s", what,
			   weir_err_name(got), weir_err_name(want));
}

void check_pause(const char *file, int line, const char *what,
		 int64_t *started_ns)
{
	struct timespec nap = { 0, 50000 };
	int64_t now = weir_now_ns();

	if (!*started_ns)
		*started_ns = now;
	if (now - *started_ns > INT64_C(60000000000))
		check_fail(file, line, "waited a minute for: %s", what);
	if (now - *started_ns < 1000000)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

/* Read a file of /proc/self/task/TID; text is "" if that fails. */
static void read_task(int tid, const char *what, char *text, size_t size)
{
	char path[64];
	ssize_t got = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, size - 1);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

bool check_asleep(int tid)
{
	char text[512];
	const char *end;
	const unsigned long nap = 128;	/* FUTEX_WAIT_PRIVATE: base/futex.c */
	unsigned long second;

	if (!tid)
		return false;
	/* "tid (name) state ..."; the name may contain any character. */
	read_task(tid, "stat", text, sizeof(text));
	end = strrchr(text, ')');
	if (!end || end[1] != ' ' || end[2] != 'S')
		return false;
	/* "number first second ..."; missing on some kernels and emulators. */
	read_task(tid, "syscall", text, sizeof(text));
	return !*text || (sscanf(text, "%*d %*x %lx", &second) == 1 &&
			  second != nap);
}

weir_sem_info stat_of(weir_sem *sem)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_stat(sem, &info));
	return info;
}

uint32_t waiters_of(weir_sem *sem)
{
	return stat_of(sem).waiters;
}

uint32_t oversized_of(weir_sem *sem)
{
	return stat_of(sem).oversized;
}

void check_identity(const char *file, int line, weir_sem *sem)
{
	weir_sem_info i = stat_of(sem);

	if (i.free < 0 || i.held < 0 || i.granted < 0 || i.debt < 0)
		check_fail(file, line, "a negative count");
	if (!i.unbounded && i.capacity != i.free + i.held + i.granted - i.debt)
		check_fail(file, line,
			   "capacity %" PRId64 ", free %" PRId64 ", held %" PRId64
			   ", granted %" PRId64 ", debt %" PRId64, i.capacity,
			   i.free, i.held, i.granted, i.debt);
}

check_thread start(void *(*fn)(void *), void *arg)
{
	check_thread thread;
	int failed = pthread_create(&thread.id, NULL, fn, arg);

	if (failed)
		check_fail(__FILE__, __LINE__, "pthread_create: %s",
			   strerror(failed));
	return thread;
}

void *finish(check_thread thread)
{
	void *result = NULL;
	int failed = pthread_join(thread.id, &result);

	if (failed)
		check_fail(__FILE__, __LINE__, "pthread_join: %s",
			   strerror(failed));
	return result;
}

char panic_message[512];
static int panics;
static weir_panic_fn *hook_before;

static void note_panic(const char *message)
{
	__atomic_add_fetch(&panics, 1, __ATOMIC_SEQ_CST);
	snprintf(panic_message, sizeof(panic_message), "%s", message);
}

void check_panic_begin(void)
{
	panics = 0;
	panic_message[0] = '\0';
	hook_before = weir_set_panic_hook(note_panic);
}

void check_panic_end(const char *file, int line, const char *what,
		     const char *words)
{
	weir_set_panic_hook(hook_before);
	if (!panics)
		check_fail(file, line, "did not panic: %s", what);
	if (!strstr(panic_message, words))
		check_fail(file, line, "the panic \"%s\" does not say \"%s\"",
			   panic_message, words);
}

uint64_t next_random(uint64_t *state)
{
	/* splitmix64: any seed is valid, including 0. */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

int64_t random_below(uint64_t *state, int64_t limit)
{
	return (int64_t)(next_random(state) % (uint64_t)limit);
}

uint64_t check_seed(void)
{
	return seed;
}

uint64_t seed_of(uint64_t k)
{
	uint64_t state = seed + k;

	return next_random(&state);
}

int check_scale(void)
{
	const char *scale = getenv("WEIR_TEST_SCALE");

	return scale && atoi(scale) > 0 ? atoi(scale) : 1;
}

/*
 * Anonymous memory only: file pages are mapped in around a touched page.  Not
 * from statm, which can be off by dozens of pages for each CPU.  main() turns huge
 * pages off: the kernel could replace one touched page of a stack by 512.
 */
long check_resident_pages(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	long kb = -1;
	char line[200];

	CHECK(file != NULL);
	while (kb < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %ld kB", &kb) != 1)
			kb = -1;
	fclose(file);
	CHECK(kb >= 0);
	return kb / (sysconf(_SC_PAGESIZE) / 1024);
}

static int skipped;
static bool skip_this;

void check_skip(const char *reason)
{
	printf("skipped: %s: %s\n", current, reason);
	skip_this = true;
}

void check_note_skip(void)
{
	skip_this = true;
}

bool check_is_skipped(void)
{
	return skip_this;
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/*
 * The descriptors of this process, without that of the registry of watched
 * semaphores, which is made with the first of them and remains.
 */
static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64];
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target,
					    sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		count += strncmp(target, "/memfd:weir-diag", 16) != 0;
	}
	if (dir)
		closedir(dir);
	return count;
}

static void out_of_time(int signal)
{
	static const char text[] = "out of time in ";

	(void)signal;
	(void)!write(1, text, sizeof(text) - 1);
	(void)!write(1, current, strlen(current));
	(void)!write(1, "\n0 passed, 1 failed\n", 20);
	_exit(1);
}

static void *do_nothing(void *unused)
{
	return unused;
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	const char *limit = getenv("WEIR_TEST_LIMIT");
	const char *given = getenv("WEIR_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)weir_now_ns();
	signal(SIGALRM, out_of_time);
	alarm(limit && atoi(limit) > 0 ? (unsigned)atoi(limit) : 120);
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* If this fails, huge pages may disturb the count of memory. */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	/*
	 * A sanitizer starts its own thread with the first thread of the
	 * program.
	 */
	finish(start(do_nothing, NULL));
	for (int i = 0; i < test_count; i++) {
		int fds, threads;

		if (!wanted(tests[i].name, argc, argv))
			continue;
		current = tests[i].name;
		fds = descriptors();
		threads = entries("/proc/self/task");
		tests[i].fn();
		CHECK_EQ(descriptors(), fds);
		/* A joined thread can stay in /proc for a moment. */
		AWAIT(entries("/proc/self/task") <= threads);
		skipped += skip_this;
		if (!skip_this)
			printf("ok %s\n", current);
		passed += !skip_this;
		skip_this = false;
	}
	if (skipped && !passed)
		return CHECK_SKIPPED;
	printf("%d passed, 0 failed\n", passed);
	return passed ? 0 : 1;
}
