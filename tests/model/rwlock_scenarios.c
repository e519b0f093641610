/* SPDX-License-Identifier: MIT */
/* Reader-writer locks with each of the three preferences. */
#include "pattern_scenario.h"
#include "weir/rwlock.h"

static weir_rwlock rw;
static weir_ctx ctx;
static int readers, writers;
static uint64_t value;

static void reset(weir_rw_prefer prefer)
{
	EX_ASSERT(weir_rwlock_init(&rw, &(weir_rwlock_opts){
		.prefer = prefer }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void fifo(void)
{
	reset(WEIR_RW_FIFO);
}

static void readers_first(void)
{
	reset(WEIR_RW_BARGING);
}

static void writers_first(void)
{
	reset(WEIR_RW_WRITERS);
}

/* No thread is inside the lock, and none waits. */
static void all_left(void)
{
	check_calm(&rw.inside_);
	check_calm(&rw.recall_);
	EX_ASSERT(readers == 0 && writers == 0);
	EX_ASSERT(weir_sem_available(&rw.inside_) == WEIR_RW_READERS_MAX);
	EX_ASSERT(rw.writers_ == 0 && rw.waiting_ == 0);
	EX_ASSERT(weir_rwlock_destroy(&rw) == WEIR_OK);
}

static void all_left_and_open(void)
{
	EX_ASSERT(rw.readers_ == 0 && weir_sem_available(&rw.recall_) == 0);
	all_left();
}

static void change(void)
{
	EX_ASSERT(writers++ == 0 && readers == 0);
	ex_touch(&value, sizeof(value), true);
	value++;
	EX_ASSERT(--writers == 0 && readers == 0);
}

static void read(void)
{
	EX_ASSERT(weir_rwlock_read(&rw, NULL) == WEIR_OK);
	readers++;
	EX_ASSERT(writers == 0);
	ex_touch(&value, sizeof(value), false);
	readers--;
	weir_rwlock_read_done(&rw);
}

static void write(void)
{
	EX_ASSERT(weir_rwlock_write(&rw, NULL) == WEIR_OK);
	change();
	weir_rwlock_write_done(&rw);
}

/* C2, C10, C24: mutual exclusion, and readers see the writes. */
SCENARIO(rw_fifo, 2, fifo, all_left_and_open, read, read, write)
SCENARIO(rw_fifo_writers, 2, fifo, all_left_and_open, read, write, write)
SCENARIO(rw_readers_first, 2, readers_first, all_left_and_open, read, read,
	 write)
SCENARIO(rw_writers_first, 2, writers_first, all_left_and_open, read, read,
	 write)
SCENARIO(rw_writers_first_writers, 2, writers_first, all_left_and_open, read,
	 write, write)

static void writer_inside(void)
{
	writers_first();
	EX_ASSERT(weir_rwlock_write(&rw, NULL) == WEIR_OK);
}

static void write_done(void)
{
	weir_rwlock_write_done(&rw);
}

static void read_ctx(void)
{
	weir_err err = weir_rwlock_read(&rw, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		weir_rwlock_read_done(&rw);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* C13: a reader is cancelled while it is recalled. */
SCENARIO(rw_recall_meets_cancel, 2, writer_inside, all_left_and_open, read_ctx,
	 write_done, cancel)
SCENARIO(rw_recall_meets_cancel_of_one, 2, writer_inside, all_left_and_open,
	 read_ctx, read, write_done, cancel)

/*
 * C13: a reader is cancelled while it is recalled.  Another reader, which waits
 * for the next writer, could take its recall permit.  The next writer stays
 * inside until the cancelled reader has returned.
 */
static weir_sem returned;

static void writer_inside_and_none_returned(void)
{
	writer_inside();
	EX_ASSERT(weir_sem_init_opts(&returned, &(weir_sem_opts){
		.flags = WEIR_SEM_UNBOUNDED }) == WEIR_OK);
}

static void read_ctx_and_signal(void)
{
	read_ctx();
	weir_sem_release(&returned, 1);
}

static void write_until_reader_returned(void)
{
	weir_rwlock_write_done(&rw);
	EX_ASSERT(weir_rwlock_write(&rw, NULL) == WEIR_OK);
	EX_ASSERT(weir_sem_acquire(&returned, 1, NULL) == WEIR_OK);
	weir_rwlock_write_done(&rw);
}
SCENARIO(rw_recall_taken_by_next_reader, 2, writer_inside_and_none_returned,
	 all_left_and_open, read_ctx_and_signal, write_until_reader_returned,
	 read, cancel)

static void reader_inside(void)
{
	writers_first();
	EX_ASSERT(weir_rwlock_read(&rw, NULL) == WEIR_OK);
}

static void write_timed(void)
{
	weir_err err = weir_rwlock_write_until(&rw, weir_deadline_after(1000));

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err) {
		change();
		weir_rwlock_write_done(&rw);
	}
}

static void read_done(void)
{
	weir_rwlock_read_done(&rw);
}

/* C7: the writer times out; the readers that waited for it get the lock. */
SCENARIO(rw_writer_gives_up, 2, reader_inside, all_left_and_open, write_timed,
	 read, read_done)

static void read_or_closed(void)
{
	weir_err err = weir_rwlock_read(&rw, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (!err)
		weir_rwlock_read_done(&rw);
}

static void write_or_closed(void)
{
	weir_err err = weir_rwlock_write(&rw, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (!err)
		weir_rwlock_write_done(&rw);
}

static void close_and_leave(void)
{
	weir_rwlock_close(&rw);
	write_done();
}

/* C19: a close meets a waiting reader and a waiting writer. */
SCENARIO(rw_close, 2, writer_inside, all_left, read_or_closed, write_or_closed,
	 close_and_leave)

static void read_and_upgrade(void)
{
	EX_ASSERT(weir_rwlock_read(&rw, NULL) == WEIR_OK);
	if (weir_rwlock_try_upgrade(&rw)) {
		weir_rwlock_read_done(&rw);
		return;
	}
	change();
	weir_rwlock_downgrade(&rw);
	ex_touch(&value, sizeof(value), false);
	weir_rwlock_read_done(&rw);
}

/* Two upgrades that would wait for each other both return. */
SCENARIO(rw_two_upgrades, 3, fifo, all_left_and_open, read_and_upgrade,
	 read_and_upgrade)
SCENARIO(rw_upgrade_meets_writer, 2, writers_first, all_left_and_open,
	 read_and_upgrade, write, read)

static void try_both(void)
{
	if (weir_rwlock_try_write(&rw) == WEIR_OK) {
		change();
		weir_rwlock_write_done(&rw);
	}
	if (weir_rwlock_try_read(&rw) == WEIR_OK)
		weir_rwlock_read_done(&rw);
}

/* C5: tries beside a reader and a writer. */
SCENARIO(rw_tries, 2, writers_first, all_left_and_open, try_both, read, write)

static uint32_t admitted;

static void one_may_wait(void)
{
	EX_ASSERT(weir_rwlock_init(&rw, &(weir_rwlock_opts){
		.prefer = WEIR_RW_WRITERS, .max_waiters = 1 }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void writer_inside_and_one_may_wait(void)
{
	one_may_wait();
	EX_ASSERT(weir_rwlock_write(&rw, NULL) == WEIR_OK);
}

static uint32_t waiters(void)
{
	return rw.inside_.waiters_ + rw.recall_.waiters_;
}

static void leave_when_one_waits(void)
{
	while (waiters() == 0)
		ex_yield();
	ex_set(&admitted);
	weir_rwlock_write_done(&rw);
}

static void leave_and_try(void)
{
	leave_when_one_waits();
	try_both();
}

static void write_or_busy(void)
{
	weir_err err = weir_rwlock_write(&rw, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err) {
		change();
		weir_rwlock_write_done(&rw);
	}
}

static void write_or_busy_later(void)
{
	ex_await(&admitted);
	write_or_busy();
}

static void read_or_busy(void)
{
	weir_err err = weir_rwlock_read(&rw, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	EX_ASSERT(writers == 0 || err);
	if (!err)
		weir_rwlock_read_done(&rw);
}

/* C31: a reader that was admitted to wait is not refused when recalled. */
SCENARIO(rw_admitted_reader_is_not_refused, 2, writer_inside_and_one_may_wait,
	 all_left_and_open, read, leave_and_try, write_or_busy_later)

static void check_and_leave(void)
{
	weir_rwlock_info info;

	while (waiters() == 0)
		ex_yield();
	EX_ASSERT(weir_rwlock_stat(&rw, &info) == WEIR_OK && info.waiters <= 1);
	EX_ASSERT(waiters() <= 1);
	weir_rwlock_write_done(&rw);
}

/* C31: max_waiters bounds readers and writers together. */
SCENARIO(rw_max_waiters_counts_all, 2, writer_inside_and_one_may_wait,
	 all_left_and_open, read_or_busy, write_or_busy, check_and_leave)

static bool ended;

static void cancel_and_set_ended(void)
{
	weir_ctx_cancel(&ctx);
	ended = true;
}

static void write_ctx(void)
{
	weir_err err = weir_rwlock_write(&rw, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED ||
		  err == WEIR_EBUSY);
	/*
	 * C13: an acquire that returns after the cancel has failed.  (With
	 * --stale nothing orders the two: `ended` is a plain variable.)
	 */
	EX_ASSERT(err || !ended || ex_is_stale());
	if (!err)
		weir_rwlock_write_done(&rw);
}

/* C13: a cancel meets a writer that waits or that gets the lock at once. */
SCENARIO(rw_max_waiters_meets_cancel, 2, one_may_wait, all_left_and_open,
	 write_ctx, read_or_busy, cancel_and_set_ended)
