/* SPDX-License-Identifier: MIT */
/*
 * Ranges of bytes of the file: locks on them, and storage for them.
 */
#include <errno.h>
#include <fcntl.h>

#include "named/handle.h"

#define UNLOCK_TRIES 100
#define UNLOCK_PAUSE_NS 1000000

bool weir_nm_byte_lock_(int fd, int64_t byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };
	int failed;

	do
		failed = fcntl(fd, F_OFD_SETLK, &lock);
	while (failed && errno == EINTR);
	return !failed;
}

void weir_nm_byte_unlock_(int fd, int64_t byte)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };

	/* Even unlocking allocates kernel memory, which can fail; retry. */
	for (int i = 0; i < UNLOCK_TRIES && fcntl(fd, F_OFD_SETLK, &lock); i++)
		weir_futex_nap_(UNLOCK_PAUSE_NS);
}

bool weir_nm_bytes_are_locked_(int fd, int64_t first, int64_t end)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)first,
			      .l_len = (off_t)(end - first) };
	int saved = errno;
	bool locked = !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;

	errno = saved;
	return locked;
}

bool weir_nm_byte_is_locked_(int fd, int64_t byte)
{
	return weir_nm_bytes_are_locked_(fd, byte, byte + 1);
}

bool weir_nm_byte_is_foreign_(int fd, int64_t byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK &&
	       (lock.l_type != F_WRLCK || lock.l_len != 1);
}

bool weir_nm_reserve_(int fd, size_t from, size_t size)
{
	int failed;

	/*
	 * C18: on tmpfs a signal can interrupt the call before it has any
	 * effect.
	 */
	do
		failed = posix_fallocate(fd, (off_t)from, (off_t)size);
	while (failed == EINTR);
	if (failed)
		errno = failed;
	return !failed;
}
