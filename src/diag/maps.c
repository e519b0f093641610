/* SPDX-License-Identifier: MIT */
/* Call sites by /proc/self/maps: maps.h. */
#include "diag/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "diag/snapshot.h"

/* The part of a line that is kept: the addresses and the end of the path. */
#define ADDRESSES 40u
#define PATH 128u

struct line {
	char addresses[ADDRESSES];
	char path[PATH];	/* after the last slash, if it is that short */
	size_t length;		/* of the line so far */
	size_t path_length;
	bool in_path;
};

static int hex_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read a number in hexadecimal.  Returns the text after it. */
static const char *read_hex(const char *text, uint64_t *number)
{
	*number = 0;
	for (; hex_of(*text) >= 0; text++)
		*number = *number << 4 | (uint64_t)hex_of(*text);
	return text;
}

static void add(struct line *line, char c)
{
	if (line->length < ADDRESSES - 1)
		line->addresses[line->length] = c;
	line->length++;
	if (c == '/') {
		line->in_path = true;
		line->path_length = 0;
	} else if (line->in_path && line->path_length < PATH - 1) {
		line->path[line->path_length++] = c;
	}
}

void weir_diag_put_offset_(char *to, size_t size, uint64_t offset)
{
	char digits[16];
	size_t n = 0, used = strlen(to);

	do {
		digits[n++] = "0123456789abcdef"[offset & 15];
		offset >>= 4;
	} while (offset);
	if (used + n + 4 > size)
		return;
	memcpy(to + used, "+0x", 3);
	used += 3;
	while (n)
		to[used++] = digits[--n];
	to[used] = '\0';
}

/* The module that began last in the file; the next lines may continue it. */
struct module {
	char path[PATH];
	size_t length;
	uint64_t base;
};

/* Returns true if the line contains the site, and writes its name then. */
static bool take(const struct line *line, struct module *module, uint64_t site,
		 char *to, size_t size)
{
	uint64_t low, high;
	const char *next = read_hex(line->addresses, &low);

	if (*next != '-')
		return false;
	(void)read_hex(next + 1, &high);
	if (line->path_length != module->length ||
	    memcmp(line->path, module->path, module->length) != 0) {
		memcpy(module->path, line->path, line->path_length);
		module->length = line->path_length;
		module->base = low;
	}
	if (site < low || site >= high || !module->length)
		return false;
	weir_diag_clean_(to, size, module->path, module->length);
	weir_diag_put_offset_(to, size, site - module->base);
	return true;
}

static bool search(int fd, uint64_t site, char *to, size_t size)
{
	struct module module = { .length = 0 };
	struct line line = { .length = 0 };
	char room[1024];

	for (;;) {
		ssize_t n = read(fd, room, sizeof(room));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++) {
			if (room[i] != '\n') {
				add(&line, room[i]);
				continue;
			}
			if (take(&line, &module, site, to, size))
				return true;
			memset(&line, 0, sizeof(line));
		}
	}
}

bool weir_diag_map_site_(void *user, uint64_t site, char *to, size_t size)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool found;

	(void)user;
	if (fd < 0)
		return false;
	/* A return address may be that of the next function. */
	found = search(fd, site - 1, to, size);
	close(fd);
	return found;
}
