/* SPDX-License-Identifier: MIT */
/*
 * Check, open and remove the file.  A file is checked before it is mapped.
 *
 * The boot id in the file is that of its creator.  If an opener has another
 * one, then the machine has been booted since, and the liveness words mean
 * nothing; or the creator and the opener see different boot ids, as processes
 * in containers may.  The file locks of participants distinguish the two cases,
 * so a live participant is never marked as dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/record.h"
#include "named/table.h"

/* The number of retries when other processes create and unlink concurrently. */
#define TRIES 100
/* The pause between two attempts to lock NM_BYTE_JOIN; there are TRIES. */
#define NAME_PAUSE_NS 10000000

/* Check type, owner, permissions, links and size, before reading content. */
static weir_err check_file(const weir_named *h, const weir_named_opts *opts,
			   const struct stat *info)
{
	if (!S_ISREG(info->st_mode)) {
		errno = S_ISDIR(info->st_mode) ? EISDIR : EPERM;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "%s is not a regular file", h->path);
	}
	if (!(opts->flags & WEIR_NAMED_SHARED) &&
	    ((info->st_uid != geteuid() && info->st_uid != 0) ||
	     (info->st_mode & 022 && !(opts->mode & 022)))) {
		errno = EPERM;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
			      "%s belongs to another user, or others may write "
			      "it; WEIR_NAMED_SHARED (--shared) permits that",
			      h->path);
	}
	if (info->st_nlink > 1) {
		errno = EPERM;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "%s has more than one hard link", h->path);
	}
	if (info->st_size != (off_t)NM_FILE_SIZE) {
		errno = EBADMSG;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "%s is not a semaphore, or is damaged: its "
				    "size is wrong", h->path);
	}
	return WEIR_OK;
}

static bool is_zero(const uint8_t boot[16])
{
	static const uint8_t zero[16];

	return !memcmp(boot, zero, sizeof(zero));
}

/* Check the header, and set h->strict and h->other_boot. */
static weir_err check_header(weir_named *h, const weir_named_opts *opts)
{
	struct nm_header head;
	const char *wrong = "is not a semaphore";
	const uint8_t *boot = weir_nm_boot_id_();

	errno = EBADMSG;
	if (pread(h->fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head))
		wrong = weir_nm_check_constants_(&head);
	if (wrong)
		return weir_nm_say_(opts, WEIR_ESYSTEM, "%s %s", h->path,
				    wrong);
	h->strict = head.policy == WEIR_NAMED_STRICT;
	h->other_boot = is_zero(boot) ||
			memcmp(boot, head.boot, sizeof(head.boot)) != 0;
	return WEIR_OK;
}

bool weir_nm_is_current_(const weir_named *h)
{
	struct stat info;

	return !lstat(h->path, &info) && info.st_ino == h->inode &&
	       info.st_dev == h->device;
}

int weir_nm_reopen_(const weir_named *h, int access)
{
	char own[64];
	struct stat info;
	int fd;

	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", h->fd);
	fd = open(own, access | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = open(h->path, access | O_CLOEXEC | O_NOFOLLOW |
				   O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		errno = ESTALE;
	if (fd >= 0 && (fstat(fd, &info) || info.st_ino != h->inode ||
			info.st_dev != h->device)) {
		close(fd);
		errno = ESTALE;
		fd = -1;
	}
	return fd;
}

bool weir_nm_unlink_current_(const weir_named *h)
{
	bool removed = false;
	int saved, fd = weir_nm_reopen_(h, O_RDWR);

	if (fd < 0)
		return false;
	/*
	 * A process that locks the byte later finds another file by that name,
	 * or none, and does not remove it.  The number of attempts is limited:
	 * a process that is stopped here, or a hostile one, may keep the byte
	 * locked.
	 */
	for (int i = 0; !weir_nm_byte_lock_(fd, NM_BYTE_JOIN); i++) {
		if (i == TRIES || (errno != EAGAIN && errno != EACCES)) {
			saved = i == TRIES ? EBUSY : errno;
			close(fd);
			errno = saved;
			return false;
		}
		weir_futex_nap_(NAME_PAUSE_NS);
	}
	if (!weir_nm_is_current_(h))
		errno = ESTALE;
	else
		removed = !unlink(h->path);
	saved = errno;
	close(fd);
	errno = saved;
	return removed;
}

/* Replace errors that a hostile file causes. */
static weir_err refuse_open(const weir_named *h, const weir_named_opts *opts)
{
	switch (errno) {
	case ENXIO:
	case ENODEV:
		errno = EPERM;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "%s is not a regular file", h->path);
	case EWOULDBLOCK:	/* a lease */
	case ETXTBSY:		/* it is being executed */
		errno = EBADMSG;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "%s is locked by another process", h->path);
	default:
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot open %s",
				    h->path);
	}
}

/*
 * Open the file as h->fd, or create it if it is missing.  WEIR_EAGAIN: retry.
 */
static weir_err open_or_create(weir_named *h, const weir_named_opts *opts)
{
	int access = opts->flags & WEIR_NAMED_OBSERVER ? O_RDONLY : O_RDWR;

	h->fd = open(h->path, access | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
			      O_NONBLOCK);
	if (h->fd < 0 && errno == ENOENT && opts->flags & WEIR_NAMED_CREATE) {
		weir_err err = weir_nm_make_file_(h->path, opts);

		if (err && errno != EEXIST)
			return err;
		if (err || !(opts->flags & WEIR_NAMED_EXCLUSIVE))
			return WEIR_EAGAIN;
		h->fd = open(h->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	} else if (h->fd >= 0 && opts->flags & WEIR_NAMED_EXCLUSIVE) {
		errno = EEXIST;
		return weir_nm_say_(opts, WEIR_ESYSTEM, "%s already exists",
				    h->path);
	}
	return h->fd < 0 ? refuse_open(h, opts) : WEIR_OK;
}

/*
 * Map a separate file description.  A mapping keeps its description open in a
 * child of fork(2), and the description h->fd carries the lock on our byte.
 */
static weir_err map(weir_named *h, const weir_named_opts *opts)
{
	int saved, fd = weir_nm_reopen_(h, O_RDWR);
	char *base = fd < 0 ? NULL : weir_map_(fd, NM_FILE_SIZE);

	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	if (!base)
		return errno == ESTALE ? WEIR_EAGAIN :
			weir_nm_say_(opts, WEIR_ESYSTEM, "cannot map %s",
				     h->path);
	h->head = (struct nm_header *)(void *)base;
	h->slots = (struct nm_slot *)(void *)(base + sizeof(struct nm_header));
	h->records = (struct nm_record *)(void *)(h->slots + NM_SLOTS);
	return WEIR_OK;
}

/* Open the file, check it and map it.  WEIR_EAGAIN: retry. */
static weir_err open_once(weir_named *h, const weir_named_opts *opts)
{
	struct stat info;
	weir_err err = open_or_create(h, opts);

	if (err)
		return err;
	if (fstat(h->fd, &info))
		return WEIR_ESYSTEM;
	h->device = info.st_dev;
	h->inode = info.st_ino;
	if (info.st_nlink == 0)
		return WEIR_EAGAIN;
	err = check_file(h, opts, &info);
	if (!err)
		err = check_header(h, opts);
	/*
	 * Observers read the file with pread(2): an access to a mapping raises
	 * SIGBUS if another process has truncated the file.
	 */
	if (!err && !(opts->flags & WEIR_NAMED_OBSERVER))
		err = map(h, opts);
	return err;
}

/*
 * Called if the file has another boot id: only the file locks show which
 * participants are alive.
 */
static void mark_all_gone(weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	for (uint32_t i = 0; i < high; i++)
		weir_nm_mark_gone_(h, &h->slots[i]);
}

weir_err weir_nm_open_file_(weir_named *h, const weir_named_opts *opts)
{
	weir_err err = WEIR_EAGAIN;

	for (int i = 0; i < TRIES && err == WEIR_EAGAIN; i++) {
		int saved;

		err = open_once(h, opts);
		saved = errno;
		if (err && h->fd >= 0) {
			close(h->fd);
			h->fd = -1;
		}
		errno = saved;
	}
	if (err == WEIR_EAGAIN) {
		errno = EAGAIN;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
			      "%s is repeatedly created and removed", h->path);
	}
	if (!err && h->head && h->other_boot)
		mark_all_gone(h);
	return err;
}
