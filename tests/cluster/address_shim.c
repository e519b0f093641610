/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a client: the name two.test has two addresses, 127.0.0.2 and
 * 127.0.0.1, in this order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

int getaddrinfo(const char *restrict name, const char *restrict port,
		const struct addrinfo *restrict hints,
		struct addrinfo **restrict list)
{
	static int (*real)(const char *, const char *, const struct addrinfo *,
			   struct addrinfo **);
	int error;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (!name || strcmp(name, "two.test"))
		return real(name, port, hints, list);
	error = real("127.0.0.2", port, hints, list);
	return error ? error : real("127.0.0.1", port, hints,
				    &(*list)->ai_next);
}

/* Frees nothing: C libraries allocate lists in different ways. */
void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}
