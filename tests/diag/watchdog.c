/* SPDX-License-Identifier: MIT */
/*
 * The watchdog thread, with WEIR_DIAG of meson.build: a short period and a short
 * limit of holds.  The semaphore `early` starts the thread before the tests.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "look.h"
#include "record/words.h"
#include "weir/ctx.h"
#include "weir/diag.h"

static weir_sem early;

__attribute__((constructor)) static void be_early(void)
{
	weir_sem_opts opts = { .permits = 1, .name = "early" };

	if (weir_sem_init_opts(&early, &opts))
		abort();
}

/* The reports so far; written by the watchdog thread. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char reports[1 << 16];
static size_t used;
static uint32_t verdicts;	/* of the events: 1 << verdict */

static void keep_report(const char *text)
{
	size_t length = strlen(text);

	pthread_mutex_lock(&guard);
	if (used + length < sizeof(reports)) {
		memcpy(reports + used, text, length);
		used += length;
	}
	pthread_mutex_unlock(&guard);
}

static void keep_event(const weir_diag_event *event)
{
	if (event->kind != WEIR_DIAG_FOUND)
		return;
	pthread_mutex_lock(&guard);
	verdicts |= UINT32_C(1) << event->n;
	pthread_mutex_unlock(&guard);
}

static unsigned count(const char *part)
{
	unsigned n = 0;

	pthread_mutex_lock(&guard);
	reports[used] = '\0';
	for (const char *at = reports; (at = strstr(at, part)); at++)
		n++;
	pthread_mutex_unlock(&guard);
	return n;
}

static bool heard(weir_diag_verdict verdict)
{
	bool found;

	pthread_mutex_lock(&guard);
	found = verdicts >> verdict & 1;
	pthread_mutex_unlock(&guard);
	return found;
}

static void begin(void)
{
	used = 0;
	verdicts = 0;
	CHECK(!weir_diag_set_report(keep_report));
	CHECK(!weir_diag_set_hook(keep_event));
}

/*
 * The report on `last` is the last one if nothing else is held: then the thread
 * has no file open.
 */
static void end(void)
{
	weir_sem last;

	watch(&last, 1, "last");
	CHECK_OK(weir_sem_acquire(&last, 1, NULL));
	AWAIT(count("weir: HELD TOO LONG  last: since "));
	weir_sem_release(&last, 1);
	CHECK_OK(weir_sem_destroy(&last));
	CHECK(weir_diag_set_hook(NULL) == keep_event);
	CHECK(weir_diag_set_report(NULL) == keep_report);
}

/* The watchdog threads of this process; the blocked signals of the last. */
static unsigned watchdogs(uint64_t *blocked)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned n = 0;

	CHECK(tasks);
	for (struct dirent *task; (task = readdir(tasks));) {
		char path[300], line[128];
		bool found = false;
		FILE *file;

		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status",
			 task->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			if (!strcmp(line, "Name:\tweir-watchdog\n"))
				found = true;
			if (found && blocked && !strncmp(line, "SigBlk:", 7))
				*blocked = strtoull(line + 7, NULL, 16);
		}
		n += found;
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return n;
}

TEST(one_thread_with_a_name_and_no_signals)
{
	uint64_t blocked = 0, want = 0;

	AWAIT(watchdogs(&blocked) == 1);
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			want |= UINT64_C(1) << (i - 1);
	CHECK_EQ(blocked & UINT32_MAX >> 1, want);
}

struct pair {
	weir_sem first, second;
	weir_ctx *end;
};

static void *take_forward(void *arg)
{
	struct pair *pair = arg;

	CHECK_OK(weir_sem_acquire(&pair->first, 1, NULL));
	AWAIT(!weir_sem_available(&pair->second));
	CHECK_ERR(weir_sem_acquire(&pair->second, 1, pair->end),
		  WEIR_ECANCELED);
	weir_sem_release(&pair->first, 1);
	return NULL;
}

static void *take_backward(void *arg)
{
	struct pair *pair = arg;

	CHECK_OK(weir_sem_acquire(&pair->second, 1, NULL));
	AWAIT(!weir_sem_available(&pair->first));
	CHECK_OK(weir_sem_acquire(&pair->first, 1, NULL));
	weir_sem_release(&pair->first, 1);
	weir_sem_release(&pair->second, 1);
	return NULL;
}

static void *take_one(void *arg)
{
	CHECK_OK(weir_sem_acquire(arg, 1, NULL));
	return NULL;
}

TEST(c50_a_deadlock_is_reported_once_and_then_a_leak)
{
	struct pair pair;
	check_thread one, two;
	weir_sem leaky;
	weir_ctx ctx;

	begin();
	watch(&pair.first, 1, "first");
	watch(&pair.second, 1, "second");
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	pair.end = &ctx;
	one = start(take_forward, &pair);
	two = start(take_backward, &pair);
	AWAIT(count("weir: DEADLOCK  2 contexts can never proceed"));
	AWAIT(heard(WEIR_DIAG_DEADLOCK));
	/* The sites are in this program. */
	CHECK(count("holds first 1 (diag-watchdog+0x"));
	watch(&leaky, 2, "leaky");
	finish(start(take_one, &leaky));
	AWAIT(count("weir: LEAKED  leaky: threads that have ended hold 1 "
		    "permit"));
	AWAIT(heard(WEIR_DIAG_LEAKED));
	CHECK_EQ(count("weir: DEADLOCK"), 1);
	weir_ctx_cancel(&ctx);
	finish(one);
	finish(two);
	weir_sem_release(&leaky, 1);
	CHECK_OK(weir_sem_destroy(&leaky));
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&pair.first));
	CHECK_OK(weir_sem_destroy(&pair.second));
	end();
}

TEST(a_long_hold_is_reported)
{
	weir_sem sem;

	begin();
	watch(&sem, 3, "slow_pool");
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	AWAIT(count("weir: HELD TOO LONG  slow_pool: since "));
	AWAIT(heard(WEIR_DIAG_FINE));
	CHECK(count("slow_pool: semaphore, 1 of 3 free"));
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
	end();
}

/* Run fn in a child; returns its exit status. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	CHECK(pid >= 0);
	if (!pid)
		_exit(fn());
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Read the text that a child writes to standard error, until it has `until`. */
static void errors_of(void (*fn)(void), char *text, size_t size,
		      const char *until)
{
	size_t length = 0;
	int ends[2];
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (dup2(ends[1], STDERR_FILENO) < 0)
			_exit(1);
		close(ends[0]);
		close(ends[1]);
		fn();
		_exit(0);
	}
	close(ends[1]);
	do {
		ssize_t n = read(ends[0], text + length, size - 1 - length);

		if (n <= 0)
			break;
		length += (size_t)n;
		text[length] = '\0';
	} while (!until || !strstr(text, until));
	text[length] = '\0';
	close(ends[0]);
	/* A child that waits for ever is of this test. */
	(void)kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void hold_for_ever(void)
{
	weir_sem sem;

	watch(&sem, 2, "of_the_child");
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (;;)
		pause();
}

TEST(reports_go_to_standard_error)
{
	char text[4096];

	if (UNDER_TSAN)
		return;
	errors_of(hold_for_ever, text, sizeof(text), "> hang.weir\n");
	CHECK(!strncmp(text, "weir: HELD TOO LONG  of_the_child: since ", 41));
	CHECK(strstr(text, "verdict  FINE\n  more  weir explain "));
}

static void load_with_bad_words(void)
{
	setenv("WEIR_DIAG", "all,watchdogs,report=x", 1);
	execl("/proc/self/exe", "diag-watchdog", "none", (char *)NULL);
}

TEST(the_first_bad_word_is_reported_once)
{
	static const char line[] = "weir: WEIR_DIAG: unknown word or value: "
				   "watchdogs\n";
	char text[4096];
	const char *at;

	errors_of(load_with_bad_words, text, sizeof(text), NULL);
	at = strstr(text, line);
	CHECK(at);
	CHECK(!strstr(at + sizeof(line) - 1, "WEIR_DIAG"));
}

/* The child has a registry and a watchdog of its own. */
static int child_watches(void)
{
	weir_sem sem;

	used = 0;
	if (watchdogs(NULL))
		return 1;
	watch(&sem, 2, "of_the_child");
	if (weir_sem_acquire(&sem, 1, NULL))
		return 2;
	AWAIT(watchdogs(NULL) == 1);
	AWAIT(count("weir: HELD TOO LONG  of_the_child: since "));
	return 0;
}

TEST(the_child_of_a_fork_starts_its_own)
{
	/* ThreadSanitizer allows no threads there. */
	if (UNDER_TSAN)
		return;
	begin();
	CHECK_EQ(in_child(child_watches), 0);
	end();
	CHECK_EQ(watchdogs(NULL), 1);
}

/*
 * The two ends of a process.  They run in a new program, not in the child of a
 * fork: there, musl does not let the first thread end before others.
 */
#define ENDS "WEIR_TEST_ENDS"

TEST(ends_its_thread)
{
	if (!getenv(ENDS))
		return;
	AWAIT(watchdogs(NULL) == 1);
	pthread_exit(NULL);
}

TEST(exits)
{
	if (!getenv(ENDS))
		return;
	AWAIT(watchdogs(NULL) == 1);
	exit(3);
}

static int in_program(const char *test)
{
	pid_t pid = fork();
	int status = 0;

	CHECK(pid >= 0);
	if (!pid) {
		setenv(ENDS, "1", 1);
		execl("/proc/self/exe", "diag-watchdog", test, (char *)NULL);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(the_thread_does_not_keep_the_process_alive)
{
	CHECK_EQ(in_program("exits"), 3);
	/* ThreadSanitizer has a thread of its own, which does not end. */
	if (!UNDER_TSAN)
		CHECK_EQ(in_program("ends_its_thread"), 0);
}
