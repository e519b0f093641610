/* SPDX-License-Identifier: MIT */
/*
 * How a wait is recorded (C48): its request, its grant and its end, for threads,
 * operations and the members of any-of requests.  A hook looks at the record of a
 * waiting thread: it runs on that thread, after it has joined the queue.
 */
#include "base/thread.h"
#include "check.h"
#include "look.h"
#include "weir/async.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/loop.h"
#include "weir/multi.h"

#define HOUR INT64_C(3600000000000)

static weir_sem a, b;

static void begin(void)
{
	watch(&a, 3, "a");
	watch(&b, 3, "b");
	CHECK_OK(weir_sem_acquire(&a, 3, NULL));
	CHECK_OK(weir_sem_acquire(&b, 3, NULL));
}

/* Nothing waits any more, and the held permits are those of this thread. */
static void end(void)
{
	weir_sem *both[] = { &a, &b };

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(waits_on(both[i], NULL), 0);
		CHECK_EQ(object_of(both[i])->queued, 0);
		CHECK_ADDS_UP(both[i]);
		weir_sem_release(both[i], out_of(both[i]));
		CHECK_EQ(recorded(both[i]), 0);
		CHECK_OK(weir_sem_destroy(both[i]));
	}
}

static uint64_t ended(const weir_sem *sem, enum rg_outcome how)
{
	return object_of(sem)->acquires[how];
}

static struct rg_wait only_wait_on(const weir_sem *sem)
{
	struct rg_wait wait = { 0 };

	CHECK_EQ(waits_on(sem, &wait), 1);
	return wait;
}

static void check_request(const weir_sem *sem, int64_t min, int64_t max,
			  int64_t deadline_ns, uint32_t flags)
{
	struct rg_wait wait = only_wait_on(sem);

	CHECK_EQ(wait.min, min);
	CHECK_EQ(wait.max, max);
	CHECK_EQ(wait.deadline_ns, deadline_ns);
	CHECK_EQ(wait.flags, flags);
	CHECK_EQ(object_of(sem)->queued, min);
}

static void check_granted(const weir_sem *sem)
{
	struct rg_wait wait = only_wait_on(sem);

	CHECK(wait.flags & RG_GRANTED);
	CHECK(wait.granted >= wait.since);
	CHECK_EQ(object_of(sem)->queued, 0);
}

/* The record that the hook finds when the thread has joined the queue. */
static struct {
	int64_t min, max, deadline_ns;
	uint32_t flags;
	int64_t released;
	int calls;
} expected;

static void look_and_release(const weir_diag_event *event)
{
	if (event->kind != WEIR_DIAG_QUEUED)
		return;
	expected.calls++;
	check_request(&a, expected.min, expected.max, expected.deadline_ns,
		      expected.flags);
	CHECK_EQ(context_of(only_wait_on(&a).context)->tid, weir_thread_id_());
	weir_sem_release(&a, expected.released);
	check_granted(&a);
}

static void expect(int64_t min, int64_t max, int64_t deadline_ns,
		   uint32_t flags)
{
	expected.min = min;
	expected.max = max;
	expected.deadline_ns = deadline_ns;
	expected.flags = flags;
	expected.released = max;
	expected.calls = 0;
}

/* Each is longer than two milliseconds. */
#define TIMED_WAITS 8
#define TIMED_NS 2000000

static weir_diag_object counts;

static void note_counts(const weir_diag_object *object, void *address)
{
	if (object->address == address)
		counts = *object;
}

static uint64_t sum(const uint64_t buckets[WEIR_DIAG_BUCKETS], unsigned n)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++)
		total += buckets[i];
	return total;
}

static void release_later(const weir_diag_event *event)
{
	int64_t since_ns = weir_now_ns();

	if (event->kind != WEIR_DIAG_QUEUED)
		return;
	while (weir_now_ns() - since_ns < TIMED_NS)
		continue;
	weir_sem_release(&a, 1);
}

/*
 * The clock of holds may be inexact by some milliseconds; that of waits is not.  A
 * wait began before the hook ran, and the permit came after it.
 */
TEST(c48_a_short_wait_is_measured_exactly)
{
	begin();
	(void)weir_diag_set_hook(release_later);
	for (int i = 0; i < TIMED_WAITS; i++)
		CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	(void)weir_diag_set_hook(NULL);
	CHECK_EQ(ended(&a, RG_QUEUED), TIMED_WAITS);
	CHECK_OK(weir_diag_each(note_counts, &a));
	CHECK_EQ(sum(counts.waits, WEIR_DIAG_BUCKETS), TIMED_WAITS);
	/* Below 1, 3, 10, 30, 100, 300 us and 1 ms. */
	CHECK_EQ(sum(counts.waits, 7), 0);
	CHECK_EQ(sum(counts.holds, WEIR_DIAG_BUCKETS), TIMED_WAITS);
	CHECK_EQ(sum(counts.holds, 2), 0);
	end();
}

static void *release_one(void *unused)
{
	weir_sem_release(&a, 1);
	return unused;
}

/* How long permits were held that another thread releases is not known. */
TEST(c48_the_hold_that_another_thread_ends_has_no_time)
{
	begin();
	finish(start(release_one, NULL));
	weir_sem_release(&a, 1);
	CHECK_OK(weir_diag_each(note_counts, &a));
	CHECK_EQ(counts.releases, 2);
	CHECK_EQ(counts.holders, 1);
	/* From another call site. */
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK_OK(weir_diag_each(note_counts, &a));
	CHECK_EQ(counts.holders, 1);
	CHECK_EQ(sum(counts.holds, WEIR_DIAG_BUCKETS), 1);
	CHECK_EQ(counts.holds[0], 0);
	end();
}

TEST(c48_a_wait_of_a_thread_from_its_request_to_its_grant)
{
	int64_t deadline_ns = weir_deadline_after(HOUR), got = 0;
	weir_ctx ctx;

	begin();
	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	CHECK(!weir_diag_set_hook(look_and_release));
	expect(1, 1, WEIR_FOREVER, 0);
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK_EQ(expected.calls, 1);
	expect(2, 2, deadline_ns - 1, 0);
	CHECK_OK(weir_sem_acquire_until(&a, 2, deadline_ns - 1));
	CHECK_EQ(expected.calls, 1);
	expect(1, 3, deadline_ns, RG_HAS_CTX);
	CHECK_OK(weir_sem_acquire_upto(&a, 1, 3, &ctx, &got));
	CHECK_EQ(expected.calls, 1);
	CHECK_EQ(got, 3);
	CHECK(weir_diag_set_hook(NULL) == look_and_release);
	CHECK_EQ(ended(&a, RG_QUEUED), 3);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/* A resize moves the wait to the oversized list, and back to the queue. */
static void move_twice(uint32_t flags)
{
	struct rg_wait before = only_wait_on(&a), after;
	int64_t debt;

	CHECK_EQ(before.flags, flags);
	CHECK_OK(weir_sem_resize(&a, 1, &debt));
	CHECK_EQ(only_wait_on(&a).flags, flags | RG_OVERSIZED);
	CHECK_OK(weir_sem_resize(&a, 3, &debt));
	after = only_wait_on(&a);
	CHECK_EQ(after.flags, flags);
	CHECK_EQ(after.ticket, before.ticket + 2);
	CHECK(after.seq > before.seq && !(after.seq & 1));
	CHECK_EQ(after.ahead, 0);
	CHECK_EQ(object_of(&a)->queued, 2);
	weir_sem_release(&a, 2);
	check_granted(&a);
}

static void look_and_resize(const weir_diag_event *event)
{
	if (event->kind == WEIR_DIAG_QUEUED)
		move_twice(RG_HAS_CTX);
}

TEST(c50_a_resize_moves_a_wait_to_the_other_list)
{
	weir_ctx ctx;
	weir_op op;

	begin();
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK(!weir_diag_set_hook(look_and_resize));
	CHECK_OK(weir_sem_acquire(&a, 2, &ctx));
	CHECK(weir_diag_set_hook(NULL) == look_and_resize);
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&op, &a, 2, &ctx), WEIR_EQUEUED);
	move_twice(RG_HAS_CTX);
	CHECK_OK(weir_op_poll(&op));
	end();
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static uint64_t idle_site;

static void look_and_make_idle(const weir_diag_event *event)
{
	if (event->kind != WEIR_DIAG_QUEUED)
		return;
	check_request(&a, 0, 0, WEIR_FOREVER, RG_IDLE);
	idle_site = only_wait_on(&a).site;
	weir_sem_release(&a, 3);
}

/* Not a jump: the return address is in this function. */
__attribute__((noinline)) static void wait_here(void)
{
	CHECK_OK(weir_sem_wait_idle(&a, NULL));
	__asm__ volatile("");
}

TEST(c48_a_wait_for_idle_is_recorded_with_its_call_site)
{
	begin();
	CHECK(!weir_diag_set_hook(look_and_make_idle));
	wait_here();
	CHECK(weir_diag_set_hook(NULL) == look_and_make_idle);
	/* More than the size of the function. */
	CHECK(idle_site - (uintptr_t)wait_here < 4096);
	/* It is no acquire. */
	CHECK_EQ(ended(&a, RG_QUEUED), 0);
	CHECK_EQ(object_of(&a)->wait_ticks, 0);
	end();
}

/* A grant on a semaphore that is not watched leaves the other records alone. */
static void *acquire_unwatched(void *sem)
{
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	return NULL;
}

TEST(c48_the_grant_of_an_unwatched_wait_is_not_recorded)
{
	weir_op ops[16];
	weir_sem plain = WEIR_SEM_INIT(1);
	const weir_req one = { &plain, 1 };
	check_thread thread;
	unsigned n = 0;
	size_t which;

	begin();
	/* Until the first record of the table is in use. */
	do {
		CHECK(n < sizeof(ops) / sizeof(*ops));
		weir_op_init(&ops[n], NULL, NULL, NULL);
		CHECK_ERR(weir_op_submit(&ops[n++], &a, 1, NULL), WEIR_EQUEUED);
	} while (weir_rg_wait_(weir_registry_->base, 0)->state != RG_LIVE);
	CHECK_OK(weir_sem_acquire(&plain, 1, NULL));
	thread = start(acquire_unwatched, &plain);
	AWAIT(waiters_of(&plain) == 1);
	weir_sem_release(&plain, 1);
	finish(thread);
	weir_sem_release(&plain, 1);
	CHECK_OK(weir_acquire_any(&one, 1, NULL, &which));
	CHECK_EQ(weir_rg_wait_(weir_registry_->base, 0)->flags, 0);
	CHECK_EQ(object_of(&a)->queued, n);
	while (n)
		CHECK_OK(weir_op_cancel(&ops[--n]));
	end();
}

/* Any-of requests. */

static int ran;

static void any_ran(weir_any *any, weir_err err, size_t which, void *user)
{
	(void)any;
	(void)which;
	ran++;
	CHECK_ERR(err, *(weir_err *)user);
}

static const weir_req both[] = { { &a, 1 }, { &b, 2 } };

TEST(c48_members_of_an_operation_wait_as_one_context)
{
	weir_err result = WEIR_OK;
	uint64_t context;
	weir_op places[2];
	weir_any any;

	begin();
	ran = 0;
	weir_any_init(&any, NULL, any_ran, &result);
	CHECK_ERR(weir_any_submit(&any, both, places, 2, NULL, NULL),
		  WEIR_EQUEUED);
	check_request(&a, 1, 1, WEIR_FOREVER, RG_ANY_OF);
	check_request(&b, 2, 2, WEIR_FOREVER, RG_ANY_OF);
	context = only_wait_on(&a).context;
	CHECK_EQ(only_wait_on(&b).context, context);
	CHECK_EQ(context_of(context)->kind, RG_OPERATION);
	CHECK_EQ(context_of(context)->address, (uintptr_t)&any);
	weir_sem_release(&b, 2);
	CHECK_EQ(ran, 1);
	CHECK(!context_of(context));
	/* The other wait has no outcome. */
	CHECK_EQ(ended(&b, RG_QUEUED), 1);
	CHECK_EQ(ended(&a, RG_QUEUED) + ended(&a, RG_CANCELLED), 0);
	CHECK_EQ(held_by(&b, weir_thread_id_()), 3);
	end();
}

TEST(c48_members_have_the_context_and_the_deadline_of_their_request)
{
	int64_t deadline_ns = weir_deadline_after(HOUR);
	weir_err result = WEIR_ECANCELED;
	weir_op places[2];
	weir_loop loop;
	weir_any any;
	weir_ctx ctx;

	begin();
	ran = 0;
	CHECK_OK(weir_loop_init(&loop));
	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	weir_any_init(&any, &loop, any_ran, &result);
	CHECK_ERR(weir_any_submit(&any, both, places, 2, &ctx, NULL),
		  WEIR_EQUEUED);
	check_request(&a, 1, 1, deadline_ns, RG_ANY_OF | RG_HAS_CTX);
	check_request(&b, 2, 2, deadline_ns, RG_ANY_OF | RG_HAS_CTX);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(ran, 1);
	/* No member was granted: each of the waits has failed. */
	CHECK_EQ(ended(&a, RG_CANCELLED), 1);
	CHECK_EQ(ended(&b, RG_CANCELLED), 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_loop_destroy(&loop));
	end();
}

struct any_of {
	weir_ctx *ctx;
	uint32_t tid;
};

static void *acquire_any(void *arg)
{
	struct any_of *request = arg;
	size_t which = 9;

	request->tid = weir_thread_id_();
	CHECK_OK(weir_acquire_any(both, 2, request->ctx, &which));
	CHECK_EQ(which, 0);
	CHECK_EQ(held_by(&a, request->tid), 1);
	weir_sem_release(&a, 1);
	return NULL;
}

TEST(c48_members_of_a_thread_wait_as_that_thread)
{
	int64_t deadline_ns = weir_deadline_after(HOUR);
	weir_ctx ctx;
	struct any_of plain = { NULL, 0 }, within = { &ctx, 0 };
	struct any_of *requests[] = { &plain, &within };

	begin();
	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	for (int i = 0; i < 2; i++) {
		check_thread thread = start(acquire_any, requests[i]);

		AWAIT(waits_on(&a, NULL) + waits_on(&b, NULL) == 2);
		check_request(&a, 1, 1, i ? deadline_ns : WEIR_FOREVER,
			      RG_ANY_OF | (i ? RG_HAS_CTX : 0));
		check_request(&b, 2, 2, i ? deadline_ns : WEIR_FOREVER,
			      RG_ANY_OF | (i ? RG_HAS_CTX : 0));
		CHECK_EQ(context_of(only_wait_on(&a).context)->tid,
			 requests[i]->tid);
		CHECK_EQ(only_wait_on(&b).context, only_wait_on(&a).context);
		weir_sem_release(&a, 1);
		finish(thread);
		CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	}
	CHECK_EQ(ended(&a, RG_QUEUED), 2);
	CHECK_EQ(ended(&b, RG_QUEUED) + ended(&b, RG_CANCELLED), 0);
	/* The times are those of the outcomes. */
	CHECK_OK(weir_diag_each(note_counts, &a));
	CHECK_EQ(sum(counts.waits, WEIR_DIAG_BUCKETS), 2);
	CHECK_OK(weir_diag_each(note_counts, &b));
	CHECK_EQ(sum(counts.waits, WEIR_DIAG_BUCKETS), 0);
	CHECK_EQ(counts.waited_ns, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(c48_a_member_is_granted_and_not_picked_up)
{
	weir_err result = WEIR_OK;
	weir_op places[2];
	weir_loop loop;
	weir_any any;

	begin();
	ran = 0;
	CHECK_OK(weir_loop_init(&loop));
	weir_any_init(&any, &loop, any_ran, &result);
	CHECK_ERR(weir_any_submit(&any, both, places, 2, NULL, NULL),
		  WEIR_EQUEUED);
	weir_sem_release(&a, 1);
	check_granted(&a);
	check_request(&b, 2, 2, WEIR_FOREVER, RG_ANY_OF);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(ran, 1);
	CHECK_EQ(ended(&a, RG_QUEUED), 1);
	CHECK_EQ(held_by(&a, weir_thread_id_()), 3);
	CHECK_OK(weir_loop_destroy(&loop));
	end();
}

/* The grant is undone: the member has ended without its permits. */
TEST(c48_a_member_is_cancelled_after_its_grant)
{
	weir_err result = WEIR_OK;
	weir_op places[2];
	weir_loop loop;
	weir_any any;

	begin();
	CHECK_OK(weir_loop_init(&loop));
	weir_any_init(&any, &loop, any_ran, &result);
	CHECK_ERR(weir_any_submit(&any, both, places, 2, NULL, NULL),
		  WEIR_EQUEUED);
	weir_sem_release(&a, 1);
	CHECK_OK(weir_any_cancel(&any));
	CHECK_EQ(weir_sem_available(&a), 1);
	CHECK_EQ(ended(&a, RG_CANCELLED), 1);
	CHECK_EQ(ended(&b, RG_CANCELLED), 1);
	CHECK_EQ(ended(&a, RG_QUEUED), 0);
	CHECK_EQ(held_by(&a, weir_thread_id_()), 2);
	CHECK_OK(weir_loop_destroy(&loop));
	end();
}

/* Operations. */

TEST(c48_an_operation_is_recorded_with_its_deadline_and_its_end)
{
	int64_t deadline_ns = weir_deadline_after(HOUR);
	weir_ctx ctx;
	weir_op op;

	begin();
	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline_ns));
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&op, &a, 2, NULL), WEIR_EQUEUED);
	check_request(&a, 2, 2, WEIR_FOREVER, 0);
	CHECK_OK(weir_op_cancel(&op));
	CHECK_EQ(ended(&a, RG_CANCELLED), 1);
	CHECK_ERR(weir_op_submit_until(&op, &a, 2, deadline_ns), WEIR_EQUEUED);
	check_request(&a, 2, 2, deadline_ns, 0);
	/* The grant is undone. */
	weir_sem_release(&a, 2);
	check_granted(&a);
	CHECK_OK(weir_op_cancel(&op));
	CHECK_EQ(ended(&a, RG_CANCELLED), 2);
	CHECK_EQ(ended(&a, RG_QUEUED), 0);
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	CHECK_ERR(weir_op_submit(&op, &a, 2, &ctx), WEIR_EQUEUED);
	check_request(&a, 2, 2, deadline_ns, RG_HAS_CTX);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_op_poll(&op), WEIR_ECANCELED);
	CHECK_EQ(ended(&a, RG_CANCELLED), 3);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/* The callback of the first operation runs while that of the second is due. */
static void first_ran(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	if (!ran++)
		check_granted(&a);
}

TEST(c48_an_operation_is_granted_and_its_callback_has_not_run)
{
	weir_op ops[2];

	begin();
	ran = 0;
	for (int i = 0; i < 2; i++) {
		weir_op_init(&ops[i], NULL, first_ran, NULL);
		CHECK_ERR(weir_op_submit(&ops[i], &a, 1, NULL), WEIR_EQUEUED);
	}
	weir_sem_release(&a, 2);
	CHECK_EQ(ran, 2);
	end();
}
