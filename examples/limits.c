/* SPDX-License-Identifier: MIT */
/*
 * The limits of a program in one file, changed while the program runs.
 *
 *     limits              load a built-in text
 *     limits FILE         load FILE
 *
 * WEIR_LIMIT_DB_WRITES=7 in the environment overrides the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/limits.h>

static const char text[] =
	"[db_writes]\n"
	"capacity = 20           # of 50 connections\n"
	"[decode]\n"
	"capacity = 4\n"
	"policy = barging\n",
	later[] =
	"[db_writes]\n"
	"capacity = 35           # fewer readers at night\n";

static void show(weir_limits *limits)
{
	weir_sem_info info;
	const char *name;
	weir_sem *sem;

	for (int64_t i = 0; (sem = weir_limits_at(limits, i, &name)); i++)
		if (weir_sem_stat(sem, &info) == WEIR_OK)
			printf("%-10s %" PRId64 " of %" PRId64 " free, %s\n",
			       name, info.free, info.capacity,
			       info.policy == WEIR_FIFO ? "fifo" : "barging");
}

static int complain(const char *what, const weir_limits_problem *problem)
{
	if (problem->line)
		printf("%s:%" PRId64 ": %s\n", what, problem->line,
		       problem->text);
	else
		printf("%s: %s\n", what, problem->text);
	return 1;
}

int main(int argc, char **argv)
{
	weir_limits_problem problem;
	weir_limits limits;
	weir_sem *writes;

	if (weir_limits_init(&limits, 16) != WEIR_OK)
		return 1;
	if (argc > 1) {
		if (weir_limits_load(&limits, argv[1], &problem))
			return complain(argv[1], &problem);
		show(&limits);
		return weir_limits_destroy(&limits) != WEIR_OK;
	}
	if (weir_limits_load_text(&limits, text, strlen(text), &problem))
		return complain("text", &problem);
	writes = weir_limits_find(&limits, "db_writes");
	if (!writes || weir_sem_acquire(writes, 5, NULL) != WEIR_OK)
		return 1;
	show(&limits);
	puts("and later, with five of them in use:");
	if (weir_limits_load_text(&limits, later, strlen(later), &problem))
		return complain("later", &problem);
	show(&limits);
	weir_sem_release(writes, 5);
	return weir_limits_destroy(&limits) != WEIR_OK;
}
