/* SPDX-License-Identifier: MIT */
/*
 * C38: killed at every instruction.
 *
 * A victim performs one operation, one instruction at a time (ptrace).  It is
 * killed after the first instruction, in the next run after the second, and so
 * on to the last.  After each death the surviving processes and a new one must
 * find all permits and the order of the queue as if the victim had finished the
 * operation or never begun it.
 *
 * Each scenario consists of: the victim's preparation (prepare), calls of other
 * processes after that (stage), the operation (act), calls of others if the
 * operation sleeps (unblock), and the checks after the death (judge).  Three
 * puppets and this process survive all deaths.  While the victim is stopped it
 * may hold the lock, so unblock must not wait for the puppets.
 *
 * By default the victim is killed at up to 120 instructions of each scenario,
 * evenly spaced from a random start; with WEIR_FULL=1 at up to 4000.
 * WEIR_STEPS="close" runs a single scenario.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named/format.h"
#include "puppet.h"
#include "weir/ctx.h"

#define CAPACITY 3
#define STEPS_MAX 2000000

static const char *name;
static weir_named *sem;			/* of this process */
static struct puppet first, second, third;
static struct nm_header *file;		/* mapped, to read and to damage */
static weir_named *own;			/* the victim's */
static bool acted;			/* unblock has acted */
static int64_t all_points, locked_points;

struct scenario {
	const char *name;
	void (*prepare)(void);
	void (*stage)(void);
	void (*act)(void);
	void (*unblock)(void);
	void (*judge)(bool finished);
};

static void open_own(void)
{
	weir_named_opts opts = { .label = "victim" };

	if (weir_named_open(name, &opts, &own))
		_exit(9);
}

static void prepare_nothing(void)
{
}

static void tell_waiters(void)
{
	puppet_tell(&first, PUPPET_ACQUIRE, 2, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
}

/* Both waiters are granted, in order; then all permits are released. */
static void hear_waiters(void)
{
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	CHECK_EQ(puppet_do(&first, PUPPET_RELEASE, 2), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, 1), WEIR_OK);
}

static void all_is_free(void)
{
	weir_named *newcomer = open_named(name, CAPACITY);
	weir_named_info info = look_at(newcomer);

	CHECK_EQ(info.capacity, CAPACITY);
	CHECK_EQ(info.free, CAPACITY);
	CHECK_EQ(info.held, 0);
	CHECK_EQ(info.granted, 0);
	CHECK_EQ(info.waiters, 0);
	CHECK_EQ(info.participants, 5);
	CHECK_OK(weir_named_try_acquire(newcomer, CAPACITY));
	weir_named_release(newcomer, CAPACITY);
	close_named(newcomer);
}

static void judge_free(bool finished)
{
	(void)finished;
	all_is_free();
}

/* --- acquire and release by one process alone --- */

static void act_acquire(void)
{
	if (weir_named_acquire(own, 2, NULL))
		_exit(9);
}

static void prepare_held(void)
{
	open_own();
	act_acquire();
}

static void act_release(void)
{
	weir_named_release(own, 2);
}

static void act_try_fails(void)
{
	if (weir_named_try_acquire(own, 1) != WEIR_EAGAIN)
		_exit(9);
}

/* --- release with a queue --- */

static void judge_queue(bool finished)
{
	(void)finished;
	hear_waiters();
	all_is_free();
}

/* --- a try while we hold all permits and others wait --- */

static void stage_busy(void)
{
	CHECK_OK(weir_named_acquire(sem, CAPACITY, NULL));
	tell_waiters();
}

static void judge_busy(bool finished)
{
	CHECK_EQ(look_at(sem).waiters, 2);
	weir_named_release(sem, CAPACITY);
	judge_queue(finished);
}

/* --- waiting between two other waiters, and being granted --- */

static void stage_between(void)
{
	CHECK_EQ(puppet_do(&third, PUPPET_ACQUIRE, CAPACITY), WEIR_OK);
	puppet_tell(&first, PUPPET_ACQUIRE, 2, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
}

/* The number of queued calls, read without the lock. */
static uint32_t peek(void)
{
	return __atomic_load_n(&file->waiters, __ATOMIC_RELAXED);
}

static void unblock_between(void)
{
	if (peek() != 2)
		return;
	acted = true;
	puppet_tell(&third, PUPPET_RELEASE, CAPACITY, 0, NULL);
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
}

static void act_wait(void)
{
	if (weir_named_acquire(own, 1, NULL))
		_exit(9);
}

static void judge_between(bool finished)
{
	if (!acted) {
		puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
		AWAIT(look_at(sem).waiters == 2);
		puppet_tell(&third, PUPPET_RELEASE, CAPACITY, 0, NULL);
	}
	CHECK_EQ(puppet_hear(&third), WEIR_OK);
	judge_queue(finished);
}

/* --- the same at the end of the chain, while others wait for idle --- */

static void stage_idlers(void)
{
	CHECK_EQ(puppet_do(&third, PUPPET_ACQUIRE, CAPACITY), WEIR_OK);
	puppet_tell(&first, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(sem).oversized == 1);
	puppet_tell(&second, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(sem).oversized == 2);
}

static void unblock_idlers(void)
{
	if (peek() != 1)
		return;
	acted = true;
	puppet_tell(&third, PUPPET_RELEASE, CAPACITY, 0, NULL);
}

static void judge_idlers(bool finished)
{
	(void)finished;
	if (!acted)
		puppet_tell(&third, PUPPET_RELEASE, CAPACITY, 0, NULL);
	CHECK_EQ(puppet_hear(&third), WEIR_OK);
	/* C20, C37: no other process calls the semaphore in between. */
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	all_is_free();
}

/* --- waiting at the head of the queue, and giving up --- */

static void stage_full(void)
{
	CHECK_OK(weir_named_acquire(sem, CAPACITY - 1, NULL));
}

static void unblock_head(void)
{
	if (peek() != 1)
		return;
	acted = true;
	/* The request fits as soon as the victim has left. */
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
}

static void act_time_out(void)
{
	weir_err err = weir_named_acquire_for(own, CAPACITY, 3000000);

	if (err != WEIR_ETIMEDOUT)
		_exit(9);
}

static void judge_head(bool finished)
{
	(void)finished;
	if (!acted)
		puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, 1), WEIR_OK);
	weir_named_release(sem, CAPACITY - 1);
	all_is_free();
}

/* --- cancelling --- */

static weir_ctx ctx = WEIR_CTX_INIT;

static void *wait_with_ctx(void *arg)
{
	(void)!weir_named_acquire(own, CAPACITY, &ctx);
	return arg;
}

static void prepare_ctx(void)
{
	prepare_held();
	(void)start(wait_with_ctx, NULL);
	AWAIT(look_at(own).waiters == 1);
}

static void stage_ctx(void)
{
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
}

static void judge_ctx(bool finished)
{
	(void)finished;
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, 1), WEIR_OK);
	all_is_free();
}

static void act_cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* --- resize, forget and close --- */

static void act_grow(void)
{
	if (weir_named_resize(own, CAPACITY + 2, NULL))
		_exit(9);
}

static void judge_grow(bool finished)
{
	int64_t capacity = look_at(sem).capacity;

	CHECK(capacity == CAPACITY || capacity == CAPACITY + 2);
	CHECK(!finished || capacity == CAPACITY + 2);
	/* C7: if the growth happened, its grants follow without other calls. */
	if (capacity != CAPACITY) {
		CHECK_EQ(puppet_hear(&first), WEIR_OK);
		CHECK_EQ(look_at(sem).waiters, 1);
		CHECK_EQ(puppet_do(&first, PUPPET_RELEASE, 2), WEIR_OK);
		weir_named_release(sem, CAPACITY);
		CHECK_EQ(puppet_hear(&second), WEIR_OK);
		CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, 1), WEIR_OK);
		CHECK_OK(weir_named_resize(sem, CAPACITY, NULL));
		all_is_free();
		return;
	}
	weir_named_release(sem, CAPACITY);
	judge_queue(finished);
}

static void act_shrink(void)
{
	if (weir_named_resize(own, 1, NULL))
		_exit(9);
}

static void judge_shrink(bool finished)
{
	int64_t capacity = look_at(sem).capacity;

	CHECK(capacity == CAPACITY || capacity == 1);
	if (capacity == 1) {
		/* C11: the first call's weight is above the capacity now. */
		CHECK_EQ(puppet_hear(&first), WEIR_ETOOBIG);
		CHECK_EQ(look_at(sem).debt, CAPACITY - 1);
		weir_named_release(sem, CAPACITY);
		CHECK_EQ(puppet_hear(&second), WEIR_OK);
		CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, 1), WEIR_OK);
		CHECK_OK(weir_named_resize(sem, CAPACITY, NULL));
		all_is_free();
		return;
	}
	weir_named_release(sem, CAPACITY);
	judge_queue(finished);
}

/* --- the same with oversized waiters, or making waiters oversized --- */

static void stage_oversized(void)
{
	CHECK_OK(weir_named_acquire(sem, CAPACITY, NULL));
	puppet_tell(&third, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&first, PUPPET_ACQUIRE_CTX, CAPACITY + 2, 0, NULL);
	AWAIT(look_at(sem).oversized == 1);
	puppet_tell(&second, PUPPET_ACQUIRE_CTX, CAPACITY + 1, 0, NULL);
	AWAIT(look_at(sem).oversized == 2);
}

/* C11: they are queued again, in the order in which they left the queue. */
static void hear_in_order(int64_t one, int64_t other)
{
	CHECK_EQ(look_at(sem).oversized, 0);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(look_at(sem).waiters, 1);
	CHECK_EQ(puppet_do(&first, PUPPET_RELEASE, one), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, other), WEIR_OK);
	CHECK_OK(weir_named_resize(sem, CAPACITY, NULL));
	all_is_free();
}

static void judge_oversized(bool finished)
{
	int64_t capacity = look_at(sem).capacity;

	CHECK(capacity == CAPACITY || capacity == CAPACITY + 2);
	CHECK(!finished || capacity == CAPACITY + 2);
	if (capacity == CAPACITY)
		CHECK_OK(weir_named_resize(sem, CAPACITY + 2, NULL));
	CHECK_EQ(puppet_hear(&third), WEIR_OK);
	CHECK_EQ(puppet_do(&third, PUPPET_RELEASE, 1), WEIR_OK);
	weir_named_release(sem, CAPACITY);
	hear_in_order(CAPACITY + 2, CAPACITY + 1);
}

static void stage_heavy(void)
{
	CHECK_OK(weir_named_acquire(sem, CAPACITY, NULL));
	puppet_tell(&first, PUPPET_ACQUIRE_CTX, CAPACITY, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&second, PUPPET_ACQUIRE_CTX, CAPACITY - 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
}

static void judge_heavy(bool finished)
{
	int64_t capacity = look_at(sem).capacity;

	CHECK(capacity == CAPACITY || capacity == 1);
	CHECK(!finished || capacity == 1);
	CHECK_EQ(look_at(sem).oversized, capacity == 1 ? 2 : 0);
	weir_named_release(sem, CAPACITY);
	CHECK_OK(weir_named_resize(sem, CAPACITY, NULL));
	hear_in_order(CAPACITY, CAPACITY - 1);
}

static void act_forget(void)
{
	if (weir_named_forget(own, 1))
		_exit(9);
}

static void judge_forget(bool finished)
{
	int64_t capacity = look_at(sem).capacity;

	CHECK(capacity == CAPACITY || capacity == CAPACITY - 1);
	CHECK(!finished || capacity == CAPACITY - 1);
	CHECK_EQ(look_at(sem).free, capacity);
	CHECK_OK(weir_named_resize(sem, CAPACITY, NULL));
	all_is_free();
}

static void act_close(void)
{
	weir_named_close(own, WEIR_CLOSE_NOW);
}

static void judge_close(bool finished)
{
	CHECK(!finished || weir_named_is_closed(sem));
	if (weir_named_is_closed(sem)) {
		CHECK_EQ(puppet_hear(&first), WEIR_ECLOSED);
		CHECK_EQ(puppet_hear(&second), WEIR_ECLOSED);
		weir_named_release(sem, CAPACITY);
		CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_ECLOSED);
		CHECK_EQ(look_at(sem).free, CAPACITY);
		/* C19: a close is permanent; undo it for the next run. */
		file->closed = NM_OPEN;
		all_is_free();
		return;
	}
	weir_named_release(sem, CAPACITY);
	judge_queue(finished);
}

static void act_pause(void)
{
	if (weir_named_pause(own))
		_exit(9);
}

static void judge_pause(bool finished)
{
	CHECK(!finished || look_at(sem).paused);
	CHECK_OK(weir_named_resume(sem));
	weir_named_release(sem, CAPACITY);
	judge_queue(finished);
}

static void stage_paused(void)
{
	CHECK_OK(weir_named_pause(sem));
	tell_waiters();
}

static void act_resume(void)
{
	if (weir_named_resume(own))
		_exit(9);
}

static void judge_resume(bool finished)
{
	bool paused = look_at(sem).paused;

	CHECK(!(finished && paused));
	/* C7: if it was resumed, its grants follow without other calls. */
	CHECK_EQ(look_at(sem).waiters, paused ? 2 : 0);
	if (paused)
		CHECK_OK(weir_named_resume(sem));
	judge_queue(finished);
}

static void act_close_handle(void)
{
	if (weir_named_close_handle(own))
		_exit(9);
}

/* --- recovery --- */

/* Kill the puppet while it holds the lock. */
static void kill_lock_holder(struct puppet *dead)
{
	struct nm_slot *slots = (struct nm_slot *)(void *)(file + 1);
	uint32_t i;

	for (i = 0; i < NM_SLOTS; i++)
		if (slots[i].pid == (uint32_t)dead->pid &&
		    (slots[i].state & NM_SLOT_MASK) == NM_SLOT_LIVE)
			break;
	CHECK(i < NM_SLOTS);
	file->lock = (i + 1) | slots[i].state >> 2 << 13;
	puppet_kill(dead);
}

/* The same, with derived fields in any state. */
static void leave_dead_lock_holder(void)
{
	struct puppet dead = puppet_at(name, CAPACITY);

	CHECK_EQ(puppet_do(&dead, PUPPET_ACQUIRE, 1), WEIR_OK);
	kill_lock_holder(&dead);
	/* Derived fields may have any value. */
	file->value = 77;
	file->queue_first = file->queue_last = 5;
	file->in_use = 3;
	file->free_record = 1234;
	file->waiters = 12;
}

static void stage_dead_queue(void)
{
	/*
	 * This puppet holds nothing, so no keeper watches it: the victim must
	 * find its death.
	 */
	struct puppet dead = puppet_at(name, CAPACITY);

	stage_busy();
	kill_lock_holder(&dead);
}

static void act_recover_queue(void)
{
	if (weir_named_try_acquire(own, 1) != WEIR_EAGAIN)
		_exit(9);
}

/* A holder has died while no call waits. */
static void stage_dead_holder(void)
{
	struct puppet dead = puppet_at(name, CAPACITY);

	CHECK_EQ(puppet_do(&dead, PUPPET_ACQUIRE, 2), WEIR_OK);
	puppet_kill(&dead);
}

static void act_recover(void)
{
	if (weir_named_try_acquire(own, CAPACITY))
		_exit(9);
}

/* --- the stepping --- */

/*
 * Wait until the victim has executed its step.  If that takes long, the victim
 * sleeps: unblock it.
 */
static int wait_for_stop(const struct scenario *s, pid_t pid)
{
	int64_t since = weir_now_ns();
	int status;

	for (;;) {
		pid_t stopped = waitpid(pid, &status, WNOHANG);

		CHECK(stopped >= 0);
		if (stopped == pid)
			return status;
		if (s->unblock && !acted && weir_now_ns() - since > 300000) {
			s->unblock();
			since = weir_now_ns();
		}
	}
}

/*
 * One run: execute up to `limit` steps, then kill.  Returns true if the
 * operation had finished before; *steps is the number of steps executed.
 */
static bool live(const struct scenario *s, int64_t limit, int64_t *steps)
{
	uint64_t owner;
	bool finished = false;
	int status;
	pid_t pid;

	fflush(NULL);
	acted = false;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(8);
		s->prepare();
		raise(SIGSTOP);
		s->act();
		raise(SIGSTOP);
		_exit(7);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	if (s->stage)
		s->stage();
	for (*steps = 0; *steps < limit; ++*steps) {
		CHECK(*steps < STEPS_MAX);
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		status = wait_for_stop(s, pid);
		if (!WIFSTOPPED(status))
			check_fail(
				__FILE__, __LINE__,
				"%s: the victim ended with %x after %" PRId64,
				s->name, (unsigned)status, *steps);
		if (WSTOPSIG(status) == SIGSTOP) {
			finished = true;
			break;
		}
		CHECK_EQ(WSTOPSIG(status), SIGTRAP);
	}
	owner = __atomic_load_n(&file->lock, __ATOMIC_RELAXED);
	if ((uint32_t)owner)
		locked_points++;
	kill_hard(pid);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	s->judge(finished);
	return finished;
}

static void run(const struct scenario *s)
{
	bool full = getenv("WEIR_FULL") && *getenv("WEIR_FULL");
	int64_t length, steps, points = 0, stride, at;
	uint64_t random = seed_of(7);

	CHECK(live(s, STEPS_MAX, &length));
	/* Most instructions of an open are in libc and the kernel. */
	points = full ? 4000 : length < 5000 ? 120 : 25;
	stride = 1 + length / points;
	points = 0;
	for (at = 1 + random_below(&random, stride); at <= length;
	     at += stride) {
		(void)live(s, at, &steps);
		points++;
	}
	all_points += points;
	printf("%-24s %6" PRId64 " instructions, killed at %" PRId64 "\n",
	       s->name, length, points);
}

static const struct scenario scenarios[] = {
	{ "acquire", open_own, NULL, act_acquire, NULL, judge_free },
	{ "release", prepare_held, NULL, act_release, NULL, judge_free },
	{ "release to a queue", prepare_held, tell_waiters, act_release, NULL,
	  judge_queue },
	{ "try with a queue", open_own, stage_busy, act_try_fails, NULL,
	  judge_busy },
	{ "wait and be granted", open_own, stage_between, act_wait,
	  unblock_between, judge_between },
	{ "wait with idlers", open_own, stage_idlers, act_wait, unblock_idlers,
	  judge_idlers },
	{ "wait and give up", open_own, stage_full, act_time_out, unblock_head,
	  judge_head },
	{ "cancel", prepare_ctx, stage_ctx, act_cancel, NULL, judge_ctx },
	{ "grow", open_own, stage_busy, act_grow, NULL, judge_grow },
	{ "shrink", open_own, stage_busy, act_shrink, NULL, judge_shrink },
	{ "grow with oversized", open_own, stage_oversized, act_grow, NULL,
	  judge_oversized },
	{ "shrink to oversized", open_own, stage_heavy, act_shrink, NULL,
	  judge_heavy },
	{ "close", open_own, stage_busy, act_close, NULL, judge_close },
	{ "pause", open_own, stage_busy, act_pause, NULL, judge_pause },
	{ "resume", open_own, stage_paused, act_resume, NULL, judge_resume },
	{ "close a handle", prepare_held, tell_waiters, act_close_handle, NULL,
	  judge_queue },
	{ "open", prepare_nothing, NULL, open_own, NULL, judge_free },
	{ "recover with a queue", open_own, stage_dead_queue,
	  act_recover_queue, NULL, judge_busy },
	{ "bury", open_own, stage_dead_holder, act_recover, NULL, judge_free },
	{ "forget", prepare_held, NULL, act_forget, NULL, judge_forget },
	{ "recover", open_own, leave_dead_lock_holder, act_recover, NULL,
	  judge_free },
};

static void open_all(void)
{
	static char copy[80];
	int fd;
	char path[200];

	(void)snprintf(copy, sizeof(copy), "%s", fresh_name());
	name = copy;
	sem = open_named(name, CAPACITY);
	first = puppet_at(name, CAPACITY);
	second = puppet_at(name, CAPACITY);
	third = puppet_at(name, CAPACITY);
	(void)snprintf(path, sizeof(path), "%s/%s.weir", getenv("WEIR_DIR"),
		       name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	file = mmap(NULL, NM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	CHECK(file != MAP_FAILED);
	close(fd);
}

static void close_all(void)
{
	puppet_end(&first);
	puppet_end(&second);
	puppet_end(&third);
	close_named(sem);
	munmap(file, NM_FILE_SIZE);
}

/* --- a handle that is closed while it is buried --- */

/*
 * When a handle is closed, its keeper ends first, so a process that sweeps at
 * that moment takes the participant for dead.  Meanwhile the handle frees its
 * slot itself, and another process takes the slot.  The sweep must not bury
 * this new participant.
 *
 * The sweeping process executes `limit` steps, then the slot changes its owner,
 * and the sweep continues.  Returns false if the sweep had finished before.
 */
static bool bury_late(int64_t limit)
{
	struct nm_slot *slots = (struct nm_slot *)(void *)(file + 1), *slot;
	struct puppet newcomer;
	uint32_t state, index;
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(8);
		open_own();
		raise(SIGSTOP);
		(void)look_at(own);
		raise(SIGSTOP);
		_exit(7);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	/* Make a slot whose keeper has ended. */
	for (index = 0; (slots[index].state & NM_SLOT_MASK) == NM_SLOT_LIVE;)
		index++;
	slot = &slots[index];
	if (file->slots_high <= index)
		file->slots_high = index + 1;
	memset(slot, 0, sizeof(*slot));
	state = ++file->generations * (NM_SLOT_MASK + 1) + NM_SLOT_LIVE;
	__atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
	for (int64_t steps = 0; steps < limit; steps++) {
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGSTOP)
			break;
	}
	/*
	 * The old owner frees the slot, if the sweep has not.  A newcomer
	 * joins.
	 */
	(void)__atomic_compare_exchange_n(&slot->state, &state,
					  state - NM_SLOT_LIVE + NM_SLOT_FREE,
					  false, __ATOMIC_ACQ_REL,
					  __ATOMIC_RELAXED);
	newcomer = puppet_start();
	puppet_tell(&newcomer, PUPPET_OPEN, CAPACITY, 0, name);
	AWAIT(__atomic_load_n(&slot->pid, __ATOMIC_RELAXED) ==
		      (uint32_t)newcomer.pid &&
	      (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) &
	       NM_SLOT_MASK) == NM_SLOT_LIVE);
	if (WSTOPSIG(status) != SIGSTOP || limit == 0) {
		CHECK(!ptrace(PTRACE_CONT, pid, NULL, NULL));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		status = 0;
	}
	kill_hard(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(puppet_hear(&newcomer), WEIR_OK);
	CHECK_EQ(puppet_do(&newcomer, PUPPET_TRY, 1), WEIR_OK);
	puppet_end(&newcomer);
	return !status;
}

/* Returns false, and skips the test, if the system refuses ptrace. */
static bool may_trace(void)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		check_skip("needs ptrace");
	return !status;
}

NAMESPACE_TEST(c38_a_slot_is_reused_while_it_is_buried)
{
	bool full = getenv("WEIR_FULL") && *getenv("WEIR_FULL");
	int64_t steps = 0;

	if (!may_trace())
		return;
	open_all();
	while (bury_late(steps))
		steps += full ? 1 : 20;
	close_all();
}

NAMESPACE_TEST(c38_killed_at_every_instruction)
{
	/* Run one scenario alone. */
	const char *only = getenv("WEIR_STEPS");

	if (!may_trace())
		return;
	open_all();
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!only || !strcmp(only, scenarios[i].name))
			run(&scenarios[i]);
	close_all();
	printf("evidence: kill points | %" PRId64 "\n", all_points);
	printf("evidence: kill points inside the lock | %" PRId64 "\n",
	       locked_points);
	CHECK(locked_points > 0);
}
