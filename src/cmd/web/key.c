/* SPDX-License-Identifier: MIT */
#include "cmd/web/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cmd/lib/fail.h"

#define KEY_BYTES 16
#define KEY_MIN 8
#define KEY_MAX 64

static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/* "/KEY/" */
static char root[KEY_MAX + 3];

static void make_random(char key[KEY_MAX + 1])
{
	unsigned char bytes[KEY_BYTES];

	/* getrandom(2) delivers up to 256 bytes completely, or none. */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		cmd_die(EXIT_WEIR, "web: getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(key + 2 * i, 3, "%02x", bytes[i]);
}

const char *key_path(void)
{
	const char *given = getenv("WEIR_WEB_KEY");
	char key[KEY_MAX + 1];
	size_t size = given ? strlen(given) : 0;

	if (!size) {
		make_random(key);
		given = key;
	} else if (size < KEY_MIN || size > KEY_MAX ||
		   strspn(given, allowed) != size) {
		cmd_die(EXIT_MISUSE, "web: WEIR_WEB_KEY must have %d to %d "
			"letters, digits, \"-\" or \"_\"", KEY_MIN, KEY_MAX);
	}
	snprintf(root, sizeof(root), "/%s/", given);
	return root;
}

const char *key_strip(const char *path)
{
	size_t size = strlen(root);
	unsigned char differ = 0;

	if (strlen(path) < size)
		return NULL;
	/* The time does not depend on the place of the first difference. */
	for (size_t i = 0; i < size; i++)
		differ |= (unsigned char)(path[i] ^ root[i]);
	return differ ? NULL : path + size;
}
