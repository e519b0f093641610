/* SPDX-License-Identifier: MIT */
/*
 * C37, C38, C42: a storm of kills and stops.
 *
 * Eight workers acquire and release as fast as they can.  They are killed at
 * random, one or several at once, and replaced.  In half of the rounds some
 * workers are stopped before that, and continue or are killed afterwards.  While
 * they are stopped, calls of this process that have a limit must return.
 *
 * The referee does not rely on the semaphore.  The permits that workers hold
 * are recorded in one word of shared memory, eight bits a worker.  A worker
 * sets its bits after an acquire and clears them before the release, by one
 * atomic operation each, so the word shows all holders at that moment.  A
 * worker that will be killed is first marked as doomed, in the same word, and no
 * longer counts.  So the referee can miss an excess in that moment, but never
 * reports a false one.
 *
 * The order is checked by two snapshots of the queue.  A worker that was behind
 * another one in the first snapshot and is gone in the second, while the other
 * one still waits, has overtaken it.  No worker is killed between the two
 * snapshots, and workers that may time out are not judged.
 *
 * 20 seconds and at least 1000 kills; WEIR_FULL=1: an hour.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "puppet.h"

#define WORKERS 8
#define CAPACITY 3
#define LOOK_MAX 64
/* A call with a limit of a millisecond must return after this time. */
#define BOUND_NS INT64_C(60000000000)

static struct referee {
	uint64_t held;		/* eight bits a worker, the highest: doomed */
	uint64_t grants, timeouts;
	int64_t last_ns, gap_ns;
	uint32_t excess;	/* sum of held permits, if above the capacity */
} *referee;

static const char *name;

#define DOOMED UINT64_C(0x80)

/* Returns these bits of a worker in the word. */
static uint64_t bits_of(int worker, uint64_t bits)
{
	return bits << 8 * worker;
}

static void hold(int worker, int64_t n)
{
	uint64_t held;
	int64_t sum = 0, now = weir_now_ns(), last, gap;

	held = __atomic_or_fetch(&referee->held, bits_of(worker, (uint64_t)n),
				 __ATOMIC_SEQ_CST);
	for (; held; held >>= 8)
		sum += held & DOOMED ? 0 : (int64_t)(held & 0xff);
	if (sum > CAPACITY)
		__atomic_store_n(&referee->excess, (uint32_t)sum,
				 __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&referee->grants, 1, __ATOMIC_RELAXED);
	last = __atomic_exchange_n(&referee->last_ns, now, __ATOMIC_RELAXED);
	gap = __atomic_load_n(&referee->gap_ns, __ATOMIC_RELAXED);
	while (last && now - last > gap &&
	       !__atomic_compare_exchange_n(&referee->gap_ns, &gap, now - last,
					    0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static void let_go(int worker)
{
	__atomic_and_fetch(&referee->held, ~bits_of(worker, DOOMED - 1),
			   __ATOMIC_SEQ_CST);
}

static void work(int worker, uint64_t seed)
{
	char label[8] = { 'w', (char)('0' + worker), 0 };
	weir_named_opts opts = { .label = label };
	uint64_t random = seed;
	weir_named *sem;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (weir_named_open(name, &opts, &sem))
		_exit(1);
	for (;;) {
		int64_t n = 1 + random_below(&random, CAPACITY);
		struct timespec nap = { 0, random_below(&random, 100000) };
		weir_err err;

		/* Workers with odd numbers time out sometimes. */
		if (worker & 1 && random_below(&random, 4) == 0)
			err = weir_named_acquire_for(sem, n,
					random_below(&random, 300000));
		else
			err = weir_named_acquire(sem, n, NULL);
		if (err == WEIR_ETIMEDOUT) {
			__atomic_add_fetch(&referee->timeouts, 1,
					   __ATOMIC_RELAXED);
			continue;
		}
		if (err)
			_exit(2);
		hold(worker, n);
		if (random_below(&random, 2))
			nanosleep(&nap, NULL);
		let_go(worker);
		weir_named_release(sem, n);
	}
}

static pid_t begin(int worker, uint64_t seed)
{
	pid_t pid;

	__atomic_and_fetch(&referee->held, ~bits_of(worker, 0xff),
			   __ATOMIC_SEQ_CST);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		work(worker, seed);
	return pid;
}

/* A snapshot of holders and queue. */
struct look {
	weir_named_entry entries[LOOK_MAX];
	uint32_t count;
};

static void look(weir_named *sem, struct look *look)
{
	weir_named_info info;

	do
		CHECK_OK(weir_named_stat(sem, &info, look->entries, LOOK_MAX));
	while (info.inconsistent);
	look->count = info.entries < LOOK_MAX ? info.entries : LOOK_MAX;
	CHECK_EQ(info.capacity, CAPACITY);
	CHECK_EQ(info.capacity,
		 info.free + info.held + info.granted - info.debt);
}

static bool is_in(const struct look *look, const weir_named_entry *who)
{
	for (uint32_t i = 0; i < look->count; i++)
		if (look->entries[i].id == who->id &&
		    look->entries[i].since_ns == who->since_ns &&
		    look->entries[i].role == WEIR_NAMED_WAITS)
			return true;
	return false;
}

/* Requires: no worker was killed between the two snapshots. */
static void check_order(const struct look *was, const struct look *is)
{
	const weir_named_entry *stays = NULL;

	for (uint32_t i = 0; i < was->count; i++) {
		const weir_named_entry *who = &was->entries[i];

		if (who->role != WEIR_NAMED_WAITS)
			continue;
		if (is_in(is, who)) {
			if (!stays)
				stays = who;
		} else if (stays && !((who->label[1] - '0') & 1)) {
			check_fail(__FILE__, __LINE__, "%s overtook %s",
				   who->label, stays->label);
		}
	}
}

static void kill_some(pid_t *pids, uint64_t *random, int64_t *kills)
{
	int64_t count = random_below(random, 4) ? 1 :
						  1 + random_below(random, 6);
	int from = (int)random_below(random, WORKERS);

	for (int i = 0; i < count; i++)
		__atomic_or_fetch(&referee->held,
				  bits_of((from + i) % WORKERS, DOOMED),
				  __ATOMIC_SEQ_CST);
	for (int i = 0; i < count; i++)
		kill_hard(pids[(from + i) % WORKERS]);
	for (int i = 0; i < count; i++) {
		int worker = (from + i) % WORKERS, status;

		CHECK_EQ(waitpid(pids[worker], &status, 0), pids[worker]);
		if (WIFEXITED(status))
			check_fail(__FILE__, __LINE__,
				   "worker %d ended with %d", worker,
				   WEXITSTATUS(status));
		pids[worker] = begin(worker, next_random(random));
		++*kills;
	}
}

/* Stop some of the workers.  Returns their set. */
static uint32_t stop_some(const pid_t *pids, uint64_t *random, int64_t *stops)
{
	uint32_t stopped = 0;

	for (int i = 0; i < WORKERS; i++)
		if (!random_below(random, 3)) {
			CHECK(process_signal(pids[i], SIGSTOP));
			stopped |= 1u << i;
			++*stops;
		}
	return stopped;
}

/* The workers that were not killed meanwhile continue. */
static void continue_all(const pid_t *pids, const pid_t *before,
			 uint32_t stopped)
{
	for (int i = 0; i < WORKERS; i++)
		if (stopped & 1u << i && pids[i] == before[i])
			CHECK(process_signal(pids[i], SIGCONT));
}

static void check_limited(const char *call, weir_err err)
{
	if (err && err != WEIR_EAGAIN && err != WEIR_ETIMEDOUT)
		check_fail(__FILE__, __LINE__, "%s returned %s", call,
			   weir_err_name(err));
}

/* Calls that have a limit, while a stopped worker may have the lock. */
static void call_all(void)
{
	weir_named_opts opts = { .label = "caller" };
	int64_t since = weir_now_ns();
	weir_named_info info;
	weir_named *other;
	weir_err err;

	CHECK_OK(weir_named_open(name, &opts, &other));
	CHECK_OK(weir_named_stat(other, &info, NULL, 0));
	CHECK_EQ(info.capacity,
		 info.free + info.held + info.granted - info.debt);
	err = weir_named_try_acquire(other, 1);
	check_limited("try", err);
	/* A release has no limit; closing the handle releases too. */
	err = weir_named_acquire_for(other, 1, 1000000);
	check_limited("acquire_for", err);
	CHECK_OK(weir_named_close_handle(other));
	if (weir_now_ns() - since > BOUND_NS)
		check_fail(__FILE__, __LINE__, "calls took too long");
}

static int64_t storm_ns(void)
{
	const char *seconds = getenv("WEIR_STORM_S");

	if (seconds)
		return atoll(seconds) * INT64_C(1000000000);
	return getenv("WEIR_FULL") && *getenv("WEIR_FULL") ?
		       INT64_C(3600000000000) : INT64_C(20000000000);
}

NAMESPACE_TEST(c38_c42_a_storm_of_kills_and_stops)
{
	uint64_t random = seed_of(3), before;
	int64_t until = weir_now_ns() + storm_ns(), kills = 0, latest_ns = 0;
	int64_t stops = 0;
	struct look was, is;
	pid_t pids[WORKERS];
	weir_named *sem;
	weir_named_info info;

	referee = mmap(NULL, sizeof(*referee), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(referee != MAP_FAILED);
	name = fresh_name();
	sem = open_named(name, CAPACITY);
	for (int i = 0; i < WORKERS; i++)
		pids[i] = begin(i, next_random(&random));
	while (weir_now_ns() < until || kills < 1000) {
		struct timespec nap = { 0, random_below(&random, 8000000) };
		int64_t late_ns;

		look(sem, &was);
		late_ns = -weir_now_ns();
		nanosleep(&nap, NULL);
		late_ns += weir_now_ns() - nap.tv_nsec;
		if (late_ns > latest_ns)
			latest_ns = late_ns;
		look(sem, &is);
		check_order(&was, &is);
		if (random_below(&random, 2)) {
			pid_t pids_before[WORKERS];
			uint32_t stopped = stop_some(pids, &random, &stops);

			memcpy(pids_before, pids, sizeof(pids));
			kill_some(pids, &random, &kills);
			call_all();
			continue_all(pids, pids_before, stopped);
		} else {
			kill_some(pids, &random, &kills);
		}
		before = __atomic_load_n(&referee->grants, __ATOMIC_RELAXED);
		/* The workers must go on without a stat, which would sweep. */
		AWAIT(__atomic_load_n(&referee->grants, __ATOMIC_RELAXED) >=
		      before + 20);
		if (referee->excess)
			check_fail(__FILE__, __LINE__, "%u were held",
				   referee->excess);
	}
	/* The last replacements must get permits as well. */
	before = referee->grants;
	AWAIT(__atomic_load_n(&referee->grants, __ATOMIC_RELAXED) >=
	      before + 1000);
	for (int i = 0; i < WORKERS; i++)
		kill_hard(pids[i]);
	for (int i = 0; i < WORKERS; i++)
		CHECK_EQ(waitpid(pids[i], NULL, 0), pids[i]);
	info = look_at(sem);
	CHECK_EQ(info.free, CAPACITY);
	CHECK_EQ(info.participants, 1);
	CHECK_EQ(info.waiters, 0);
	CHECK_OK(weir_named_try_acquire(sem, CAPACITY));
	close_named(sem);
	printf("evidence: kills in a storm | %" PRId64 "\n", kills);
	printf("evidence: stops in that storm | %" PRId64 "\n", stops);
	printf("evidence: grants in that storm | %" PRIu64 "\n",
	       referee->grants);
	/* The longest delay that this machine causes, for comparison. */
	printf("evidence: longest gap between grants, and longest delay of a"
	       " plain sleep | %.1f ms, %.1f ms\n",
	       (double)referee->gap_ns / 1e6, (double)latest_ns / 1e6);
	munmap(referee, sizeof(*referee));
}
