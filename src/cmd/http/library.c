/* SPDX-License-Identifier: MIT */
#include "cmd/http/library.h"

#include <dlfcn.h>

#include "cmd/lib/fail.h"

#define LIBRARY "libmicrohttpd.so.12"

struct mhd mhd;

void mhd_load(const char *name, const char *otherwise)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		cmd_die(EXIT_CLOSED, "%s: cannot listen without " LIBRARY
			" (Debian package libmicrohttpd12)%s", name,
			otherwise);
#define LOAD_(function)                                                        \
	*(void **)&mhd.function = dlsym(library, #function);                   \
	if (!mhd.function)                                                     \
		cmd_die(EXIT_WEIR, LIBRARY ": " #function " is missing");
	MHD_FUNCTIONS(LOAD_)
#undef LOAD_
}
