/* SPDX-License-Identifier: MIT */
/* Tokens of holds, and the sockets of hold daemons. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/names.h"
#include "cmd/lib/token.h"
#include "weir/named.h"

char *token_new(const char *name)
{
	unsigned char random[TOKEN_DIGITS / 2];
	char *absolute = strstr(name, "://") ? memory_strdup(name) :
			 names_absolute(name);
	size_t room = TOKEN_DIGITS + strlen(absolute) + 2;
	char *token = memory_realloc(NULL, room), *to = token;

	if (getentropy(random, sizeof(random)))
		cmd_die(EXIT_WEIR, "cannot get random bytes: %s",
			strerror(errno));
	for (size_t i = 0; i < sizeof(random); i++)
		to += sprintf(to, "%02x", random[i]);
	(void)sprintf(to, "@%s", absolute);
	free(absolute);
	return token;
}

const char *token_name(const char *token)
{
	for (int i = 0; i < TOKEN_DIGITS; i++)
		if (!isxdigit((unsigned char)token[i]))
			return NULL;
	return token[TOKEN_DIGITS] == '@' && token[TOKEN_DIGITS + 1] ?
		       token + TOKEN_DIGITS + 1 : NULL;
}

weir_err token_path(const char *token, char path[TOKEN_PATH_ROOM])
{
	char file[PATH_MAX];
	const char *name = token_name(token), *slash;
	/* The folder of names has the sockets for URLs. */
	bool remote = name && strstr(name, "://");
	weir_err err = name ? weir_named_path(remote ? NULL : name, file,
					      sizeof(file)) : WEIR_EINVAL;

	if (err)
		return err;
	slash = remote ? strchr(file, 0) : strrchr(file, '/');
	(void)snprintf(path, TOKEN_PATH_ROOM, "%.*s/" TOKEN_PREFIX "%.*s",
		       slash ? (int)(slash - file) : 1, slash ? file : ".",
		       TOKEN_DIGITS, token);
	return WEIR_OK;
}

/* Returns the folder of a path. */
static const char *folder_of(const char *path, char folder[TOKEN_PATH_ROOM])
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(folder, TOKEN_PATH_ROOM, "%.*s", (int)(slash - path),
		       path);
	return *folder ? folder : "/";
}

bool token_is_allowed(const char *path)
{
	char folder[TOKEN_PATH_ROOM];

	return !faccessat(AT_FDCWD, folder_of(path, folder), W_OK | X_OK,
			  AT_EACCESS);
}

/* A folder: an open descriptor, and its path. */
struct folder {
	int fd;
	char room[TOKEN_PATH_ROOM];
	const char *path;
};

/*
 * Set *address to the address of a socket in the folder.  A path may be longer
 * than sun_path, so the address goes through /proc.  Without /proc it is the
 * path; returns false if that is too long.
 */
static bool address_of(struct sockaddr_un *address, const struct folder *folder,
		       const char *name)
{
	size_t room = sizeof(address->sun_path);
	int used;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (access("/proc/self/fd", F_OK))
		used = snprintf(address->sun_path, room, "%s/%.60s",
				folder->path, name);
	else
		used = snprintf(address->sun_path, room,
				"/proc/self/fd/%d/%.60s", folder->fd, name);
	errno = ENAMETOOLONG;
	return used > 0 && (size_t)used < room;
}

/*
 * Bind and listen under a temporary name, then rename the socket.  The final
 * name must not appear before the socket listens: `weir release` and `weir
 * doctor` remove a socket without a listener.
 */
static bool bind_and_listen(int fd, const struct folder *folder,
			    const char *name)
{
	mode_t before = umask(0177);
	struct sockaddr_un address;
	char first[64];
	bool listens;

	(void)snprintf(first, sizeof(first), TOKEN_NEW "%.32s",
		       name + sizeof(TOKEN_PREFIX) - 1);
	listens = address_of(&address, folder, first) &&
		  !bind(fd, (struct sockaddr *)&address, sizeof(address)) &&
		  !listen(fd, 8) &&
		  !renameat(folder->fd, first, folder->fd, name);
	umask(before);
	return listens;
}

static bool connect_to(int fd, const struct folder *folder, const char *name)
{
	struct sockaddr_un address;

	return address_of(&address, folder, name) &&
	       !connect(fd, (struct sockaddr *)&address, sizeof(address));
}

/* Returns a socket, after listening or connecting; -1: errno is set. */
static int open_socket(const char *path, int type, bool listens)
{
	const char *name = strrchr(path, '/') + 1;
	struct folder folder;
	bool failed;
	int fd, saved;

	folder.path = folder_of(path, folder.room);
	folder.fd = open(folder.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder.fd < 0)
		return -1;
	fd = socket(AF_UNIX, type, 0);
	failed = fd < 0 || !(listens ? bind_and_listen(fd, &folder, name) :
				       connect_to(fd, &folder, name));
	saved = errno;
	close(folder.fd);
	if (failed && fd >= 0)
		close(fd);
	errno = saved;
	return failed ? -1 : fd;
}

int token_listen(const char *path)
{
	return open_socket(path, SOCK_STREAM | SOCK_CLOEXEC, true);
}

int token_connect(const char *path)
{
	return open_socket(path, SOCK_STREAM | SOCK_CLOEXEC, false);
}

bool token_has_listener(const char *path)
{
	/*
	 * A connect would wait while the queue of the listener is full: EAGAIN.
	 * The listener may be stopped, or belong to a hostile user.
	 */
	int fd = open_socket(path, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			     false);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != ECONNREFUSED;
}
