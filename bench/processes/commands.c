/* SPDX-License-Identifier: MIT */
/*
 * true(1) under a free limit: with `weir run`, with `flock`, with GNU `sem`,
 * and without a limit, each timed from start to end.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"

extern char **environ;

#define TIMES_MAX 20000
#define ARGS_MAX 9

const char *weir_command(void)
{
	const char *installed = getenv("WEIR_COMMAND");

	return installed ? installed : WEIR_COMMAND;
}

bool run_command(const char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	char *copy[ARGS_MAX] = { NULL };
	int status, failed;
	pid_t pid;

	must(posix_spawn_file_actions_init(&quiet) == 0 &&
	     posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY,
					      0) == 0 &&
	     posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY,
					      0) == 0, "posix_spawn");
	for (size_t i = 0; argv[i]; i++) {
		must(i + 1 < ARGS_MAX, argv[i]);
		copy[i] = strdup(argv[i]);
		must(copy[i] != NULL, "strdup");
	}
	failed = posix_spawnp(&pid, copy[0], &quiet, NULL, copy, environ);
	for (size_t i = 0; argv[i]; i++)
		free(copy[i]);
	posix_spawn_file_actions_destroy(&quiet);
	if (failed == ENOENT)
		return false;
	must(!failed, argv[0]);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0, argv[0]);
	return true;
}

void measure_command(const struct bench_args *args)
{
	static char lock[200];
	static double times[TIMES_MAX];
	const struct {
		const char *kind;
		const char *argv[ARGS_MAX];
	} commands[] = {
		{ "weir-run", { weir_command(), "run", "bench", "-n", "1", "-q",
				"--", "true", NULL } },
		{ "flock-run", { "flock", lock, "true", NULL } },
		{ "sem-run", { "sem", "--will-cite", "--id", "weir-bench",
			       "--fg", "true", NULL } },
		{ "exec", { "true", NULL } },
	};
	const char *const *argv = NULL;
	int64_t end;
	size_t count = 0;

	(void)snprintf(lock, sizeof(lock), "%s/lock", scratch_folder());
	/* GNU sem stores its files in the home directory. */
	must(!setenv("WEIR_DIR", scratch_folder(), 1) &&
	     !setenv("HOME", scratch_folder(), 1), "setenv");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].kind, args->kind))
			argv = commands[i].argv;
	if (!argv)
		bench_cannot(args->kind);
	/* The first run creates the files that later runs use. */
	if (!run_command(argv))
		bench_cannot(argv[0]);
	end = now_ns() + args->ms * 1000000;
	while (count < 5 || (now_ns() < end && count < TIMES_MAX)) {
		int64_t start = now_ns();

		(void)run_command(argv);
		times[count++] = (double)(now_ns() - start);
	}
	printf("{\"ns\": %.0f, \"count\": %zu}\n", median_of(times, count),
	       count);
}
