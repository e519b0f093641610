/* SPDX-License-Identifier: MIT */
/*
 * The kernel services that src/named relies on (base/shared.h and byte locks):
 * run the programs of tests/model/named/programs.h on this kernel.  The explorer
 * runs them on its model of the kernel and expects the same outcomes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../model/named/programs.h"
#include "base/shared.h"
#include "named/handle.h"
#include "process.h"
#include "puppet.h"

enum { ACTORS = 4, WORDS = 10, ARGS = 3, NONE = 9 };

enum state { STARTING, IDLE, BUSY, STOPPED, DEAD };

struct actor {
	enum state state;	/* by the test, and the actor: BUSY -> IDLE */
	pid_t pid;
	char seen[16];		/* its process id in /proc */
	int pipe[2];
	char verb[16];
	int64_t args[ARGS];
	int count;
	char answer[16];
};

static struct shared {
	uint32_t words[WORDS];
	struct actor actors[ACTORS];
} *shared;

static char path[64], outcome[512];

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	size_t at = strlen(outcome);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(outcome + at, sizeof(outcome) - at, format, args);
	va_end(args);
}

/*
 * An actor.
 */
static struct weir_robust_ robust;

static const char *enter(const int64_t *args, unsigned count)
{
	/* The words of a list have a stride of two. */
	struct weir_alive_word_ *words = (void *)&shared->words[args[0]];

	for (unsigned i = 0; i < count; i++)
		words[i].word = weir_alive_value_();
	CHECK(weir_robust_enter_(&robust, words, count,
				 args[1] == NONE ? NULL :
						   &shared->words[args[1]]));
	return "";
}

static const char *sleep_on(const int64_t *args, int count, bool late)
{
	int64_t deadline = late ? weir_deadline_after(1000000) : WEIR_FOREVER;
	struct weir_watch_ watches[ARGS];
	enum weir_woke_ woke;

	for (int i = 0; i < count; i++)
		watches[i] = (struct weir_watch_){ &shared->words[args[i]],
						   shared->words[args[i]] };
	woke = count == 1 ? weir_shared_wait_(watches[0].word,
					      watches[0].value, deadline) :
			    weir_shared_wait_any_(watches, (unsigned)count,
						  deadline);
	return woke == WEIR_WOKEN_ ? "woken" :
	       woke == WEIR_WOKE_LATE_ ? "late" : "signal";
}

static const char *execute(const struct actor *a, int fd)
{
	uint32_t *word = &shared->words[a->args[0] % WORDS];
	const char *verb = a->verb;

	if (!strcmp(verb, "enter"))
		return enter(a->args, 1);
	if (!strcmp(verb, "enter2"))
		return enter(a->args, 2);
	if (!strcmp(verb, "leave"))
		weir_robust_leave_(&robust);
	else if (!strcmp(verb, "wait"))
		return sleep_on(a->args, a->count, false);
	else if (!strcmp(verb, "late"))
		return sleep_on(a->args, a->count, true);
	else if (!strcmp(verb, "wake"))
		weir_shared_wake_(word);
	else if (!strcmp(verb, "wakeall"))
		weir_shared_wake_all_(word);
	else if (!strcmp(verb, "sleepers"))
		return weir_shared_sleepers_(word) ? "yes" : "no";
	else if (!strcmp(verb, "move"))
		return weir_shared_move_(word, &shared->words[a->args[1]]) ? "yes" : "no";
	else if (!strcmp(verb, "set"))
		*word = (uint32_t)a->args[1];
	else if (!strcmp(verb, "lock"))
		return weir_nm_byte_lock_(fd, a->args[0]) ? "yes" : "no";
	else if (!strcmp(verb, "unlock"))
		weir_nm_byte_unlock_(fd, a->args[0]);
	else if (!strcmp(verb, "query"))
		return weir_nm_byte_is_locked_(fd, a->args[0]) ? "yes" : "no";
	else if (!strcmp(verb, "end"))
		syscall(SYS_exit, 0);
	else
		check_fail(__FILE__, __LINE__, "verb %s", verb);
	return "";
}

static void act(struct actor *a)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char byte;

	CHECK(fd >= 0);
	/* /proc may be that of an outer PID namespace. */
	CHECK(readlink("/proc/self", a->seen, sizeof(a->seen) - 1) > 0);
	__atomic_store_n(&a->state, IDLE, __ATOMIC_RELEASE);
	while (read(a->pipe[0], &byte, 1) == 1) {
		(void)snprintf(a->answer, sizeof(a->answer), "%s",
			       execute(a, fd));
		__atomic_store_n(&a->state, IDLE, __ATOMIC_RELEASE);
	}
	_exit(0);
}

/*
 * The test.
 */
static void read_proc(const char *process, const char *what, char *text, size_t size)
{
	char name[64];
	ssize_t got = -1;
	int fd;

	(void)snprintf(name, sizeof(name), "/proc/%s/%s", process, what);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, size - 1);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

/* The state of the process in /proc: S, T and so on. */
static char kernel_state(const struct actor *a)
{
	char text[512];
	const char *end;

	read_proc(a->seen, "stat", text, sizeof(text));
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : '?';
}

static bool sleeps(const struct actor *a)
{
	char text[256];
	long number = -1;

	if (kernel_state(a) != 'S')
		return false;
	read_proc(a->seen, "syscall", text, sizeof(text));
	return sscanf(text, "%ld", &number) == 1 &&
	       (number == SYS_futex || number == 449);
}

static bool is_settled(const struct actor *a)
{
	switch (__atomic_load_n(&a->state, __ATOMIC_ACQUIRE)) {
	case BUSY:
		return strcmp(a->verb, "late") && sleeps(a);
	case STOPPED:
		return kernel_state(a) == 'T';
	default:
		return true;
	}
}

/* Wait until no actor runs; add their answers to the outcome. */
static void settle(void)
{
	/* Twice: the actor of the last step may wake others until it is idle. */
	for (int i = 0; i < ACTORS; i++)
		AWAIT(is_settled(&shared->actors[i]));
	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &shared->actors[i];

		AWAIT(is_settled(a));
		if (a->state == IDLE && *a->answer) {
			say("%c %s; ", 'A' + i, a->answer);
			*a->answer = '\0';
		}
	}
}

static void reap(struct actor *a)
{
	int status;

	AWAIT(waitpid(a->pid, &status, WNOHANG) == a->pid);
	a->state = DEAD;
}

static void step(struct actor *a)
{
	if (!strcmp(a->verb, "kill")) {
		CHECK(process_signal(a->pid, SIGKILL));
		reap(a);
	} else if (!strcmp(a->verb, "stop")) {
		a->answer[0] = a->state == IDLE ? 'i' : 'b';
		a->state = STOPPED;
		CHECK(process_signal(a->pid, SIGSTOP));
	} else if (!strcmp(a->verb, "cont")) {
		a->state = a->answer[0] == 'i' ? IDLE : BUSY;
		a->answer[0] = '\0';
		CHECK(process_signal(a->pid, SIGCONT));
		AWAIT(kernel_state(a) != 'T');
	} else {
		CHECK_EQ(a->state, IDLE);
		__atomic_store_n(&a->state, BUSY, __ATOMIC_RELEASE);
		CHECK_EQ(write(a->pipe[1], "x", 1), 1);
		if (!strcmp(a->verb, "end"))
			reap(a);
	}
}

/* Read one step; returns the rest. */
static const char *parse(const char *steps)
{
	struct actor *a = &shared->actors[*steps - 'A'];
	int length = 0;

	CHECK_EQ(sscanf(steps + 1, " %15[a-z2]%n", a->verb, &length), 1);
	steps += 1 + length;
	for (a->count = 0; *steps == ' '; a->count++, steps += length)
		CHECK_EQ(sscanf(steps, "%" SCNd64 "%n", &a->args[a->count],
				&length), 1);
	step(a);
	return *steps ? steps + 2 : steps;
}

static void begin(void)
{
	memset(shared, 0, sizeof(*shared));
	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &shared->actors[i];
		pid_t pid;

		CHECK_EQ(pipe(a->pipe), 0);
		a->state = STARTING;
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			act(a);
		a->pid = pid;
		AWAIT(__atomic_load_n(&a->state, __ATOMIC_ACQUIRE) == IDLE);
	}
}

static void finish_program(void)
{
	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &shared->actors[i];

		if (a->state == BUSY)
			say("%c asleep; ", 'A' + i);
	}
	for (int i = 0; i < WORDS; i++) {
		uint32_t word = shared->words[i];
		bool owned = i >= 4 && word & UINT32_C(0x80000000);

		if (owned)
			say("w%d=%s ", i, word & WEIR_DIED_ ? "died" : "alive");
		else if (word)
			say("w%d=%u ", i, word);
	}
	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &shared->actors[i];

		if (a->state != DEAD) {
			CHECK(process_signal(a->pid, SIGKILL));
			reap(a);
		}
		close(a->pipe[0]);
		close(a->pipe[1]);
	}
	while (*outcome && outcome[strlen(outcome) - 1] == ' ')
		outcome[strlen(outcome) - 1] = '\0';
}

/* Whether the outcome is one of these, which are separated by " or ". */
static bool is_one_of(const char *outcomes)
{
	static const char or[] = " or ";
	size_t length = strlen(outcome);

	for (const char *next; outcomes; outcomes = next) {
		next = strstr(outcomes, or);
		if (length == (next ? (size_t)(next - outcomes) :
				      strlen(outcomes)) &&
		    !memcmp(outcome, outcomes, length))
			return true;
		if (next)
			next += sizeof(or) - 1;
	}
	return false;
}

static void run(const struct kernel_program *program)
{
	const char *steps = program->steps;

	outcome[0] = '\0';
	begin();
	while (*steps) {
		settle();
		steps = parse(steps);
	}
	settle();
	finish_program();
	if (!is_one_of(program->outcome))
		check_fail(__FILE__, __LINE__, "%s: outcome \"%s\", not \"%s\"",
			   program->name, outcome, program->outcome);
}

NAMESPACE_TEST(kernel_behaves_like_the_model)
{
	char text[64];
	int fd;

	read_proc("self", "syscall", text, sizeof(text));
	if (!*text) {
		check_skip("/proc does not show system calls");
		return;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	(void)snprintf(path, sizeof(path), "/dev/shm/weir-kernel-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	for (size_t i = 0; i < KERNEL_PROGRAMS; i++)
		run(&kernel_programs[i]);
	close(fd);
	unlink(path);
}
