/* SPDX-License-Identifier: MIT */
/* URLs, loading libweir-cluster, and its errors. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/library.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/remote.h"

#define LIBRARY "libweir-cluster.so.0"
#define NEEDED "libweir.so.0"		/* by LIBRARY */
#ifdef WEIR_STATIC
#define REMEDY ", which this static program cannot load%.0s"
#else
#define REMEDY " (Debian package libweir-cluster0): %s"
#endif

struct remote_api remote_api;

/* Returns the URL base/name; the options of base follow the name. */
static const char *below(const char *base, const char *name)
{
	const char *query = strchr(base, '?');
	size_t length = query ? (size_t)(query - base) : strlen(base);
	size_t room = strlen(base) + strlen(name) + 2;
	const char *scheme = strstr(base, "://");
	size_t least = scheme ? (size_t)(scheme + 3 - base) : 0;
	char *url = memory_realloc(NULL, room);

	while (length > least && base[length - 1] == '/')
		length--;
	(void)snprintf(url, room, "%.*s/%s%s", (int)length, base, name,
		       query ? query : "");
	return url;
}

const char *remote_join(const char *url, const char *name)
{
	char *escaped = memory_realloc(NULL, 3 * strlen(name) + 1);
	char *to = escaped;
	const char *joined;

	for (const char *p = name; *p; p++)
		if (strchr(" %?#&\"<>", *p))
			to += sprintf(to, "%%%02X", (unsigned char)*p);
		else
			*to++ = *p;
	*to = 0;
	joined = below(url, escaped);
	free(escaped);
	return joined;
}

const char *remote_url(const char *name)
{
	const char *base = getenv("WEIR_URL");

	if (!name)
		return NULL;
	if (strstr(name, "://"))
		return name;
	if (!base || !*base || strchr(name, '/'))
		return NULL;
	return remote_join(base, name);
}

bool remote_has_name(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;
	const char *end = host + strcspn(host, "?");

	return memchr(host, '/', (size_t)(end - host)) && end[-1] != '/';
}

/* Returns true if the last ':' of the authority is not followed by a port. */
static bool has_bad_port(const char *from, const char *to)
{
	const char *colon = memrchr(from, ':', (size_t)(to - from));

	if (!colon || to[-1] == ']')
		return false;
	return colon == from || colon + 1 == to ||
	       strspn(colon + 1, "0123456789") < (size_t)(to - colon - 1);
}

/*
 * The password is between the first ':' and the last '@' of the authority.  A
 * '/' or '?' in a password must be escaped.  If it is not, the URL is not valid,
 * but the message about that must not contain the password.
 */
static bool find_password(const char *url, size_t *from, size_t *to)
{
	const char *start = strstr(url, "://"), *end, *at, *colon;

	/* Without a scheme the URL is not valid either. */
	start = start ? start + 3 : url + strspn(url, "/");
	end = start + strcspn(start, "/?");
	if (!memchr(start, '@', (size_t)(end - start)) &&
	    has_bad_port(start, end))
		end = start + strlen(start);
	at = memrchr(start, '@', (size_t)(end - start));
	colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
	if (!colon)
		return false;
	*from = (size_t)(colon - url);
	*to = (size_t)(at - url);
	return true;
}

const char *remote_display(const char *url)
{
	char *copy = memory_strdup(url);
	size_t from, to;

	if (find_password(copy, &from, &to))
		memmove(copy + from, copy + to, strlen(copy + to) + 1);
	return copy;
}

void remote_refuse_password(const char *argument)
{
	size_t from, to;

	if (strstr(argument, "://") && find_password(argument, &from, &to))
		cmd_die(EXIT_MISUSE, "%s: a password in the arguments is visible "
			"to other users; use WEIR_PASSWORD, WEIR_PASSWORD_FILE "
			"or WEIR_URL", remote_display(argument));
}

/*
 * Load libweir-cluster: the one that the loader finds, else the one that was
 * installed with the command.  In the second case the loader would not find the
 * libweir that it needs either.  So that one is loaded first, and the loader
 * recognises it by its soname.
 */
static void *load_library(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	char path[PATH_MAX], needed[PATH_MAX];

	/* The last call of dlopen fails if this function does: see dlerror. */
	if (library || !library_find(LIBRARY, "../cluster/", path) ||
	    !library_find(NEEDED, "../", needed) ||
	    !dlopen(needed, RTLD_NOW | RTLD_LOCAL))
		return library;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void remote_load(const char *url)
{
	static bool loaded;
	void *library;

	if (loaded)
		return;
	/* Only a URL that comes from the environment can lack its scheme. */
	if (!strstr(url, "://"))
		cmd_die(EXIT_MISUSE, "WEIR_URL: \"%s\" is not a URL such as "
			"redis://host", remote_display(getenv("WEIR_URL")));
	library = load_library();
	if (!library)
		cmd_die(EXIT_CLOSED, "%s: semaphores between machines need "
			LIBRARY REMEDY, remote_display(url), dlerror());
#define LOAD_(name)                                                            \
	*(void **)&remote_api.name = dlsym(library, #name);                    \
	if (!remote_api.name)                                                  \
		cmd_die(EXIT_WEIR, LIBRARY ": " #name " is missing");
	REMOTE_FUNCTIONS(LOAD_)
#undef LOAD_
	loaded = true;
}

int remote_status(weir_err err, int errnum)
{
	if (err == WEIR_ELOST)
		return EXIT_LOST;
	if (err == WEIR_EINDETERMINATE)
		return EXIT_CLOSED;
	if (err != WEIR_ESYSTEM)
		return cmd_status(err, errnum);
	switch (errnum) {
	case EACCES:
		return EXIT_REFUSED;
	case EBADMSG:
	case EPROTO:
		return EXIT_DAMAGED;
	default:
		return EXIT_CLOSED;
	}
}

void remote_fail(const char *url, weir_cluster *c, weir_err err)
{
	int errnum = errno;
	const char *name = remote_display(url);
	char why[256] = "";

	if (err == WEIR_ECLOSED)
		cmd_fail(name, err, NULL);
	if (err == WEIR_ESYSTEM || err == WEIR_EINDETERMINATE)
		remote_api.weir_cluster_why(c, why, sizeof(why));
	cmd_die(remote_status(err, errnum), "%s: %s%s%s", name,
		*why ? why : weir_err_text(err),
		err == WEIR_EINDETERMINATE ? "; " : "",
		err == WEIR_EINDETERMINATE ? weir_err_text(err) : "");
}

/*
 * Returns null if the semaphore is missing and `hint` is null.  Exits with a
 * message if the open fails otherwise; the hint follows the message about a
 * missing semaphore.
 */
static weir_cluster *open_remote(const char *url, const weir_cluster_opts *opts,
				 const char *hint)
{
	weir_cluster_opts all = *opts;
	char why[512] = "";
	weir_cluster *c;
	bool missing;
	weir_err err;
	int errnum;

	remote_load(url);
	all.why = why;
	all.why_size = sizeof(why);
	err = remote_api.weir_cluster_open(url, &all, &c);
	errnum = errno;
	missing = err == WEIR_ESYSTEM && errnum == ENOENT &&
		  !(opts->flags & WEIR_CLUSTER_CREATE);
	if (missing && !hint)
		return NULL;
	if (err)
		cmd_die(remote_status(err, errnum), "%s: %s%s",
			remote_display(url), *why ? why : weir_err_text(err),
			missing ? hint : "");
	return c;
}

weir_cluster *remote_open(const char *url, const weir_cluster_opts *opts)
{
	return open_remote(url, opts, "");
}

weir_cluster *remote_open_existing(const char *url,
				   const weir_cluster_opts *opts)
{
	return open_remote(url, opts, NULL);
}

weir_cluster *remote_open_or_create(const char *url,
				    const weir_cluster_opts *opts)
{
	return open_remote(url, opts, "; -n CAPACITY creates it");
}

bool remote_exists(const char *url)
{
	weir_cluster_opts opts = { 0 };
	weir_cluster *c = remote_open_existing(url, &opts);

	if (c)
		(void)!remote_api.weir_cluster_close_handle(c);
	return c;
}

void remote_warn_capacity(const char *url, weir_cluster *c, int64_t wanted)
{
	weir_cluster_info info;
	const char *name = remote_display(url);

	/* The caller refuses or replaces a closed semaphore. */
	if (remote_api.weir_cluster_stat(c, &info, NULL, 0) || info.closed ||
	    info.capacity == wanted)
		return;
	cmd_message("%s: the capacity is %lld, not %lld; \"weir resize %s "
		    "%lld\" changes it", name, (long long)info.capacity,
		    (long long)wanted, name, (long long)wanted);
}

void remote_list(const char *url, weir_cluster_name_fn *fn, void *user)
{
	char why[512] = "";
	weir_cluster_opts opts = { .why = why, .why_size = sizeof(why) };
	weir_err err;

	remote_load(url);
	err = remote_api.weir_cluster_list(url, &opts, fn, user);
	if (err)
		cmd_die(remote_status(err, errno), "%s: %s",
			remote_display(url), *why ? why : weir_err_text(err));
}
