/* SPDX-License-Identifier: MIT */
/* The names of the semaphores in a server. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"
#include "cluster/session.h"

/* The number of names is limited, because the server is not trusted. */
#define NAMES_MAX 1000000

static bool is_valid(const char *name)
{
	if (!*name || strlen(name) > WEIR_CLUSTER_NAME_MAX)
		return false;
	for (; *name; name++)
		if (iscntrl((unsigned char)*name) || strchr("{}/", *name))
			return false;
	return true;
}

/* The analyser of gcc 12 does not follow the pointer into the list. */
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif
bool weir_cl_names_add_(struct names *names, const char *name)
{
	char **grown;

	if (!is_valid(name))
		return true;
	if (names->count == NAMES_MAX)
		return false;
	/* The room is doubled at each power of two. */
	if (!(names->count & (names->count - 1))) {
		size_t room = names->count ? 2 * names->count : 1;

		grown = realloc(names->list, room * sizeof(*grown));
		if (!grown)
			return false;
		names->list = grown;
	}
	names->list[names->count] = strdup(name);
	if (!names->list[names->count])
		return false;
	names->count++;
	return true;
}
#pragma GCC diagnostic pop

static void clear(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
	*names = (struct names){ .list = NULL };
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Call fn once for each name: a server may report a name twice, as Redis may.
 */
static void call_each(const struct names *names, weir_cluster_name_fn *fn,
		      void *user)
{
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare);
	for (size_t i = 0; i < names->count; i++)
		if (!i || strcmp(names->list[i - 1], names->list[i]))
			fn(names->list[i], user);
}

/* Repeat the request until the time has passed: it is idempotent. */
static enum result read_names(const struct engine_ops *ops, struct engine *e,
			      int64_t until, struct names *names,
			      struct fault *fault)
{
	enum result result;
	int attempt = 0;

	do {
		clear(names);
		result = ops->list(e, names, until, fault);
	} while (weir_cl_call_repeats_(result, fault) &&
		 weir_cl_call_pause_(attempt++, NULL, until));
	return result;
}

weir_err weir_cluster_list(const char *url, const weir_cluster_opts *opts,
			   weir_cluster_name_fn *fn, void *user)
{
	static const weir_cluster_opts none;
	const struct engine_ops *ops = NULL;
	struct session session = { .ttl_ns = 0 };
	struct names names = { .list = NULL };
	struct fault fault = { 0 };
	struct engine *e = NULL;
	weir_err err;

	if (!opts)
		opts = &none;
	if (!url || !fn)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL,
				    "an argument is not valid");
	err = weir_cl_session_set_(&session, url, false, opts, &ops);
	if (!err) {
		e = ops->open(&session);
		if (!e)
			err = weir_cl_say_(opts, WEIR_ENOMEM, ENOMEM,
					   "out of memory");
	}
	if (e && read_names(ops, e, boot_now() + session.timeout_ns, &names,
			    &fault))
		err = weir_cl_say_(opts, fault.errnum == ENOMEM ? WEIR_ENOMEM :
				   WEIR_ESYSTEM, fault.errnum, fault.why);
	if (!err)
		call_each(&names, fn, user);
	if (e) {
		int errnum = errno;

		ops->close(e);
		errno = errnum;
	}
	clear(&names);
	explicit_bzero(&session, sizeof(session));
	return err;
}
