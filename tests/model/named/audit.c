/* SPDX-License-Identifier: MIT */
#include "audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"
#include "world.h"

#define OWNER UINT32_C(0x3fffffff)

static struct {
	weir_named *h;
	int64_t held;		/* by returned calls */
	int32_t done;		/* calls that returned */
} of[EX_PROCS];

static struct {
	bool inside;		/* a call */
	bool bounded;		/* the call must return in limited time */
	bool owes;		/* unlocked, and maybe not all are woken */
} calls[EX_THREADS];

/*
 * The file.
 */
static const struct nm_header *const head = &world_file.head;

static uint32_t state_of(const struct nm_record *r)
{
	return r->state & NM_REC_MASK;
}

static bool has_permits(const struct nm_record *r)
{
	return nm_has_permits(r->state);
}

/* The process of a slot; -1: none, or its keeper has ended. */
static int process_of_slot(const struct nm_slot *slot)
{
	uint32_t alive = slot->alive.word;

	if ((slot->state & NM_SLOT_MASK) != NM_SLOT_LIVE ||
	    !weir_is_alive_(alive))
		return -1;
	return proc_of((int)(alive & OWNER) - 101);
}

static const struct nm_slot *owner_of(const struct nm_record *r)
{
	const struct nm_slot *slot;

	if (r->owner - 1 >= NM_SLOTS)
		return NULL;
	slot = &world_file.slots[r->owner - 1];
	return r->owner_state == slot->state ? slot : NULL;
}

/* The process of a record that lives; -1: none. */
static int process_of(const struct nm_record *r)
{
	const struct nm_slot *slot = owner_of(r);
	int proc = slot ? process_of_slot(slot) : -1;

	return proc >= 0 && proc_status(proc) <= EX_STOPPED ? proc : -1;
}

/*
 * After each step.
 */
static void check_sum(void)
{
	int64_t sum = head->value;

	for (uint32_t i = 0; i < NM_SLOTS; i++)
		if ((world_file.slots[i].state & NM_SLOT_MASK) == NM_SLOT_LIVE)
			sum += world_file.slots[i].held;
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		if (has_permits(&world_file.records[i]))
			sum += world_file.records[i].got;
	if (sum != head->capacity)
		ex_fail("permits do not add up: value %" PRId64 " + held and "
			"granted = %" PRId64 ", capacity %" PRId64,
			head->value, sum, head->capacity);
}

static void check_order(const struct nm_record *granted)
{
	for (uint32_t i = 0; i < NM_RECORDS; i++) {
		const struct nm_record *r = &world_file.records[i];

		if (state_of(r) == NM_REC_WAITS && r->ticket < granted->ticket &&
		    process_of(r) >= 0)
			ex_fail("C4: a call of process %d is granted before an "
				"older one of process %d", process_of(granted),
				process_of(r));
	}
}

/*
 * C5: a call that takes permits without a record does not overtake a waiting
 * one.  `had` is what each slot had at the last unlock, with its grants since.
 */
static int64_t had[NM_SLOTS];

static int64_t has(uint32_t index)
{
	int64_t sum = world_file.slots[index].held;

	for (uint32_t i = 0; i < NM_RECORDS; i++)
		if (has_permits(&world_file.records[i]) &&
		    world_file.records[i].owner == index + 1)
			sum += world_file.records[i].got;
	return sum;
}

static const struct nm_record *next_in_queue(uint64_t ticket);

/*
 * C6, C7: a critical section that gives back permits of its own process grants
 * to the head of the queue if it fits.  A head whose owner is dying may be in
 * the way.
 */
static void check_served(void)
{
	const struct nm_record *first = NULL;

	for (uint32_t i = 0; i < NM_RECORDS; i++) {
		const struct nm_record *r = &world_file.records[i];

		if (state_of(r) == NM_REC_WAITS &&
		    (!first || r->ticket < first->ticket))
			first = r;
	}
	if (first && process_of(first) >= 0 && head->closed != NM_PAUSED &&
	    first->min <= head->value)
		ex_fail("C6: process %d waits, and its request fits after a "
			"release", process_of(first));
}

/* Called when a thread unlocks. */
static void check_section(void)
{
	const weir_named *h = of[proc_self()].h;

	if (ex->self < 0 || !h || !h->mine ||
	    proc_status(proc_self()) != EX_RUNNING)
		return;
	if (h->wakes.due)
		ex_fail("thread %d unlocks and keeps its wake-ups", ex->self);
	if (has(h->me - 1) < had[h->me - 1])
		check_served();
}

static void check_overtaking(void)
{
	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		int64_t now = has(i);

		if (now > had[i] && next_in_queue(0))
			ex_fail("C5: slot %u takes permits, and process %d "
				"waits", i, process_of(next_in_queue(0)));
		had[i] = now;
	}
}

/* C14: only a context takes a grant back; a deadline does not. */
static void check_grant_stays(const void *address, uint64_t before,
			      uint64_t after)
{
	if ((before & NM_REC_MASK) != NM_REC_GRANTED ||
	    (after & NM_REC_MASK) != NM_REC_REVOKED)
		return;
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		if (address == (const void *)&world_file.records[i].state &&
		    !(world_file.records[i].flags & NM_REC_HAS_CTX))
			ex_fail("C14: a granted call without a context is "
				"revoked");
}

static bool is_lock(const void *address)
{
	return address == (const void *)&head->lock;
}

static bool is_free(uint64_t lock)
{
	return !(uint32_t)lock;
}

static void written(const void *address, uint64_t before, uint64_t after)
{
	if (is_lock(address) && !is_free(before) && is_free(after)) {
		/* The next lock holder that sweeps computes them again. */
		if (!head->stale)
			check_sum();
		check_section();
		check_overtaking();
		if (ex->self >= 0)
			calls[ex->self].owes = true;
		return;
	}
	check_grant_stays(address, before, after);
	if ((before & NM_REC_MASK) == NM_REC_GRANTED ||
	    (after & NM_REC_MASK) != NM_REC_GRANTED)
		return;
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		if (address == (const void *)&world_file.records[i].state) {
			check_order(&world_file.records[i]);
			had[world_file.records[i].owner - 1] +=
				world_file.records[i].got;
		}
}

static void check_limit(void)
{
	int64_t sum = 0;

	for (int p = 0; p < EX_PROCS; p++)
		if (proc_status(p) <= EX_STOPPED)
			sum += of[p].held;
	if (sum > head->capacity)
		ex_fail("limit: the processes hold %" PRId64 " of %" PRId64,
			sum, head->capacity);
}

/*
 * When no thread can go on.
 */

/* Returns true if a stopped process may have to act before others go on. */
static bool is_exempt(void)
{
	for (int t = 0; t < ex->thread_count; t++) {
		int proc = proc_of(t);

		if (proc_status(proc) != EX_STOPPED ||
		    ex->threads[t].status == EX_DONE)
			continue;
		if (of[proc].h && of[proc].h->mine && !is_free(head->lock) &&
		    (uint32_t)head->lock == of[proc].h->lock_id)
			return true;
		if (kernel_is_asleep(t))
			continue;
		/* Between unlock and wake-ups, or a keeper in its round. */
		if (calls[t].owes || proc_is_keeper(t))
			return true;
	}
	return false;
}

static int64_t free_permits(void)
{
	int64_t sum = head->capacity;

	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		const struct nm_slot *slot = &world_file.slots[i];
		int proc = process_of_slot(slot);

		if (proc >= 0 && proc_status(proc) <= EX_STOPPED)
			sum -= slot->held;
	}
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		if (has_permits(&world_file.records[i]) &&
		    process_of(&world_file.records[i]) >= 0)
			sum -= world_file.records[i].got;
	return sum;
}

/* The oldest waiting record of a live process above `ticket`. */
static const struct nm_record *next_in_queue(uint64_t ticket)
{
	const struct nm_record *next = NULL;

	for (uint32_t i = 0; i < NM_RECORDS; i++) {
		const struct nm_record *r = &world_file.records[i];

		if (state_of(r) == NM_REC_WAITS && r->ticket > ticket &&
		    process_of(r) >= 0 && (!next || r->ticket < next->ticket))
			next = r;
	}
	return next;
}

static void check_queue(void)
{
	int64_t available = free_permits();
	const struct nm_record *r;
	uint64_t ticket = 0;

	if (head->closed == NM_PAUSED)
		return;
	while ((r = next_in_queue(ticket)) && r->min <= available) {
		if (proc_status(process_of(r)) == EX_RUNNING)
			ex_fail("process %d sleeps while its request fits: %"
				PRId64 " free", process_of(r), available);
		available -= r->max < available ? r->max : available;
		ticket = r->ticket;
	}
}

/* The slot of a process without a call has the permits that its calls took. */
static void check_held(void)
{
	for (int p = 0; p < EX_PROCS; p++) {
		const weir_named *h = of[p].h;

		if (proc_status(p) == EX_RUNNING && h && h->mine &&
		    !is_waiting(p) && has(h->me - 1) != of[p].held)
			ex_fail("process %d holds %" PRId64 " permits, and its "
				"slot has %" PRId64, p, of[p].held,
				has(h->me - 1));
	}
}

static void check_record(const struct nm_record *r)
{
	int proc = process_of(r);

	if (proc < 0 || proc_status(proc) != EX_RUNNING)
		return;
	if (state_of(r) == NM_REC_GRANTED || state_of(r) == NM_REC_ENDED) {
		for (int t = 0; t < ex->thread_count; t++)
			if (proc_of(t) == proc && calls[t].inside &&
			    ex->threads[t].status == EX_BLOCKED &&
			    ex->threads[t].futex == &r->state)
				ex_fail("process %d sleeps although its call "
					"is decided", proc);
	}
	if (state_of(r) == NM_REC_OVERSIZED && r->min <= head->capacity)
		ex_fail("process %d: its call is not oversized any more", proc);
	if (state_of(r) == NM_REC_WAITS && r->min > head->capacity)
		ex_fail("process %d: its call is oversized, and queued", proc);
	if (state_of(r) == NM_REC_OVERSIZED && !(r->flags & NM_REC_HAS_CTX))
		ex_fail("process %d: its oversized call has no context", proc);
	if (state_of(r) == NM_REC_IDLE && free_permits() == head->capacity)
		ex_fail("process %d sleeps while the semaphore is idle", proc);
	if (nm_is_undecided(r->state) && state_of(r) != NM_REC_IDLE &&
	    (head->closed == NM_CLOSED || head->closed == NM_DRAIN))
		ex_fail("process %d waits for a closed semaphore", proc);
}

/* A thread of a running process inside a call may sleep on its record only. */
static void check_thread(int t)
{
	const uint32_t *word = ex->threads[t].futex;

	if (!calls[t].inside || proc_status(proc_of(t)) != EX_RUNNING ||
	    ex->threads[t].status == EX_DONE)
		return;
	if (ex->threads[t].status != EX_BLOCKED)
		ex_fail("thread %d spins, and no other thread can go on", t);
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		if (word == &world_file.records[i].state)
			return;
	ex_fail("thread %d sleeps for the lock, which no stopped process holds",
		t);
}

/* A sleep with a deadline that the search does not let pass (process.c). */
static bool is_timed(void)
{
	for (int t = 0; t < ex->thread_count; t++)
		if (ex->threads[t].status == EX_BLOCKED &&
		    ex->threads[t].deadline != WEIR_FOREVER &&
		    proc_status(proc_of(t)) == EX_RUNNING)
			return true;
	return false;
}

void audit_sleeps(int t)
{
	calls[t].owes = false;
}

/*
 * Returns true if the thread may have been woken for the lock: it is stopped and
 * not asleep, or it naps before it takes the lock of a dead owner.
 */
static bool may_pass_wake_up_on(int t)
{
	const struct ex_thread *thread = &ex->threads[t];

	if (thread->status == EX_BLOCKED)
		return !thread->futex && thread->deadline != WEIR_FOREVER;
	return proc_status(proc_of(t)) == EX_STOPPED && !kernel_is_asleep(t) &&
	       thread->status == EX_READY;
}

static int count_deaths(void)
{
	int deaths = 0;

	for (int p = 0; p < EX_PROCS; p++)
		deaths += proc_status(p) > EX_STOPPED;
	return deaths;
}

/* Returns the slot of the lock owner if the kernel has marked it as dead. */
static const struct nm_slot *marked_owner(void)
{
	uint32_t ref = (uint32_t)head->lock & NM_LOCK_SLOT_MASK;
	const struct nm_slot *slot = &world_file.slots[ref - 1];

	return ref - 1 < NM_SLOTS &&
	       nm_lock_id(ref, slot->state) == (uint32_t)head->lock &&
	       (slot->state & NM_SLOT_MASK) == NM_SLOT_LIVE &&
	       !weir_is_alive_(slot->alive.word) ? slot : NULL;
}

/*
 * Returns true if the thread sleeps for the lock, and not behind another owner
 * than this one.
 */
static bool sleeps_behind(int t, const struct nm_slot *owner)
{
	const uint32_t *other;

	if (ex->threads[t].status != EX_BLOCKED ||
	    ex->threads[t].futex != &head->awaited)
		return false;
	other = kernel_other_word(t, &head->awaited);
	return !owner || !other || other == &owner->alive.word;
}

/*
 * A free lock wakes its sleepers at once, and so does the death of the owner
 * behind which they sleep.  Their time limit is for processes that die or stop
 * after they were woken and before they have woken the next one: such a process
 * may be the next owner.  It is also for kernels without futex_waitv.
 */
void ex_idle(void)
{
	const struct nm_slot *owner = NULL;
	int deaths = count_deaths();

	if (!head->version)
		return;
	if (is_free(head->lock)) {
		if (deaths)
			return;
	} else {
		owner = marked_owner();
		if (!owner || deaths > 1 || world_is_old())
			return;
	}
	for (int t = 0; t < ex->thread_count; t++)
		if (may_pass_wake_up_on(t))
			return;
	for (int t = 0; t < ex->thread_count; t++)
		if (sleeps_behind(t, owner))
			ex_fail("thread %d sleeps for the lock, %s", t,
				owner ? "whose owner is dead" : "which is free");
}

void ex_quiet(void)
{
	if (!head->version)
		return;
	if (head->repairs && !count_deaths())
		ex_fail("the file was repaired, and no process has died");
	for (int t = 0; t < ex->thread_count; t++)
		if (calls[t].bounded && calls[t].inside &&
		    ex->threads[t].status != EX_DONE &&
		    proc_status(proc_of(t)) == EX_RUNNING)
			ex_fail("thread %d: a call that is limited waits", t);
	if (is_timed() || is_exempt())
		return;
	if (is_free(head->lock) && !head->stale)
		check_sum();
	check_held();
	for (int t = 0; t < ex->thread_count; t++)
		check_thread(t);
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		check_record(&world_file.records[i]);
	check_queue();
}

/*
 * Calls.
 */
static weir_named *begin(void)
{
	calls[ex->self].inside = true;
	calls[ex->self].owes = false;
	return of[proc_self()].h;
}

static weir_named *begin_bounded(void)
{
	calls[ex->self].bounded = true;
	proc_allow_timeouts(ex->self);
	return begin();
}

static weir_err end(weir_err err, int64_t taken)
{
	proc_check();
	calls[ex->self].inside = calls[ex->self].owes = false;
	calls[ex->self].bounded = false;
	of[proc_self()].done++;
	if (!err && taken) {
		of[proc_self()].held += taken;
		check_limit();
	}
	return err;
}

void audit_begin(void)
{
}

static weir_err open_sem(int64_t capacity, weir_named_policy policy,
			 uint32_t flags)
{
	weir_named_opts opts = { .capacity = capacity, .policy = policy,
				 .flags = flags };
	weir_named *h = NULL;
	weir_err err;

	(void)begin_bounded();
	err = weir_named_open("x", &opts, &h);
	(void)end(WEIR_OK, 0);
	of[proc_self()].h = h;
	return err;
}

void join_as(int64_t capacity, weir_named_policy policy, uint32_t flags)
{
	weir_err err = open_sem(capacity, policy, flags);

	EX_ASSERT(err == WEIR_OK);
}

weir_err try_join(int64_t capacity)
{
	return open_sem(capacity, WEIR_NAMED_FAST, WEIR_NAMED_CREATE);
}

void join(int64_t capacity)
{
	join_as(capacity, WEIR_NAMED_FAST, WEIR_NAMED_CREATE);
}

void leave_handle(void)
{
	weir_named *h = begin();

	of[proc_self()].held = 0;
	EX_ASSERT(weir_named_close_handle(h) == WEIR_OK);
	of[proc_self()].h = NULL;
	(void)end(WEIR_OK, 0);
}

weir_err take(int64_t n)
{
	return take_in(n, NULL);
}

weir_err take_in(int64_t n, struct weir_ctx *ctx)
{
	return end(weir_named_acquire(begin(), n, ctx), n);
}

weir_err take_until(int64_t n, int64_t deadline_ns)
{
	return end(weir_named_acquire_until(begin_bounded(), n, deadline_ns), n);
}

weir_err take_upto(int64_t min, int64_t max, struct weir_ctx *ctx, int64_t *got)
{
	weir_err err = weir_named_acquire_upto(begin(), min, max, ctx, got);

	return end(err, *got);
}

weir_err try_take(int64_t n)
{
	return end(weir_named_try_acquire(begin_bounded(), n), n);
}

void give(int64_t n)
{
	of[proc_self()].held -= n;
	weir_named_release(begin(), n);
	(void)end(WEIR_OK, 0);
}

void give_back(int64_t n)
{
	of[proc_self()].held -= n;
	weir_nm_give_back_(begin_bounded(), n);
	(void)end(WEIR_OK, 0);
}

weir_err resize(int64_t n)
{
	return end(weir_named_resize(begin(), n, NULL), 0);
}

void close_sem(weir_close how)
{
	weir_named_close(begin(), how);
	(void)end(WEIR_OK, 0);
}

weir_err pause_sem(void)
{
	return end(weir_named_pause(begin()), 0);
}

weir_err resume_sem(void)
{
	return end(weir_named_resume(begin()), 0);
}

void cancel(struct weir_ctx *ctx)
{
	(void)begin_bounded();
	weir_ctx_cancel(ctx);
	(void)end(WEIR_OK, 0);
}

weir_err idle(struct weir_ctx *ctx)
{
	return end(weir_named_wait_idle(begin(), ctx), 0);
}

weir_err stat_sem(weir_named_info *info)
{
	return end(weir_named_stat(begin_bounded(), info, NULL, 0), 0);
}

weir_err lend(int *fd)
{
	return end(weir_named_lend(begin_bounded(), fd), 0);
}

int64_t holds(int proc)
{
	return of[proc].held;
}

weir_named *handle_of(int proc)
{
	return of[proc].h;
}

int calls_done(int proc)
{
	return of[proc].done;
}

bool is_waiting(int proc)
{
	for (int t = 0; t < ex->thread_count; t++)
		if (proc_of(t) == proc && calls[t].inside)
			return true;
	return false;
}

/*
 * Names in a trace.
 */
#define FIELD(type, name) { offsetof(struct type, name), #name }
struct field {
	size_t at;
	const char *name;
};

static const char *field_of(const struct field *fields, size_t count, size_t at)
{
	const char *name = "?";

	for (size_t i = 0; i < count; i++)
		if (fields[i].at <= at)
			name = fields[i].name;
	return name;
}

#define FIELD_OF(fields, at)                                                   \
	field_of(fields, sizeof(fields) / sizeof((fields)[0]), at)

static bool name_of(const void *address, char *text, size_t size)
{
	static const struct field heads[] = {
		FIELD(nm_header, lock), FIELD(nm_header, closed),
		FIELD(nm_header, in_use), FIELD(nm_header, value),
		FIELD(nm_header, capacity), FIELD(nm_header, queue_first),
		FIELD(nm_header, queue_last), FIELD(nm_header, next_ticket),
		FIELD(nm_header, awaited), FIELD(nm_header, stale),
		FIELD(nm_header, unused1), FIELD(nm_header, slots_high),
		FIELD(nm_header, generations), FIELD(nm_header, records_high),
		FIELD(nm_header, records_room), FIELD(nm_header, free_record),
		FIELD(nm_header, waiters), FIELD(nm_header, idlers),
		FIELD(nm_header, oversized), FIELD(nm_header, repairs),
		FIELD(nm_header, obituary),
	};
	static const struct field slots[] = {
		FIELD(nm_slot, state), FIELD(nm_slot, kick),
		FIELD(nm_slot, held), FIELD(nm_slot, since_ticks),
		FIELD(nm_slot, alive), FIELD(nm_slot, death),
		FIELD(nm_slot, pid_namespace), FIELD(nm_slot, lingers),
		FIELD(nm_slot, pid),
	};
	static const struct field records[] = {
		FIELD(nm_record, state), FIELD(nm_record, linked),
		FIELD(nm_record, owner), FIELD(nm_record, owner_state),
		FIELD(nm_record, min), FIELD(nm_record, max),
		FIELD(nm_record, got), FIELD(nm_record, ticket),
		FIELD(nm_record, since), FIELD(nm_record, next),
		FIELD(nm_record, prev), FIELD(nm_record, outcome),
	};
	size_t at = (size_t)((const char *)address - (const char *)&world_file);

	if (!kernel_is_shared(address))
		return false;
	if (at < sizeof(struct nm_header)) {
		(void)snprintf(text, size, "%s", FIELD_OF(heads, at));
	} else if (at < offsetof(struct world_file, records)) {
		at -= sizeof(struct nm_header);
		(void)snprintf(text, size, "slot%zu.%s",
			       at / sizeof(struct nm_slot),
			       FIELD_OF(slots, at % sizeof(struct nm_slot)));
	} else {
		at -= offsetof(struct world_file, records);
		(void)snprintf(text, size, "rec%zu.%s",
			       at / sizeof(struct nm_record),
			       FIELD_OF(records, at % sizeof(struct nm_record)));
	}
	return true;
}

const struct ex_meaning ex_meaning = {
	.written = written,
	.name = name_of,
};
