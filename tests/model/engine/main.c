/* SPDX-License-Identifier: MIT */
/* The explorer as a command; README.md describes its use. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#if EX_PROCESSES
#include "process.h"
#endif
#include "weir/base.h"

#define SCENARIOS_MAX 512

/* model-races: the core reports its plain accesses to races.c. */
#ifndef EX_RACES
#define EX_RACES 0
#endif
#ifndef EX_PROGRAM
#define EX_PROGRAM (EX_RACES ? "model-races" : "model")
#define EX_TITLE "model"
#define EX_MANY_CPUS "many CPUs"
#else
#define EX_MANY_CPUS EX_TITLE ", many CPUs"
#endif
#define EX_NAME                                                                \
	(ex->watched ? "watched" :                                             \
	 ex->stale  ? "stale reads" :                                          \
	 ex->races  ? "races" :                                                \
	 ex->delays ? "delayed stores" :                                       \
	 ex->spins  ? EX_MANY_CPUS : EX_TITLE)

static struct command {
	const struct ex_scenario *scenarios[SCENARIOS_MAX];
	int count;
	int at_least, at_most;		/* limits for the scenarios' bounds */
	uint64_t random_runs;		/* of each kind, for each scenario */
	uint64_t seed;
	const char *replay;
	bool depth_first, list;
	int jobs;
} *command;

/* Shared by the processes of --jobs. */
static struct totals {
	int next;			/* scenario to explore */
	int passed, failed;
	uint64_t schedules;
	int at_bound[EX_BOUND_MAX + 1];
} *totals;

void ex_register(const struct ex_scenario *s)
{
	/* A constructor calls this before main creates the engine. */
	if (!command)
		command = calloc(1, sizeof(*command));
	if (!command || command->count == SCENARIOS_MAX)
		abort();
	command->scenarios[command->count++] = s;
}

static void on_panic(const char *text)
{
#if EX_PROCESSES
	proc_check();
#endif
	if (!ex->panics_expected)
		ex_fail("panic: %s", text);
}

/*
 * A bug may crash, or loop without an atomic access.  The first write to a page in a
 * scenario is no crash.
 */
static void on_crash(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (signal == SIGSEGV && ex_state_fault(info->si_addr))
		return;
	if (!ex->scenario)
		_Exit(128 + signal);
	ex_fail("crash: %s", signal == SIGSEGV ? "SIGSEGV" :
			     signal == SIGBUS  ? "SIGBUS" :
			     signal == SIGFPE  ? "SIGFPE" :
						 "SIGABRT");
}

/* Two ticks in the same run: an endless loop. */
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
	const int flags = SA_ONSTACK | SA_NODEFER;
	struct sigaction action = { .sa_sigaction = on_crash,
				    .sa_flags = flags | SA_SIGINFO };
	const struct itimerval often = { { 2, 0 }, { 2, 0 } };
	stack_t stack = { .ss_size = 65536 };

	stack.ss_sp = malloc(stack.ss_size);
	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		abort();
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	action.sa_handler = on_tick;
	action.sa_flags = flags | SA_RESTART;
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
	printf("replay: %s%s%s --spin %u --replay '",
	       EX_PROGRAM,
	       ex->delays ? " --delays" : ex->stale ? " --stale" : "",
	       ex->watched ? " --watched" : "", ex->spins);
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
	ex_state_new_scenario();
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
	printf("ok %s: %" PRIu64 " schedules at bound %d%s, %" PRIu64
	       " at random\n", s->name, depth_first, bound,
	       ex->exhausted ? "" : " (there are more)",
	       ex->runs - depth_first);
	if (command->depth_first && ex->exhausted)
		for (int b = 0; b <= bound; b++)
			__atomic_fetch_add(&totals->at_bound[b], 1,
					   __ATOMIC_RELAXED);
	return true;
}

static void run_scenario(const struct ex_scenario *s)
{
	bool passed = explore(s);

	if (!passed && !command->replay)
		report();
	__atomic_fetch_add(&totals->schedules, ex->runs, __ATOMIC_RELAXED);
	__atomic_fetch_add(passed ? &totals->passed : &totals->failed, 1,
			   __ATOMIC_RELAXED);
}

/* CPU time of this program and its children: the machine may be busy. */
static double cpu_seconds(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(self.ru_utime.tv_sec + children.ru_utime.tv_sec) +
	       (double)(self.ru_utime.tv_usec + children.ru_utime.tv_usec) / 1e6;
}

static bool is_selected(const char *name, char **names)
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
	"  --list           print the names of the scenarios\n"
	"  --at-least N     raise the bound of each scenario to at least N\n"
	"  --at-most N      lower the bound of each scenario to at most N\n"
	"  --enough N       depth first, explore at most N schedules of each\n"
	"  --random N       also N runs by PCT and N random runs (2000)\n"
	"  --seed S         seed of the PCT and random runs (1)\n"
	"  --only-random    no depth-first search\n"
	"  --delays         (model-races) delay stores instead of finding races\n"
	"  --stale          (model-races) loads may also return older values\n"
	"  --watched        the semaphores of the scenarios are watched\n"
	"  --spin N         many CPUs: threads spin N rounds before they sleep (0)\n"
	"  --jobs N         use N processes\n"
	"  --replay 'P:C..' replay this schedule and print its steps\n";

static void read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "at-least", required_argument, NULL, 'b' },
		{ "at-most", required_argument, NULL, 'm' },
		{ "enough", required_argument, NULL, 'e' },
		{ "random", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "only-random", no_argument, NULL, 'o' },
		{ "delays", no_argument, NULL, 'd' },
		{ "stale", no_argument, NULL, 't' },
		{ "watched", no_argument, NULL, 'w' },
		{ "spin", required_argument, NULL, 'c' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "replay", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	command->jobs = 1;
	command->depth_first = true;
	command->at_most = EX_BOUND_MAX;
	command->random_runs = 2000;
	command->seed = 1;
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'l': command->list = true; break;
		case 'b': command->at_least = atoi(optarg); break;
		case 'm': command->at_most = atoi(optarg); break;
		case 'e': ex->enough = strtoull(optarg, NULL, 0); break;
		case 'r': command->random_runs = strtoull(optarg, NULL, 0); break;
		case 's': command->seed = strtoull(optarg, NULL, 0) | 1; break;
		case 'o': command->depth_first = false; break;
		case 'd': ex->delays = EX_RACES; break;
		case 't': ex->stale = EX_RACES; break;
		case 'w': ex->watched = true; break;
		case 'c': ex->spins = (uint32_t)atoi(optarg); break;
		case 'j': command->jobs = atoi(optarg); break;
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

/* Explore scenarios until none is left; the processes share them. */
static void run_scenarios(char **names)
{
	for (;;) {
		int i = __atomic_fetch_add(&totals->next, 1, __ATOMIC_RELAXED);

		if (i >= command->count)
			return;
		if (is_selected(command->scenarios[i]->name, names))
			run_scenario(command->scenarios[i]);
	}
}

static void run_jobs(char **names)
{
	int status;

	for (int i = 1; i < command->jobs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			abort();
		if (!pid) {
			catch_crashes();	/* a fork stops the timer */
			run_scenarios(names);
			exit(0);
		}
	}
	run_scenarios(names);
	while (wait(&status) > 0)
		if (status)
			__atomic_fetch_add(&totals->failed, 1,
					   __ATOMIC_RELAXED);
}

static int list_scenarios(void)
{
	for (int i = 0; i < command->count; i++)
		puts(command->scenarios[i]->name);
	return 0;
}

static int sum_up(void)
{
	int count = totals->passed + totals->failed;

	printf("evidence: %s: scenarios | %d, of them %d exhausted at bound 1 "
	       "or more, %d at 2 or more, %d at 3 or more\n", EX_NAME, count,
	       totals->at_bound[1], totals->at_bound[2],
	       totals->at_bound[3]);
	printf("evidence: %s: schedules | %" PRIu64 " (%.0f a second and core)"
	       "\n", EX_NAME, totals->schedules,
	       (double)totals->schedules / cpu_seconds());
	printf("%d passed, %d failed\n", totals->passed, totals->failed);
	return totals->failed || !totals->passed;
}

int main(int argc, char **argv)
{
	ex = calloc(1, sizeof(*ex));
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!ex || !command || totals == MAP_FAILED)
		abort();
	ex->self = -1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_options(argc, argv);
	if (command->list)
		return list_scenarios();
	if (ex->stale)
		ex->delays = false;
	ex->races = EX_RACES && !ex->delays;
	weir_set_panic_hook(on_panic);
	catch_crashes();
	ex_state_begin();
	run_jobs(argv + optind);
	return sum_up();
}
