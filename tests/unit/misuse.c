/* SPDX-License-Identifier: MIT */
/*
 * Invalid input causes an error or a one-line panic, never silence or a hang.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "job.h"
#include "weir/permit.h"

static int panics;
static char last_panic[512];

static void count_panic(const char *message)
{
	panics++;
	snprintf(last_panic, sizeof(last_panic), "%s", message);
}

/* The call was refused: by an error, or by a panic of one line. */
#define REFUSED(call)                                                          \
	do {                                                                   \
		int before_ = panics;                                          \
		weir_err err_ = (call);                                        \
		CHECK(err_ == WEIR_EINVAL || panics > before_);                \
		CHECK(err_ != WEIR_OK);                                        \
		CHECK(panics == before_ || !strchr(last_panic, '\n'));         \
	} while (0)

/* The same for a call without a result. */
#define PANICS(call)                                                           \
	do {                                                                   \
		int before_ = panics;                                          \
		call;                                                          \
		CHECK_EQ(panics, before_ + 1);                                 \
		CHECK(*last_panic && !strchr(last_panic, '\n'));               \
	} while (0)

static void use_every_call(weir_sem *sem)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem_info info;
	int64_t got;
	size_t n;

	REFUSED(weir_sem_waiters(sem, NULL, 0, &n));
	REFUSED(weir_sem_acquire(sem, 1, NULL));
	REFUSED(weir_sem_acquire(sem, 1, &ctx));
	REFUSED(weir_sem_acquire_until(sem, 1, 0));
	REFUSED(weir_sem_acquire_for(sem, 1, 0));
	REFUSED(weir_sem_try_acquire(sem, 1));
	REFUSED(weir_sem_try_acquire_barging(sem, 1));
	REFUSED(weir_sem_remove(sem, 1, &got));
	REFUSED(weir_sem_acquire_upto(sem, 1, 2, NULL, &got));
	REFUSED(weir_sem_drain(sem, &got));
	REFUSED(weir_sem_try_release(sem, 1));
	REFUSED(weir_sem_resize(sem, 1, NULL));
	REFUSED(weir_sem_forget(sem, 1));
	REFUSED(weir_sem_wait_idle(sem, NULL));
	REFUSED(weir_sem_stat(sem, &info));
	REFUSED(weir_sem_destroy(sem));
	PANICS(weir_sem_release(sem, 1));
	PANICS(weir_sem_close(sem, WEIR_CLOSE_NOW));
	(void)weir_sem_is_closed(sem);
	(void)weir_sem_available(sem);
}

TEST(null_semaphore)
{
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	weir_sem_opts opts = { .permits = 1 };

	use_every_call(NULL);
	REFUSED(weir_sem_init(NULL, 1));
	REFUSED(weir_sem_init_opts(NULL, &opts));
	CHECK(weir_set_panic_hook(before) == count_panic);
}

TEST(misaligned_semaphore)
{
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	union {
		weir_sem aligned;
		char bytes[sizeof(weir_sem) + 8];
	} room;

	memset(&room, 0, sizeof(room));
	for (size_t shift = 1; shift < 8; shift++) {
		/*
		 * Through an integer, because the compiler may assume aligned
		 * pointers.
		 */
		uintptr_t address = (uintptr_t)room.bytes + shift;
		weir_sem *sem = (weir_sem *)address;

		REFUSED(weir_sem_init(sem, 1));
		use_every_call(sem);
	}
	for (size_t i = 0; i < sizeof(room); i++)
		CHECK_EQ(room.bytes[i], 0);
	weir_set_panic_hook(before);
}

TEST(destroyed_semaphore)
{
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	weir_sem sem = WEIR_SEM_INIT(1);
	int first = panics;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_destroy(&sem));
	use_every_call(&sem);
	/* A bounded semaphore refuses this one, also if it is destroyed. */
	CHECK_ERR(weir_sem_remove(&sem, 1, NULL), WEIR_EINVAL);
	/*
	 * Every other use of a destroyed semaphore panics with that reason.  Only
	 * try_release promises an error instead.
	 */
	CHECK_EQ(panics - first, 16);
	CHECK(strstr(last_panic, "destroyed"));
	weir_set_panic_hook(before);
}

/* weir_sem_remove is for unbounded semaphores. */
TEST(destroyed_unbounded_semaphore)
{
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_UNBOUNDED };
	int first = panics;
	weir_sem sem;
	int64_t got = 1;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_destroy(&sem));
	REFUSED(weir_sem_remove(&sem, 1, &got));
	CHECK_EQ(got, 0);
	/* An unbounded semaphore refuses these, also if it is destroyed. */
	CHECK_ERR(weir_sem_resize(&sem, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_wait_idle(&sem, NULL), WEIR_EINVAL);
	CHECK_EQ(panics - first, 1);
	CHECK(strstr(last_panic, "destroyed"));
	weir_set_panic_hook(before);
}

/* C8: where release panics, try_release returns an error. */
TEST(c8_try_release_never_panics)
{
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	weir_sem sem = WEIR_SEM_INIT(2), never;
	int first = panics;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_ERR(weir_sem_try_release(&sem, 2), WEIR_EOVERFLOW);
	CHECK_ERR(weir_sem_try_release(&sem, -1), WEIR_EINVAL);
	CHECK_ERR(weir_sem_try_release(NULL, 1), WEIR_EINVAL);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EINVAL);
	memset(&never, 0x5a, sizeof(never));
	CHECK_ERR(weir_sem_try_release(&never, 1), WEIR_EINVAL);
	CHECK_EQ(panics, first);
	weir_set_panic_hook(before);
}

/* Memory that was never a semaphore, filled with common patterns. */
TEST(never_initialised_semaphore)
{
	static const unsigned char fill[] = { 0xa5, 0xff, 0xcc, 0x5a, 0xdb };
	weir_panic_fn *before = weir_set_panic_hook(count_panic);

	for (size_t i = 0; i < sizeof(fill); i++) {
		weir_sem sem;

		memset(&sem, fill[i], sizeof(sem));
		use_every_call(&sem);
	}
	weir_set_panic_hook(before);
}

/*
 * A single inconsistent bit is enough: drain mode without closed, a barging
 * bound without BARGING.
 */
TEST(inconsistent_state)
{
	static const uint32_t state[] = { 8, 1u << 17 };
	weir_panic_fn *before = weir_set_panic_hook(count_panic);

	for (size_t i = 0; i < sizeof(state) / sizeof(*state); i++) {
		weir_sem sem;

		CHECK_OK(weir_sem_init(&sem, 0));
		sem.state_ = state[i];
		sem.word_ |= 2;		/* and not on the fast paths */
		use_every_call(&sem);
		CHECK(strstr(last_panic, "is not a semaphore"));
	}
	weir_set_panic_hook(before);
}

/* The same for an acquire that would fail without the lock. */
TEST(inconsistent_state_and_a_late_acquire)
{
	const weir_sem_opts opts = { .capacity = 1 };
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	sem.state_ = 1u << 17;
	REFUSED(weir_sem_acquire_for(&sem, 1, 0));
	CHECK(strstr(last_panic, "is not a semaphore"));
	weir_set_panic_hook(before);
}

TEST(null_results_and_options)
{
	weir_sem sem = WEIR_SEM_INIT(3);

	CHECK_ERR(weir_sem_init_opts(&sem, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_acquire_upto(&sem, 1, 2, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_drain(&sem, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_stat(&sem, NULL), WEIR_EINVAL);
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	CHECK_EQ(weir_sem_available(&sem), 4);
	CHECK(weir_sem_new(NULL) == NULL);
}

/* Calls that return no error panic and return a neutral value. */
TEST(queries_of_a_null_semaphore)
{
	int64_t available = 7;
	bool closed = false;

	CHECK_PANICS("not a semaphore", available = weir_sem_available(NULL));
	CHECK_EQ(available, 0);
	CHECK_PANICS("not a semaphore", closed = weir_sem_is_closed(NULL));
	CHECK(closed);
}

/* C12, C16: a failed call returns 0 permits. */
TEST(c12_errors_got_nothing)
{
	int64_t got = 7;

	CHECK_ERR(weir_sem_drain(NULL, &got), WEIR_EINVAL);
	CHECK_EQ(got, 0);
	got = 7;
	CHECK_ERR(weir_sem_acquire_upto(NULL, 1, 2, NULL, &got), WEIR_EINVAL);
	CHECK_EQ(got, 0);
}

TEST(options_out_of_range)
{
	const weir_sem_opts bad[] = {
		{ .permits = -1 },
		{ .permits = WEIR_SEM_MAX + 1 },
		{ .permits = 1, .capacity = -1 },
		{ .permits = 1, .capacity = WEIR_SEM_MAX + 1 },
		{ .permits = 2, .capacity = 1 },
		{ .permits = 1, .flags = 0x80000000u },
		{ .permits = 1, .policy = (weir_policy)2 },
		{ .permits = 1, .reserved_ = { 1 } },
		{ .permits = 1, .reserved_ = { 0, 1 } },
		{ .permits = 1, .reserved_ = { 0, 0, 1 } },
	};
	weir_sem sem = WEIR_SEM_INIT(3);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_ERR(weir_sem_init_opts(&sem, &bad[i]), WEIR_EINVAL);
		CHECK(weir_sem_new(&bad[i]) == NULL);
	}
	/* The failed init has changed nothing. */
	CHECK_EQ(weir_sem_available(&sem), 3);
}

TEST(unknown_way_to_close)
{
	weir_sem sem = WEIR_SEM_INIT(3);

	CHECK_PANICS("", weir_sem_close(&sem, (weir_close)9));
	CHECK(!weir_sem_is_closed(&sem));
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
}

static void use_every_ctx_call(weir_ctx *ctx)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx child;
	int fd;

	REFUSED(weir_ctx_err(ctx));
	REFUSED(weir_ctx_wait(ctx, 0));
	REFUSED(weir_ctx_fd(ctx, &fd));
	REFUSED(weir_ctx_destroy(ctx));
	PANICS(weir_ctx_cancel(ctx));
	PANICS(CHECK_EQ(weir_ctx_deadline(ctx), WEIR_FOREVER));
	if (ctx) {
		REFUSED(weir_ctx_init(&child, ctx, WEIR_FOREVER));
		REFUSED(weir_sem_acquire(&sem, 1, ctx));
		CHECK_EQ(weir_sem_available(&sem), 1);
	}
}

TEST(bad_contexts)
{
	weir_panic_fn *before = weir_set_panic_hook(count_panic);
	weir_ctx ctx[2] = { WEIR_CTX_INIT, WEIR_CTX_INIT };
	uintptr_t between = (uintptr_t)&ctx[0] + 1;
	int fd;

	use_every_ctx_call(NULL);
	use_every_ctx_call((weir_ctx *)between);
	REFUSED(weir_ctx_init(NULL, NULL, WEIR_FOREVER));
	REFUSED(weir_ctx_init((weir_ctx *)between, NULL, WEIR_FOREVER));
	REFUSED(weir_ctx_init(&ctx[0], &ctx[0], WEIR_FOREVER));
	CHECK_ERR(weir_ctx_fd(&ctx[0], NULL), WEIR_EINVAL);
	CHECK_OK(weir_ctx_err(&ctx[0]));
	CHECK_OK(weir_ctx_destroy(&ctx[0]));
	use_every_ctx_call(&ctx[0]);
	CHECK(strstr(last_panic, "destroyed"));
	(void)fd;
	weir_set_panic_hook(before);
}

/* C8: a panic names the semaphore, or gives its address if it has no name. */
TEST(c8_unnamed_semaphores_panic_too)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	char text[64];

	snprintf(text, sizeof(text), "weir_sem_release: semaphore %p: 1 permits",
		 (void *)&sem);
	CHECK_PANICS(text, weir_sem_release(&sem, 1));
	CHECK(strlen(panic_message) > 20);
	snprintf(text, sizeof(text), "semaphore %p: invalid count -5",
		 (void *)&sem);
	CHECK_PANICS(text, weir_sem_release(&sem, -5));
	CHECK_EQ(weir_sem_available(&sem), 3);
}

/* A semaphore that cannot be named is identified by its address, as with %p. */
TEST(c8_addresses)
{
	char place[32];
	weir_sem sem;

	CHECK_OK(weir_sem_init(&sem, 0));
	CHECK_OK(weir_sem_destroy(&sem));
	snprintf(place, sizeof(place), "%p", (void *)&sem);
	CHECK_PANICS(place, weir_sem_close(&sem, WEIR_CLOSE_NOW));
}

TEST(the_version_is_that_of_the_header)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", WEIR_VERSION_MAJOR,
		 WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
	CHECK(!strcmp(weir_version(), text));
}

TEST(errors_have_names_and_texts)
{
	CHECK(!strcmp(weir_err_name(WEIR_OK), "WEIR_OK"));
	CHECK(!strcmp(weir_err_name(WEIR_ECLOSED), "WEIR_ECLOSED"));
	CHECK(!strcmp(weir_err_text(WEIR_ECLOSED), "the object is closed"));
	for (int e = 5; e > -40; e--) {
		const char *name = weir_err_name((weir_err)e);
		const char *text = weir_err_text((weir_err)e);

		CHECK(name && *name);
		CHECK(text && *text);
	}
}

/* C24: replacing the hook of another thread synchronises with its setter. */
static int done_before;

static void *do_and_set(void *arg)
{
	(void)arg;
	done_before = 1;
	weir_set_panic_hook(count_panic);
	return NULL;
}

TEST(c24_replacing_the_panic_hook_sees_earlier_writes)
{
	weir_panic_fn *before = weir_set_panic_hook(NULL);
	pthread_t other;

	CHECK(!pthread_create(&other, NULL, do_and_set, NULL));
	while (weir_set_panic_hook(NULL) != count_panic)
		sched_yield();
	CHECK_EQ(done_before, 1);
	CHECK(!pthread_join(other, NULL));
	weir_set_panic_hook(before);
}

/*
 * A child context that is initialised again would corrupt the list of its
 * parent.  The first and the last child are detected at once, without reading
 * the memory of the new context.
 */
TEST(context_initialised_twice)
{
	weir_ctx parent = WEIR_CTX_INIT, c[3];

	CHECK_OK(weir_ctx_init(&c[0], &parent, WEIR_FOREVER));
	CHECK_PANICS("weir_ctx_init: context",
		     CHECK_ERR(weir_ctx_init(&c[0], &parent, WEIR_FOREVER),
			       WEIR_EINVAL));
	CHECK_OK(weir_ctx_init(&c[1], &parent, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&c[2], &parent, WEIR_FOREVER));
	for (int i = 0; i < 3; i += 2)
		CHECK_PANICS("is in use",
			     CHECK_ERR(weir_ctx_init(&c[i], &parent, 1),
				       WEIR_EINVAL));
	weir_ctx_cancel(&parent);
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(weir_ctx_err(&c[i]), WEIR_ECANCELED);
		CHECK_OK(weir_ctx_destroy(&c[i]));
	}
	CHECK_OK(weir_ctx_destroy(&parent));
}

/* One in the middle is detected when it or a neighbour is destroyed. */
TEST(context_in_the_middle_initialised_twice)
{
	weir_ctx parent = WEIR_CTX_INIT, c[3];

	for (int i = 0; i < 3; i++)
		CHECK_OK(weir_ctx_init(&c[i], &parent, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&c[1], &parent, WEIR_FOREVER));
	CHECK_PANICS("weir_ctx_destroy: context",
		     CHECK_ERR(weir_ctx_destroy(&c[0]), WEIR_EINVAL));
	CHECK(strstr(panic_message, "initialised twice"));
	CHECK_PANICS("initialised twice",
		     CHECK_ERR(weir_ctx_destroy(&c[2]), WEIR_EINVAL));
}

/* The program has zeroed the links of a child: no crash. */
TEST(context_with_zeroed_links)
{
	weir_ctx parent = WEIR_CTX_INIT, child;
	struct weir_ring_ links;

	CHECK_OK(weir_ctx_init(&child, &parent, WEIR_FOREVER));
	links = child.sibling_;
	child.sibling_.next_ = NULL;
	CHECK_PANICS("weir_ctx_destroy: context",
		     CHECK_ERR(weir_ctx_destroy(&child), WEIR_EINVAL));
	child.sibling_ = links;
	child.sibling_.prev_ = NULL;
	CHECK_PANICS("weir_ctx_destroy: context",
		     CHECK_ERR(weir_ctx_destroy(&child), WEIR_EINVAL));
	child.sibling_ = links;
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&parent));
}
