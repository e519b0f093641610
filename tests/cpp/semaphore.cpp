// SPDX-License-Identifier: MIT
// weir/semaphore.hpp in C++17, 20 and 23: counting_semaphore, semaphore, context,
// rwlock, pool and group.  tests/meson.build of this folder compiles the file
// once for each standard.
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#ifdef __has_include
#if __has_include(<semaphore>) && __cplusplus >= 202002L
#include <semaphore>
#endif
#endif

extern "C" {
#include "check.h"
}
#include "weir/semaphore.hpp"

using namespace std::chrono_literals;

#if __cplusplus >= 202002L
#define CONSTINIT constinit
#else
#define CONSTINIT
#endif

// C23: these need no code at start-up.
static CONSTINIT weir::counting_semaphore<> many(2);
static CONSTINIT weir::binary_semaphore one(1);
static CONSTINIT weir::semaphore plain(3);
static CONSTINIT weir::rwlock table;

static_assert(weir::binary_semaphore::max() >= 1, "");
static_assert(weir::counting_semaphore<7>::max() >= 7, "");
static_assert(std::is_trivially_destructible_v<weir::binary_semaphore>, "");
static_assert(!std::is_copy_constructible_v<weir::semaphore>, "");
static_assert(!std::is_move_constructible_v<weir::context>, "");
static_assert(std::is_nothrow_move_constructible_v<weir::pool<int>::loan>, "");

#define CHECK_THROWS(want, ...)                                                \
	do {                                                                   \
		weir_err thrown = WEIR_OK;                                     \
		try {                                                          \
			__VA_ARGS__;                                           \
		} catch (const weir::error &e) {                               \
			thrown = e.err();                                      \
		}                                                              \
		CHECK_ERR(thrown, want);                                       \
	} while (0)

// A clock that the test sets; steady_clock is not involved.
struct set_clock {
	using duration = std::chrono::milliseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<set_clock>;
	static constexpr bool is_steady = false;
	static std::atomic<int> reads;
	// Ten milliseconds pass at each reading.
	static time_point now()
	{
		return time_point(duration(10 * reads.fetch_add(1)));
	}
};
std::atomic<int> set_clock::reads{ 0 };

// The code that a program has for std::counting_semaphore works with weir's.
template <class Counting, class Binary>
static void use_as_replacement()
{
	Counting items(0);
	Binary mutex(1);
	int sum = 0;
	std::thread producer([&] {
		for (int i = 1; i <= 100; i++) {
			mutex.acquire();
			sum += i;
			mutex.release();
			items.release();
		}
		items.release(3);
	});

	for (int i = 0; i < 103; i++)
		items.acquire();
	producer.join();
	CHECK_EQ(sum, 5050);
	CHECK(!items.try_acquire());
	CHECK(!items.try_acquire_for(1ms));
	CHECK(!items.try_acquire_for(std::chrono::duration<double>(0.001)));
	CHECK(!items.try_acquire_until(std::chrono::steady_clock::now() + 1ms));
	CHECK(!items.try_acquire_until(std::chrono::system_clock::now() + 1ms));
	items.release();
	CHECK(items.try_acquire_for(-1h));
	items.release();
	CHECK(items.try_acquire_until(std::chrono::system_clock::now() - 1h));
}

TEST(counting_semaphore_replaces_std)
{
	use_as_replacement<weir::counting_semaphore<1000>,
			   weir::binary_semaphore>();
	use_as_replacement<weir::counting_semaphore<>,
			   weir::counting_semaphore<1>>();
#ifdef __cpp_lib_semaphore
	use_as_replacement<std::counting_semaphore<1000>,
			   std::binary_semaphore>();
#endif
	many.acquire();
	many.release();
	one.acquire();
	CHECK(!one.try_acquire());
	one.release();
}

// C8: the maximum is checked.
TEST(c8_release_beyond_max)
{
	weir::counting_semaphore<3> sem(2);

	sem.release();
	CHECK_PANICS("1 permits released, 0 held (capacity 3", sem.release());
	CHECK_EQ(weir_sem_available(sem.native_handle()), 3);
}

TEST(errors)
{
	weir::semaphore sem(1);

	try {
		sem.acquire(2);
		CHECK(false);
	} catch (const std::system_error &e) {
		CHECK_EQ(e.code().value(), WEIR_ETOOBIG);
		CHECK_EQ(strcmp(e.code().category().name(), "weir"), 0);
	}
	CHECK_THROWS(WEIR_EINVAL, sem.acquire(-1));
	CHECK(weir::error(WEIR_ETIMEDOUT).code() == std::errc::timed_out);
	CHECK(weir::error(WEIR_ECANCELED).code() ==
	      std::errc::operation_canceled);
	sem.close();
	CHECK(sem.closed());
	CHECK_THROWS(WEIR_ECLOSED, sem.acquire());
	CHECK_THROWS(WEIR_ECLOSED, (void)sem.try_acquire());
	CHECK_THROWS(WEIR_ECLOSED, (void)sem.try_acquire_for(1ms));
	weir_sem_opts bad = {};
	bad.permits = -1;
	CHECK_THROWS(WEIR_EINVAL, weir::semaphore unmade(bad));
}

// C12, C21, C20, C9: the other calls.
TEST(semaphore_calls)
{
	weir::semaphore sem(5);

	sem.acquire(2);
	CHECK(sem.try_acquire(1));
	CHECK(!sem.try_acquire(3));
	CHECK_EQ(sem.acquire_upto(1, 9), 2);
	CHECK_EQ(sem.drain(), 0);
	CHECK_EQ(sem.resize(3), 2);
	CHECK_EQ(sem.resize_by(1), 1);
	sem.forget(1);
	sem.release(4);
	CHECK(!sem.try_release(1));
	CHECK_EQ(sem.available(), 4);
	CHECK_EQ(sem.stat().capacity, 4);
	CHECK(sem.waiters().empty());
	sem.wait_idle();
	weir_sem_opts options = {};
	options.flags = WEIR_SEM_UNBOUNDED;
	weir::semaphore event(options);
	event.release(7);
	CHECK_EQ(event.remove(3), 3);
	CHECK(event.try_acquire_barging(4));
	CHECK_EQ(event.remove(), 0);
}

// C34: a permit object is released on every path, also by an exception.
TEST(c34_hold)
{
	weir::context ended;

	try {
		weir::permit a = plain.hold(2);
		weir::permit b = plain.try_hold();

		CHECK(a && b);
		CHECK(!plain.try_hold());
		CHECK_EQ(plain.available(), 0);
		throw std::runtime_error("left");
	} catch (const std::runtime_error &) {
	}
	CHECK_EQ(plain.available(), 3);
	ended.cancel();
	CHECK_THROWS(WEIR_ECANCELED, (void)plain.hold(1, ended));
}

// C15: deadlines of other clocks; a clock that is behind repeats the wait.
TEST(c15_any_clock)
{
	weir::semaphore sem(1);

	set_clock::reads = 0;
	CHECK(sem.try_acquire_until(set_clock::now() + 20ms));
	set_clock::reads = 0;
	CHECK(!sem.try_acquire_until(set_clock::time_point(30ms)));
	// now() returns 0, 10, 20 and 30 ms: two waits.
	CHECK_EQ(set_clock::reads.load(), 4);
	CHECK(!sem.try_acquire_until(set_clock::time_point(0ms)));
	sem.release();
	CHECK(sem.try_acquire_for(std::chrono::hours::max()));
	sem.release();
	CHECK(sem.try_acquire_until(
		std::chrono::steady_clock::time_point::max()));
	sem.release();
	CHECK(sem.try_acquire_until(
		std::chrono::steady_clock::time_point::min()));
	sem.release();
}

// C15: the first and last time points of other clocks and units do not overflow.
TEST(c15_ends_of_other_clocks)
{
	using std::chrono::system_clock;
	using hours = std::chrono::time_point<system_clock,
					      std::chrono::hours>;
	weir::semaphore sem(1);
	weir::rwlock rw;

	sem.acquire();
	CHECK(!sem.try_acquire_until(system_clock::time_point::min()));
	CHECK(!sem.try_acquire_until(hours::min()));
	rw.lock();
	CHECK(!rw.try_lock_until(system_clock::time_point::min()));
	rw.unlock();
	for (int i = 0; i < 2; i++) {
		std::thread releaser([&] {
			AWAIT(sem.stat().waiters == 1);
			sem.release();
		});
		if (i)
			CHECK(sem.try_acquire_until(hours::max()));
		else
			CHECK(sem.try_acquire_until(
				system_clock::time_point::max()));
		releaser.join();
	}
	sem.release();
	CHECK_EQ(weir::detail::time_left(INT64_MAX, -1), WEIR_FOREVER);
	CHECK_EQ(weir::detail::time_left(INT64_MAX, INT64_MIN), WEIR_FOREVER);
	CHECK_EQ(weir::detail::time_left(INT64_MIN, INT64_MAX), 0);
	CHECK_EQ(weir::detail::time_left(5, -2), 7);
}

// C15: units whose factor to nanoseconds is not an integer do not overflow.
TEST(c15_odd_units)
{
	using samples = std::chrono::duration<int64_t, std::ratio<1, 44100>>;
	using ntp = std::chrono::duration<int64_t,
					  std::ratio<1, INT64_C(1) << 32>>;
	using frames = std::chrono::duration<int64_t, std::ratio<1001, 30000>>;
	using small = std::chrono::duration<uint32_t, std::ratio<1, 60>>;
	const int64_t year = 31536000;
	weir::counting_semaphore<> sem(0);

	CHECK_EQ(weir::detail::to_ns(samples(44100 * year)), year * 1000000000);
	CHECK_EQ(weir::detail::to_ns(samples(44100 * year + 1)),
		 year * 1000000000 + 22676);
	CHECK_EQ(weir::detail::to_ns(samples(-44100 * year - 1)),
		 -year * 1000000000 - 22675);
	CHECK_EQ(weir::detail::to_ns(ntp((year << 32) + (INT64_C(1) << 31))),
		 year * 1000000000 + 500000000);
	CHECK_EQ(weir::detail::to_ns(frames(30 * year)),
		 1001 * (year * 1000000));
	CHECK_EQ(weir::detail::to_ns(small(UINT32_MAX)), 71582788250000000);
	CHECK_EQ(weir::detail::to_ns(std::chrono::duration<double>(-1.5)),
		 -1500000000);
	CHECK_EQ(weir::detail::to_ns(std::chrono::duration<float>(0.25f)),
		 250000000);
	CHECK_EQ(weir::detail::to_ns(samples::max()), WEIR_FOREVER);
	CHECK_EQ(weir::detail::to_ns(samples::min()), INT64_MIN);
	// The time since 1970, in samples: the wait is not over at once.
	std::thread releaser([&] {
		AWAIT(waiters_of(sem.native_handle()) == 1);
		sem.release();
	});
	const std::chrono::time_point<std::chrono::system_clock, samples> soon(
		std::chrono::duration_cast<std::chrono::seconds>(
			std::chrono::system_clock::now().time_since_epoch()) +
		10min);
	CHECK(sem.try_acquire_until(soon));
	releaser.join();
}

TEST(c13_context)
{
	static const char why[] = "shutdown";
	weir::context root;
	weir::context child(root), late(root.native_handle(), 1ms);
	weir::context alone(1h);
	weir::semaphore sem(0);

	late.wait();
	CHECK_ERR(late.err(), WEIR_ETIMEDOUT);
	CHECK(!child.ended());
	CHECK(!child.wait_for(1us));
	child.throw_if_ended();
	std::thread canceller([&] { root.cancel(why); });
	CHECK_THROWS(WEIR_ECANCELED, sem.acquire(1, child));
	canceller.join();
	CHECK(child.cause() == why);
	CHECK(!alone.ended());
	CHECK_THROWS(WEIR_ECANCELED, child.throw_if_ended());
	CHECK_THROWS(WEIR_ECANCELED, plain.acquire(1, child));
}

#ifdef __cpp_lib_jthread
// C13: a stop token ends the wait, and wins over free permits.
TEST(c13_stop_token)
{
	weir::semaphore sem(0);
	std::stop_source stop;
	std::atomic<int> outcome{ -1 };
	std::thread waiter([&] { outcome = sem.acquire(1, stop.get_token()); });

	AWAIT(sem.stat().oversized == 1);
	sem.resize(1);
	waiter.join();
	CHECK_EQ(outcome.load(), 1);
	std::thread second([&] { outcome = sem.acquire(1, stop.get_token()); });
	AWAIT(sem.stat().waiters == 1);
	stop.request_stop();
	second.join();
	CHECK_EQ(outcome.load(), 0);
	sem.release();
	CHECK(!sem.acquire(1, stop.get_token()));
	CHECK(sem.acquire(1, std::stop_token()));
	std::stop_source never;
	CHECK(!sem.try_acquire_for(1ms, 1, never.get_token()));
	CHECK(!sem.try_acquire_until(std::chrono::system_clock::now() + 1ms, 1,
				     never.get_token()));
	sem.release();
	CHECK(sem.try_acquire_for(1h, 1, never.get_token()));
	sem.release();
}

// C14: the time limits the wait only, also with a stop token.  C13: a stop
// wins.
TEST(c14_stop_token_and_time)
{
	const auto past = std::chrono::steady_clock::now() - 1s;
	weir::semaphore sem(1);
	std::stop_source stop;

	CHECK(sem.try_acquire_for(0s, 1, stop.get_token()));
	CHECK(!sem.try_acquire_for(0s, 1, stop.get_token()));
	sem.release();
	CHECK(sem.try_acquire_until(past, 1, stop.get_token()));
	CHECK(!sem.try_acquire_until(past, 1, stop.get_token()));
	sem.release();
	CHECK(sem.try_acquire_until(std::chrono::system_clock::time_point(), 1,
				    stop.get_token()));
	sem.release();
	stop.request_stop();
	CHECK(!sem.try_acquire_for(0s, 1, stop.get_token()));
	CHECK(!sem.try_acquire_until(past, 1, stop.get_token()));
	CHECK_EQ(sem.available(), 1);
	sem.close();
	std::stop_source open;
	CHECK_THROWS(WEIR_ECLOSED,
		     (void)sem.try_acquire_for(0s, 1, open.get_token()));
}
#endif

TEST(rwlock_with_std_locks)
{
	weir::rwlock rw;
	int value = 0;
	std::thread writers[2];

	for (std::thread &w : writers)
		w = std::thread([&] {
			for (int i = 0; i < 500; i++) {
				std::unique_lock<weir::rwlock> lock(rw);

				value++;
			}
		});
	for (int i = 0; i < 100; i++) {
		std::shared_lock<weir::rwlock> lock(rw);

		CHECK(value >= 0);
	}
	for (std::thread &w : writers)
		w.join();
	{
		std::shared_lock<weir::rwlock> a(rw);
		std::shared_lock<weir::rwlock> b(rw, std::try_to_lock);
		std::unique_lock<weir::rwlock> c(rw, std::try_to_lock);
		std::unique_lock<weir::rwlock> d(rw, 1ms);
		std::unique_lock<weir::rwlock> e(
			rw, std::chrono::system_clock::now() + 1ms);

		CHECK(a && b && !c && !d && !e);
		CHECK_EQ(value, 1000);
	}
	{
		std::scoped_lock lock(rw, table);
		std::shared_lock<weir::rwlock> a(rw, 1ms);
		std::shared_lock<weir::rwlock> b(
			rw, std::chrono::steady_clock::now() + 1ms);

		CHECK(!a && !b);
		CHECK(!rw.try_lock_shared());
	}
	rw.lock_shared();
	CHECK(rw.try_upgrade());
	rw.downgrade();
	rw.unlock_shared();
	rw.close();
	CHECK_THROWS(WEIR_ECLOSED, rw.lock());
}

struct connection {
	explicit connection(int n) : number(n) { alive++; }
	~connection() { alive--; }
	int number;
	static std::atomic<int> alive;
};
std::atomic<int> connection::alive{ 0 };

// A callback that throws: the exception arrives at the borrower.
TEST(pool_callbacks_may_throw)
{
	int made = 0;
	bool broken = true, valid = true;
	weir::pool<connection>::options options;

	options.name = "db";
	options.validate = [&](connection &c) {
		if (c.number == 3)
			throw std::runtime_error("validate");
		return valid;
	};
	{
		weir::pool<connection> pool(1, [&] {
			if (broken)
				throw std::runtime_error("dial");
			return std::make_unique<connection>(++made);
		}, options);
		const char *what = "";

		try {
			(void)pool.borrow();
		} catch (const std::runtime_error &e) {
			what = strcmp(e.what(), "dial") ? "" : "dial";
		}
		CHECK_EQ(strcmp(what, "dial"), 0);
		broken = false;
		{
			auto a = pool.borrow(nullptr, "a");

			CHECK_EQ(a->number, 1);
			CHECK(!pool.try_borrow());
			CHECK(!pool.try_borrow().get());
			auto b = std::move(a);
			CHECK(!a && b);
		}
		CHECK_EQ(pool.stat().idle, 1);
		valid = false;
		CHECK_EQ((*pool.borrow()).number, 2);
		{
			auto c = pool.try_borrow();

			valid = true;
			c.discard();
			c.discard();
		}
		{
			auto d = pool.borrow();
		}
		CHECK_EQ(connection::alive.load(), 1);
		pool.close();
		CHECK_THROWS(WEIR_ECLOSED, (void)pool.borrow());
		pool.wait_idle();
	}
	CHECK_EQ(connection::alive.load(), 0);
}

// A task that throws: wait rethrows the first exception.
TEST(group_tasks_may_throw)
{
	std::atomic<int> ran{ 0 };
	bool caught = false;

	{
		weir::group group(2);
		auto owned = std::make_unique<int>(5);

		group.spawn([&] { ran++; });
		group.spawn([&](weir_ctx &ctx) {
			CHECK_OK(weir_ctx_err(&ctx));
			ran++;
		});
		group.spawn([&, owned = std::move(owned)] { ran += *owned; });
		group.wait();
		CHECK_EQ(ran.load(), 7);
		group.spawn([] { throw std::runtime_error("first"); });
		try {
			group.wait();
		} catch (const std::runtime_error &e) {
			caught = !strcmp(e.what(), "first");
		}
		CHECK(caught);
	}
	weir::group failing(1, WEIR_GROUP_FAIL_FAST);
	failing.spawn([] { return static_cast<weir_err>(77); });
	failing.spawn([&](weir_ctx &) { ran = 1000; });
	CHECK_THROWS(static_cast<weir_err>(77), failing.wait());
	failing.close();
	CHECK_THROWS(WEIR_ECLOSED, failing.spawn([] {}));
	CHECK(ran.load() == 7 || ran.load() == 1000);
}

// Every error of a program is thrown as it is, also the largest.
TEST(group_tasks_may_return_any_error)
{
	weir::group group(1);

	group.spawn([] { return static_cast<weir_err>(INT32_MAX); });
	CHECK_THROWS(static_cast<weir_err>(INT32_MAX), group.wait());
	group.spawn([] { throw std::runtime_error("second"); });
	CHECK_THROWS(static_cast<weir_err>(INT32_MAX), group.wait());
}

// The destructor cancels the tasks and waits for them; nothing leaks.
TEST(group_ends_with_its_scope)
{
	auto counted = std::make_shared<int>(0);
	{
		weir::group group(1);

		group.spawn([counted](weir_ctx &ctx) {
			return weir_ctx_wait(&ctx, WEIR_FOREVER);
		});
		CHECK(group.try_spawn([counted] {}));
		group.spawn([counted] {});
		CHECK(counted.use_count() > 1);
	}
	CHECK_EQ(counted.use_count(), 1);
}

#ifdef WEIR_COROUTINES_
// A coroutine that starts at once and destroys itself at its end.
struct task {
	struct promise_type {
		task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::
					 from_promise(*this) };
		}
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> handle;
};

static task take(weir::semaphore &sem, weir::loop *on, int64_t n, int &turn,
		 int &got, weir_ctx *ctx = nullptr)
{
	try {
		weir::permit held;

		// No conditional expression: gcc 12 destroys a temporary of one
		// that contains co_await twice.
		if (on)
			held = co_await sem.async_acquire(*on, n, ctx);
		else
			held = co_await sem.async_acquire(n, ctx);
		got = ++turn * 10 + static_cast<int>(held.count());
	} catch (const weir::error &e) {
		got = static_cast<int>(e.err());
	}
}

// C35: at once, through a loop in order, and on the releasing thread.
TEST(c35_coroutines)
{
	weir::semaphore sem(2);
	weir::loop loop;
	int turn = 0, a = 0, b = 0, c = 0, d = 0;

	take(sem, &loop, 2, turn, a);
	CHECK_EQ(a, 12);
	CHECK_EQ(sem.available(), 2);
	sem.acquire(2);
	take(sem, &loop, 1, turn, b);
	take(sem, &loop, 2, turn, c);
	take(sem, nullptr, 1, turn, d);
	CHECK_EQ(sem.waiters().size(), 3);
	sem.release(2);
	CHECK_EQ(b, 0);
	while (loop.dispatch())
		;
	CHECK_EQ(b, 21);
	CHECK_EQ(c, 32);
	CHECK_EQ(d, 41);
	CHECK_EQ(sem.available(), 2);
	take(sem, &loop, 3, turn, a);
	CHECK_EQ(a, WEIR_ETOOBIG);
	weir::context ctx;
	sem.acquire(2);
	take(sem, &loop, 1, turn, a, ctx.native_handle());
	ctx.cancel();
	while (loop.dispatch())
		;
	CHECK_EQ(a, WEIR_ECANCELED);
	weir::context late(1ms);
	take(sem, &loop, 1, turn, b, late.native_handle());
	// Nothing is dispatched if the deadline passed before the submit.
	while (b != WEIR_ETIMEDOUT)
		(void)loop.dispatch();
	sem.release(2);
}

// C35: a coroutine that is destroyed while it waits leaves the queue, and gives
// back permits that it was granted and has not received.
TEST(c35_destroyed_coroutine)
{
	weir::semaphore sem(1);
	weir::loop loop;
	int turn = 0, a = 0, b = 0;

	sem.acquire();
	task first = take(sem, &loop, 1, turn, a);
	task second = take(sem, &loop, 1, turn, b);
	first.handle.destroy();
	CHECK_EQ(sem.waiters().size(), 1);
	sem.release();
	CHECK_EQ(sem.stat().granted, 1);
	second.handle.destroy();
	CHECK_EQ(sem.available(), 1);
	CHECK_EQ(loop.dispatch(), 0);
	CHECK_EQ(a + b, 0);
}

static task throw_after(weir::semaphore &sem, weir::loop &on)
{
	weir::permit held = co_await sem.async_acquire(on);

	throw std::runtime_error("coroutine");
}

// An exception that leaves a coroutine leaves dispatch, and frees its permits.
TEST(c27_coroutine_throws)
{
	weir::semaphore sem(1);
	weir::loop loop;
	bool caught = false;

	sem.acquire();
	task thrown = throw_after(sem, loop);
	sem.release();
	try {
		loop.dispatch();
	} catch (const std::runtime_error &) {
		caught = true;
	}
	CHECK(caught);
	CHECK_EQ(sem.available(), 1);
	// A coroutine that an exception has left is at its final suspension.
	thrown.handle.destroy();
}
#endif
