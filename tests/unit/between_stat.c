/* SPDX-License-Identifier: MIT */
/*
 * When a stat of a semaphore with waiters takes the lock: once per change of the
 * lists.  docs/design/sem.md, "Waiting for the lock".
 */
#include <string.h>
#include <sys/wait.h>

#include "between.h"
#include "core/sem_contend.h"
#include "weir/async.h"

static weir_op a, b, c;
static weir_sem sem;

static void nothing(void *unused)
{
	(void)unused;
}

static bool stat_locks(weir_sem_info *info)
{
	bool locks;

	before_cas("try_lock", nothing, NULL);
	CHECK_OK(weir_sem_stat(&sem, info));
	locks = between_is_done();
	between_forget();
	return locks;
}

/* The next stat takes the lock, and those that follow do not. */
static void check_changed(uint32_t waiters, int64_t permits,
			  uint32_t oversized)
{
	weir_sem_info first, info;

	CHECK(stat_locks(&first));
	CHECK_EQ(first.waiters, waiters);
	CHECK_EQ(first.waiting_permits, permits);
	CHECK_EQ(first.oversized, oversized);
	for (int i = 0; i < 3; i++) {
		CHECK(!stat_locks(&info));
		CHECK(same_stat(info, first));
		CHECK(info.oldest_wait_ns >= first.oldest_wait_ns);
	}
}

static void hold_all(int64_t permits)
{
	CHECK_OK(weir_sem_init(&sem, permits));
	CHECK_OK(weir_sem_acquire(&sem, permits, NULL));
	weir_op_init(&a, NULL, NULL, NULL);
	weir_op_init(&b, NULL, NULL, NULL);
	weir_op_init(&c, NULL, NULL, NULL);
}

static void submit(weir_op *op, int64_t n, weir_ctx *ctx)
{
	CHECK_EQ(weir_op_submit(op, &sem, n, ctx), WEIR_EQUEUED);
}

TEST(stat_takes_the_lock_once_per_change_of_the_lists)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	hold_all(2);
	submit(&a, 2, NULL);
	check_changed(1, 2, 0);
	submit(&b, 1, NULL);
	check_changed(2, 3, 0);
	submit(&c, 3, &ctx);
	check_changed(2, 3, 1);
	CHECK_OK(weir_op_cancel(&a));
	check_changed(1, 1, 1);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_poll(&b));
	check_changed(0, 0, 1);
	CHECK_OK(weir_sem_resize(&sem, 4, NULL));
	check_changed(1, 3, 0);
	CHECK_OK(weir_op_cancel(&c));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* Calls that change no list make no stat take the lock. */
TEST(stat_takes_no_lock_after_a_call_that_changes_no_list)
{
	weir_sem_info info;

	hold_all(3);
	submit(&a, 3, NULL);
	check_changed(1, 3, 0);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 1);
	CHECK(!stat_locks(&info));
	CHECK_EQ(info.free, 1);
	CHECK_OK(weir_op_cancel(&a));
}

static void replace_a(void *unused)
{
	(void)unused;
	CHECK_OK(weir_op_cancel(&a));
	submit(&b, 2, NULL);
}

/* The lists change before the nth access of a function, in the middle of a stat. */
static void change_before(const char *function, int nth)
{
	weir_sem_info info;

	hold_all(2);
	submit(&a, 1, NULL);
	check_changed(1, 1, 0);
	before(function, nth, replace_a, NULL);
	CHECK_OK(weir_sem_stat(&sem, &info));
	happened();
	CHECK_EQ(info.waiters, 1);
	/* Before the last access the snapshot is complete. */
	CHECK(info.waiting_permits == 2 ||
	      (!strcmp(function, "weir_sem_still_shown_") && nth == 2));
	CHECK_OK(weir_sem_stat(&sem, &info));
	CHECK_EQ(info.waiting_permits, 2);
	CHECK_OK(weir_op_cancel(&b));
}

TEST(stat_of_waiters_meets_changes)
{
	for (int i = 1; i <= 8; i++)
		change_before("weir_sem_read_shown_", i);
	for (int i = 1; i <= 7; i++)
		change_before("read_unlocked", i);
	for (int i = 1; i <= 2; i++)
		change_before("weir_sem_still_shown_", i);
}

/*
 * C7: after the deadline of the head a stat takes the lock again; its unlock
 * ends the wait of the head.
 */
TEST(c7_stat_after_the_deadline_of_the_head)
{
	weir_sem_info info;

	hold_all(2);
	CHECK_EQ(weir_op_submit_until(&a, &sem, 2,
				      weir_deadline_after(500000000000)),
		 WEIR_EQUEUED);
	check_changed(1, 2, 0);
	pass_seconds(1000);
	CHECK(stat_locks(&info));
	CHECK_OK(weir_sem_stat(&sem, &info));
	CHECK_EQ(info.waiters, 0);
	CHECK_ERR(weir_op_poll(&a), WEIR_ETIMEDOUT);
	pass_seconds(-1000);
}

static void child_stat(void)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_stat(&sem, &info));
}

/* C29: what the parent has published is not valid in the child. */
TEST(c29_a_published_stat_is_not_the_childs)
{
	char text[512];
	int status;

	hold_all(1);
	submit(&a, 1, NULL);
	check_changed(1, 1, 0);
	status = in_child(child_stat, text, sizeof(text));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(strstr(text, "had waiters at a fork"));
	CHECK_OK(weir_op_cancel(&a));
}

static void child_publishes(void)
{
	hold_all(1);
	submit(&a, 1, NULL);
	check_changed(1, 1, 0);
	CHECK_OK(weir_op_cancel(&a));
}

/* The child publishes the numbers of its own semaphores, also in a used entry. */
TEST(c29_a_stat_of_the_child_is_published)
{
	char text[512];

	hold_all(1);
	submit(&a, 1, NULL);
	check_changed(1, 1, 0);
	CHECK_OK(weir_op_cancel(&a));
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_EQ(in_child(child_publishes, text, sizeof(text)), 0);
}

/* The time of the wait goes on, for a thread and for an operation. */
TEST(stat_without_the_lock_counts_the_wait)
{
	weir_sem_info info;
	job j;

	hold_all(2);
	submit(&a, 1, NULL);
	CHECK(stat_locks(&info));
	pass_seconds(7);
	CHECK(!stat_locks(&info));
	CHECK(info.oldest_wait_ns >= 7000000000 - 2000000);
	CHECK_OK(weir_op_cancel(&a));
	queue_up(&j, &sem, 1, NULL);
	pass_seconds(7);
	CHECK(!stat_locks(&info));
	CHECK(info.oldest_wait_ns >= 7000000000);
	/* The clock of some machines goes back. */
	pass_seconds(-100);
	CHECK(!stat_locks(&info));
	CHECK_EQ(info.oldest_wait_ns, 0);
	pass_seconds(86);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&j));
}

/* Another semaphore, which shares the published entry of `sem`. */
static struct {
	weir_sem sem __attribute__((aligned(64)));
} memory[4 * WEIR_CONTENDED_];
static weir_sem *other;
static weir_op d;

static void two_share_an_entry(void)
{
	int i = 0;

	hold_all(2);
	submit(&a, 1, NULL);
	while (weir_contended_of_(&memory[i].sem) != weir_contended_of_(&sem))
		i++;
	other = &memory[i].sem;
	CHECK_OK(weir_sem_init(other, 9));
	CHECK_OK(weir_sem_acquire(other, 9, NULL));
	weir_op_init(&d, NULL, NULL, NULL);
	CHECK_EQ(weir_op_submit(&d, other, 9, NULL), WEIR_EQUEUED);
}

static void look_at_other(void *unused)
{
	weir_sem_info info;

	(void)unused;
	CHECK_OK(weir_sem_stat(other, &info));
	CHECK_EQ(info.waiters, 1);
	CHECK_EQ(info.waiting_permits, 9);
}

static void look_at_both(void)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_stat(&sem, &info));
	CHECK_EQ(info.waiters, 1);
	CHECK_EQ(info.waiting_permits, 1);
	look_at_other(NULL);
}

static void end_both(void)
{
	CHECK_OK(weir_op_cancel(&a));
	CHECK_OK(weir_op_cancel(&d));
	CHECK_OK(weir_sem_destroy(other));
}

TEST(stats_that_share_an_entry_publish_at_the_same_moment)
{
	for (int i = 1; i <= 8; i++) {
		two_share_an_entry();
		before("weir_sem_show_", i, look_at_other, NULL);
		look_at_both();
		happened();
		look_at_both();
		end_both();
	}
	two_share_an_entry();
	before_cas("claim", look_at_other, NULL);
	look_at_both();
	happened();
	look_at_both();
	end_both();
}

/* A waiter leaves whose numbers have been replaced: those of the other stay. */
TEST(replaced_numbers_are_not_withdrawn)
{
	weir_sem_info info;

	two_share_an_entry();
	look_at_both();
	CHECK_OK(weir_op_cancel(&a));
	before_cas("try_lock", nothing, NULL);
	look_at_other(NULL);
	CHECK(!between_is_done());
	between_forget();
	CHECK_OK(weir_sem_stat(&sem, &info));
	CHECK_EQ(info.waiters, 0);
	CHECK_OK(weir_op_cancel(&d));
	CHECK_OK(weir_sem_destroy(other));
}
