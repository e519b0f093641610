// SPDX-License-Identifier: MIT
// C27, C36: callbacks and hooks that throw.  leave.c has the other ways not to return.
#include <stdexcept>

extern "C" {
#include "check.h"
}
#include "weir/async.h"
#include "weir/diag.h"
#include "weir/loop.h"
#include "weir/pool.h"

namespace {

weir_sem sem;
weir_loop loop;
weir_op a, b;
int ran;

void throws(weir_op *, weir_err, void *)
{
	weir_sem_release(&sem, 1);
	throw std::runtime_error("from a callback");
}

void plain(weir_op *, weir_err err, void *)
{
	CHECK_OK(err);
	ran++;
	weir_sem_release(&sem, 1);
}

void queue(weir_loop *on)
{
	ran = 0;
	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_sem_acquire(&sem, 1, nullptr));
	weir_op_init(&a, on, throws, nullptr);
	weir_op_init(&b, on, plain, nullptr);
	CHECK_ERR(weir_op_submit(&a, &sem, 1, nullptr), WEIR_EQUEUED);
	CHECK_ERR(weir_op_submit(&b, &sem, 1, nullptr), WEIR_EQUEUED);
}

} // namespace

// C36: the exception leaves the dispatch; the next dispatch continues.
TEST(c36_loop_callback_throws)
{
	bool caught = false;

	CHECK_OK(weir_loop_init(&loop));
	queue(&loop);
	weir_sem_release(&sem, 1);
	try {
		weir_loop_dispatch(&loop);
	} catch (const std::exception &) {
		caught = true;
	}
	CHECK(caught);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_EQ(ran, 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_loop_destroy(&loop));
}

// C27: without a loop the exception is a panic.  If the hook returns, the
// remaining callbacks run before the exception continues.
TEST(c27_callback_throws)
{
	bool caught = false;

	queue(nullptr);
	check_panic_begin();
	try {
		weir_sem_release(&sem, 1);
	} catch (const std::exception &) {
		caught = true;
	}
	check_panic_end(__FILE__, __LINE__, "weir_sem_release",
			"its callback did not return");
	CHECK(caught);
	CHECK_EQ(ran, 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_sem_acquire(&sem, 1, nullptr));
	CHECK_ERR(weir_op_submit(&b, &sem, 1, nullptr), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	CHECK_EQ(ran, 2);
}

namespace {

int creates;

weir_err create(void *, struct weir_ctx *, void **resource)
{
	if (creates++ == 0)
		throw std::runtime_error("from create");
	*resource = &creates;
	return WEIR_OK;
}

void destroy(void *, void *)
{
}

} // namespace

// C10: the place of the pool is free again.
TEST(c10_create_throws)
{
	weir_pool_opts opts = weir_pool_opts();
	weir_pool_item *item = nullptr;
	bool caught = false;
	weir_pool pool;

	opts.max = 1;
	opts.create = create;
	opts.destroy = destroy;
	CHECK_OK(weir_pool_init(&pool, nullptr, &opts));
	try {
		CHECK_OK(weir_pool_try_borrow(&pool, "throws", &item));
	} catch (const std::exception &) {
		caught = true;
	}
	CHECK(caught);
	CHECK_OK(weir_pool_try_borrow(&pool, "next", &item));
	weir_pool_give_back(&pool, item);
	CHECK_OK(weir_pool_destroy(&pool));
}

namespace {

void hook_throws(const weir_diag_event *)
{
	throw std::runtime_error("from the event hook");
}

} // namespace

// C27: the call that reports the event would lose its permits.
TEST(c27_event_hook_throws)
{
	bool caught = false;

	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK(!weir_diag_set_hook(hook_throws));
	check_panic_begin();
	try {
		CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1), WEIR_ETOOBIG);
	} catch (const std::exception &) {
		caught = true;
	}
	check_panic_end(__FILE__, __LINE__, "weir_sem_acquire_for",
			"the event hook (weir_diag_set_hook) did not return");
	CHECK(caught);
	CHECK(weir_diag_set_hook(nullptr) == hook_throws);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1), WEIR_ETOOBIG);
}
