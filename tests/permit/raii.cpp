// SPDX-License-Identifier: MIT
// C34 in C++: the guard of weir/permit.h, and the C forms used from C++.  An
// exception releases the permits like any other path out of the block.
#include <pthread.h>
#include <stdexcept>
#include <string.h>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

extern "C" {
#include "check.h"
#include "memory.h"
}
#include "weir/ctx.h"
#include "weir/permit.h"

namespace {

constexpr int64_t N = 8;
weir_sem sem = WEIR_SEM_INIT(N);

int64_t held_now()
{
	return N - weir_sem_available(&sem);
}

// C34: a guard is moved, never copied, and moving does not throw.
static_assert(!std::is_copy_constructible<weir::permit>::value, "copied");
static_assert(!std::is_copy_assignable<weir::permit>::value, "copied");
static_assert(std::is_nothrow_move_constructible<weir::permit>::value,
	      "throws");
static_assert(std::is_nothrow_move_assignable<weir::permit>::value, "throws");
static_assert(std::is_nothrow_default_constructible<weir::permit>::value,
	      "throws");
static_assert(std::is_nothrow_destructible<weir::permit>::value, "throws");
static_assert(!std::is_convertible<weir::permit, int>::value, "explicit");

} // namespace

TEST(c34_guard_holds_until_the_end_of_the_block)
{
	{
		weir::permit p(sem);

		CHECK(p);
		CHECK_OK(p.error());
		CHECK_EQ(p.count(), 1);
		CHECK_EQ(held_now(), 1);
		{
			weir::permit q(sem, 3);

			CHECK_EQ(held_now(), 4);
		}
		CHECK_EQ(held_now(), 1);
	}
	CHECK_EQ(held_now(), 0);
}

TEST(c34_guard_released_early_and_twice)
{
	weir::permit other(sem, 4);
	{
		weir::permit p(sem, 2);

		p.release();
		CHECK(!p);
		CHECK_EQ(p.count(), 0);
		CHECK_EQ(held_now(), 4);
		p.release();
		CHECK_EQ(held_now(), 4);
	}
	CHECK_EQ(held_now(), 4);
}

TEST(c34_guard_of_a_failed_acquire_is_empty)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	weir_ctx_cancel(&ctx);
	{
		weir::permit cancelled(sem, 1, &ctx), big(sem, N + 1);
		weir::permit negative(sem, -1);
		weir::permit busy = weir::permit::try_acquire(sem, N + 1);

		CHECK(!cancelled);
		CHECK_ERR(cancelled.error(), WEIR_ECANCELED);
		CHECK(!big);
		CHECK_ERR(big.error(), WEIR_ETOOBIG);
		CHECK(!negative);
		CHECK_ERR(negative.error(), WEIR_EINVAL);
		CHECK(!busy);
		CHECK(busy.error() != WEIR_OK);
		CHECK_EQ(held_now(), 0);
	}
	CHECK_EQ(held_now(), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

// An acquire of 0 succeeds and holds nothing.
TEST(c34_guard_of_0)
{
	weir::permit p(sem, 0);

	CHECK_OK(p.error());
	CHECK(!p);
}

TEST(c34_guard_try_acquire)
{
	weir::permit all = weir::permit::try_acquire(sem, N);

	CHECK(all);
	CHECK_EQ(held_now(), N);
	weir::permit none = weir::permit::try_acquire(sem);
	CHECK(!none);
	CHECK_ERR(none.error(), WEIR_EAGAIN);
}

TEST(c34_guard_moves)
{
	{
		weir::permit p(sem, 2), q(sem, 3), empty;
		weir::permit r(std::move(p));

		CHECK(!p);
		CHECK(r);
		CHECK_EQ(r.count(), 2);
		CHECK_EQ(held_now(), 5);
		// The assignment releases the permits of the target.
		r = std::move(q);
		CHECK(!q);
		CHECK_EQ(r.count(), 3);
		CHECK_EQ(held_now(), 3);
		weir::permit &self = r;
		r = std::move(self);
		CHECK_EQ(r.count(), 3);
		CHECK_EQ(held_now(), 3);
		r = std::move(empty);
		CHECK(!r);
		CHECK_EQ(held_now(), 0);
	}
	CHECK_EQ(held_now(), 0);
}

TEST(c34_guard_in_a_container)
{
	std::vector<weir::permit> held;

	for (int i = 0; i < N; i++) {
		held.emplace_back(sem);
		CHECK_EQ(held_now(), i + 1);
	}
	held.erase(held.begin(), held.begin() + 3);
	CHECK_EQ(held_now(), N - 3);
	held.clear();
	CHECK_EQ(held_now(), 0);
}

TEST(c34_guard_moves_to_another_thread)
{
	weir::permit p(sem, 2);

	std::thread([q = std::move(p)]() mutable {
		CHECK_EQ(q.count(), 2);
		CHECK_EQ(held_now(), 2);
	}).join();
	CHECK(!p);
	CHECK_EQ(held_now(), 0);
}

TEST(c34_guard_lends_its_permit)
{
	weir::permit p(sem, 5), q;

	CHECK_OK(weir_permit_split(p.get(), 2, q.get()));
	CHECK_EQ(p.count(), 3);
	CHECK_EQ(q.count(), 2);
	CHECK_OK(weir_permit_merge(p.get(), q.get()));
	CHECK_EQ(p.count(), 5);
	CHECK_EQ(weir_permit_disown(p.get()), 5);
	CHECK(!p);
	CHECK_EQ(held_now(), 5);
	weir_sem_release(&sem, 5);
}

TEST(c34_guard_owns)
{
	weir_sem *heap = new_sem(2);
	weir::permit p(*heap, 2);

	CHECK_OK(weir_permit_own(p.get()));
	weir_sem_unref(heap);
	CHECK_EQ(weir_sem_available(heap), 0);
	CHECK_EQ(alive(), 1);
	p.release();
	CHECK_EQ(alive(), 0);
}

TEST(c34_exception_releases_the_guard)
{
	bool caught = false;

	try {
		weir::permit p(sem, 2);
		weir::permit q(sem, 1);

		CHECK_EQ(held_now(), 3);
		throw std::runtime_error("out of the block");
	} catch (const std::runtime_error &) {
		caught = true;
		CHECK_EQ(held_now(), 0);
	}
	CHECK(caught);
	CHECK_EQ(held_now(), 0);
}

// The permit of an object is released if its constructor throws.
namespace {
struct throwing {
	weir::permit p;

	throwing() : p(sem, 4)
	{
		CHECK_EQ(held_now(), 4);
		throw 1;
	}
};
} // namespace

TEST(c34_exception_in_a_constructor_releases_the_member)
{
	try {
		throwing h;
		CHECK(false);
	} catch (int) {
	}
	CHECK_EQ(held_now(), 0);
}

// The C forms, from C++.
TEST(c34_exception_releases_the_scoped_form)
{
	try {
		WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

		CHECK_OK(weir_permit_acquire(&p, &sem, 2, nullptr));
		CHECK_EQ(held_now(), 2);
		throw 1;
	} catch (int) {
		CHECK_EQ(held_now(), 0);
	}
	CHECK_EQ(held_now(), 0);
}

TEST(c34_exception_releases_the_block_form)
{
	weir_err outer = WEIR_EINVAL, inner = WEIR_EINVAL;

	try {
		WEIR_WITH_PERMIT(outer, &sem, 2, nullptr) {
			WEIR_WITH_PERMIT(inner, &sem, 1, nullptr) {
				CHECK_EQ(held_now(), 3);
				throw 1;
			}
		}
		CHECK(false);
	} catch (int) {
		CHECK_EQ(held_now(), 0);
	}
	CHECK_OK(outer);
	CHECK_OK(inner);
	WEIR_WITH_PERMIT(outer, &sem, N + 1, nullptr)
		CHECK(false);
	CHECK_ERR(outer, WEIR_ETOOBIG);
	CHECK_EQ(held_now(), 0);
}

namespace {
void *exit_with_a_guard(void *value)
{
	weir::permit p(sem, 2);

	CHECK_EQ(held_now(), 2);
	pthread_exit(value);
}
} // namespace

// pthread_exit unwinds on glibc; on musl the permits stay held, as documented.
TEST(c34_pthread_exit_and_the_guard)
{
	int value;

	CHECK(finish(start(exit_with_a_guard, &value)) == &value);
#ifndef __GLIBC__
	weir_sem_release(&sem, 2);
#endif
	CHECK_EQ(held_now(), 0);
}
