/* SPDX-License-Identifier: MIT */
/* C48: the recorded holders of a watched semaphore add up. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/atomic.h"
#include "base/thread.h"
#include "base/ticks.h"
#include "check.h"
#include "look.h"
#include "weir/async.h"
#include "weir/ctx.h"
#include "weir/permit.h"

static weir_sem a, b;

static bool is_flagged(const weir_sem *sem, uint32_t flag)
{
	/* relaxed: the test has synchronised with the writers. */
	return at_load_relaxed(&object_of(sem)->flags) & flag;
}

/* The second acquire at a call site takes another path than the first. */
TEST(c48_every_hold_has_its_own_time)
{
	struct rg_slot *slot;

	watch(&a, 5, "a");
	for (int i = 0; i < 3; i++) {
		uint64_t before;

		/* The clock may stand still for some milliseconds. */
		if (i)
			AWAIT((uint64_t)weir_ticks_() > weir_slot_since_(slot));
		before = (uint64_t)weir_ticks_();
		CHECK_OK(weir_sem_acquire(&a, 1, NULL));
		slot = slot_with(&a);
		CHECK(weir_slot_since_(slot) >= before);
		CHECK(weir_slot_since_(slot) <= (uint64_t)weir_ticks_());
		weir_sem_release(&a, 1);
	}
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_a_holder_has_a_weight_a_thread_and_a_time)
{
	uint64_t before = (uint64_t)weir_ticks_();
	struct rg_slot *slot;

	watch(&a, 5, "a");
	CHECK(!strcmp(object_of(&a)->name, "a"));
	CHECK_EQ(object_of(&a)->capacity, 5);
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 2);
	CHECK_ADDS_UP(&a);
	slot = slot_with(&a);
	CHECK(weir_slot_since_(slot) >= before);
	CHECK(weir_slot_since_(slot) <= (uint64_t)weir_ticks_());
	CHECK(slot->site);
	weir_sem_release(&a, 1);
	CHECK_EQ(held_by(&a, weir_thread_id_()), 1);
	weir_sem_release(&a, 1);
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(recorded(&a), 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER));
	CHECK_OK(weir_sem_destroy(&a));
}

/* Each call of this function is one call site. */
__attribute__((noinline)) static void take_here(int64_t n)
{
	CHECK_OK(weir_sem_acquire(&a, n, NULL));
	__asm__ volatile("");
}

__attribute__((noinline)) static void take_there(int64_t n)
{
	CHECK_OK(weir_sem_try_acquire(&a, n));
	__asm__ volatile("");
}

/* The first acquire of a watched semaphore takes another path than the next ones. */
TEST(c48_an_acquire_of_as_many_as_are_free)
{
	int64_t got;

	watch(&a, 5, "a");
	for (int i = 0; i < 2; i++) {
		CHECK_OK(weir_sem_acquire_upto(&a, 1, 9, NULL, &got));
		CHECK_EQ(got, 5);
		CHECK_EQ(sum_of_slots(&a), 5);
		CHECK_ADDS_UP(&a);
		weir_sem_release(&a, 5);
		CHECK_EQ(sum_of_slots(&a), 0);
	}
	CHECK_OK(weir_sem_destroy(&a));
}

static void *take_and_look(void *unused)
{
	uint32_t tid = weir_thread_id_();

	(void)unused;
	for (int i = 0; i < 5000; i++) {
		CHECK_OK(weir_sem_acquire_for(&a, 1, INT64_C(60000000000)));
		CHECK_EQ(held_by(&a, tid), 1);
		weir_sem_release(&a, 1);
		CHECK_EQ(held_by(&a, tid), 0);
	}
	return NULL;
}

/* C48: the permit is recorded, also if the thread had to spin or to wait for it. */
TEST(c48_an_acquire_that_spins)
{
	const weir_sem_opts opts = { .permits = 1, .name = "a",
				     .policy = WEIR_BARGING };
	check_thread other;

	CHECK_OK(weir_sem_init_opts(&a, &opts));
	other = start(take_and_look, NULL);
	take_and_look(NULL);
	finish(other);
	CHECK_ADDS_UP(&a);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_call_sites_have_slots_of_their_own)
{
	watch(&a, 10, "a");
	take_here(1);
	take_here(2);
	take_there(4);
	if (SITES_ARE_EXACT)
		CHECK_EQ(slots_with(&a), 2);
	CHECK_ADDS_UP(&a);
	/* The newest hold is released first. */
	weir_sem_release(&a, 4);
	if (SITES_ARE_EXACT)
		CHECK_EQ(slots_with(&a), 1);
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 3);
	CHECK_EQ(slots_with(&a), 0);
	CHECK_EQ(recorded(&a), 0);
	/* A release may return permits of several call sites. */
	take_here(2);
	take_there(3);
	weir_sem_release(&a, 5);
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER));
	CHECK_OK(weir_sem_destroy(&a));
}

/* With the lock, before the first unlock, and without. */
TEST(c48_a_barging_try_is_a_holder)
{
	watch(&a, 2, "a");
	CHECK_OK(weir_sem_try_acquire_barging(&a, 1));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 1);
	CHECK_OK(weir_sem_try_acquire_barging(&a, 1));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 2);
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 2);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_more_semaphores_than_slots)
{
	enum { MANY = 3 * RG_SLOTS };
	static weir_sem many[MANY];

	for (int i = 0; i < MANY; i++) {
		watch(&many[i], 2, "many");
		CHECK_OK(weir_sem_acquire(&many[i], 1, NULL));
	}
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(sum_of_slots(&many[i]), 1);
		CHECK_ADDS_UP(&many[i]);
		weir_sem_release(&many[i], 1);
		CHECK_EQ(sum_of_slots(&many[i]), 0);
		CHECK_EQ(recorded(&many[i]), 0);
		CHECK(!is_flagged(&many[i], RG_HANDED_OVER));
		CHECK_OK(weir_sem_destroy(&many[i]));
	}
}

static void *release_one(void *unused)
{
	weir_sem_release(&a, 1);
	return unused;
}

TEST(c48_a_release_without_a_hold_is_marked_as_handed_over)
{
	watch(&a, 3, "a");
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	finish(start(release_one, NULL));
	CHECK(is_flagged(&a, RG_HANDED_OVER));
	CHECK_EQ(recorded(&a), 1);
	CHECK_ADDS_UP(&a);
	/* The owner of the slot subtracts it with its next acquire. */
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK_EQ(object_of(&a)->handed_over, 0);
	CHECK_EQ(sum_of_slots(&a), 2);
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 2);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_permits_that_start_as_out_have_no_known_holder)
{
	weir_sem_opts opts = { .permits = 1, .capacity = 3, .name = "a" };

	CHECK_OK(weir_sem_init_opts(&a, &opts));
	CHECK_EQ(object_of(&a)->handed_over, -2);
	CHECK(is_flagged(&a, RG_HANDED_OVER));
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 1);
	CHECK_ADDS_UP(&a);
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 3);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

/* A release of what another thread holds ends it: the owner must subtract it. */
TEST(c47_permits_that_start_as_out_do_not_end_the_fast_path)
{
	weir_sem_opts opts = { .permits = 1, .capacity = 3, .name = "a" };

	CHECK_OK(weir_sem_init_opts(&a, &opts));
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK(is_last(&a));
	finish(start(release_one, NULL));
	finish(start(release_one, NULL));
	CHECK_EQ(object_of(&a)->handed_over, 0);
	weir_sem_release(&a, 1);
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK(is_last(&a));
	finish(start(release_one, NULL));
	CHECK(!is_last(&a));
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK(!is_last(&a));
	CHECK_EQ(sum_of_slots(&a), 1);
	weir_sem_release(&a, 1);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_an_unbounded_semaphore_has_no_holders)
{
	weir_sem_opts opts = { .name = "a", .flags = WEIR_SEM_UNBOUNDED };

	CHECK_OK(weir_sem_init_opts(&a, &opts));
	weir_sem_release(&a, 3);
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(object_of(&a)->handed_over, 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER));
	CHECK_EQ(acquires_of(&a), 1);
	CHECK_EQ(releases_of(&a), 1);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_forget_resize_and_close)
{
	watch(&a, 4, "a");
	CHECK_OK(weir_sem_acquire(&a, 3, NULL));
	CHECK_OK(weir_sem_forget(&a, 1));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 2);
	CHECK_EQ(object_of(&a)->capacity, 3);
	CHECK_ADDS_UP(&a);
	CHECK_OK(weir_sem_resize(&a, 9, NULL));
	CHECK_EQ(object_of(&a)->capacity, 9);
	weir_sem_close(&a, WEIR_CLOSE_NOW);
	CHECK(is_flagged(&a, RG_IS_CLOSED));
	CHECK_ERR(weir_sem_try_acquire(&a, 1), WEIR_ECLOSED);
	weir_sem_release(&a, 2);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

/* Permit objects. */

struct moved {
	weir_permit permit;
	uint32_t tid;
	bool release;
};

static void *use_permit(void *arg)
{
	struct moved *moved = arg;
	weir_permit part = WEIR_PERMIT_INIT;

	moved->tid = weir_thread_id_();
	if (moved->release) {
		weir_permit_release(&moved->permit);
		return NULL;
	}
	/* The first use of the object makes this thread its holder. */
	CHECK_OK(weir_permit_split(&moved->permit, 1, &part));
	CHECK_EQ(held_by(&a, moved->tid), 3);
	CHECK_OK(weir_permit_merge(&moved->permit, &part));
	moved->permit = weir_permit_move(&moved->permit);
	return NULL;
}

TEST(c48_a_moved_permit_is_released_exactly)
{
	struct moved moved = { .permit = WEIR_PERMIT_INIT, .release = true };
	weir_permit mine = WEIR_PERMIT_INIT;

	watch(&a, 5, "a");
	CHECK_OK(weir_permit_acquire(&mine, &a, 3, NULL));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 3);
	moved.permit = weir_permit_move(&mine);
	CHECK_EQ(object_of(&a)->moved, 1);
	finish(start(use_permit, &moved));
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(object_of(&a)->handed_over, 0);
	/* C50: the object is as if no permit had been moved. */
	CHECK_EQ(object_of(&a)->moved, 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER | RG_MOVED));
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_a_permit_that_is_used_by_a_thread_is_held_by_it)
{
	struct moved moved = { .permit = WEIR_PERMIT_INIT };
	weir_permit mine = WEIR_PERMIT_INIT;

	watch(&a, 5, "a");
	CHECK_OK(weir_permit_try_acquire(&mine, &a, 3));
	moved.permit = weir_permit_move(&mine);
	finish(start(use_permit, &moved));
	/* The thread has ended with the permits; they are in `moved`. */
	CHECK_EQ(held_by(&a, moved.tid), 3);
	CHECK_EQ(held_by(&a, weir_thread_id_()), 0);
	CHECK_ADDS_UP(&a);
	CHECK_EQ(object_of(&a)->moved, 1);
	weir_permit_release(&moved.permit);
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(recorded(&a), 0);
	CHECK_EQ(object_of(&a)->moved, 0);
	CHECK(!is_flagged(&a, RG_MOVED));
	CHECK_OK(weir_sem_destroy(&a));
}

/* Each call that uses a permit object ends its move. */
TEST(c48_a_moved_permit_is_counted_until_its_next_use)
{
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	weir_permit r = WEIR_PERMIT_INIT;

	watch(&a, 9, "a");
	CHECK_OK(weir_permit_acquire(&p, &a, 6, NULL));
	/* A move of a moved permit is one move. */
	p = weir_permit_move(&p);
	q = weir_permit_move(&p);
	CHECK_EQ(object_of(&a)->moved, 1);
	CHECK_OK(weir_permit_split(&q, 1, &p));
	CHECK_EQ(object_of(&a)->moved, 0);
	p = weir_permit_move(&p);
	q = weir_permit_move(&q);
	CHECK_EQ(object_of(&a)->moved, 2);
	/* Into an empty object: this is a move as well. */
	CHECK_OK(weir_permit_merge(&r, &p));
	CHECK_EQ(object_of(&a)->moved, 2);
	CHECK_OK(weir_permit_merge(&q, &r));
	CHECK_EQ(object_of(&a)->moved, 0);
	q = weir_permit_move(&q);
	CHECK_OK(weir_permit_split(&q, 2, &p));
	CHECK_EQ(object_of(&a)->moved, 0);
	p = weir_permit_move(&p);
	CHECK_OK(weir_permit_forget(&p));
	CHECK_EQ(object_of(&a)->moved, 0);
	q = weir_permit_move(&q);
	CHECK_EQ(weir_permit_disown(&q), 4);
	CHECK_EQ(object_of(&a)->moved, 0);
	weir_sem_release(&a, 4);
	CHECK_ADDS_UP(&a);
	CHECK(!is_flagged(&a, RG_HANDED_OVER | RG_MOVED));
	CHECK_OK(weir_sem_destroy(&a));
}

static void *use_shared(void *arg)
{
	weir_permit_release(arg);
	return NULL;
}

/* Another thread uses the object without a move: this may happen again. */
TEST(c50_a_shared_permit_object_is_marked_for_ever)
{
	weir_permit p = WEIR_PERMIT_INIT;

	watch(&a, 1, "a");
	CHECK_OK(weir_permit_acquire(&p, &a, 1, NULL));
	CHECK(!is_flagged(&a, RG_MOVED));
	finish(start(use_shared, &p));
	CHECK_ADDS_UP(&a);
	CHECK_EQ(object_of(&a)->moved, 0);
	CHECK(is_flagged(&a, RG_MOVED));
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_split_merged_and_disowned_permits)
{
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	watch(&a, 5, "a");
	CHECK_OK(weir_permit_acquire_until(&p, &a, 4, WEIR_FOREVER));
	CHECK_OK(weir_permit_split(&p, 1, &q));
	CHECK_ADDS_UP(&a);
	weir_permit_release(&q);
	CHECK_ADDS_UP(&a);
	CHECK_OK(weir_permit_split(&p, 2, &q));
	CHECK_OK(weir_permit_merge(&p, &q));
	CHECK_OK(weir_permit_split(&p, 1, &q));
	CHECK_OK(weir_permit_forget(&q));
	CHECK_ADDS_UP(&a);
	CHECK_EQ(weir_permit_disown(&p), 2);
	CHECK_ADDS_UP(&a);
	CHECK_OK(weir_permit_adopt(&q, &a, 2));
	weir_permit_release(&q);
	CHECK_EQ(recorded(&a), 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER));
	CHECK_OK(weir_sem_destroy(&a));
}

static void *pass_permits(void *arg)
{
	weir_permit *p = arg, *q = p + 1;
	uint32_t tid = weir_thread_id_();

	p[2] = weir_permit_move(&p[2]);
	CHECK_EQ(held_by(&a, tid), 1);
	CHECK_OK(weir_permit_merge(p, q));
	CHECK_EQ(held_by(&a, tid), 4);
	CHECK_OK(weir_permit_forget(&p[2]));
	CHECK_EQ(held_by(&a, tid), 3);
	CHECK_EQ(weir_permit_disown(&p[3]), 1);
	CHECK_EQ(held_by(&a, tid), 4);
	CHECK_OK(weir_permit_forget(&p[4]));
	CHECK_EQ(held_by(&a, tid), 4);
	CHECK(!is_flagged(&a, RG_HANDED_OVER));
	weir_permit_release(p);
	weir_sem_release(&a, 1);
	return NULL;
}

TEST(c48_every_use_of_a_permit_makes_its_thread_the_holder)
{
	weir_permit p[5] = { WEIR_PERMIT_INIT };
	const int64_t n[5] = { 2, 1, 1, 1, 1 };

	watch(&a, 7, "a");
	for (int i = 0; i < 5; i++)
		CHECK_OK(i < 3 ? weir_permit_acquire(&p[i], &a, n[i], NULL) :
				 weir_permit_try_acquire(&p[i], &a, n[i]));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 6);
	finish(start(pass_permits, p));
	CHECK_EQ(object_of(&a)->capacity, 5);
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(recorded(&a), 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER));
	CHECK_OK(weir_sem_destroy(&a));
}

/* Waits. */

static void *acquire_two(void *arg)
{
	uint32_t *tid = arg;

	*tid = weir_thread_id_();
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	CHECK_EQ(held_by(&a, *tid), 2);
	weir_sem_release(&a, 2);
	return NULL;
}

TEST(c48_a_waiter_is_recorded_with_its_context_and_ticket)
{
	struct rg_wait wait, second;
	uint32_t tid, tid2;
	check_thread thread, thread2;

	watch(&a, 2, "a");
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	thread = start(acquire_two, &tid);
	AWAIT(waits_on(&a, &wait) == 1);
	CHECK_EQ(wait.min, 2);
	CHECK_EQ(wait.max, 2);
	CHECK_EQ(wait.deadline_ns, INT64_MAX);
	CHECK(context_of(wait.context));
	CHECK_EQ(context_of(wait.context)->tid, tid);
	thread2 = start(acquire_two, &tid2);
	AWAIT(waits_on(&a, NULL) == 2);
	wait_of(&a, tid2, &second);
	CHECK(second.ticket > wait.ticket);
	weir_sem_release(&a, 1);
	finish(thread);
	finish(thread2);
	CHECK_EQ(waits_on(&a, NULL), 0);
	CHECK_EQ(recorded(&a), 0);
	CHECK_EQ(object_of(&a)->acquires[RG_QUEUED], 2);
	CHECK_OK(weir_sem_destroy(&a));
}

struct request {
	int64_t n;		/* 0: wait for idle */
	weir_ctx *ctx;
	uint32_t tid;
};

static void *wait_for(void *arg)
{
	struct request *request = arg;

	request->tid = weir_thread_id_();
	if (request->n) {
		CHECK_OK(weir_sem_acquire(&a, request->n, request->ctx));
		weir_sem_release(&a, request->n);
	} else {
		CHECK_OK(weir_sem_wait_idle(&a, request->ctx));
	}
	return NULL;
}

TEST(c48_a_wait_is_recorded_with_the_kind_of_its_request)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct request plain = { .n = 1 }, within = { .n = 1, .ctx = &ctx };
	struct request large = { .n = 9, .ctx = &ctx }, idle = { .n = 0 };
	const struct {
		struct request *request;
		uint32_t flags;
	} all[] = {
		{ &plain, 0 },
		{ &within, RG_HAS_CTX },
		{ &large, RG_OVERSIZED | RG_HAS_CTX },
		{ &idle, RG_IDLE },
	};
	check_thread threads[4];
	struct rg_wait wait;

	watch(&a, 2, "a");
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	for (unsigned i = 0; i < 4; i++) {
		threads[i] = start(wait_for, all[i].request);
		AWAIT(waits_on(&a, NULL) == i + 1);
		wait_of(&a, all[i].request->tid, &wait);
		CHECK_EQ(wait.min, all[i].request->n);
		CHECK_EQ(wait.flags, all[i].flags);
	}
	/* The oversized request fits now; in the end the semaphore is idle. */
	CHECK_OK(weir_sem_resize(&a, 9, NULL));
	weir_sem_release(&a, 2);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	CHECK_EQ(waits_on(&a, NULL), 0);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c48_failed_acquires_are_counted_by_outcome)
{
	watch(&a, 1, "a");
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK_ERR(weir_sem_acquire_for(&a, 1, 1), WEIR_ETIMEDOUT);
	CHECK_EQ(object_of(&a)->acquires[RG_TIMEOUT], 1);
	CHECK_ERR(weir_sem_try_acquire(&a, 1), WEIR_EAGAIN);
	CHECK_EQ(object_of(&a)->acquires[RG_WOULD_BLOCK], 1);
	weir_sem_close(&a, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_try_acquire(&a, 1), WEIR_ECLOSED);
	CHECK_EQ(object_of(&a)->acquires[RG_CLOSED], 1);
	CHECK_EQ(waits_on(&a, NULL), 0);
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 1);
	CHECK_OK(weir_sem_destroy(&a));
}

/* Operations. */

static void count_call(weir_op *op, weir_err err, void *user)
{
	(void)op;
	CHECK_OK(err);
	++*(int *)user;
}

TEST(c48_an_operation_waits_as_a_context_of_its_own)
{
	struct rg_wait wait;
	int calls = 0;
	weir_op op, polled;

	watch(&a, 2, "a");
	weir_op_init(&op, NULL, count_call, &calls);
	weir_op_init(&polled, NULL, NULL, NULL);
	CHECK_OK(weir_op_submit(&op, &a, 1, NULL));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 1);
	CHECK_ERR(weir_op_submit(&op, &a, 2, NULL), WEIR_EQUEUED);
	CHECK_EQ(waits_on(&a, &wait), 1);
	CHECK_EQ(context_of(wait.context)->kind, RG_OPERATION);
	CHECK_EQ(context_of(wait.context)->address, (uintptr_t)&op);
	CHECK_ERR(weir_op_submit(&polled, &a, 1, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_op_cancel(&polled));
	CHECK_EQ(object_of(&a)->acquires[RG_CANCELLED], 1);
	weir_sem_release(&a, 1);
	CHECK_EQ(calls, 1);
	CHECK_EQ(waits_on(&a, NULL), 0);
	CHECK(!context_of(wait.context));
	CHECK_EQ(held_by(&a, weir_thread_id_()), 2);
	CHECK_ADDS_UP(&a);
	/* A polled operation was granted, and its owner has not polled it yet. */
	CHECK_ERR(weir_op_submit(&polled, &a, 1, NULL), WEIR_EQUEUED);
	CHECK_EQ(waits_on(&a, &wait), 1);
	CHECK(!(wait.flags & RG_GRANTED));
	weir_sem_release(&a, 2);
	CHECK_EQ(waits_on(&a, &wait), 1);
	CHECK(wait.flags & RG_GRANTED && wait.granted >= wait.since);
	CHECK_OK(weir_op_poll(&polled));
	CHECK_EQ(waits_on(&a, NULL), 0);
	CHECK_EQ(held_by(&a, weir_thread_id_()), 1);
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 1);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

/* Signal handlers. */

static volatile sig_atomic_t stock, handled;

static void release_in_handler(int unused)
{
	(void)unused;
	if (stock > 0) {
		stock--;
		handled++;
		weir_sem_release(&b, 1);
	}
}

/*
 * A handler interrupts acquires and releases of the same thread at any
 * instruction.  Whether it finds the slots busy or not, nothing drifts.
 */
TEST(c48_releases_in_a_signal_handler_do_not_drift)
{
	struct sigaction action = { .sa_handler = release_in_handler };
	const struct itimerval often = { { 0, 50 }, { 0, 50 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction before;

	CHECK(!sigaction(SIGVTALRM, &action, &before));
	watch(&a, 2, "a");
	watch(&b, 1000000, "b");
	CHECK_OK(weir_sem_acquire(&b, 100000, NULL));
	stock = 100000;
	handled = 0;
	CHECK(!setitimer(ITIMER_VIRTUAL, &often, NULL));
	while (handled < 50) {
		for (int i = 0; i < 1000; i++) {
			CHECK_OK(weir_sem_acquire(&b, 1, NULL));
			weir_sem_release(&b, 1);
			CHECK_OK(weir_sem_acquire(&a, 1, NULL));
			weir_sem_release(&a, 1);
		}
	}
	CHECK(!setitimer(ITIMER_VIRTUAL, &never, NULL));
	CHECK_EQ(recorded(&b), stock);
	CHECK_ADDS_UP(&b);
	CHECK_EQ(recorded(&a), 0);
	weir_sem_release(&b, stock);
	stock = 0;
	CHECK_EQ(recorded(&b), 0);
	stock = 1;
	/* In the middle of a change of the slots: defer. */
	CHECK_OK(weir_sem_acquire(&b, 2, NULL));
	mark_busy(true);
	release_in_handler(0);
	mark_busy(false);
	CHECK(is_flagged(&b, RG_DEFERRED));
	CHECK(!is_flagged(&b, RG_HANDED_OVER));
	CHECK_EQ(recorded(&b), 1);
	CHECK_ADDS_UP(&b);
	CHECK_OK(weir_sem_acquire(&b, 1, NULL));
	CHECK_EQ(sum_of_slots(&b), 2);
	CHECK_ADDS_UP(&b);
	weir_sem_release(&b, 2);
	CHECK_EQ(recorded(&b), 0);
	CHECK(!sigaction(SIGVTALRM, &before, NULL));
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
}

/* Several threads at once. */

#define THREADS 4

static void *take_and_release(void *arg)
{
	uint64_t random = seed_of((uint64_t)(uintptr_t)arg);
	int rounds = 20000 * check_scale() / (UNDER_TSAN ? 10 : 1);

	for (int i = 0; i < rounds; i++) {
		int64_t n = 1 + random_below(&random, 3);
		weir_sem *sem = random_below(&random, 2) ? &a : &b;

		if (random_below(&random, 4))
			CHECK_OK(weir_sem_acquire(sem, n, NULL));
		else if (weir_sem_try_acquire(sem, n))
			continue;
		if (!random_below(&random, 8) && !weir_sem_try_acquire(sem, 1))
			n++;
		if (!random_below(&random, 8)) {
			weir_sem_release(sem, 1);
			n--;
		}
		weir_sem_release(sem, n);
	}
	return NULL;
}

TEST(c48_holders_add_up_after_random_calls_of_several_threads)
{
	check_thread threads[THREADS];

	watch(&a, 4, "a");
	watch(&b, 5, "b");
	for (uintptr_t i = 0; i < THREADS; i++)
		threads[i] = start(take_and_release, (void *)i);
	for (int i = 0; i < THREADS; i++)
		finish(threads[i]);
	CHECK_EQ(recorded(&a), 0);
	CHECK_EQ(recorded(&b), 0);
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(waits_on(&a, NULL), 0);
	CHECK(!is_flagged(&a, RG_HANDED_OVER | RG_DEFERRED));
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
}
