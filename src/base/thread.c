/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/tls.h"

static _Thread_local struct weir_to_run_ to_run WEIR_TLS_READY_;

struct weir_to_run_ *weir_thread_to_run_(void)
{
	return &to_run;
}

static int add_local(struct dl_phdr_info *object, size_t size, void *arg)
{
	size_t *sum = arg;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_TLS)
			*sum += object->dlpi_phdr[i].p_memsz +
				object->dlpi_phdr[i].p_align;
	return 0;
}

size_t weir_thread_local_size_(void)
{
	size_t sum = 0;

	(void)dl_iterate_phdr(add_local, &sum);
	return sum;
}

long weir_thread_list_(int fd, void *room, size_t size)
{
	return syscall(SYS_getdents64, fd, room, size);
}

int weir_thread_cancel_off_(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

void weir_thread_cancel_reset_(int before)
{
	pthread_setcancelstate(before, NULL);
}

uint32_t weir_thread_id_(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

bool weir_thread_exists_(uint32_t pid, uint32_t tid)
{
	int before = errno;
	bool exists = !syscall(SYS_tgkill, pid, tid, 0) || errno != ESRCH;

	errno = before;
	return exists;
}

/* Read /proc/self/task/TID/stat, "TID (NAME) STATE ...".  Returns the length. */
static size_t read_stat(uint32_t tid, char *room, size_t size)
{
	char path[48] = "/proc/self/task/", digits[12];
	size_t at = sizeof("/proc/self/task/") - 1, n = 0;
	ssize_t length;
	int fd;

	do
		digits[n++] = (char)('0' + tid % 10);
	while ((tid /= 10));
	while (n)
		path[at++] = digits[--n];
	memcpy(path + at, "/stat", sizeof("/stat"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, room, size);
	(void)close(fd);
	return length > 0 ? (size_t)length : 0;
}

bool weir_thread_is_zombie_(uint32_t tid)
{
	static const char ended[] = { 'Z', 'X' };
	int before = errno;
	char room[256] = "";
	size_t n = read_stat(tid, room, sizeof(room) - 2);

	errno = before;
	/* The name may contain parentheses. */
	while (n && room[n - 1] != ')')
		n--;
	return n && memchr(ended, room[n + 1], sizeof(ended));
}

void weir_thread_name_(char name[16])
{
	int before = errno;

	if (prctl(PR_GET_NAME, name))
		name[0] = '\0';
	errno = before;
}
