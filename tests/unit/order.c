/* SPDX-License-Identifier: MIT */
/*
 * Visibility between threads, C24; the order of many waiters, C3 and C4;
 * leaving the queue without traversing it, C17.
 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "job.h"

struct shared {
	weir_sem sem;
	int64_t plain;		/* not atomic: ordered by the semaphore */
	int a, b, saw_a, saw_b;
};

static void *add_often(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < 10000; i++) {
		switch (i % 4) {
		case 0:
			while (weir_sem_try_acquire(&s->sem, 1) != WEIR_OK)
				sched_yield();
			break;
		case 1:
			CHECK_OK(weir_sem_acquire_until(&s->sem, 1,
							WEIR_FOREVER));
			break;
		default:
			CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
		}
		s->plain++;
		weir_sem_release(&s->sem, 1);
	}
	return NULL;
}

/*
 * C24: a plain counter protected by one permit loses no increments, with every
 * policy; ThreadSanitizer reports no race.
 */
TEST(c24_release_happens_before_acquire)
{
	struct shared s[] = { { .sem = WEIR_SEM_INIT(1) },
			      { .sem = WEIR_SEM_INIT_BARGING(1) },
			      { .sem = WEIR_SEM_INIT_UNBOUNDED(1) },
			      { .plain = 0 } };

	/* A watched semaphore has fast paths of its own. */
	CHECK_OK(weir_sem_init_opts(&s[3].sem, &(weir_sem_opts){
		.permits = 1, .name = "watched" }));
	for (int k = 0; k < 4; k++) {
		check_thread thread[3];

		for (int i = 0; i < 3; i++)
			thread[i] = start(add_often, &s[k]);
		for (int i = 0; i < 3; i++)
			finish(thread[i]);
		CHECK_EQ(s[k].plain, 30000);
		CHECK_OK(weir_sem_destroy(&s[k].sem));
	}
}

static void *close_it(void *arg)
{
	struct shared *s = arg;

	s->plain = 42;
	weir_sem_close(&s->sem, WEIR_CLOSE_NOW);
	return NULL;
}

/* C24: a call that returns ECLOSED sees the closer's earlier writes. */
TEST(c24_closed_sees_the_closer)
{
	for (int round = 0; round < 200; round++) {
		struct shared s = { .sem = WEIR_SEM_INIT_UNBOUNDED(0) };
		check_thread thread = start(close_it, &s);

		if (round % 2)
			CHECK_ERR(weir_sem_acquire(&s.sem, 1, NULL),
				  WEIR_ECLOSED);
		else
			while (weir_sem_try_acquire(&s.sem, 1) != WEIR_ECLOSED)
				;
		CHECK_EQ(s.plain, 42);
		finish(thread);
	}
}

static void *write_a(void *arg)
{
	struct shared *s = arg;

	__atomic_store_n(&s->a, 1, __ATOMIC_RELAXED);
	weir_sem_release(&s->sem, 1);
	CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
	s->saw_b = __atomic_load_n(&s->b, __ATOMIC_RELAXED);
	return NULL;
}

static void *write_b(void *arg)
{
	struct shared *s = arg;

	__atomic_store_n(&s->b, 1, __ATOMIC_RELAXED);
	weir_sem_release(&s->sem, 1);
	CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
	s->saw_a = __atomic_load_n(&s->a, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * C24: one total order.  Of two threads that each write, release, acquire and
 * read, the thread whose acquire is the last of the four sees both writes.
 */
TEST(c24_one_total_order)
{
	for (int round = 0; round < 1000; round++) {
		struct shared s = { .sem = WEIR_SEM_INIT_UNBOUNDED(0) };
		check_thread a = start(write_a, &s), b = start(write_b, &s);

		finish(a);
		finish(b);
		CHECK(s.saw_a || s.saw_b);
	}
}

enum { MANY = 60 };

/*
 * C3, C4: many waiters of different weights are granted in order of arrival.
 * Each holds more than half, so only one holds at a time and the turns show the
 * order.
 */
TEST(c4_many_waiters_in_order)
{
	weir_sem sem = WEIR_SEM_INIT(100);
	job a[MANY];

	CHECK_OK(weir_sem_acquire(&sem, 100, NULL));
	for (int i = 0; i < MANY; i++)
		queue_up_releasing(&a[i], &sem, 51 + (i * 37) % 50);
	turns_from_zero();
	weir_sem_release(&sem, 100);
	for (int i = 0; i < MANY; i++) {
		CHECK_OK(job_end(&a[i]));
		CHECK_EQ(a[i].turn, i);
	}
	CHECK_EQ(weir_sem_available(&sem), 100);
}

/* C3: waiters leave from the middle; the order of the others is unchanged. */
TEST(c3_order_of_the_remaining_waiters)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a[MANY];
	int turn = 0;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (int i = 0; i < MANY; i++)
		if (i % 3 == 1)
			queue_up(&a[i], &sem, 1, &ctx);
		else
			queue_up_releasing(&a[i], &sem, 1);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), MANY - MANY / 3);
	for (int i = 1; i < MANY; i += 3)
		CHECK_ERR(job_end(&a[i]), WEIR_ECANCELED);
	turns_from_zero();
	weir_sem_release(&sem, 1);
	for (int i = 0; i < MANY; i++) {
		if (i % 3 == 1)
			continue;
		CHECK_OK(job_end(&a[i]));
		CHECK_EQ(a[i].turn, turn++);
	}
}

#define STACK_SIZE ((size_t)4 << 20)
#define GAP ((size_t)64 << 10)	/* no page is larger */

struct sleeper {
	job j;
	char *stack;
	size_t reach;	/* the waiter lies in the first `reach` bytes */
};

static void *sleep_in_queue(void *arg)
{
	struct sleeper *s = arg;
	job *j = &s->j;
	/*
	 * Keeps the waiter away from this frame and from data that libraries
	 * store at the top of a stack.
	 */
	volatile char gap[2 * GAP];

	gap[0] = 0;
	s->reach = (size_t)(gap + GAP - s->stack) / GAP * GAP;
	__atomic_store_n(&j->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	j->err = weir_sem_acquire(j->sem, j->n, j->ctx);
	gap[1] = 0;
	return NULL;
}

static void queue_on_own_stack(struct sleeper *s, weir_sem *sem, weir_ctx *ctx)
{
	uint32_t before = waiters_of(sem);
	pthread_attr_t attr;

	s->j = (job){ .sem = sem, .n = 1, .max = -1, .ctx = ctx };
	s->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(s->stack != MAP_FAILED);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, s->stack, STACK_SIZE), 0);
	CHECK_EQ(pthread_create(&s->j.thread.id, &attr, sleep_in_queue, s), 0);
	pthread_attr_destroy(&attr);
	AWAIT(waiters_of(sem) == before + 1);
	AWAIT(job_asleep(&s->j));
	CHECK(s->reach > 0 && s->reach < STACK_SIZE);
}

/*
 * C17: leaving the queue takes O(1).  Waiters live on their threads' stacks, so
 * a waiter on an unreadable stack cannot be visited.  While one waiter leaves,
 * all stacks are unreadable except those of the head, the tail, the leaving
 * waiter and its neighbours; a traversal of the queue would fault.
 */
TEST(c17_leaving_visits_no_other_waiter)
{
	const int leaver = MANY / 2;
	static struct sleeper s[MANY];
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT, late;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (int i = 0; i < MANY; i++)
		queue_on_own_stack(&s[i], &sem, i == leaver ? &ctx : NULL);
	for (int i = 1; i < MANY - 1; i++)
		if (i < leaver - 1 || i > leaver + 1)
			CHECK_EQ(mprotect(s[i].stack, s[i].reach,
					  PROT_NONE), 0);
	weir_ctx_cancel(&ctx);
	finish(s[leaver].j.thread);
	/* Another waiter queues behind all of them and times out. */
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000000), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&late, NULL, weir_deadline_after(1000000)));
	CHECK_ERR(weir_sem_acquire(&sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&late));
	for (int i = 1; i < MANY - 1; i++)
		CHECK_EQ(mprotect(s[i].stack, s[i].reach,
				  PROT_READ | PROT_WRITE), 0);
	CHECK_ERR(s[leaver].j.err, WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), MANY - 1);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	for (int i = 0; i < MANY; i++) {
		if (i != leaver) {
			finish(s[i].j.thread);
			CHECK_ERR(s[i].j.err, WEIR_ECLOSED);
		}
		CHECK_EQ(munmap(s[i].stack, STACK_SIZE), 0);
	}
}

/* oldest_wait_ns is at most the time since the head was enqueued. */
TEST(the_oldest_wait)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	int64_t begun, waited;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	begun = weir_now_ns();
	queue_up(&a, &sem, 1, NULL);
	waited = stat_of(&sem).oldest_wait_ns;
	CHECK(waited > 0 && waited <= weir_now_ns() - begun);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).oldest_wait_ns, 0);
}
