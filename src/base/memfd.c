/* SPDX-License-Identifier: MIT */
#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010	/* Linux 5.1 */
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18		/* Linux 4.14 */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* Linux 5.14 */
#endif

#define NUMBER_MAX 1000		/* where the search for a high number begins */
#define NUMBERS_LEFT 24		/* below the limit of the process */

/* The open file; -1: none.  A program may have closed it and reused the number. */
static struct {
	int fd;
	dev_t dev;
	ino_t ino;
} file = { -1, 0, 0 };

/* Returns fd, or a duplicate with a high number, in which case fd is closed. */
static int move_up(int fd)
{
	struct rlimit limit;
	int from = NUMBER_MAX, high;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return fd;
	if (limit.rlim_cur < NUMBER_MAX + NUMBERS_LEFT)
		from = (int)limit.rlim_cur - NUMBERS_LEFT;
	high = from > fd ? fcntl(fd, F_DUPFD_CLOEXEC, from) : -1;
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Above the limit, ftruncate would raise SIGXFSZ, a fatal signal. */
static bool is_above_limit(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size;
}

static int make(const char *name, size_t size)
{
	int fd = is_above_limit(size) ? -1 :
		 memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	fd = move_up(fd);
	if (ftruncate(fd, (off_t)size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		close(fd);
		return -1;
	}
	return fd;
}

void *weir_memfd_map_(const char *name, size_t size)
{
	int before = errno, fd = make(name, size);
	void *memory = MAP_FAILED;
	struct stat status;

	if (fd >= 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (fd >= 0 && (memory == MAP_FAILED || fstat(fd, &status))) {
		if (memory != MAP_FAILED)
			munmap(memory, size);
		memory = MAP_FAILED;
		close(fd);
	}
	if (memory != MAP_FAILED) {
		/* Older kernels refuse this seal; the others remain. */
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
		file.fd = fd;
		file.dev = status.st_dev;
		file.ino = status.st_ino;
	}
	errno = before;
	return memory == MAP_FAILED ? NULL : memory;
}

void weir_memfd_close_(void)
{
	struct stat status;
	int before = errno;

	if (file.fd >= 0 && !fstat(file.fd, &status) &&
	    status.st_dev == file.dev && status.st_ino == file.ino)
		close(file.fd);
	file.fd = -1;
	errno = before;
}

bool weir_memfd_populate_(void *memory, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)memory & ~(page - 1);
	int before = errno;
	bool ok = !madvise((void *)from, (uintptr_t)memory + size - from,
			   MADV_POPULATE_WRITE);

	/*
	 * Older kernels do not know this call: they allocate at the first
	 * access.
	 */
	ok = ok || errno == EINVAL;
	errno = before;
	return ok;
}

bool weir_memfd_wipe_on_fork_(void *memory, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	int before = errno;
	bool done;

	/* The kernel rounds the size up: a part of a page would be a whole one. */
	if (((uintptr_t)memory | size) & (page - 1))
		return false;
	done = !madvise(memory, size, MADV_WIPEONFORK);
	errno = before;
	return done;
}
