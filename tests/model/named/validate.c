/* SPDX-License-Identifier: MIT */
/*
 * Run the programs of programs.h on the model of the kernel, one scenario each.
 * tests/named/kernel.c runs them on the kernel; both expect the same outcomes.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/shared.h"
#include "programs.h"
#include "world.h"

enum { ACTORS = 4, WORDS = 10, ARGS = 3, NONE = 9 };

static struct actor {
	char verb[16];
	int64_t args[ARGS];
	int count;
	uint32_t busy;
	char answer[16];
} actors[ACTORS];

static uint32_t words[WORDS];
static char outcome[512];

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
static const char *enter(const int64_t *args, unsigned count)
{
	struct weir_alive_word_ *list = (void *)&words[args[0]];

	for (unsigned i = 0; i < count; i++)
		list[i].word = weir_alive_value_();
	(void)weir_robust_enter_(NULL, list, count,
				 args[1] == NONE ? NULL : &words[args[1]]);
	return "";
}

static const char *sleep_on(const int64_t *args, int count, bool late)
{
	int64_t deadline = late ? ex->now_ns + 1000000 : WEIR_FOREVER;
	struct weir_watch_ watches[ARGS];
	enum weir_woke_ woke;

	for (int i = 0; i < count; i++)
		watches[i] = (struct weir_watch_){ &words[args[i]],
						   words[args[i]] };
	woke = weir_shared_wait_any_(watches, (unsigned)count, deadline);
	return woke == WEIR_WOKEN_ ? "woken" :
	       woke == WEIR_WOKE_LATE_ ? "late" : "signal";
}

static const char *execute(const struct actor *a, int fd)
{
	uint32_t *word = &words[a->args[0] % WORDS];
	const char *verb = a->verb;

	if (!strcmp(verb, "enter"))
		return enter(a->args, 1);
	if (!strcmp(verb, "enter2"))
		return enter(a->args, 2);
	if (!strcmp(verb, "leave"))
		weir_robust_leave_(NULL);
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
		return weir_shared_move_(word, &words[a->args[1]]) ? "yes" : "no";
	else if (!strcmp(verb, "set"))
		*word = (uint32_t)a->args[1];
	else if (!strcmp(verb, "lock"))
		return weir_nm_byte_lock_(fd, a->args[0]) ? "yes" : "no";
	else if (!strcmp(verb, "unlock"))
		weir_nm_byte_unlock_(fd, a->args[0]);
	else if (!strcmp(verb, "query"))
		return weir_nm_byte_is_locked_(fd, a->args[0]) ? "yes" : "no";
	else
		ex_fail("verb %s", verb);
	return "";
}

static void act(void)
{
	struct actor *a = &actors[proc_self()];
	int fd = world_open();

	for (;;) {
		while (!a->busy)
			ex_yield();
		if (!strcmp(a->verb, "end"))
			proc_exit();
		(void)snprintf(a->answer, sizeof(a->answer), "%s",
			       execute(a, fd));
		a->busy = 0;
		ex->writes++;
	}
}

/*
 * The driver, process 4.
 */
static void settle(bool late)
{
	if (late)
		weir_futex_nap_(2000000);
	else
		weir_cpu_yield_();	/* until no other thread can go on */
	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &actors[i];

		if (!a->busy && *a->answer) {
			say("%c %s; ", 'A' + i, a->answer);
			*a->answer = '\0';
		}
	}
}

static void step(int i)
{
	struct actor *a = &actors[i];

	if (!strcmp(a->verb, "kill")) {
		proc_destroy(i);
	} else if (!strcmp(a->verb, "stop")) {
		proc_stop(i);
	} else if (!strcmp(a->verb, "cont")) {
		proc_continue(i);
	} else {
		a->busy = 1;
		ex->writes++;
		if (!strcmp(a->verb, "end")) {
			weir_cpu_yield_();
			proc_destroy(i);
		}
	}
}

static const char *parse(const char *steps, bool *late)
{
	int i = *steps - 'A', length = 0;
	struct actor *a = &actors[i];

	if (sscanf(steps + 1, " %15[a-z2]%n", a->verb, &length) != 1)
		ex_fail("no verb: %s", steps);
	steps += 1 + length;
	for (a->count = 0; *steps == ' '; a->count++, steps += length)
		if (sscanf(steps, "%" SCNd64 "%n", &a->args[a->count],
			   &length) != 1)
			ex_fail("no number: %s", steps);
	*late = !strcmp(a->verb, "late");
	step(i);
	return *steps ? steps + 2 : steps;
}

static const struct kernel_program *program_of_scenario(void)
{
	for (size_t i = 0; i < KERNEL_PROGRAMS; i++)
		if (!strcmp(ex->scenario->name + strlen("kernel_"),
			    kernel_programs[i].name))
			return &kernel_programs[i];
	ex_fail("no such program");
}

static void drive(void)
{
	const struct kernel_program *program = program_of_scenario();
	const char *steps = program->steps, *rest;
	bool late = false;
	size_t length;

	proc_let_time_pass();
	while (*steps) {
		settle(late);
		steps = parse(steps, &late);
	}
	settle(late);
	for (int i = 0; i < ACTORS; i++)
		if (actors[i].busy && proc_status(i) == EX_RUNNING)
			say("%c asleep; ", 'A' + i);
	for (int i = 0; i < WORDS; i++) {
		if (i >= 4 && words[i] & UINT32_C(0x80000000))
			say("w%d=%s ", i,
			    words[i] & WEIR_DIED_ ? "died" : "alive");
		else if (words[i])
			say("w%d=%u ", i, words[i]);
	}
	while (*outcome && outcome[strlen(outcome) - 1] == ' ')
		outcome[strlen(outcome) - 1] = '\0';
	/* The first one, if there are several. */
	length = strlen(outcome);
	rest = program->outcome + length;
	if (strncmp(outcome, program->outcome, length) ||
	    (*rest && strncmp(rest, " or ", 4)))
		ex_fail("outcome \"%s\", not \"%s\"", outcome,
			program->outcome);
	for (int i = 0; i < ACTORS; i++)
		proc_destroy(i);
}

static void no_setup(void)
{
}

/* The driver has come to its end: it has compared the outcome. */
static void check(void)
{
	EX_ASSERT(*outcome || !*program_of_scenario()->outcome);
	EX_ASSERT(proc_status(0) == EX_CLOSED);
}

__attribute__((constructor)) static void register_programs(void)
{
	struct ex_scenario *all = calloc(KERNEL_PROGRAMS, sizeof(*all));
	char *names = calloc(KERNEL_PROGRAMS, 80);

	if (!all || !names)
		abort();
	for (size_t i = 0; i < KERNEL_PROGRAMS; i++) {
		char *name = names + i * 80;

		(void)snprintf(name, 80, "kernel_%s", kernel_programs[i].name);
		all[i] = (struct ex_scenario){
			.name = name,
			.setup = no_setup,
			.check = check,
			.threads = { act, act, act, act, drive },
		};
		ex_register(&all[i]);
	}
}
