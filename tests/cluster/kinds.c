/* SPDX-License-Identifier: MIT */
/*
 * The function tables of semaphores between machines, for the scenarios of
 * tests/conform (C46).  The server's URL is in WEIR_TEST_URL, up to the name.
 *
 * The scenarios release counts of permits; a struct place keeps the leases of
 * its handle for that.  forget does not exist between machines: the table
 * composes it of a release and a resize, which is not atomic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../conform/kind.h"
#include "weir/cluster.h"

struct place {
	weir_cluster *handle;
	char url[512];
	bool first;		/* it has created the semaphore */
	pthread_mutex_t lock;
	weir_lease *leases[4096];
	int count;
};

static struct place *open_place(const char *url, bool first, int64_t capacity)
{
	char why[256] = "";
	weir_cluster_opts opts = {
		.capacity = capacity, .why = why, .why_size = sizeof(why),
		.flags = first ? WEIR_CLUSTER_CREATE | WEIR_CLUSTER_EXCLUSIVE : 0,
		.label = "conform",
		/* The machine may be loaded: no result depends on this limit. */
		.timeout_ns = INT64_C(30000000000),
	};
	struct place *p = calloc(1, sizeof(*p));
	weir_err err;

	CHECK(p);
	(void)snprintf(p->url, sizeof(p->url), "%s", url);
	p->first = first;
	pthread_mutex_init(&p->lock, NULL);
	err = weir_cluster_open(url, &opts, &p->handle);
	if (err)
		check_fail(__FILE__, __LINE__, "open: %s: %s",
			   weir_err_name(err), why);
	return p;
}

static void *make(int64_t capacity)
{
	static unsigned count;
	const char *base = getenv("WEIR_TEST_URL");
	char url[512];

	CHECK(base);
	(void)snprintf(url, sizeof(url), "%sconform-%d-%u", base, (int)getpid(),
		       count++);
	return open_place(url, true, capacity);
}

static void *same(void *sem)
{
	return sem;
}

static void *another(void *sem)
{
	return open_place(((struct place *)sem)->url, false, 0);
}

static weir_err destroy(void *sem)
{
	struct place *p = sem;
	weir_err err;

	/* An unlink by a handle that is in use would be refused as well. */
	if (p->first && !p->count) {
		err = weir_cluster_unlink(p->handle);
		if (err)
			return err;
	}
	err = weir_cluster_close_handle(p->handle);
	if (err)
		return err;
	pthread_mutex_destroy(&p->lock);
	free(p);
	return WEIR_OK;
}

/* Keep the lease.  Returns err. */
static weir_err keep(struct place *p, weir_err err, weir_lease *lease)
{
	if (err)
		CHECK(!lease);
	if (!lease)
		return err;
	pthread_mutex_lock(&p->lock);
	CHECK(p->count < 4096);
	p->leases[p->count++] = lease;
	pthread_mutex_unlock(&p->lock);
	return err;
}

static weir_err acquire(void *sem, int64_t n, weir_ctx *ctx)
{
	struct place *p = sem;
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(p->handle, n, ctx, &lease);

	return keep(p, err, lease);
}

static weir_err acquire_until(void *sem, int64_t n, int64_t deadline_ns)
{
	struct place *p = sem;
	weir_lease *lease;
	weir_err err = weir_cluster_acquire_until(p->handle, n, deadline_ns,
						  &lease);

	return keep(p, err, lease);
}

static weir_err acquire_for(void *sem, int64_t n, int64_t timeout_ns)
{
	struct place *p = sem;
	weir_lease *lease;
	weir_err err = weir_cluster_acquire_for(p->handle, n, timeout_ns,
						&lease);

	return keep(p, err, lease);
}

static weir_err try_acquire(void *sem, int64_t n)
{
	struct place *p = sem;
	weir_lease *lease;
	weir_err err = weir_cluster_try_acquire(p->handle, n, &lease);

	return keep(p, err, lease);
}

static weir_err acquire_upto(void *sem, int64_t min, int64_t max,
			     weir_ctx *ctx, int64_t *got)
{
	struct place *p = sem;
	weir_lease *lease;
	weir_err err = weir_cluster_acquire_upto(p->handle, min, max, ctx,
						 &lease);

	*got = lease ? weir_lease_weight(lease) : 0;
	return keep(p, err, lease);
}

static weir_err drain(void *sem, int64_t *got)
{
	return acquire_upto(sem, 0, WEIR_CLUSTER_MAX, NULL, got);
}

static int64_t held_by(struct place *p)
{
	int64_t sum = 0;

	for (int i = 0; i < p->count; i++)
		sum += weir_lease_weight(p->leases[i]);
	return sum;
}

static weir_err try_release(void *sem, int64_t n)
{
	struct place *p = sem;
	weir_err err = WEIR_OK;

	if (n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	pthread_mutex_lock(&p->lock);
	if (n > held_by(p))
		err = WEIR_EOVERFLOW;
	while (!err && n > 0) {
		weir_lease *last = p->leases[p->count - 1];
		int64_t weight = weir_lease_weight(last);

		if (weight > n) {
			CHECK_OK(weir_lease_reduce(last, weight - n));
			break;
		}
		n -= weight;
		p->count--;
		CHECK_OK(weir_lease_release(last));
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

static void release(void *sem, int64_t n)
{
	CHECK_OK(try_release(sem, n));
}

static void close_it(void *sem, weir_close how)
{
	CHECK_OK(weir_cluster_close(((struct place *)sem)->handle, how));
}

static weir_cluster_info look(void *sem)
{
	weir_cluster_info info;

	CHECK_OK(weir_cluster_stat(((struct place *)sem)->handle, &info, NULL,
				   0));
	return info;
}

static bool is_closed(void *sem)
{
	return look(sem).closed;
}

static weir_err resize(void *sem, int64_t n, int64_t *debt)
{
	return weir_cluster_resize(((struct place *)sem)->handle, n, debt);
}

static weir_err forget(void *sem, int64_t n)
{
	weir_cluster_info info = look(sem);

	if (n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	if (n > held_by(sem))
		return WEIR_EOVERFLOW;
	if (n > info.debt)
		CHECK_OK(resize(sem, info.capacity - (n - info.debt), NULL));
	return try_release(sem, n);
}

static weir_err wait_idle(void *sem, weir_ctx *ctx)
{
	return weir_cluster_wait_idle(((struct place *)sem)->handle, ctx);
}

static int64_t available(void *sem)
{
	return look(sem).free;
}

static struct picture stat_it(void *sem)
{
	weir_cluster_info info = look(sem);

	return (struct picture){
		.capacity = info.capacity, .free = info.free, .held = info.held,
		.debt = info.debt, .waiting_permits = info.waiting_permits,
		.waiters = info.waiters, .oversized = info.oversized,
		.closed = info.closed,
	};
}

#define TABLE(other)                                                           \
	{ .make = make, .another = (other), .destroy = destroy,                \
	  .acquire = acquire, .acquire_until = acquire_until,                  \
	  .acquire_for = acquire_for, .try_acquire = try_acquire,              \
	  .acquire_upto = acquire_upto, .drain = drain, .release = release,    \
	  .try_release = try_release, .close = close_it,                       \
	  .is_closed = is_closed, .resize = resize, .forget = forget,          \
	  .wait_idle = wait_idle, .available = available, .stat = stat_it,     \
	  .remote = true }

const struct kind kind_one = TABLE(same);
const struct kind kind_many = TABLE(another);
