/* SPDX-License-Identifier: MIT */
/*
 * Create, check and map the file.
 *
 * A new file is written without a name and then linked to its name.  So no
 * process sees an incomplete file, and only one of two creating processes
 * succeeds.  A file is checked before it is mapped.  A file from before the
 * last boot is replaced under the lock on its join byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/handle.h"

/* The number of retries when other processes create and unlink concurrently. */
#define TRIES 100
#define UNLOCK_PAUSE_NS 1000000

bool weir_nm_byte_lock_(int fd, int64_t byte, bool wait)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };
	int failed;

	do
		failed = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	while (failed && errno == EINTR);
	return !failed;
}

void weir_nm_byte_unlock_(int fd, int64_t byte)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };

	/* Even unlocking allocates kernel memory, which can fail; retry. */
	for (int i = 0; i < TRIES && fcntl(fd, F_OFD_SETLK, &lock); i++)
		weir_futex_nap_(UNLOCK_PAUSE_NS);
}

bool weir_nm_byte_is_locked_(int fd, int64_t byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };
	int saved = errno;
	bool locked = !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;

	errno = saved;
	return locked;
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

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read the boot id of the machine; all zero if it cannot be read. */
static void read_boot(uint8_t boot[16])
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t size = 0;
	unsigned digits = 0;

	memset(boot, 0, 16);
	if (fd < 0)
		return;
	size = read(fd, text, sizeof(text));
	close(fd);
	for (ssize_t i = 0; i < size && digits < 32; i++)
		if (hex(text[i]) >= 0) {
			boot[digits / 2] = (uint8_t)(boot[digits / 2] << 4 |
						     hex(text[i]));
			digits++;
		}
}

static bool is_zero(const uint8_t boot[16])
{
	static const uint8_t zero[16];

	return !memcmp(boot, zero, sizeof(zero));
}

/* Write the header of a new file.  Returns -1 with errno on failure. */
static int write_header(int fd, const weir_named_opts *opts)
{
	struct nm_header head = {
		.magic = { 0 },
		.version = NM_VERSION,
		.order = NM_ORDER,
		.header_size = sizeof(struct nm_header),
		.slot_size = sizeof(struct nm_slot),
		.record_size = sizeof(struct nm_record),
		.slots = NM_SLOTS,
		.records = NM_RECORDS,
		.policy = (uint32_t)opts->policy,
		.file_size = NM_FILE_SIZE,
		.capacity = opts->capacity,
		.value = opts->capacity,
		.next_ticket = 1,
	};

	memcpy(head.magic, NM_MAGIC, sizeof(head.magic));
	read_boot(head.boot);
	if (ftruncate(fd, (off_t)NM_FILE_SIZE))
		return -1;
	if (!weir_nm_reserve_(fd, 0, sizeof(head)))
		return -1;
	if (pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
		errno = ENOSPC;
		return -1;
	}
	return fchmod(fd, opts->mode ? (mode_t)opts->mode & 0666 : 0600);
}

/* A file above the limit would raise SIGXFSZ, which ends the process. */
static weir_err check_limit(const char *path, const weir_named_opts *opts)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= NM_FILE_SIZE)
		return WEIR_OK;
	errno = EFBIG;
	return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot create %s of %lu bytes:"
			    " the file size limit (ulimit -f) is %llu bytes",
			    path, (unsigned long)NM_FILE_SIZE,
			    (unsigned long long)limit.rlim_cur);
}

/* Create and link the file.  EEXIST: another process was faster. */
static weir_err make_file(const char *path, const weir_named_opts *opts)
{
	char own[64], folder[4096];
	const char *slash = strrchr(path, '/');
	int fd, failed, saved;
	weir_err err = check_limit(path, opts);

	if (err)
		return err;
	if (slash == path)
		(void)snprintf(folder, sizeof(folder), "/");
	else
		(void)snprintf(folder, sizeof(folder), "%.*s",
			       (int)(slash ? slash - path : 1),
			       slash ? path : ".");
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "cannot create a file in %s", folder);
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	failed = write_header(fd, opts);
	if (!failed)
		failed = linkat(AT_FDCWD, own, AT_FDCWD, path,
				AT_SYMLINK_FOLLOW);
	saved = errno;
	close(fd);
	errno = saved;
	if (failed)
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot create %s",
				    path);
	return WEIR_OK;
}

/* Check type, owner, permissions, links and size, before reading content. */
static weir_err check_file(const weir_named *h, const weir_named_opts *opts,
			   const struct stat *info)
{
	if (!S_ISREG(info->st_mode)) {
		errno = EPERM;
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
		return weir_nm_say_(
			opts, WEIR_ESYSTEM,
			"%s is damaged: its size is wrong",
			h->path);
	}
	return WEIR_OK;
}

/* Check the header.  Sets *old if the file is from before the last boot. */
static weir_err check_header(const weir_named *h, const weir_named_opts *opts,
			     bool *old)
{
	struct nm_header head;
	uint8_t boot[16];

	*old = false;
	if (pread(h->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.magic, NM_MAGIC, sizeof(head.magic))) {
		errno = EBADMSG;
		return weir_nm_say_(opts, WEIR_ESYSTEM, "%s is not a semaphore",
			      h->path);
	}
	if (head.order != NM_ORDER || head.version != NM_VERSION) {
		errno = EPROTO;
		return weir_nm_say_(opts, WEIR_ESYSTEM, head.order != NM_ORDER ?
			      "%s is from a machine with another byte order" :
			      "%s has another version of the file format",
			      h->path);
	}
	if (head.header_size != sizeof(struct nm_header) ||
	    head.slot_size != sizeof(struct nm_slot) ||
	    head.record_size != sizeof(struct nm_record) ||
	    head.slots != NM_SLOTS || head.records != NM_RECORDS ||
	    head.file_size != NM_FILE_SIZE || head.policy > 1) {
		errno = EBADMSG;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
			      "%s is damaged: its header is inconsistent",
			      h->path);
	}
	read_boot(boot);
	*old = !is_zero(boot) && !is_zero(head.boot) &&
	       memcmp(boot, head.boot, sizeof(boot));
	return WEIR_OK;
}

bool weir_nm_is_current_(const weir_named *h)
{
	struct stat info;

	return !lstat(h->path, &info) && info.st_ino == h->inode &&
	       info.st_dev == h->device;
}

int weir_nm_reopen_(const weir_named *h)
{
	char own[64];
	struct stat info;
	int fd;

	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", h->fd);
	fd = open(own, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = open(h->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &info) || info.st_ino != h->inode ||
			info.st_dev != h->device)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Remove a file from before the last boot.  Returns WEIR_EAGAIN if the file was
 * removed, or was replaced by another process; the caller then opens again.
 */
static weir_err renew(weir_named *h, const weir_named_opts *opts)
{
	if (!(opts->flags & WEIR_NAMED_CREATE)) {
		errno = ESTALE;
		return weir_nm_say_(opts, WEIR_ESYSTEM,
			      "%s is from before the last boot",
			      h->path);
	}
	if (!weir_nm_byte_lock_(h->fd, NM_BYTE_JOIN, true))
		return WEIR_ESYSTEM;
	/* Processes that lock the byte later find another file by that name. */
	if (weir_nm_is_current_(h) && unlink(h->path))
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot replace %s",
				    h->path);
	return WEIR_EAGAIN;
}

/*
 * Open the file as h->fd, or create it if it is missing.  WEIR_EAGAIN: retry.
 */
static weir_err open_or_create(weir_named *h, const weir_named_opts *opts)
{
	h->fd = open(h->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
			      O_NONBLOCK);
	if (h->fd < 0 && errno == ENOENT && opts->flags & WEIR_NAMED_CREATE) {
		weir_err err = make_file(h->path, opts);

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
	if (h->fd < 0)
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot open %s",
				    h->path);
	return WEIR_OK;
}

/* Open the file and check it.  WEIR_EAGAIN: retry. */
static weir_err open_once(weir_named *h, const weir_named_opts *opts)
{
	struct stat info;
	bool old;
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
		err = check_header(h, opts, &old);
	if (!err && old)
		err = renew(h, opts);
	return err;
}

weir_err weir_nm_open_file_(weir_named *h, const weir_named_opts *opts)
{
	weir_err err = WEIR_EAGAIN;
	char *base;
	int fd, saved;

	for (int i = 0; i < TRIES && err == WEIR_EAGAIN; i++) {
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
	if (err)
		return err;
	/*
	 * Map a separate file description.  A mapping keeps its description
	 * open in a child of fork(2), and the description h->fd carries the
	 * lock on our byte.
	 */
	fd = weir_nm_reopen_(h);
	base = fd < 0 ? NULL : weir_map_(fd, NM_FILE_SIZE);
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	if (!base)
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot map %s",
				    h->path);
	h->head = (struct nm_header *)(void *)base;
	h->slots = (struct nm_slot *)(void *)(base + sizeof(struct nm_header));
	h->records = (struct nm_record *)(void *)(h->slots + NM_SLOTS);
	h->strict = h->head->policy == WEIR_NAMED_STRICT;
	return WEIR_OK;
}
