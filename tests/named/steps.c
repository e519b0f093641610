/* SPDX-License-Identifier: MIT */
/*
 * C38, C42: killed at every instruction, and stopped at every instruction.
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
 * By default the victim is killed at up to 30 instructions of each scenario,
 * evenly spaced from a random start; with WEIR_FULL=1 at up to 4000.
 * WEIR_STEPS="close" runs a single scenario.
 *
 * In other runs the victim is not killed but stopped (SIGSTOP).  Then another
 * process opens the semaphore, looks, tries, waits with a deadline and with a
 * context, and closes its handle.  Each of these calls must return in bounded
 * time, with the answer that the state of the semaphore requires.  After that
 * the victim continues and finishes, or is killed, in turn, and the checks are
 * the same as after a death.
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
#include <time.h>
#include <unistd.h>

#include "base/shared.h"
#include "named/format.h"
#include "puppet.h"
#include "weir/ctx.h"

#define CAPACITY 3
/* A call that has a limit of some milliseconds must return after this time. */
#define BOUND_NS INT64_C(60000000000)
#define STEPS_MAX 2000000

static const char *name;
static weir_named *sem;			/* of this process */
static struct puppet first, second, third;
static struct nm_header *file;		/* mapped, to read and to damage */
static weir_named *own;			/* the victim's */
static bool acted;			/* unblock has acted */
static int64_t all_points, locked_points, stop_points, locked_stop_points;

struct scenario {
	const char *name;
	bool stops;			/* also stop the victim */
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

/*
 * Look when the keepers of the waiting processes have taken over the lock, if
 * the victim has died with it.
 */
static weir_named_info look_settled(void)
{
	AWAIT(!look_at(sem).inconsistent);
	return look_at(sem);
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
	CHECK_EQ(look_settled().waiters, 2);
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
	int64_t capacity = look_settled().capacity;

	CHECK(capacity == CAPACITY || capacity == CAPACITY + 2);
	CHECK(!finished || capacity == CAPACITY + 2);
	/* C7: if the growth happened, its grants follow without other calls. */
	if (capacity != CAPACITY) {
		CHECK_EQ(puppet_hear(&first), WEIR_OK);
		CHECK_EQ(look_settled().waiters, 1);
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
	int64_t capacity = look_settled().capacity;

	CHECK(capacity == CAPACITY || capacity == 1);
	if (capacity == 1) {
		/* C11: the first call's weight is above the capacity now. */
		CHECK_EQ(puppet_hear(&first), WEIR_ETOOBIG);
		CHECK_EQ(look_settled().debt, CAPACITY - 1);
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
	CHECK_EQ(look_settled().oversized, 0);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(look_settled().waiters, 1);
	CHECK_EQ(puppet_do(&first, PUPPET_RELEASE, one), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	CHECK_EQ(puppet_do(&second, PUPPET_RELEASE, other), WEIR_OK);
	CHECK_OK(weir_named_resize(sem, CAPACITY, NULL));
	all_is_free();
}

static void judge_oversized(bool finished)
{
	int64_t capacity = look_settled().capacity;

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
	int64_t capacity = look_settled().capacity;

	CHECK(capacity == CAPACITY || capacity == 1);
	CHECK(!finished || capacity == 1);
	CHECK_EQ(look_settled().oversized, capacity == 1 ? 2 : 0);
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
	bool paused = look_settled().paused;

	CHECK(!(finished && paused));
	/* C7: if it was resumed, its grants follow without other calls. */
	CHECK_EQ(look_settled().waiters, paused ? 2 : 0);
	if (paused)
		CHECK_OK(weir_named_resume(sem));
	judge_queue(finished);
}

static void act_close_handle(void)
{
	if (weir_named_close_handle(own))
		_exit(9);
}

static void act_stat(void)
{
	(void)look_at(own);
}

/* --- recovery --- */

/*
 * Wake the keepers that listen for deaths.  Returns true if none is left.  A
 * keeper that starts late goes to sleep after an earlier wake, so a caller
 * repeats this.
 */
static bool is_deaf(void)
{
	weir_shared_wake_all_(&file->obituary);
	return !weir_shared_sleepers_(&file->obituary);
}

/*
 * Make the keepers of processes without waiting calls sleep on their kick words
 * alone.  Then the victim must find a death, and not a keeper.
 */
static void deafen(void)
{
	AWAIT(is_deaf());
	AWAIT(!(uint32_t)__atomic_load_n(&file->lock, __ATOMIC_RELAXED));
}

static struct nm_slot *slot_of(const struct puppet *puppet)
{
	struct nm_slot *slots = (struct nm_slot *)(void *)(file + 1);
	uint32_t i;

	for (i = 0; i < NM_SLOTS; i++)
		if (slots[i].pid == (uint32_t)puppet->pid &&
		    (slots[i].state & NM_SLOT_MASK) == NM_SLOT_LIVE)
			break;
	CHECK(i < NM_SLOTS);
	return &slots[i];
}

/* Store the lock word of a process that has this slot. */
static void lock_as(uint32_t index, uint32_t state)
{
	__atomic_store_n(&file->lock, (index + 1) | state >> 2 << 13,
			 __ATOMIC_RELEASE);
}

/* A dead process has the lock, and derived fields have any value. */
static void leave_dead_lock_holder(void)
{
	struct puppet dead = puppet_at(name, CAPACITY);
	struct nm_slot *slot = slot_of(&dead);

	CHECK_EQ(puppet_do(&dead, PUPPET_ACQUIRE, 1), WEIR_OK);
	deafen();
	puppet_kill(&dead);
	file->value = 77;
	file->queue_first = file->queue_last = 5;
	file->in_use = 3;
	file->free_record = 1234;
	file->waiters = 12;
	lock_as((uint32_t)(slot - (struct nm_slot *)(void *)(file + 1)),
		slot->state);
}

/*
 * The same with a queue.  The keepers of the waiting processes bury the dead
 * one.  The lock is stored after that, so the victim must take it over.
 */
static void stage_dead_queue(void)
{
	struct puppet dead = puppet_at(name, CAPACITY);
	struct nm_slot *slot = slot_of(&dead);
	uint32_t state = slot->state;

	stage_busy();
	puppet_kill(&dead);
	AWAIT(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != state);
	AWAIT(!(uint32_t)__atomic_load_n(&file->lock, __ATOMIC_RELAXED));
	lock_as((uint32_t)(slot - (struct nm_slot *)(void *)(file + 1)), state);
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
	deafen();
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
		pid_t stopped = waitpid(pid, &status, WNOHANG | WUNTRACED);

		CHECK(stopped >= 0);
		if (stopped == pid)
			return status;
		if (s->unblock && !acted && weir_now_ns() - since > 300000) {
			s->unblock();
			since = weir_now_ns();
		}
	}
}

/* --- calls of others while the victim is stopped --- */

static int64_t begun_ns;

static void begin(void)
{
	begun_ns = weir_now_ns();
}

static void returned(const struct scenario *s, const char *call)
{
	if (weir_now_ns() - begun_ns > BOUND_NS)
		check_fail(__FILE__, __LINE__, "%s: %s took too long", s->name,
			   call);
}

static void expect(const struct scenario *s, const char *call, weir_err err,
		   weir_err wanted)
{
	returned(s, call);
	if (err != wanted)
		check_fail(__FILE__, __LINE__, "%s: %s is %s, not %s", s->name,
			   call, weir_err_name(err), weir_err_name(wanted));
}

struct cancelled {
	weir_named *sem;
	weir_ctx ctx;
	weir_err err;
};

static void *wait_to_be_cancelled(void *arg)
{
	struct cancelled *c = arg;

	c->err = weir_named_acquire(c->sem, 1, &c->ctx);
	return NULL;
}

/*
 * Look at the semaphore.  Returns the answer that a try must have: while the
 * victim has the lock, too few permits are available.
 */
static weir_err look(const struct scenario *s, weir_named *other, pid_t victim)
{
	weir_named_entry entries[8];
	weir_named_info info;
	bool locked = (uint32_t)__atomic_load_n(&file->lock, __ATOMIC_RELAXED);

	begin();
	CHECK_OK(weir_named_stat(other, &info, entries, 8));
	returned(s, "stat");
	CHECK_EQ(info.capacity,
		 info.free + info.held + info.granted - info.debt);
	if (locked) {
		locked_stop_points++;
		CHECK(info.inconsistent);
		CHECK_EQ(entries[0].role, WEIR_NAMED_LOCKS);
		CHECK_EQ(entries[0].pid, victim);
		return WEIR_EAGAIN;
	}
	CHECK(!info.inconsistent);
	return info.free && !info.waiters ? WEIR_OK : WEIR_EAGAIN;
}

/* Returns true if the lock changes, or a process that is not stopped has it. */
static bool lock_moves(weir_named *other, pid_t victim)
{
	uint64_t lock = __atomic_load_n(&file->lock, __ATOMIC_RELAXED);
	weir_named_entry entry = { 0 };
	weir_named_info info;

	for (int i = 0; i < 5; i++) {
		struct timespec pause = { 0, 200000 };

		nanosleep(&pause, NULL);
		if (__atomic_load_n(&file->lock, __ATOMIC_RELAXED) != lock)
			return true;
	}
	if (!(uint32_t)lock)
		return false;
	CHECK_OK(weir_named_stat(other, &info, &entry, 1));
	return entry.role != WEIR_NAMED_LOCKS || entry.pid != victim;
}

static void others_call(const struct scenario *s, pid_t victim)
{
	weir_named_opts opts = { .label = "other" };
	struct cancelled c = { .ctx = WEIR_CTX_INIT };
	check_thread thread;
	weir_named *other;
	weir_err wanted;

	begin();
	expect(s, "open", weir_named_open(name, &opts, &other), WEIR_OK);
	/* The keepers of the puppets may still have the lock for a moment. */
	AWAIT(!lock_moves(other, victim));
	wanted = look(s, other, victim);
	begin();
	expect(s, "try", weir_named_try_acquire(other, 1), wanted);
	if (!wanted)
		weir_named_release(other, 1);
	begin();
	expect(s, "acquire_for", weir_named_acquire_for(other, 1, 2000000),
	       wanted ? WEIR_ETIMEDOUT : WEIR_OK);
	if (!wanted)
		weir_named_release(other, 1);
	c.sem = other;
	begin();
	thread = start(wait_to_be_cancelled, &c);
	if (!wanted)
		AWAIT(__atomic_load_n(&file->value, __ATOMIC_RELAXED) >= 0);
	else
		weir_ctx_cancel(&c.ctx);
	finish(thread);
	expect(s, "cancel", c.err, wanted ? WEIR_ECANCELED : WEIR_OK);
	begin();
	expect(s, "close_handle", weir_named_close_handle(other), WEIR_OK);
	stop_points++;
}

/* --- a run --- */

enum ending {
	KILL,			/* kill the victim after its steps */
	STOP_AND_KILL,		/* stop it, and kill it */
	STOP_AND_CONTINUE	/* stop it, and let it finish */
};

static pid_t begin_victim(const struct scenario *s)
{
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
		/* SIGCONT discards a SIGSTOP that is still pending. */
		for (;;)
			raise(SIGSTOP);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	return pid;
}

/* Returns true if the victim has finished within `limit` steps. */
static bool step(const struct scenario *s, pid_t pid, int64_t limit,
		 int64_t *steps)
{
	int status;

	for (*steps = 0; *steps < limit; ++*steps) {
		CHECK(*steps < STEPS_MAX);
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		status = wait_for_stop(s, pid);
		if (!WIFSTOPPED(status))
			check_fail(
				__FILE__, __LINE__,
				"%s: the victim ended with %x after %" PRId64,
				s->name, (unsigned)status, *steps);
		if (WSTOPSIG(status) == SIGSTOP)
			return true;
		CHECK_EQ(WSTOPSIG(status), SIGTRAP);
	}
	return false;
}

/* Stop all threads of the victim, which is not traced after that. */
static void stop_victim(pid_t pid)
{
	int status;

	CHECK(!ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)SIGSTOP));
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
}

/* Let the stopped victim continue until it has finished. */
static void let_finish(const struct scenario *s, pid_t pid)
{
	int status;

	CHECK(!kill(pid, SIGCONT));
	status = wait_for_stop(s, pid);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
		check_fail(__FILE__, __LINE__, "%s: the victim ended with %x",
			   s->name, (unsigned)status);
}

/*
 * One run: execute up to `limit` steps, then the ending.  Returns true if the
 * operation had finished after the steps; *steps is the number of steps.
 */
static bool live(const struct scenario *s, int64_t limit, int64_t *steps,
		 enum ending ending)
{
	pid_t pid = begin_victim(s);
	bool finished, done;

	if (s->stage)
		s->stage();
	done = finished = step(s, pid, limit, steps);
	if (!finished && ending != KILL) {
		stop_victim(pid);
		others_call(s, pid);
		if (ending == STOP_AND_CONTINUE) {
			let_finish(s, pid);
			done = true;
		}
	} else if ((uint32_t)__atomic_load_n(&file->lock, __ATOMIC_RELAXED)) {
		locked_points++;
	}
	kill_hard(pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	s->judge(done);
	return finished;
}

/* Kill, or stop, the victim at up to `points` of its instructions. */
static int64_t run_at(const struct scenario *s, int64_t length, int64_t points,
		      bool stop)
{
	uint64_t random = seed_of(7);
	int64_t stride = 1 + length / points, done = 0, steps;

	for (int64_t at = 1 + random_below(&random, stride); at <= length;
	     at += stride, done++)
		(void)live(s, at, &steps, !stop ? KILL : done % 2 ?
			   STOP_AND_KILL : STOP_AND_CONTINUE);
	return done;
}

static void run(const struct scenario *s)
{
	bool full = getenv("WEIR_FULL") && *getenv("WEIR_FULL");
	int64_t length, kills, stops = 0;

	CHECK(live(s, STEPS_MAX, &length, KILL));
	/* Most instructions of an open are in libc and the kernel. */
	kills = run_at(s, length, full ? 4000 : length < 5000 ? 30 : 15,
		       false);
	if (s->stops)
		stops = run_at(s, length, full ? 4000 : 10, true);
	all_points += kills;
	printf("%-24s %6" PRId64 " instructions, killed at %" PRId64
	       ", stopped at %" PRId64 "\n", s->name, length, kills, stops);
}

static const struct scenario scenarios[] = {
	{ "acquire", true, open_own, NULL, act_acquire, NULL, judge_free },
	{ "release", true, prepare_held, NULL, act_release, NULL, judge_free },
	{ "release to a queue", true, prepare_held, tell_waiters, act_release, NULL,
	  judge_queue },
	{ "try with a queue", false, open_own, stage_busy, act_try_fails, NULL,
	  judge_busy },
	{ "wait and be granted", true, open_own, stage_between, act_wait,
	  unblock_between, judge_between },
	{ "wait with idlers", false, open_own, stage_idlers, act_wait, unblock_idlers,
	  judge_idlers },
	{ "wait and give up", true, open_own, stage_full, act_time_out, unblock_head,
	  judge_head },
	{ "cancel", true, prepare_ctx, stage_ctx, act_cancel, NULL, judge_ctx },
	{ "grow", true, open_own, stage_busy, act_grow, NULL, judge_grow },
	{ "shrink", true, open_own, stage_busy, act_shrink, NULL, judge_shrink },
	{ "grow with oversized", false, open_own, stage_oversized, act_grow, NULL,
	  judge_oversized },
	{ "shrink to oversized", false, open_own, stage_heavy, act_shrink, NULL,
	  judge_heavy },
	{ "close", false, open_own, stage_busy, act_close, NULL, judge_close },
	{ "pause", false, open_own, stage_busy, act_pause, NULL, judge_pause },
	{ "resume", false, open_own, stage_paused, act_resume, NULL, judge_resume },
	{ "close a handle", true, prepare_held, tell_waiters, act_close_handle, NULL,
	  judge_queue },
	{ "open", true, prepare_nothing, NULL, open_own, NULL, judge_free },
	{ "recover with a queue", false, open_own, stage_dead_queue,
	  act_recover_queue, NULL, judge_busy },
	{ "bury", true, open_own, stage_dead_holder, act_recover, NULL, judge_free },
	{ "forget", false, prepare_held, NULL, act_forget, NULL, judge_forget },
	{ "recover", true, open_own, leave_dead_lock_holder, act_recover, NULL,
	  judge_free },
	{ "stat", true, open_own, stage_busy, act_stat, NULL, judge_busy },
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

NAMESPACE_TEST(c38_c42_killed_and_stopped_at_every_instruction)
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
	printf("evidence: stop points | %" PRId64 "\n", stop_points);
	printf("evidence: stop points inside the lock | %" PRId64 "\n",
	       locked_stop_points);
	CHECK(only || locked_points > 0);
}
