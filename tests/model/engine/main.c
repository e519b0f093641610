/* SPDX-License-Identifier: MIT */
/* The explorer as a command.  README.md says how it is used. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "engine.h"
#include "weir/base.h"

#define SCENARIOS_MAX 256

/* The same engine in a program whose core tells its plain accesses: races.c. */
#ifndef EX_RACES
#define EX_RACES 0
#endif
#define EX_NAME (ex->races ? "races" : ex->delays ? "delayed stores" : "model")

static struct command {
	const struct ex_scenario *scenarios[SCENARIOS_MAX];
	int count;
	int at_least, at_most;		/* bounds; each scenario has its own */
	uint64_t random_runs;		/* of each kind, for each scenario */
	uint64_t seed;
	const char *replay;
	bool depth_first, list;
	uint64_t total;
	int at_bound[8];
} *command;

void ex_register(const struct ex_scenario *s)
{
	/* Before main, and before the engine. */
	if (!command)
		command = calloc(1, sizeof(*command));
	if (!command || command->count == SCENARIOS_MAX)
		abort();
	command->scenarios[command->count++] = s;
}

static void on_panic(const char *text)
{
	if (!ex->panics_expected)
		ex_fail("panic: %s", text);
}

/*
 * A bug may well crash, or loop where no atomic is in sight.
 */
static void on_crash(int signal)
{
	if (!ex->scenario)
		_Exit(128 + signal);
	ex_fail("crash: %s", signal == SIGSEGV ? "SIGSEGV" :
			     signal == SIGBUS  ? "SIGBUS" :
			     signal == SIGFPE  ? "SIGFPE" :
						 "SIGABRT");
}

/* Seconds in one and the same run: a loop without end. */
static void on_tick(int signal)
{
	(void)signal;
	if (ex->scenario && ex->self >= 0 && ex->tick_run == ex->runs)
		ex_fail("hangs without an atomic access");
	ex->tick_run = ex->runs;
}

static void catch_crashes(void)
{
	const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGABRT };
	struct sigaction action = { .sa_handler = on_crash,
				    .sa_flags = SA_ONSTACK | SA_NODEFER };
	const struct itimerval often = { { 2, 0 }, { 2, 0 } };
	stack_t stack = { .ss_size = 65536 };

	stack.ss_sp = malloc(stack.ss_size);
	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		abort();
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	action.sa_handler = on_tick;
	action.sa_flags |= SA_RESTART;
	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
}

/*
 * One scenario.
 */
static void report(void)
{
	printf("FAIL %s after %" PRIu64 " schedules: %s\n", ex->scenario->name,
	       ex->runs, ex->message);
	ex_shrink();
	printf("replay: %s%s --replay '", EX_RACES ? "model-races" : "model",
	       ex->delays ? " --delays" : "");
	ex_trace_schedule();
	printf(" ' %s\n", ex->scenario->name);
	ex->tracing = true;
	(void)ex_run();
	ex_trace_end();
	ex->tracing = false;
	printf("     %s\n", ex->message);
}

static int bound_of(const struct ex_scenario *s)
{
	return s->bound < command->at_least ? command->at_least :
	       s->bound > command->at_most  ? command->at_most :
					      s->bound;
}

static bool explore(const struct ex_scenario *s)
{
	uint64_t depth_first;
	int bound = bound_of(s);

	ex->scenario = s;
	ex->runs = ex->abandoned_runs = 0;
	ex->random = command->seed;
	if (command->replay) {
		ex->tracing = true;
		if (ex_replay(command->replay))
			return true;
		ex_trace_end();
		printf("FAIL %s: %s\n", s->name, ex->message);
		return false;
	}
	if (command->depth_first && !ex_depth_first(bound))
		return false;
	depth_first = ex->runs;
	if (!ex_random(EX_PCT, command->random_runs) ||
	    !ex_random(EX_RANDOM, command->random_runs))
		return false;
	printf("ok %s: %" PRIu64 " schedules at bound %d, %" PRIu64
	       " at random\n", s->name, depth_first, bound,
	       ex->runs - depth_first);
	if (command->depth_first)
		for (int b = 0; b <= bound && b < 8; b++)
			command->at_bound[b]++;
	return true;
}

static bool run_scenario(const struct ex_scenario *s)
{
	bool passed = explore(s);

	if (!passed && !command->replay)
		report();
	command->total += ex->runs;
	return passed;
}

/* Of this process alone: the machine may have other work. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static const char help[] =
	"usage: model [OPTION]... [SCENARIO]...\n"
	"Explore the schedules of scenarios: all of them, or those named.\n"
	"  --list           say which there are\n"
	"  --at-least N     a bound of at least N (each scenario has its own)\n"
	"  --at-most N      and of at most N\n"
	"  --random N       also N runs by PCT and N at random (2000)\n"
	"  --seed S         for those\n"
	"  --only-random    nothing else\n"
	"  --delays         (model-races) delay stores, do not look for races\n"
	"  --replay 'P:C..' that schedule, with a trace\n";

static void read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "at-least", required_argument, NULL, 'b' },
		{ "at-most", required_argument, NULL, 'm' },
		{ "random", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "only-random", no_argument, NULL, 'o' },
		{ "delays", no_argument, NULL, 'd' },
		{ "replay", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	command->depth_first = true;
	command->at_most = EX_BOUND_MAX;
	command->random_runs = 2000;
	command->seed = 1;
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'l': command->list = true; break;
		case 'b': command->at_least = atoi(optarg); break;
		case 'm': command->at_most = atoi(optarg); break;
		case 'r': command->random_runs = strtoull(optarg, NULL, 0); break;
		case 's': command->seed = strtoull(optarg, NULL, 0) | 1; break;
		case 'o': command->depth_first = false; break;
		case 'd': ex->delays = EX_RACES; break;
		case 'p': command->replay = optarg; break;
		case 'h': fputs(help, stdout); exit(0);
		default: fputs(help, stderr); exit(2);
		}
	}
	if (command->at_least > EX_BOUND_MAX) {
		fprintf(stderr, "model: a bound is at most %d\n", EX_BOUND_MAX);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;
	double begun = seconds();

	ex = calloc(1, sizeof(*ex));
	if (!ex || !command)
		abort();
	ex->self = -1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_options(argc, argv);
	ex->races = EX_RACES && !ex->delays;
	weir_set_panic_hook(on_panic);
	catch_crashes();
	ex_state_begin();
	for (int i = 0; i < command->count; i++) {
		const struct ex_scenario *s = command->scenarios[i];

		if (!wanted(s->name, argv + optind))
			continue;
		if (command->list)
			puts(s->name);
		else if (run_scenario(s))
			passed++;
		else
			failed++;
	}
	if (command->list)
		return 0;
	printf("evidence: %s: scenarios | %d, of them %d exhausted at bound 2 "
	       "or more, %d at 3 or more\n", EX_NAME, passed + failed,
	       command->at_bound[2], command->at_bound[3]);
	printf("evidence: %s: schedules | %" PRIu64 " (%.0f a second of CPU time)\n",
	       EX_NAME, command->total,
	       (double)command->total / (seconds() - begun));
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}
