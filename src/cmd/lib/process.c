/* SPDX-License-Identifier: MIT */
/* Exit statuses of processes, and their inherited descriptors. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/process.h"

int process_exit_status(int status)
{
	return WIFSIGNALED(status) ? EXIT_SIGNAL(WTERMSIG(status)) :
				     WEXITSTATUS(status);
}

void process_close_others(int one, int other)
{
	DIR *open = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!open)
		return;
	while ((entry = readdir(open))) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && fd != one && fd != other && fd != dirfd(open))
			close(fd);
	}
	closedir(open);
}
