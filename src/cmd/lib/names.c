/* SPDX-License-Identifier: MIT */
/* Names of semaphores: listing them, and making them absolute. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/names.h"
#include "weir/named.h"

/* The first bytes of a semaphore's file: docs/design/named-format.md. */
#define MAGIC "weir sem"
#define SUFFIX_LENGTH (sizeof(NAMES_SUFFIX) - 1)

static int is_semaphore(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > SUFFIX_LENGTH && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + length - SUFFIX_LENGTH, NAMES_SUFFIX);
}

/* Returns true if the user has chosen the folder. */
static bool is_given(void)
{
	const char *given = getenv("WEIR_DIR");

	return given && *given;
}

/* The allocation holds the pointers, followed by the texts. */
int names_list(char ***names)
{
	char folder[PATH_MAX], *text;
	struct dirent **entries;
	size_t bytes;
	int count;

	*names = NULL;
	if (weir_named_path(NULL, folder, sizeof(folder)))
		return errno == ENOENT ? 0 : -1;
	count = scandir(folder, &entries, is_semaphore, alphasort);
	if (count < 0)
		return errno == ENOENT && !is_given() ? 0 : -1;
	/* One more, because the size must not be 0. */
	bytes = ((size_t)count + 1) * sizeof(**names);
	for (int i = 0; i < count; i++)
		bytes += strlen(entries[i]->d_name) + 1;
	*names = memory_realloc(NULL, bytes);
	text = (char *)(*names + count);
	for (int i = 0; i < count; i++) {
		size_t length = strlen(entries[i]->d_name) - SUFFIX_LENGTH;

		(*names)[i] = text;
		memcpy(text, entries[i]->d_name, length);
		text[length] = 0;
		text += length + 1;
		free(entries[i]);
	}
	free(entries);
	return count;
}

void names_make_folder(void)
{
	char folder[PATH_MAX];

	if (!weir_named_path(NULL, folder, sizeof(folder)) || errno != ENOENT)
		return;
	(void)snprintf(folder, sizeof(folder), "/dev/shm/weir-%lu",
		       (unsigned long)geteuid());
	/* The next call of weir_named_path checks the folder. */
	(void)mkdir(folder, 0700);
}

void names_fail(const char *command)
{
	char folder[PATH_MAX], why[512] = "";
	weir_named_opts opts = { .why = why, .why_size = sizeof(why),
				 .flags = WEIR_NAMED_OBSERVER };
	int errnum = errno;
	weir_named *sem;

	if (!weir_named_path(NULL, folder, sizeof(folder))) {
		errno = errnum;
		cmd_fail(command, WEIR_ESYSTEM, folder);
	}
	/* The folder is refused: an open explains why.  "a" is any name. */
	errnum = errno;
	if (!weir_named_open("a", &opts, &sem))
		(void)!weir_named_close_handle(sem);
	errno = errnum;
	cmd_fail(command, WEIR_ESYSTEM, why);
}

char *names_absolute(const char *name)
{
	const char *slash = strrchr(name, '/');
	char folder[PATH_MAX], real[PATH_MAX];
	char *whole;
	size_t room;

	if (!slash)
		return memory_strdup(name);
	(void)snprintf(folder, sizeof(folder), "%.*s",
		       slash == name ? 1 : (int)(slash - name), name);
	/* If the folder does not exist, opening the semaphore reports that. */
	if (!realpath(folder, real))
		return memory_strdup(name);
	room = strlen(real) + strlen(slash) + 1;
	whole = memory_realloc(NULL, room);
	(void)snprintf(whole, room, "%s%s", strcmp(real, "/") ? real : "",
		       slash);
	return whole;
}

bool names_is_semaphore(int fd)
{
	char begins[sizeof(MAGIC) - 1];

	return pread(fd, begins, sizeof(begins), 0) ==
		       (ssize_t)sizeof(begins) &&
	       !memcmp(begins, MAGIC, sizeof(begins));
}
