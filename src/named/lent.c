/* SPDX-License-Identifier: MIT */
/*
 * Lent files: empty files beside the semaphore, named `.weir-lent-` and a
 * number.  lend.c decides which slot has which number.  A lent descriptor has a
 * file description of its own, with a read lock on the lent file.  Processes
 * that inherit the description prove by the lock that they are alive.
 *
 * The description must not be one of the semaphore's file, not even a read-only
 * one: a read lock on the whole file would keep other processes from taking a
 * slot, and the file shows the labels of all users.  Each slot has a lent file
 * of its own: a lock on a file that several slots share could pretend that the
 * processes of another slot are alive.  So a process can do nothing with the
 * descriptor but close it, or remove its lock: fcntl(2) lets every process that
 * has a description unlock it.  That gives away what the owner has lent, and
 * nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/handle.h"

#define PATH_ROOM 4224
#define READ_BITS 0444

/* Write the path of the lent file with this number. */
static void path_of(const weir_named *h, uint64_t number, char path[PATH_ROOM])
{
	const char *slash = strrchr(h->path, '/');
	int folder = slash ? (int)(slash - h->path) + 1 : 0;

	(void)snprintf(path, PATH_ROOM, "%.*s" NM_LENT_PREFIX "%016llx", folder,
		       h->path, (unsigned long long)number);
}

/*
 * Let the users of the semaphore, and no other users, examine the lent file:
 * give it the owner, the group and the read permissions of the semaphore's
 * file.
 */
static bool copy_access(const weir_named *h, int fd)
{
	struct stat info;

	if (fstat(h->fd, &info))
		return false;
	/*
	 * EPERM: only root can change the owner.  The group is enough for the
	 * other users of the semaphore.
	 */
	if (fchown(fd, info.st_uid, info.st_gid) && errno == EPERM)
		(void)!fchown(fd, (uid_t)-1, info.st_gid);
	return !fchmod(fd, info.st_mode & READ_BITS);
}

uint64_t weir_nm_lent_number_(void)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return 0;
	return number ? number : 1;
}

int weir_nm_lent_open_(const weir_named *h, uint64_t number, bool create)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char path[PATH_ROOM];
	int fd, saved;

	path_of(h, number, path);
	if (create)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0400);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && (!create || copy_access(h, fd)) &&
	    !fcntl(fd, F_OFD_SETLK, &lock))
		return fd;
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

void weir_nm_lent_remove_(const weir_named *h, uint64_t number)
{
	char path[PATH_ROOM];
	int saved = errno;

	path_of(h, number, path);
	(void)unlink(path);
	errno = saved;
}

/*
 * Restore the read permissions of a lent file of this user, which a process of
 * the same user may have changed.  No other user can have replaced the file.
 */
static bool restore_access(const weir_named *h, const char *path)
{
	struct stat sem, lent;

	return !fstat(h->fd, &sem) && !lstat(path, &lent) &&
	       S_ISREG(lent.st_mode) && lent.st_uid == geteuid() &&
	       !chmod(path, sem.st_mode & READ_BITS);
}

bool weir_nm_is_lent_(const weir_named *h, uint64_t number)
{
	/* O_NONBLOCK: a process that has the file open may have a lease. */
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[PATH_ROOM];
	int saved = errno, fd;
	bool lent;

	path_of(h, number, path);
	fd = open(path, flags);
	if (fd < 0 && errno == EACCES && restore_access(h, path))
		fd = open(path, flags);
	if (fd < 0) {
		/* After other errors (EACCES, EMFILE) the file may exist. */
		lent = errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	} else {
		lent = !fcntl(fd, F_OFD_GETLK, &lock) &&
		       lock.l_type != F_UNLCK;
		close(fd);
	}
	errno = saved;
	return lent;
}
