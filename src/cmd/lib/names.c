/* SPDX-License-Identifier: MIT */
/* Names of semaphores: listing them, and making them absolute. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/memory.h"
#include "cmd/lib/names.h"
#include "weir/named.h"

#define SUFFIX_LENGTH (sizeof(NAMES_SUFFIX) - 1)

static int is_semaphore(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > SUFFIX_LENGTH && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + length - SUFFIX_LENGTH, NAMES_SUFFIX);
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
		return errno == ENOENT ? 0 : -1;
	/* Allocate one more, because the size must not be 0. */
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
