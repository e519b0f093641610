/* SPDX-License-Identifier: MIT */
#include "posix/name.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Write "name" or "name+0x20". */
static void name_at(char *to, size_t size, const char *name, const void *at,
		    const void *start)
{
	size_t offset = (size_t)((uintptr_t)at - (uintptr_t)start);

	if (offset)
		snprintf(to, size, "%s+0x%zx", name, offset);
	else
		snprintf(to, size, "%s", name);
}

void weir_posix_name_it_(const sem_t *s, const void *caller, char *name,
			 size_t size)
{
	char place[32];
	Dl_info info;

	if (dladdr((const void *)s, &info) && info.dli_fname) {
		if (info.dli_sname)
			name_at(name, size, info.dli_sname, s, info.dli_saddr);
		else
			name_at(name, size, base_name(info.dli_fname), s,
				info.dli_fbase);
	} else if (dladdr(caller, &info) && info.dli_fname) {
		if (info.dli_sname)
			name_at(place, sizeof(place), info.dli_sname, caller,
				info.dli_saddr);
		else
			name_at(place, sizeof(place), base_name(info.dli_fname),
				caller, info.dli_fbase);
		snprintf(name, size, "%s@%p", place, (const void *)s);
	} else {
		snprintf(name, size, "%p", (const void *)s);
	}
}
