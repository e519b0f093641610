/* SPDX-License-Identifier: MIT */
/*
 * Create the file.
 *
 * A new file is written without a name and then linked to its name.  So no
 * process sees an incomplete file, and only one of two creating processes
 * succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/handle.h"

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

const uint8_t *weir_nm_boot_id_(void)
{
	static uint8_t boot[16];
	static bool known;

	if (!known)
		known = read_boot(boot);
	return boot;
}

/* Write the header of a new file.  Returns -1 with errno on failure. */
static int write_header(int fd, const weir_named_opts *opts)
{
	struct nm_header head;
	ssize_t written;

	weir_nm_header_init_(&head, opts);
	memcpy(head.boot, weir_nm_boot_id_(), sizeof(head.boot));
	if (ftruncate(fd, (off_t)NM_FILE_SIZE))
		return -1;
	if (!weir_nm_reserve_(fd, 0, sizeof(head)))
		return -1;
	written = pwrite(fd, &head, sizeof(head), 0);
	if (written >= 0 && written < (ssize_t)sizeof(head))
		errno = ENOSPC;
	if (written != (ssize_t)sizeof(head))
		return -1;
	return fchmod(fd, opts->mode ? (mode_t)opts->mode & 0666 : 0600);
}

/* Refuse a file above the limit: it would raise SIGXFSZ, a fatal signal. */
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
	/* EISDIR, EINVAL: from kernels and file systems without O_TMPFILE. */
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

weir_err weir_nm_make_file_(const char *path, const weir_named_opts *opts)
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
