/* SPDX-License-Identifier: MIT */
/*
 * A thread sees the earlier writes of another: C24, and the "Orders" sections
 * of the headers.  All data here is plain: if the library orders too little,
 * ThreadSanitizer reports a race, even on a machine with strong ordering.
 */
#include <sched.h>

#include "base/hook.h"
#include "job.h"

#define THREADS 4

static int prepared;	/* plain: written before, read after */

/* For the tests themselves; they order nothing. */
static bool is_set(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static void set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

static void *prepare_and_cancel(void *ctx)
{
	prepared = 1;
	weir_ctx_cancel(ctx);
	return NULL;
}

/* C13, C24: a cancel happens before every call that reports it. */
TEST(c24_cancel_makes_earlier_writes_visible)
{
	for (int round = 0; round < 50; round++) {
		weir_ctx ctx = WEIR_CTX_INIT;
		check_thread other;

		prepared = 0;
		other = start(prepare_and_cancel, &ctx);
		while (weir_ctx_err(&ctx) == WEIR_OK)
			sched_yield();
		CHECK_EQ(prepared, 1);
		finish(other);
	}
}

static void *prepare_and_close(void *sem)
{
	prepared = 1;
	weir_sem_close(sem, WEIR_CLOSE_NOW);
	return NULL;
}

/* C19, C24: the same for a close, whichever call reports it. */
TEST(c24_close_makes_earlier_writes_visible)
{
	for (int round = 0; round < 50; round++) {
		weir_sem sem = WEIR_SEM_INIT(1);
		check_thread other;

		prepared = 0;
		other = start(prepare_and_close, &sem);
		while (!weir_sem_is_closed(&sem))
			sched_yield();
		CHECK_EQ(prepared, 1);
		finish(other);
	}
}

static int called;

static void on_event(const struct weir_event_ *event)
{
	(void)event;
	CHECK_EQ(prepared, 1);
	set(&called);
}

static void *prepare_and_listen(void *unused)
{
	prepared = 1;
	CHECK(weir_hook_set_(on_event) == NULL);
	return unused;
}

/* C24, C27: a hook sees the earlier writes of the thread that set it. */
TEST(c24_the_hook_sees_writes_of_its_setter)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	check_thread other;

	/* In drain mode every acquire takes the lock and emits an event. */
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	prepared = 0;
	other = start(prepare_and_listen, NULL);
	while (!is_set(&called))
		CHECK_OK(weir_sem_acquire(&sem, 0, NULL));
	finish(other);
	CHECK(weir_hook_set_(NULL) == on_event);
}

static int panicked;

static void ignore_panic(const char *message)
{
	(void)message;
}

static void note_panic(const char *message)
{
	(void)message;
	CHECK_EQ(prepared, 1);
	set(&panicked);
}

static void *prepare_for_panic(void *unused)
{
	prepared = 1;
	CHECK(weir_set_panic_hook(note_panic) == ignore_panic);
	return unused;
}

/* C8, C24: the same for the panic hook. */
TEST(c24_the_panic_hook_sees_writes_of_its_setter)
{
	weir_panic_fn *before = weir_set_panic_hook(ignore_panic);
	weir_sem sem = WEIR_SEM_INIT(1);
	check_thread other;

	prepared = 0;
	other = start(prepare_for_panic, NULL);
	while (!is_set(&panicked))
		weir_sem_release(&sem, 1);
	finish(other);
	CHECK(weir_set_panic_hook(before) == note_panic);
}

struct shared {
	weir_sem sem;
	int64_t count;		/* plain: protected by the permit */
	int64_t rounds;
	bool patient;
};

static void *count_up(void *arg)
{
	struct shared *s = arg;

	for (int64_t i = 0; i < s->rounds; i++) {
		if (s->patient)
			CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
		else
			while (weir_sem_try_acquire(&s->sem, 1))
				sched_yield();
		s->count++;
		weir_sem_release(&s->sem, 1);
	}
	return NULL;
}

static void guard(const weir_sem_opts *opts, bool patient)
{
	struct shared s = { .rounds = 500 * check_scale(), .patient = patient };
	check_thread thread[THREADS];

	CHECK_OK(weir_sem_init_opts(&s.sem, opts));
	for (int i = 0; i < THREADS; i++)
		thread[i] = start(count_up, &s);
	/*
	 * This thread takes the lock again and again: a release then adds its
	 * permit and returns, and this thread grants it.
	 */
	for (int64_t i = 0; i < s.rounds; i++)
		CHECK_IDENTITY(&s.sem);
	for (int i = 0; i < THREADS; i++)
		finish(thread[i]);
	CHECK_EQ(s.count, THREADS * s.rounds);
}

/*
 * C24: a release happens before every acquire that succeeds after it, on every
 * path that a permit can take.
 */
TEST(c24_a_permit_guards_plain_data)
{
	const weir_sem_opts opts[] = {
		{ .permits = 1 },
		{ .permits = 1, .policy = WEIR_BARGING, .barge_us = 20 },
		{ .permits = 1, .flags = WEIR_SEM_TRACKED },
		{ .permits = 1, .flags = WEIR_SEM_UNBOUNDED },
	};

	for (size_t i = 0; i < sizeof(opts) / sizeof(*opts); i++) {
		guard(&opts[i], true);
		guard(&opts[i], false);
	}
}
