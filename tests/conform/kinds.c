/* SPDX-License-Identifier: MIT */
/* The kinds of semaphore and their function tables. */
#include <stdlib.h>

#include "../named/puppet.h"
#include "kind.h"

/* A handle, and the name for opening further handles. */
struct place {
	weir_named *handle;
	char name[WEIR_NAMED_NAME_MAX + 1];
};

static weir_sem *thread_at(void *sem) { return sem; }
static weir_named *named_at(void *sem) { return ((struct place *)sem)->handle; }

/* The functions of both have the same names and arguments. */
#define CALLS(kind, prefix)                                                    \
	static weir_err kind##_acquire(void *s, int64_t n, weir_ctx *ctx)      \
	{                                                                      \
		return prefix##_acquire(kind##_at(s), n, ctx);                 \
	}                                                                      \
	static weir_err kind##_until(void *s, int64_t n, int64_t deadline)     \
	{                                                                      \
		return prefix##_acquire_until(kind##_at(s), n, deadline);      \
	}                                                                      \
	static weir_err kind##_for(void *s, int64_t n, int64_t timeout)        \
	{                                                                      \
		return prefix##_acquire_for(kind##_at(s), n, timeout);         \
	}                                                                      \
	static weir_err kind##_try(void *s, int64_t n)                         \
	{                                                                      \
		return prefix##_try_acquire(kind##_at(s), n);                  \
	}                                                                      \
	static weir_err kind##_upto(void *s, int64_t min, int64_t max,         \
				    weir_ctx *ctx, int64_t *got)               \
	{                                                                      \
		return prefix##_acquire_upto(kind##_at(s), min, max, ctx,      \
					     got);                             \
	}                                                                      \
	static weir_err kind##_drain(void *s, int64_t *got)                    \
	{                                                                      \
		return prefix##_drain(kind##_at(s), got);                      \
	}                                                                      \
	static void kind##_release(void *s, int64_t n)                         \
	{                                                                      \
		prefix##_release(kind##_at(s), n);                             \
	}                                                                      \
	static weir_err kind##_try_release(void *s, int64_t n)                 \
	{                                                                      \
		return prefix##_try_release(kind##_at(s), n);                  \
	}                                                                      \
	static void kind##_close(void *s, weir_close how)                      \
	{                                                                      \
		prefix##_close(kind##_at(s), how);                             \
	}                                                                      \
	static bool kind##_is_closed(void *s)                                  \
	{                                                                      \
		return prefix##_is_closed(kind##_at(s));                       \
	}                                                                      \
	static weir_err kind##_resize(void *s, int64_t n, int64_t *debt)       \
	{                                                                      \
		return prefix##_resize(kind##_at(s), n, debt);                 \
	}                                                                      \
	static weir_err kind##_forget(void *s, int64_t n)                      \
	{                                                                      \
		return prefix##_forget(kind##_at(s), n);                       \
	}                                                                      \
	static weir_err kind##_idle(void *s, weir_ctx *ctx)                    \
	{                                                                      \
		return prefix##_wait_idle(kind##_at(s), ctx);                  \
	}                                                                      \
	static int64_t kind##_available(void *s)                               \
	{                                                                      \
		return prefix##_available(kind##_at(s));                       \
	}

CALLS(thread, weir_sem)
CALLS(named, weir_named)

#define PICTURE(info)                                                          \
	(struct picture){ .capacity = (info).capacity,                         \
			  .free = (info).free,                                 \
			  .held = (info).held,                                 \
			  .granted = (info).granted,                           \
			  .debt = (info).debt,                                 \
			  .waiting_permits = (info).waiting_permits,           \
			  .waiters = (info).waiters,                           \
			  .oversized = (info).oversized,                       \
			  .closed = (info).closed }

static struct picture thread_stat(void *s)
{
	weir_sem_info info = stat_of(s);

	return PICTURE(info);
}

/*
 * A picture in which no thread has the lock: a call that may not wait for long gives
 * up on a thread that has the lock and does not run.
 */
static struct picture named_stat(void *s)
{
	weir_named_info info;

	AWAIT((info = look_at(named_at(s)), !info.inconsistent));
	return PICTURE(info);
}

static void *make_thread(int64_t capacity, weir_policy policy)
{
	weir_sem_opts opts = { .permits = capacity, .policy = policy };
	weir_sem *sem = malloc(sizeof(*sem));

	CHECK(sem);
	CHECK_OK(weir_sem_init_opts(sem, &opts));
	return sem;
}

static void *make_fifo(int64_t capacity)
{
	return make_thread(capacity, WEIR_FIFO);
}

static void *make_barging(int64_t capacity)
{
	return make_thread(capacity, WEIR_BARGING);
}

static void *same(void *sem)
{
	return sem;
}

static weir_err destroy_thread(void *sem)
{
	weir_err err = weir_sem_destroy(sem);

	if (!err)
		free(sem);
	return err;
}

static void *open_place(const char *name, int64_t capacity)
{
	struct place *place = malloc(sizeof(*place));

	CHECK(place);
	memcpy(place->name, name, strlen(name) + 1);
	place->handle = open_named(name, capacity);
	return place;
}

static void *make_named(int64_t capacity)
{
	return open_place(fresh_name(), capacity);
}

static void *make_strict(int64_t capacity)
{
	weir_named_opts opts = { .capacity = capacity,
				 .policy = WEIR_NAMED_STRICT,
				 .flags = WEIR_NAMED_CREATE };
	const char *name = fresh_name();
	weir_named *first;
	void *place;

	/* The creating handle sets the policy; the others only open it. */
	CHECK_OK(weir_named_open(name, &opts, &first));
	place = open_place(name, 0);
	close_named(first);
	CHECK_EQ(look_at(named_at(place)).policy, WEIR_NAMED_STRICT);
	return place;
}

static void *another_place(void *sem)
{
	return open_place(((struct place *)sem)->name, 0);
}

static weir_err destroy_named(void *sem)
{
	weir_err err = weir_named_close_handle(named_at(sem));

	if (!err)
		free(sem);
	return err;
}

#define TABLE(kind)                                                            \
	.acquire = kind##_acquire, .acquire_until = kind##_until,              \
	.acquire_for = kind##_for, .try_acquire = kind##_try,                  \
	.acquire_upto = kind##_upto, .drain = kind##_drain,                    \
	.release = kind##_release, .try_release = kind##_try_release,          \
	.close = kind##_close, .is_closed = kind##_is_closed,                  \
	.resize = kind##_resize, .forget = kind##_forget,                      \
	.wait_idle = kind##_idle, .available = kind##_available,               \
	.stat = kind##_stat

const struct kind kind_fifo = { .make = make_fifo,
				.another = same,
				.destroy = destroy_thread,
				TABLE(thread) };
const struct kind kind_barging = { .make = make_barging,
				   .another = same,
				   .destroy = destroy_thread,
				   TABLE(thread) };
const struct kind kind_named = { .make = make_named,
				 .another = same,
				 .destroy = destroy_named,
				 TABLE(named) };
const struct kind kind_apart = { .make = make_named,
				 .another = another_place,
				 .destroy = destroy_named,
				 TABLE(named) };
const struct kind kind_strict = { .make = make_strict,
				  .another = another_place,
				  .destroy = destroy_named,
				  TABLE(named) };
