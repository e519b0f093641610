/* SPDX-License-Identifier: MIT */
/*
 * Repairs of files that cannot be opened.
 *
 * A file that no process has open is moved away.  A file in use is left alone:
 * a new semaphore of the same name would grant the same permits a second time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/inspect/doctor.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"

void doctor_file_record(struct doctor_file *file, const char *name)
{
	file->exists = !weir_named_path(name, file->path,
					sizeof(file->path)) &&
		       !lstat(file->path, &file->info);
}

/* The number of locks that doctor_is_locked examines. */
#define QUERIES 64

/*
 * Returns true if a lock in the range is not that of a participant, which is a
 * write lock on a single byte.  F_OFD_GETLK returns any of the locks.
 */
static bool has_foreign_lock(int fd, off_t from, off_t end, int *queries)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = from, .l_len = end - from };

	if (from >= end || --*queries < 0 || fcntl(fd, F_OFD_GETLK, &lock) ||
	    lock.l_type == F_UNLCK)
		return false;
	return lock.l_type != F_WRLCK || lock.l_len != 1 ||
	       has_foreign_lock(fd, from, lock.l_start, queries) ||
	       has_foreign_lock(fd, lock.l_start + 1, end, queries);
}

bool doctor_is_locked(const struct doctor_file *file)
{
	int queries = QUERIES;
	int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
				  O_NONBLOCK);
	bool locked;

	/* A lease, or a program that is being executed. */
	if (fd < 0)
		return errno == EWOULDBLOCK || errno == ETXTBSY;
	locked = has_foreign_lock(fd, 0, (off_t)INT64_MAX, &queries);
	close(fd);
	return locked;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/*
 * Lock the whole file.  While the lock is held, no process has the file open as
 * a semaphore, can open it, or can replace it.  Returns a descriptor, or -1
 * after printing the reason; one of the reasons is that the file is not the
 * recorded file.
 */
static int lock_file(const struct doctor_file *file)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW |
				  O_NONBLOCK);
	struct stat own, now;

	if (fd < 0)
		printf("not repaired: %s\n", strerror(errno));
	else if (fcntl(fd, F_OFD_SETLK, &lock))
		printf("not repaired: the file is in use; end the processes "
		       "that have it open, and try again\n");
	else if (!file->exists || fstat(fd, &own) || lstat(file->path, &now) ||
		 !is_same_file(&own, &now) || !is_same_file(&own, &file->info))
		printf("not repaired: the file has been replaced meanwhile\n");
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Returns true if the file is in the folder of names, or if its first bytes are
 * those of a semaphore.
 */
static bool was_semaphore(int fd, const char *name)
{
	return !strchr(name, '/') || names_is_semaphore(fd);
}

/* Move a damaged file away. */
static int move_damaged(const char *name, const struct doctor_file *file)
{
	char moved[PATH_MAX + 16];
	int fd = lock_file(file), status = EXIT_DAMAGED;

	if (fd < 0)
		return status;
	(void)snprintf(moved, sizeof(moved), "%s.damaged", file->path);
	if (!was_semaphore(fd, name)) {
		printf("not repaired: the file does not look like a semaphore; "
		       "if it was one, move it away\n");
	} else if (rename(file->path, moved)) {
		printf("not repaired: cannot move the file: %s\n",
		       strerror(errno));
	} else {
		doctor_print("repaired: moved the file to %s; \"weir open %s "
			     "-n N\" creates a new one", moved, name);
		status = EXIT_SUCCESS;
	}
	close(fd);
	return status;
}

int doctor_repair(const char *name, const struct doctor_file *file,
		  weir_err err, int errnum, const char *why)
{
	int status = cmd_status(err, errnum);
	char room[REASON_ROOM];
	const char *reason = cmd_reason(err, errnum, why, room);

	if (err == WEIR_ESYSTEM && errnum == ENOENT && *file->path)
		doctor_print("problem: no such semaphore: %s",
			   file->path);
	else
		doctor_print("problem: %s", reason);
	return status == EXIT_DAMAGED ? move_damaged(name, file) : status;
}
