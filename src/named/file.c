/* SPDX-License-Identifier: MIT */
/*
 * Create, check, open and remove the file.
 *
 * A new file is written without a name and then linked to its name.  So no
 * process sees an incomplete file, and only one of two creating processes
 * succeeds.  A file is checked before it is mapped.
 *
 * The boot id in the file is that of its creator.  If an opener has another
 * one, then the machine has been booted since, and the liveness words mean
 * nothing; or the two see different boot ids, as containers may.  The file
 * locks of participants tell the two cases apart, so a semaphore that a live
 * process has open is never replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/record.h"
#include "named/table.h"

/* The number of retries when other processes create and unlink concurrently. */
#define TRIES 100
#define UNLOCK_PAUSE_NS 1000000
/* The pause between two attempts to lock the name; there are TRIES. */
#define NAME_PAUSE_NS 10000000

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

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read the boot id of the machine.  Returns false if it cannot be read. */
static bool read_boot(uint8_t boot[16])
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t size = 0;
	unsigned digits = 0;

	memset(boot, 0, 16);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text));
	close(fd);
	for (ssize_t i = 0; i < size && digits < 32; i++)
		if (hex(text[i]) >= 0) {
			boot[digits / 2] = (uint8_t)(boot[digits / 2] << 4 |
						     hex(text[i]));
			digits++;
		}
	return digits == 32;
}

/*
 * Returns the boot id of the machine; all zero if it cannot be read.  Requires:
 * opens is held.
 */
static const uint8_t *boot_id(void)
{
	static uint8_t boot[16];
	static bool known;

	if (!known)
		known = read_boot(boot);
	return boot;
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
	memcpy(head.boot, boot_id(), sizeof(head.boot));
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

/* Write the folder of a path. */
static void folder_of(const char *path, char *folder, size_t room)
{
	const char *slash = strrchr(path, '/');

	if (slash == path)
		(void)snprintf(folder, room, "/");
	else
		(void)snprintf(folder, room, "%.*s",
			       (int)(slash ? slash - path : 1),
			       slash ? path : ".");
}

/*
 * Create a file without a name.  If the file system cannot do that, or a file
 * without a name could not be linked because /proc is missing, create one with
 * a temporary name, which is stored in `name`.
 */
static int create_unlinked(const char *folder, char *name, size_t room)
{
	uint64_t number = 0;
	int fd = -1;

	*name = 0;
	if (!access("/proc/self/fd", X_OK))
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	else
		errno = EOPNOTSUPP;
	/* Kernels and file systems without O_TMPFILE return the other two. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR &&
			errno != EINVAL))
		return fd;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -1;
	(void)snprintf(name, room, "%s/" NM_NEW_PREFIX "%016llx", folder,
		       (unsigned long long)number);
	return open(name, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW,
		    0600);
}

/* Give the file its name.  EEXIST: another process was faster. */
static int publish(int fd, const char *name, const char *path)
{
	char own[64];

	if (*name)
		return weir_rename_new_(name, path) ? 0 : -1;
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Create and link the file.  EEXIST: another process was faster. */
static weir_err make_file(const char *path, const weir_named_opts *opts)
{
	char folder[4096], name[4224];
	int fd, failed, saved;
	weir_err err = check_limit(path, opts);

	if (err)
		return err;
	folder_of(path, folder, sizeof(folder));
	fd = create_unlinked(folder, name, sizeof(name));
	if (fd < 0)
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "cannot create a file in %s", folder);
	failed = write_header(fd, opts);
	if (!failed)
		failed = publish(fd, name, path);
	saved = errno;
	if (failed && *name)
		(void)unlink(name);
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

const char *weir_nm_check_constants_(const struct nm_header *head)
{
	errno = EBADMSG;
	if (memcmp(head->magic, NM_MAGIC, sizeof(head->magic)) != 0)
		return "is not a semaphore";
	errno = EPROTO;
	if (head->order != NM_ORDER)
		return "is from a machine with another byte order";
	if (head->version != NM_VERSION)
		return "has another version of the file format";
	errno = EBADMSG;
	if (head->header_size != sizeof(struct nm_header) ||
	    head->slot_size != sizeof(struct nm_slot) ||
	    head->record_size != sizeof(struct nm_record) ||
	    head->slots != NM_SLOTS || head->records != NM_RECORDS ||
	    head->file_size != NM_FILE_SIZE || head->policy > 1)
		return "is damaged: its header is inconsistent";
	return NULL;
}

/* Check the header, and set h->strict and h->other_boot. */
static weir_err check_header(weir_named *h, const weir_named_opts *opts)
{
	struct nm_header head;
	const char *wrong = "is not a semaphore";
	const uint8_t *boot = boot_id();

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
	 * Processes that lock the byte later find another file by that name, or
	 * none.  A process that is stopped here, or a hostile one, may keep the
	 * byte locked.
	 */
	for (int i = 0; !weir_nm_byte_lock_(fd, NM_BYTE_JOIN, false); i++) {
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
	/* Observers read: a mapped file that is truncated raises SIGBUS. */
	if (!err && !(opts->flags & WEIR_NAMED_OBSERVER))
		err = map(h, opts);
	return err;
}

void weir_nm_mark_gone_(weir_named *h, struct nm_slot *slot)
{
	int64_t byte = NM_BYTE_ALIVE(slot - h->slots);

	if (slot == h->mine || !weir_nm_is_live_(slot) ||
	    !weir_nm_byte_lock_(h->fd, byte, false))
		return;
	/* The slot cannot get a new owner while we have its byte locked. */
	if (weir_nm_is_live_(slot))
		weir_nm_mark_dead_(slot);
	weir_nm_byte_unlock_(h->fd, byte);
}

/* The file has another boot id: only the file locks show who is alive. */
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
