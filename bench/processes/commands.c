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

/* Returns false if the command is not installed. */
static bool run(char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	int status, failed;
	pid_t pid;

	must(posix_spawn_file_actions_init(&quiet) == 0 &&
	     posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY,
					      0) == 0, "posix_spawn");
	failed = posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ);
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
		const char *argv[9];
	} commands[] = {
		{ "weir-run", { WEIR_COMMAND, "run", "bench", "-n", "1", "-q",
				"--", "true", NULL } },
		{ "flock-run", { "flock", lock, "true", NULL } },
		{ "sem-run", { "sem", "--will-cite", "--id", "weir-bench",
			       "--fg", "true", NULL } },
		{ "exec", { "true", NULL } },
	};
	const char *const *argv = NULL;
	char *copy[9] = { NULL };
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
	for (size_t i = 0; argv[i]; i++) {
		copy[i] = strdup(argv[i]);
		must(copy[i] != NULL, "strdup");
	}
	/* The first run creates the files that later runs use. */
	if (!run(copy))
		bench_cannot(copy[0]);
	end = now_ns() + args->ms * 1000000;
	while (count < 5 || (now_ns() < end && count < TIMES_MAX)) {
		int64_t start = now_ns();

		(void)run(copy);
		times[count++] = (double)(now_ns() - start);
	}
	printf("{\"ns\": %.0f, \"count\": %zu}\n", median_of(times, count),
	       count);
}
