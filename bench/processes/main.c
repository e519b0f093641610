/* SPDX-License-Identifier: MIT */
/* The choice of the workload, and helpers for children and files. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "processes.h"

static char folder[] = "/dev/shm/weir-bench-XXXXXX";
static pid_t maker;

/* Remove the files of this program and the folders of the commands. */
static void remove_all(const char *path)
{
	DIR *entries = opendir(path);
	const struct dirent *entry;
	char inner[512];

	while (entries && (entry = readdir(entries))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		(void)snprintf(inner, sizeof(inner), "%s/%s", path,
			       entry->d_name);
		if (unlink(inner) != 0)
			remove_all(inner);
	}
	if (entries)
		closedir(entries);
	(void)rmdir(path);
}

static void clean(void)
{
	if (getpid() == maker)
		remove_all(folder);
}

const char *scratch_folder(void)
{
	if (!maker) {
		must(mkdtemp(folder) != NULL, folder);
		maker = getpid();
		(void)atexit(clean);
	}
	return folder;
}

pid_t child_start(void (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid > 0)
		return pid;
	/* If the program is stopped, its children must end too. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	fn(arg);
	_exit(0);
}

void child_end(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid, "waitpid");
	must(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a child failed");
}

bool child_sleeps(pid_t pid)
{
	char path[64], line[256];
	const char *end;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0, path);
	got = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[got > 0 ? got : 0] = '\0';
	end = strrchr(line, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

void nap_us(int64_t us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	(void)nanosleep(&time, NULL);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double median_of(double *times, size_t count)
{
	must(count > 0, "nothing was measured");
	qsort(times, count, sizeof(*times), compare);
	return times[count / 2];
}

int main(int argc, char **argv)
{
	struct bench_args args = bench_args(argc, argv);

	if (!strcmp(args.workload, "command")) {
		measure_command(&args);
		return 0;
	}
	if (!strcmp(args.workload, "listing")) {
		measure_listing(&args);
		return 0;
	}
	if (!strcmp(args.workload, "pair"))
		measure_pair(&args, kind_called(args.kind));
	else if (!strcmp(args.workload, "hand-off"))
		measure_handoff(&args, kind_called(args.kind));
	else if (!strcmp(args.workload, "death"))
		measure_death(&args, kind_called(args.kind));
	else if (!strcmp(args.workload, "crowd"))
		measure_crowd(&args, kind_called(args.kind));
	else if (!strcmp(args.workload, "open"))
		measure_open(&args, args.kind);
	else if (!strcmp(args.workload, "waiters"))
		measure_waiters(&args, kind_called(args.kind));
	else
		bench_cannot(args.workload);
	return 0;
}
