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

/* Refuse the folder if other users could use it. */
static weir_err check_folder(const char *path, const weir_named_opts *opts)
{
	struct stat info;

	if (lstat(path, &info))
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "cannot use the folder %s", path);
	errno = EPERM;
	if (!S_ISDIR(info.st_mode))
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "%s is not a folder; remove it, or set "
				    "WEIR_DIR", path);
	if (info.st_uid != geteuid())
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "the folder %s belongs to user %lu, not to "
				    "user %lu; remove it, or set WEIR_DIR",
				    path, (unsigned long)info.st_uid,
				    (unsigned long)geteuid());
	if (info.st_mode & 022)
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "other users may write to the folder %s "
				    "(mode %o); use chmod 700, or set WEIR_DIR",
				    path, (unsigned)info.st_mode & 07777);
	return WEIR_OK;
}

/*
 * Find this user's own folder.  Refuse it if other users own or may write it.
 */
static weir_err own_folder(char *path, size_t room, bool make,
			   const weir_named_opts *opts)
{
	(void)snprintf(path, room, "/dev/shm/weir-%lu",
		       (unsigned long)geteuid());
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return weir_nm_say_(opts, WEIR_ESYSTEM,
				    "cannot create the folder %s", path);
	return check_folder(path, opts);
}

static weir_err find_folder(char *path, size_t room, bool make,
			    const weir_named_opts *opts)
{
	const char *given = secure_getenv("WEIR_DIR");

	if (given && *given) {
		if ((size_t)snprintf(path, room, "%s", given) < room)
			return WEIR_OK;
		errno = ENAMETOOLONG;
		return weir_nm_say_(opts, WEIR_ESYSTEM, "WEIR_DIR");
	}
	if (is_folder("/run/weir")) {
		(void)snprintf(path, room, "/run/weir");
		return WEIR_OK;
	}
	return own_folder(path, room, make, opts);
}

/* Returns the rule that the name breaks, or null. */
static const char *broken_rule(const char *name)
{
	if (!*name)
		return "a name must not be empty";
	if (strlen(name) > WEIR_NAMED_NAME_MAX)
		return "a name has at most 128 bytes";
	if (*name == '.')
		return "a name must not begin with a dot";
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127)
			return "a name must not contain spaces or control "
			       "characters";
	return NULL;
}

_Static_assert(WEIR_NAMED_NAME_MAX == 128, "the text of broken_rule");

weir_err weir_nm_find_place_(const char *name, bool make,
			     const weir_named_opts *opts, char **path)
{
	char folder[PATH_ROOM];
	const char *broken;
	size_t room;
	weir_err err;

	if (!name)
		return WEIR_EINVAL;
	if (strchr(name, '/')) {
		room = strlen(name) + 1;
		if (room > PATH_ROOM)
			return weir_nm_say_(opts, WEIR_EINVAL,
					    "a path has less than 4096 bytes");
		*path = weir_mem_alloc_(room);
		if (!*path)
			return WEIR_ENOMEM;
		memcpy(*path, name, room);
		return WEIR_OK;
	}
	broken = broken_rule(name);
	if (broken)
		return weir_nm_say_(opts, WEIR_EINVAL, "%s", broken);
	err = find_folder(folder, sizeof(folder), make, opts);
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
	err = name ? weir_nm_find_place_(name, false, NULL, &whole) :
		     find_folder(folder, sizeof(folder), false, NULL);
	if (err)
		return err;
	if ((size_t)snprintf(path, size, "%s", whole) >= size)
		err = WEIR_EINVAL;
	if (name)
		weir_mem_free_(whole);
	return err;
}
