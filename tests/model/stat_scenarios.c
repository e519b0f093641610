/* SPDX-License-Identifier: MIT */
/*
 * The snapshot of a semaphore with waiters, under every schedule: most of them
 * are read without the lock, from what an earlier one has published.
 */
#include "core/sem_contend.h"
#include "weir/async.h"

#include "scenario.h"

/* Large enough to contain two semaphores that share a published entry. */
static struct {
	weir_sem sem __attribute__((aligned(64)));
} memory[2 * WEIR_CONTENDED_];

static weir_sem *s, *t;
static weir_op a, b, c;

static void queue(weir_op *op, weir_sem *sem, int64_t n)
{
	EX_ASSERT(weir_op_submit(op, sem, n, NULL) == WEIR_EQUEUED);
}

static weir_sem_info look(weir_sem *sem)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(sem, &info) == WEIR_OK);
	EX_ASSERT(info.free >= 0 && info.held >= 0 && info.granted >= 0);
	EX_ASSERT(info.capacity == info.free + info.held + info.granted -
					   info.debt);
	EX_ASSERT((info.waiters == 0) == (info.waiting_permits == 0));
	return info;
}

/* Two of two permits are held; a waits for one, and the numbers are published. */
static void a_waits(void)
{
	int i = 1;

	s = &memory[0].sem;
	while (weir_contended_of_(&memory[i].sem) != weir_contended_of_(s))
		i++;
	t = &memory[i].sem;
	EX_ASSERT(weir_sem_init(s, 2) == WEIR_OK);
	EX_ASSERT(weir_sem_acquire(s, 2, NULL) == WEIR_OK);
	weir_op_init(&a, NULL, NULL, NULL);
	weir_op_init(&b, NULL, NULL, NULL);
	weir_op_init(&c, NULL, NULL, NULL);
	queue(&a, s, 1);
	EX_ASSERT(look(s).waiting_permits == 1);
}

static void check_still(void)
{
	weir_sem_info info = look(s), locked;

	/* The same under the lock: this grants nothing and changes no list. */
	lock_and_unlock(s);
	locked = look(s);
	EX_ASSERT(info.waiters == locked.waiters && info.free == locked.free);
	EX_ASSERT(info.waiters == s->waiters_);
}

static void b_joins(void)
{
	weir_sem_info info;

	queue(&b, s, 2);
	info = look(s);
	EX_ASSERT(info.waiters == 2 && info.waiting_permits == 3);
}

static void look_twice(void)
{
	weir_sem_info first = look(s), second = look(s);

	EX_ASSERT(first.waiting_permits == (first.waiters == 2 ? 3 : 1));
	EX_ASSERT(second.waiting_permits == (second.waiters == 2 ? 3 : 1));
	EX_ASSERT(second.waiters >= first.waiters);
}

/* A stat after a submit counts the operation, in whichever thread. */
SCENARIO(stat_meets_submit, 3, a_waits, check_still, b_joins, look_twice)
SCENARIO(stats_meet_submit, 2, a_waits, check_still, b_joins, look_twice,
	 look_twice)

static void a_leaves(void)
{
	EX_ASSERT(weir_op_cancel(&a) == WEIR_OK);
	EX_ASSERT(look(s).waiters == 0);
}

static void look_until_gone(void)
{
	weir_sem_info first = look(s), second = look(s);

	EX_ASSERT(first.waiters <= 1 && second.waiters <= first.waiters);
}

SCENARIO(stat_meets_leaving, 3, a_waits, check_still, a_leaves,
	 look_until_gone)

/* The next operation is as long as the last one was, and another one. */
static void a_is_replaced(void)
{
	EX_ASSERT(weir_op_cancel(&a) == WEIR_OK);
	queue(&b, s, 2);
	EX_ASSERT(look(s).waiting_permits == 2);
}

static void look_for_one(void)
{
	weir_sem_info first = look(s), second = look(s);

	EX_ASSERT(first.waiters <= 1 && second.waiters <= 1);
	EX_ASSERT(second.waiting_permits >= first.waiting_permits ||
		  !second.waiters);
}

SCENARIO(stat_meets_replacement, 3, a_waits, check_still, a_is_replaced,
	 look_for_one)
SCENARIO(stats_meet_replacement, 2, a_waits, check_still, a_is_replaced,
	 look_for_one, look_for_one)

static void a_is_granted(void)
{
	weir_sem_release(s, 1);
	EX_ASSERT(look(s).waiters == 0);
	EX_ASSERT(weir_op_poll(&a) == WEIR_OK);
}

/* The permit is held, or granted to a; no snapshot shows it as free. */
static void look_for_permit(void)
{
	weir_sem_info info = look(s);

	EX_ASSERT(info.free == 0);
	EX_ASSERT(info.waiters == 0 || info.granted == 0);
}

SCENARIO(stat_meets_queued_grant, 3, a_waits, check_still, a_is_granted,
	 look_for_permit)

/* Another semaphore, whose numbers replace those of the first one. */
static void two_wait(void)
{
	a_waits();
	EX_ASSERT(weir_sem_init(t, 9) == WEIR_OK);
	EX_ASSERT(weir_sem_acquire(t, 9, NULL) == WEIR_OK);
	queue(&c, t, 9);
}

static void look_at_other(void)
{
	for (int i = 0; i < 2; i++) {
		weir_sem_info info = look(t);

		EX_ASSERT(info.waiters == 1 && info.waiting_permits == 9);
	}
}

static void change_and_look(void)
{
	look_twice();
	b_joins();
}

SCENARIO(stats_share_entry, 2, two_wait, check_still, look_at_other,
	 change_and_look)
SCENARIO(stats_share_entry_three, 1, two_wait, check_still, look_at_other,
	 b_joins, look_twice)

static void a_and_b_wait(void)
{
	two_wait();
	queue(&b, s, 1);
}

static void a_is_replaced_by_two(void)
{
	EX_ASSERT(weir_op_cancel(&a) == WEIR_OK);
	EX_ASSERT(weir_op_cancel(&b) == WEIR_OK);
	queue(&a, s, 2);
}

static void look_at_both(void)
{
	weir_sem_info info = look(s);

	EX_ASSERT(info.waiters != 2 || info.waiting_permits == 2);
	info = look(t);
	EX_ASSERT(info.waiters == 1 && info.waiting_permits == 9);
}

SCENARIO(stats_share_changing_entry, 2, a_and_b_wait, check_still,
	 look_at_both, look_at_both, a_is_replaced_by_two)

static void none_free(void)
{
	s = &memory[0].sem;
	EX_ASSERT(weir_sem_init(s, 1) == WEIR_OK);
	EX_ASSERT(weir_sem_acquire(s, 1, NULL) == WEIR_OK);
}

static void take_and_put(void)
{
	EX_ASSERT(weir_sem_acquire(s, 1, NULL) == WEIR_OK);
	weir_sem_release(s, 1);
}

/* C6: what is released belongs to the waiter, also if that one spins. */
static void look_and_put(void)
{
	bool waits = at_load_relaxed(&s->waiters_);
	weir_sem_info info = look(s);

	EX_ASSERT(info.free == 0);
	EX_ASSERT(!waits || info.waiters == 1);
	weir_sem_release(s, 1);
	info = look(s);
	EX_ASSERT(info.free == 0 || info.waiters == 0);
}

SCENARIO(stat_meets_spinner, 3, none_free, check_still, take_and_put,
	 look_and_put)

static weir_ctx ctx = WEIR_CTX_INIT;

static void x_joins(void)
{
	EX_ASSERT(weir_op_submit(&c, s, 3, &ctx) == WEIR_EQUEUED);
	EX_ASSERT(look(s).oversized == 1);
}

static void look_for_oversized(void)
{
	weir_sem_info first = look(s), second = look(s);

	EX_ASSERT(first.waiters == 1 && second.waiters == 1);
	EX_ASSERT(second.oversized >= first.oversized);
}

/* C11: an oversized request changes no count of the semaphore. */
SCENARIO(stat_meets_oversized, 3, a_waits, check_still, x_joins,
	 look_for_oversized)

static void grow_and_replace(void)
{
	EX_ASSERT(weir_op_cancel(&a) == WEIR_OK);
	EX_ASSERT(weir_sem_resize(s, 3, NULL) == WEIR_OK);
	queue(&b, s, 2);
}

/* After the growth there is one free permit, and b or nothing waits. */
static void look_for_growth(void)
{
	weir_sem_info info = look(s);

	EX_ASSERT(info.free == info.capacity - 2);
	EX_ASSERT(info.capacity == 2 || info.waiting_permits != 1);
}

SCENARIO(stat_meets_growth_and_submit, 3, a_waits, check_still,
	 grow_and_replace, look_for_growth)

static void a_and_x_wait(void)
{
	a_waits();
	x_joins();
}

static void x_leaves_and_b_joins(void)
{
	EX_ASSERT(weir_op_cancel(&c) == WEIR_OK);
	EX_ASSERT(weir_op_cancel(&a) == WEIR_OK);
	queue(&b, s, 2);
	EX_ASSERT(look(s).waiting_permits == 2);
}

static void look_for_x_or_b(void)
{
	weir_sem_info info = look(s);

	EX_ASSERT(!info.oversized || info.waiting_permits == 1);
}

SCENARIO(stat_meets_next_stat, 3, a_and_x_wait, check_still,
	 x_leaves_and_b_joins, look_for_x_or_b)

static void a_and_b_published(void)
{
	a_waits();
	queue(&b, s, 1);
	EX_ASSERT(look(s).waiting_permits == 2);
}

static void release_one(void)
{
	weir_sem_release(s, 1);
}

/* A request waits or is granted, and never both, although the door stays SHUT. */
static void look_for_two(void)
{
	weir_sem_info info = look(s);

	EX_ASSERT(info.waiters + info.granted == 2);
}

SCENARIO(stat_meets_grant_before_another_waiter, 3, a_and_b_published,
	 check_still, release_one, look_for_two)

static void close_now(void)
{
	weir_sem_close(s, WEIR_CLOSE_NOW);
}

/* C19: a closed semaphore has no waiters. */
static void look_for_closed(void)
{
	weir_sem_info info = look(s);

	EX_ASSERT(!info.closed || !info.waiters);
}

SCENARIO(stat_meets_close, 3, a_and_b_published, check_still, close_now,
	 look_for_closed)

static void none_free_barging(void)
{
	s = &memory[0].sem;
	EX_ASSERT(weir_sem_init_opts(s, &(weir_sem_opts){
		.capacity = 1, .policy = WEIR_BARGING }) == WEIR_OK);
}

static void take(void)
{
	EX_ASSERT(weir_sem_acquire(s, 1, NULL) == WEIR_OK);
}

/* A waiter that was woken to retry is queued until it has taken the permit. */
static void put_and_look(void)
{
	bool waits = at_load_relaxed(&s->waiters_);
	weir_sem_info info;

	weir_sem_release(s, 1);
	info = look(s);
	EX_ASSERT(info.policy == WEIR_BARGING);
	EX_ASSERT(!waits || info.free == 0 || info.waiters == 1);
}

SCENARIO(stat_meets_retrying_waiter, 2, none_free_barging, check_still, take,
	 put_and_look)

static void a_has_a_deadline(void)
{
	none_free();
	weir_op_init(&a, NULL, NULL, NULL);
	EX_ASSERT(weir_op_submit_until(&a, s, 1, weir_deadline_after(1000)) ==
		  WEIR_EQUEUED);
	EX_ASSERT(look(s).waiters == 1);
}

/* C7: at the deadline itself, the first stat ends the wait of the head. */
static void look_at_the_deadline(void)
{
	ex_clock_advance(1000);
	look(s);
	EX_ASSERT(look(s).waiters == 0);
}

SCENARIO(stat_at_the_deadline, 1, a_has_a_deadline, check_still,
	 look_at_the_deadline)
