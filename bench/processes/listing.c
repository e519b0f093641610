/* SPDX-License-Identifier: MIT */
/*
 * `weir ls` of 10,000 files, half of them hostile: too short, too long, empty,
 * with random bytes, or with tables that seem to be full.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "processes.h"
#include "weir/named.h"

#define FILES 10000
#define TIMES_MAX 1000
/* The header and the first slots: docs/design/named-format.md. */
#define USED 8192
#define SIZES_OFFSET 192
#define SIZES_LENGTH 12

struct model {
	char used[USED];
	off_t size;
};

/* A semaphore that is not in use. */
static void read_model(struct model *model)
{
	weir_named_opts opts = { .capacity = 2, .flags = WEIR_NAMED_CREATE };
	struct stat info;
	char path[512];
	weir_named *sem;
	int fd;

	must(!weir_named_open("model", &opts, &sem) &&
	     !weir_named_close_handle(sem) &&
	     !weir_named_path("model", path, sizeof(path)), "model");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && !fstat(fd, &info) &&
	     read(fd, model->used, USED) == USED, path);
	model->size = info.st_size;
	close(fd);
}

static void make_file(const struct model *model, int number)
{
	off_t size = model->size;
	char used[USED], path[512];
	int fd;

	memcpy(used, model->used, USED);
	switch (number % 10) {
	case 1:
		size = USED;
		break;
	case 3:
		size += 1;
		break;
	case 5:
		memset(used, 0, USED);
		break;
	case 7:
		for (int i = 128; i < USED; i++)
			used[i] = (char)(i * 31 + number);
		break;
	case 9:
		memset(used + SIZES_OFFSET, 0xff, SIZES_LENGTH);
		break;
	default:
		break;
	}
	(void)snprintf(path, sizeof(path), "%s/%d.weir", scratch_folder(),
		       number);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, used, USED) == USED && !ftruncate(fd, size),
	     path);
	close(fd);
}

void measure_listing(const struct bench_args *args)
{
	const char *const argv[] = { weir_command(), "ls", NULL };
	static double times[TIMES_MAX];
	static struct model model;
	size_t count = 0;
	int64_t end;

	if (strcmp(args->kind, "weir-ls") != 0)
		bench_cannot(args->kind);
	must(!setenv("WEIR_DIR", scratch_folder(), 1), "setenv");
	read_model(&model);
	for (int i = 0; i < FILES; i++)
		make_file(&model, i);
	end = now_ns() + args->ms * 1000000;
	while (count < 3 || (now_ns() < end && count < TIMES_MAX)) {
		int64_t start = now_ns();

		must(run_command(argv), "weir ls");
		times[count++] = (double)(now_ns() - start);
	}
	printf("{\"ns\": %.0f, \"ms\": %.1f, \"count\": %zu}\n",
	       median_of(times, count), median_of(times, count) / 1e6, count);
}
