/* SPDX-License-Identifier: MIT */
/*
 * Tokens of `weir hold`: 32 hexadecimal digits, '@', the semaphore's name.  Who
 * holds listens at a socket whose name has the digits, beside the semaphore.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/token.h"

char *token_new(const char *name)
{
	unsigned char random[TOKEN_DIGITS / 2];
	char *absolute = name_absolute(name);
	size_t room = TOKEN_DIGITS + strlen(absolute) + 2;
	char *token = malloc(room), *to = token;

	if (!token)
		cmd_die(EXIT_WEIR, "out of memory");
	if (getentropy(random, sizeof(random)))
		cmd_die(EXIT_WEIR, "no random numbers: %s", strerror(errno));
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
	weir_err err = weir_named_path(token_name(token), file, sizeof(file));
	const char *slash;

	if (err)
		return err;
	slash = strrchr(file, '/');
	(void)snprintf(path, TOKEN_PATH_ROOM, "%.*s/" TOKEN_PREFIX "%.*s",
		       slash ? (int)(slash - file) : 1, slash ? file : ".",
		       TOKEN_DIGITS, token);
	return WEIR_OK;
}

/* The folder that path is in. */
static const char *folder_of(const char *path, char folder[TOKEN_PATH_ROOM])
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(folder, TOKEN_PATH_ROOM, "%.*s", (int)(slash - path),
		       path);
	return *folder ? folder : "/";
}

bool token_fits(const char *path)
{
	char folder[TOKEN_PATH_ROOM];

	return !faccessat(AT_FDCWD, folder_of(path, folder), W_OK | X_OK,
			  AT_EACCESS);
}

/* The address of a name in a folder: a path can be too long for one. */
static void address_of(struct sockaddr_un *address, int dir, const char *name)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(address->sun_path, sizeof(address->sun_path),
		       "/proc/self/fd/%d/%.60s", dir, name);
}

/*
 * Its name is there when somebody listens, not before: one at which nobody does
 * is taken away by release and doctor.
 */
static bool listen_as(int fd, int dir, const char *name)
{
	mode_t before = umask(0177);
	struct sockaddr_un address;
	char first[64];
	bool listens;

	(void)snprintf(first, sizeof(first), ".weir-new-%.32s",
		       name + sizeof(TOKEN_PREFIX) - 1);
	address_of(&address, dir, first);
	listens = !bind(fd, (struct sockaddr *)&address, sizeof(address)) &&
		  !listen(fd, 8) && !renameat(dir, first, dir, name);
	umask(before);
	return listens;
}

int token_socket(const char *path, bool listens)
{
	struct sockaddr_un address;
	const char *slash = strrchr(path, '/');
	char folder[TOKEN_PATH_ROOM];
	int dir, fd, failed, saved;

	dir = open(folder_of(path, folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	address_of(&address, dir, slash + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	failed = fd < 0;
	if (!failed && listens) {
		failed = !listen_as(fd, dir, slash + 1);
	} else if (!failed) {
		failed = connect(fd, (struct sockaddr *)&address,
				 sizeof(address));
	}
	saved = errno;
	close(dir);
	if (failed && fd >= 0)
		close(fd);
	errno = saved;
	return failed ? -1 : fd;
}
