/* SPDX-License-Identifier: MIT */
/* Opening and closing a handle. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/handle.h"
#include "cluster/text.h"

#define DEFAULT_TTL_NS (10 * SECOND_NS)
#define DEFAULT_TIMEOUT_NS (3 * SECOND_NS)
#define SHORTEST_TTL_NS INT64_C(100000000)
#define LONGEST_TTL_NS (86400 * SECOND_NS)

static weir_err say(const weir_cluster_opts *opts, weir_err err, int errnum,
		    const char *why)
{
	if (opts->why && opts->why_size)
		weir_cl_text_copy_(opts->why, opts->why_size, why);
	errno = errnum;
	return err;
}

/* The engine of a scheme; *known: the scheme is valid. */
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

/* Read the first line of the file.  Returns false with errno. */
static bool read_secret(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, out, size - 1);
	close(fd);
	if (got < 0)
		return false;
	out[got] = 0;
	out[strcspn(out, "\r\n")] = 0;
	return true;
}

/* Returns false if the password cannot be read or is too long. */
static bool find_password(struct url *url, const weir_cluster_opts *opts)
{
	const char *given = opts->password;
	const char *file = getenv("WEIR_PASSWORD_FILE");
	size_t size = sizeof(url->password);

	if (!given && url->password[0])
		return true;
	if (!given)
		given = getenv("WEIR_PASSWORD");
	if (given)
		return snprintf(url->password, size, "%s", given) < (int)size;
	return !file || !*file || read_secret(file, url->password, size);
}

static void random_id(char id[17])
{
	uint64_t random = 0;

	/* This cannot fail after the kernel has started. */
	while (getrandom(&random, sizeof(random), 0) != sizeof(random))
		;
	(void)snprintf(id, 17, "%016llx", (unsigned long long)random);
}

static weir_err set_session(struct session *s, const char *url,
			    const weir_cluster_opts *opts)
{
	const char *wrong = weir_cl_url_parse_(url, &s->url);

	if (wrong)
		return say(opts, WEIR_EINVAL, EINVAL, wrong);
	if (!find_password(&s->url, opts))
		return say(opts, WEIR_ESYSTEM, errno,
			   "the password cannot be read");
	s->ttl_ns = opts->ttl_ns ? opts->ttl_ns : s->url.ttl_ns;
	if (!s->ttl_ns)
		s->ttl_ns = DEFAULT_TTL_NS;
	s->timeout_ns = opts->timeout_ns ? opts->timeout_ns :
			s->url.timeout_ns;
	if (!s->timeout_ns)
		s->timeout_ns = DEFAULT_TIMEOUT_NS;
	s->replicas = opts->replicas ? opts->replicas : s->url.replicas;
	if (s->ttl_ns < SHORTEST_TTL_NS || s->ttl_ns > LONGEST_TTL_NS ||
	    s->timeout_ns < 0)
		return say(opts, WEIR_EINVAL, EINVAL, "the TTL is not valid");
	if (opts->label && strlen(opts->label) > WEIR_CLUSTER_LABEL_MAX)
		return say(opts, WEIR_EINVAL, EINVAL, "the label is too long");
	random_id(s->id);
	weir_cl_text_self_(s->text, sizeof(s->text), opts->label);
	return WEIR_OK;
}

/* Connect, and create the semaphore if that is requested. */
static weir_err prepare(weir_cluster *c, const weir_cluster_opts *opts)
{
	int64_t capacity = opts->flags & WEIR_CLUSTER_CREATE ? opts->capacity :
			   -1;
	int64_t until = boot_now() + c->session.timeout_ns;
	struct fault fault = { 0 };
	bool made = false;
	enum result result;
	int attempt = 0;

	/*
	 * A server that cannot be reached is reported at once.  A server
	 * that ends the connection or is loading its data is asked again.
	 */
	do
		result = c->ops->prepare(c->engine, capacity, &made, until,
					 &fault);
	while ((result == RES_UNKNOWN ||
		(result == RES_UNSENT && (fault.errnum == ECONNRESET ||
					  fault.errnum == EAGAIN))) &&
	       weir_cl_call_pause_(attempt++, NULL, until));
	if (result)
		return say(opts, WEIR_ESYSTEM, fault.errnum, fault.why);
	if (!made && opts->flags & WEIR_CLUSTER_EXCLUSIVE && attempt)
		return say(opts, WEIR_EINDETERMINATE, ETIMEDOUT,
			   "the semaphore may have been created by this call");
	if (!made && opts->flags & WEIR_CLUSTER_EXCLUSIVE)
		return say(opts, WEIR_ESYSTEM, EEXIST,
			   "the semaphore exists already");
	return WEIR_OK;
}

static void free_handle(weir_cluster *c)
{
	int errnum = errno;

	if (c->engine)
		c->ops->close(c->engine);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->callback_done);
	explicit_bzero(&c->session, sizeof(c->session));
	free(c);
	errno = errnum;
}

static weir_err start(weir_cluster *c, const weir_cluster_opts *opts)
{
	weir_err err;
	int error;

	c->engine = c->ops->open(&c->session);
	if (!c->engine)
		return say(opts, WEIR_ENOMEM, ENOMEM, "out of memory");
	err = prepare(c, opts);
	if (err)
		return err;
	error = weir_cl_thread_start_(c);
	if (error)
		return say(opts, WEIR_ESYSTEM, error, "no thread can be started");
	return WEIR_OK;
}

weir_err weir_cluster_open(const char *url, const weir_cluster_opts *opts,
			   weir_cluster **out)
{
	static const weir_cluster_opts none;
	weir_cluster *c;
	weir_err err;
	bool known;

	if (!opts)
		opts = &none;
	if (!url || !out || opts->capacity < 0 ||
	    opts->capacity > WEIR_CLUSTER_MAX || opts->flags & ~7u)
		return say(opts, WEIR_EINVAL, EINVAL, "an option is not valid");
	*out = NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return say(opts, WEIR_ENOMEM, ENOMEM, "out of memory");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->callback_done, NULL);
	(void)!weir_sem_init(&c->calls, 1);
	c->interruptible = opts->flags & WEIR_CLUSTER_INTERRUPTIBLE;
	err = set_session(&c->session, url, opts);
	if (!err) {
		c->ops = engine_of(c->session.url.scheme, &known);
		if (!known)
			err = say(opts, WEIR_EINVAL, EINVAL,
				  "the scheme of the URL is unknown");
		else if (!c->ops)
			err = say(opts, WEIR_ESYSTEM, ENOTSUP,
				  "this library was built without the engine");
		else
			err = start(c, opts);
	}
	if (err)
		free_handle(c);
	else
		*out = c;
	return err;
}

weir_err weir_cluster_close_handle(weir_cluster *c)
{
	struct withdrawal *w;
	struct answer answer;
	struct fault fault;
	bool busy;

	pthread_mutex_lock(&c->lock);
	busy = c->first;
	pthread_mutex_unlock(&c->lock);
	if (busy)
		return WEIR_EBUSY;
	weir_cl_thread_stop_(c);
	/* One more attempt; the engine forgets the rest after the TTL. */
	while ((w = c->withdrawals)) {
		int64_t until = boot_now() + c->session.timeout_ns;

		c->withdrawals = w->next;
		if (!c->stopped_early &&
		    c->ops->release(c->engine, LANE_THREAD, w->id, 0, &answer,
				    until, &fault))
			c->stopped_early = true;
		free(w);
	}
	free_handle(c);
	return WEIR_OK;
}

void weir_cluster_why(weir_cluster *c, char *text, size_t size)
{
	if (!size)
		return;
	pthread_mutex_lock(&c->lock);
	weir_cl_text_copy_(text, size, c->fault.why);
	pthread_mutex_unlock(&c->lock);
}
