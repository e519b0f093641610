/* SPDX-License-Identifier: MIT */
/*
 * The seven compliance checks of the semaphore.Weighted specification, each
 * under its name there.
 */
#include "job.h"

/*
 * 1.  After any balanced sequence of calls by one thread no permit is held.
 * C2, C5, C6.
 */
TEST(compliance_1_single_thread_invariant)
{
	uint64_t random = seed_of(1);

	for (int round = 0; round < 200; round++) {
		int64_t capacity = 1 + random_below(&random, 20), used = 0;
		int64_t held[64];
		int count = 0;
		weir_sem sem;

		CHECK_OK(weir_sem_init(&sem, capacity));
		for (int i = 0; i < 200; i++) {
			int64_t n = random_below(&random, capacity + 1);
			bool fits = used + n <= capacity;
			bool give = count == 64 || random_below(&random, 2);

			if (count && give) {
				used -= held[--count];
				weir_sem_release(&sem, held[count]);
			} else if (fits && random_below(&random, 2)) {
				CHECK_OK(weir_sem_acquire(&sem, n, NULL));
				used += held[count++] = n;
			} else {
				CHECK_ERR(weir_sem_try_acquire(&sem, n),
					  fits ? WEIR_OK : WEIR_EAGAIN);
				if (fits)
					used += held[count++] = n;
			}
			CHECK_EQ(stat_of(&sem).held, used);
		}
		while (count)
			weir_sem_release(&sem, held[--count]);
		CHECK_EQ(stat_of(&sem).held, 0);
		CHECK_EQ(weir_sem_available(&sem), capacity);
	}
}

/*
 * 2.  N = 1; A, B, C queue in this order and are woken in this order, whatever
 * the timing of the releases.  C3, C4.
 */
TEST(compliance_2_fifo_ordering)
{
	for (int round = 0; round < 20; round++) {
		weir_sem sem = WEIR_SEM_INIT(1);
		job abc[3];

		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		for (int i = 0; i < 3; i++) {
			if (round % 2)
				queue_up(&abc[i], &sem, 1, NULL);
			else
				queue_up_releasing(&abc[i], &sem, 1);
		}
		turns_from_zero();
		weir_sem_release(&sem, 1);
		for (int i = 0; i < 3; i++) {
			CHECK_OK(job_end(&abc[i]));
			CHECK_EQ(abc[i].turn, i);
			if (round % 2)
				weir_sem_release(&sem, 1);
		}
	}
}

/*
 * 3.  N = 10; a request for 10, then one for 1 while 1 is free: the second
 * waits until the first has been granted.  C4.
 */
TEST(compliance_3_head_of_line_blocking)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	job ten, one;

	CHECK_OK(weir_sem_acquire(&sem, 9, NULL));
	queue_up(&ten, &sem, 10, NULL);
	queue_up(&one, &sem, 1, NULL);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 8);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(job_end(&ten));
	CHECK(!job_done(&one));
	weir_sem_release(&sem, 10);
	CHECK_OK(job_end(&one));
}

/*
 * 4.  An acquire that returns the error of its ctx leaves the counts and the
 * queue exactly as if it had never queued.  C13, C16.
 */
TEST(compliance_4_cancellation_purity)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx cancelled = WEIR_CTX_INIT, late, ctx[3];
	weir_sem_info before;
	job first, gone[3], last;

	weir_ctx_cancel(&cancelled);
	before = stat_of(&sem);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &cancelled), WEIR_ECANCELED);
	CHECK(same_stat(before, stat_of(&sem)));

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	queue_up(&first, &sem, 1, NULL);
	before = stat_of(&sem);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(weir_ctx_init(&ctx[i], NULL, WEIR_FOREVER));
		queue_up(&gone[i], &sem, 1 + i, &ctx[i]);
	}
	CHECK_OK(weir_ctx_init(&late, NULL, weir_deadline_after(1000000)));
	CHECK_ERR(weir_sem_acquire(&sem, 2, &late), WEIR_ETIMEDOUT);
	weir_ctx_cancel(&ctx[1]);
	weir_ctx_cancel(&ctx[2]);
	weir_ctx_cancel(&ctx[0]);
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(job_end(&gone[i]), WEIR_ECANCELED);
		CHECK_OK(weir_ctx_destroy(&ctx[i]));
	}
	CHECK(same_stat(before, stat_of(&sem)));
	queue_up(&last, &sem, 3, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&first));
	weir_sem_release(&sem, 3);
	CHECK_OK(job_end(&last));
	CHECK_OK(weir_ctx_destroy(&late));
}

/*
 * 5.  A release that frees enough for the head wakes exactly that waiter, and
 * later heads that fit, before it returns.  C6.
 */
TEST(compliance_5_release_wake)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	job a, b, c, d;

	CHECK_OK(weir_sem_acquire(&sem, 10, NULL));
	queue_up(&a, &sem, 3, NULL);
	queue_up(&b, &sem, 2, NULL);
	queue_up(&c, &sem, 4, NULL);
	queue_up(&d, &sem, 1, NULL);
	weir_sem_release(&sem, 3);
	CHECK_EQ(waiters_of(&sem), 3);
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).free, 0);
	weir_sem_release(&sem, 3);
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_OK(job_end(&b));
	CHECK_EQ(stat_of(&sem).free, 1);
	weir_sem_release(&sem, 4);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(job_end(&c));
	CHECK_OK(job_end(&d));
	CHECK_EQ(stat_of(&sem).free, 0);
}

/* 6.  A release of more permits than are held panics.  C8. */
TEST(compliance_6_mass_underflow)
{
	weir_sem sem = WEIR_SEM_INIT(10);

	CHECK_PANICS("release", weir_sem_release(&sem, 1));
	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	CHECK_PANICS("release", weir_sem_release(&sem, 5));
	CHECK_PANICS("release", weir_sem_release(&sem, WEIR_SEM_MAX));
	CHECK_EQ(stat_of(&sem).held, 4);
	weir_sem_release(&sem, 4);
	CHECK_PANICS("release", weir_sem_release(&sem, 1));
	CHECK_EQ(weir_sem_available(&sem), 10);
}

struct letter {
	weir_sem sent, read;
	int64_t text[8];	/* plain memory */
};

static void *write_letters(void *arg)
{
	struct letter *l = arg;

	for (int64_t k = 1; k <= 5000; k++) {
		CHECK_OK(weir_sem_acquire(&l->read, 1, NULL));
		for (int i = 0; i < 8; i++)
			l->text[i] = k;
		weir_sem_release(&l->sent, 1);
	}
	return NULL;
}

/*
 * 7.  Write then release, acquire then read: ThreadSanitizer reports no race,
 * and the read sees the write.  C24.
 */
TEST(compliance_7_memory_model)
{
	struct letter l = { .sent = WEIR_SEM_INIT_UNBOUNDED(0),
			    .read = WEIR_SEM_INIT_UNBOUNDED(1) };
	check_thread thread = start(write_letters, &l);

	for (int64_t k = 1; k <= 5000; k++) {
		CHECK_OK(weir_sem_acquire(&l.sent, 1, NULL));
		for (int i = 0; i < 8; i++)
			CHECK_EQ(l.text[i], k);
		weir_sem_release(&l.read, 1);
	}
	finish(thread);
}
