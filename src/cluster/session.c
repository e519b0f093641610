/* SPDX-License-Identifier: MIT */
/* The session of a handle: its URL, its password, its times, its engine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/session.h"
#include "cluster/text.h"

#define DEFAULT_TTL_NS (10 * SECOND_NS)
#define DEFAULT_TIMEOUT_NS (3 * SECOND_NS)
#define SHORTEST_TTL_NS INT64_C(100000000)
#define LONGEST_TTL_NS (86400 * SECOND_NS)
#define LONGEST_TIMEOUT_NS (86400 * SECOND_NS)

weir_err weir_cl_say_(const weir_cluster_opts *opts, weir_err err, int errnum,
		      const char *why)
{
	if (opts->why && opts->why_size)
		weir_cl_text_copy_(opts->why, opts->why_size, why);
	errno = errnum;
	return err;
}

/* Returns the engine of a scheme, or null.  *known: the scheme is valid. */
static const struct engine_ops *engine_of(const char *scheme, bool *known)
{
	static const struct {
		const char *scheme;
		const struct engine_ops *ops;
	} engines[] = {
#ifdef HAVE_REDIS
		{ "redis", &weir_cl_redis_ }, { "rediss", &weir_cl_redis_ },
#else
		{ "redis", NULL }, { "rediss", NULL },
#endif
#ifdef HAVE_ETCD
		{ "etcd", &weir_cl_etcd_ }, { "etcds", &weir_cl_etcd_ },
#else
		{ "etcd", NULL }, { "etcds", NULL },
#endif
#ifdef HAVE_POSTGRES
		{ "postgresql", &weir_cl_postgres_ },
		{ "postgres", &weir_cl_postgres_ },
#else
		{ "postgresql", NULL }, { "postgres", NULL },
#endif
	};

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (!strcmp(scheme, engines[i].scheme)) {
			*known = true;
			return engines[i].ops;
		}
	*known = false;
	return NULL;
}

/*
 * Read the first line of the file.  Returns false with errno; EMSGSIZE: the line
 * does not fit.
 */
static bool read_secret(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	size_t length;

	if (fd < 0)
		return false;
	got = read(fd, out, size);
	close(fd);
	if (got < 0)
		return false;
	length = (size_t)got < size ? (size_t)got : size - 1;
	if ((size_t)got == size && !memchr(out, '\n', size)) {
		errno = EMSGSIZE;
		return false;
	}
	out[length] = 0;
	out[strcspn(out, "\r\n")] = 0;
	return true;
}

/*
 * If the file of the password cannot be read, then errno is EACCES: ENOENT would
 * mean that the semaphore does not exist.
 */
static weir_err find_password(struct url *url, const weir_cluster_opts *opts)
{
	static const char too_long[] = "the password is longer than 255 bytes";
	const char *given = opts->password;
	const char *file = getenv("WEIR_PASSWORD_FILE");
	size_t size = sizeof(url->password);
	char why[URL_TEXT + 128];

	_Static_assert(sizeof(url->password) == 256, "too_long states the size");
	if (!given && url->password[0])
		return WEIR_OK;
	if (!given)
		given = getenv("WEIR_PASSWORD");
	if (given && snprintf(url->password, size, "%s", given) >= (int)size)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, too_long);
	if (given || !file || !*file ||
	    read_secret(file, url->password, size))
		return WEIR_OK;
	if (errno == EMSGSIZE)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, too_long);
	(void)snprintf(why, sizeof(why), "the password cannot be read from %s: "
		       "%s", file, strerror(errno));
	return weir_cl_say_(opts, WEIR_ESYSTEM, EACCES, why);
}

static void random_id(char id[17])
{
	uint64_t random = 0;

	/* This cannot fail after the kernel has started. */
	while (getrandom(&random, sizeof(random), 0) != sizeof(random))
		;
	(void)snprintf(id, 17, "%016llx", (unsigned long long)random);
}

/* Set the times of the session.  Returns null or a message. */
static const char *set_times(struct session *s, const weir_cluster_opts *opts)
{
	s->ttl_ns = opts->ttl_ns ? opts->ttl_ns : s->url.ttl_ns;
	if (!s->ttl_ns)
		s->ttl_ns = DEFAULT_TTL_NS;
	s->timeout_ns = opts->timeout_ns ? opts->timeout_ns :
			s->url.timeout_ns;
	if (!s->timeout_ns)
		s->timeout_ns = DEFAULT_TIMEOUT_NS;
	if (s->ttl_ns < SHORTEST_TTL_NS || s->ttl_ns > LONGEST_TTL_NS)
		return "the TTL is not between 100ms and 24h";
	/* Deadlines are sums of times, and engines have limits of their own. */
	if (s->timeout_ns < 0 || s->timeout_ns > LONGEST_TIMEOUT_NS)
		return "the timeout is not between 0 and 24h";
	return NULL;
}

weir_err weir_cl_session_set_(struct session *s, const char *url, bool named,
			      const weir_cluster_opts *opts,
			      const struct engine_ops **ops)
{
	const char *wrong = weir_cl_url_parse_(url, named, &s->url);
	weir_err err;
	bool known;

	if (wrong)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, wrong);
	err = find_password(&s->url, opts);
	if (err)
		return err;
	wrong = set_times(s, opts);
	if (wrong)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, wrong);
	s->replicas = opts->replicas ? opts->replicas : s->url.replicas;
	if (opts->label && strlen(opts->label) > WEIR_CLUSTER_LABEL_MAX)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, "the label is too long");
	random_id(s->id);
	weir_cl_text_self_(s->text, sizeof(s->text), opts->label);
	*ops = engine_of(s->url.scheme, &known);
	if (!known)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL,
			   "the scheme of the URL is unknown; the schemes are redis, "
			   "rediss, etcd, etcds, postgresql and postgres");
	if (!*ops)
		return weir_cl_say_(opts, WEIR_ESYSTEM, ENOTSUP,
			   "this library was built without the engine");
	return WEIR_OK;
}
