/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
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

void weir_thread_name_(char name[16])
{
	int before = errno;

	if (prctl(PR_GET_NAME, name))
		name[0] = '\0';
	errno = before;
}
