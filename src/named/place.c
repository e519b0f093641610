/* SPDX-License-Identifier: MIT */
/*
 * The folder for names: $WEIR_DIR, else /run/weir if it exists, else this
 * user's folder in /dev/shm, which is created when needed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "named/handle.h"

#define SUFFIX ".weir"
#define PATH_ROOM 4096

weir_err
weir_nm_say_(const weir_named_opts *opts, weir_err err, const char *format, ...)
{
	int saved = errno;

	if (opts && opts->why && opts->why_size) {
		va_list args;

		va_start(args, format);
		(void)vsnprintf(opts->why, opts->why_size, format, args);
		va_end(args);
	}
	errno = saved;
	return err;
}

static bool is_folder(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/*
 * The folder of this user.  It is refused if another user owns it or may write
 * to it.
 */
static weir_err own_folder(char *path, size_t room, bool make)
{
	struct stat info;

	(void)snprintf(path, room, "/dev/shm/weir-%lu",
		       (unsigned long)geteuid());
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return WEIR_ESYSTEM;
	if (lstat(path, &info))
		return WEIR_ESYSTEM;
	if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
	    info.st_mode & 022) {
		errno = EPERM;
		return WEIR_ESYSTEM;
	}
	return WEIR_OK;
}

static weir_err find_folder(char *path, size_t room, bool make)
{
	const char *given = secure_getenv("WEIR_DIR");

	if (given && *given) {
		if ((size_t)snprintf(path, room, "%s", given) < room)
			return WEIR_OK;
		errno = ENAMETOOLONG;
		return WEIR_ESYSTEM;
	}
	if (is_folder("/run/weir")) {
		(void)snprintf(path, room, "/run/weir");
		return WEIR_OK;
	}
	return own_folder(path, room, make);
}

/* Returns true for a short name of visible characters with no leading dot. */
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > WEIR_NAMED_NAME_MAX || *name == '.')
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127)
			return false;
	return true;
}

weir_err weir_nm_find_place_(const char *name, bool make, char **path)
{
	char folder[PATH_ROOM];
	size_t room;
	weir_err err;

	if (!name)
		return WEIR_EINVAL;
	if (strchr(name, '/')) {
		room = strlen(name) + 1;
		if (room > PATH_ROOM)
			return WEIR_EINVAL;
		*path = weir_mem_alloc_(room);
		if (!*path)
			return WEIR_ENOMEM;
		memcpy(*path, name, room);
		return WEIR_OK;
	}
	if (!is_name(name))
		return WEIR_EINVAL;
	err = find_folder(folder, sizeof(folder), make);
	if (err)
		return err;
	room = strlen(folder) + strlen(name) + sizeof("/" SUFFIX);
	*path = weir_mem_alloc_(room);
	if (!*path)
		return WEIR_ENOMEM;
	(void)snprintf(*path, room, "%s/%s" SUFFIX, folder, name);
	return WEIR_OK;
}

void weir_nm_absolute_(char **path)
{
	char whole[PATH_ROOM];
	size_t used, room = strlen(*path) + 1;
	char *made;

	if (**path == '/' || !getcwd(whole, sizeof(whole)))
		return;
	used = strlen(whole);
	/* If the result is too long, keep the relative path. */
	if (used + 1 + room > sizeof(whole))
		return;
	whole[used++] = '/';
	memcpy(whole + used, *path, room);
	made = weir_mem_alloc_(used + room);
	if (!made)
		return;
	memcpy(made, whole, used + room);
	weir_mem_free_(*path);
	*path = made;
}

weir_err weir_named_path(const char *name, char *path, size_t size)
{
	char folder[PATH_ROOM];
	char *whole = folder;
	weir_err err;

	if (!path || !size)
		return WEIR_EINVAL;
	err = name ? weir_nm_find_place_(name, false, &whole) :
		     find_folder(folder, sizeof(folder), false);
	if (err)
		return err;
	if ((size_t)snprintf(path, size, "%s", whole) >= size)
		err = WEIR_EINVAL;
	if (name)
		weir_mem_free_(whole);
	return err;
}
