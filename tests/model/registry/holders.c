/* SPDX-License-Identifier: MIT */
/* The true holders: holders.h.  Also names the registry in traces. */
#define HOLDERS_IMPLEMENTATION
#include "holders.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "explore.h"
#include "items.h"
#include "record/context.h"
#include "record/record.h"
#include "record/registry.h"
#include "weir/ctx.h"

#define BOOKS 2
#define INEXACT (RG_HANDED_OVER | RG_MOVED | RG_DEFERRED)

static struct book {
	weir_sem *sem;
	uint64_t number;	/* of the book */
	uint64_t id;		/* 0: not registered yet */
	uint32_t passing;	/* threads in calls that pass permits on */
	int64_t out;		/* at the start, held by no thread */
	int64_t held[EX_THREADS];
	uint64_t acquires, releases;
} books[BOOKS];

/* Calls in progress of each thread: a handler's call may be in another one. */
static int calls[EX_THREADS];
static uint64_t books_so_far;
static struct rg_context *contexts[EX_THREADS];

static struct book *book_of(const weir_sem *sem)
{
	for (int i = 0; i < BOOKS; i++)
		if (books[i].sem == sem)
			return &books[i];
	ex_fail("no book for this semaphore");
}

static char *base_now(void)
{
	return weir_registry_->base;
}

/*
 * The registry as it is now, read without a decision of the search.
 */
static int64_t slot_now(const struct rg_slot *slot)
{
	return (int64_t)(slot->taken - slot->given - slot->returned);
}

static int64_t slots_now(const struct rg_context *context, uint64_t id)
{
	int64_t n = 0;

	while (context) {
		for (unsigned i = 0; i < RG_SLOTS; i++)
			if (context->slots[i].object == id)
				n += slot_now(&context->slots[i]);
		context = context->more ?
				  weir_rg_context_(base_now(),
						   context->more - 1) : NULL;
	}
	return n;
}

static void check_thread(const struct book *b, int thread)
{
	int64_t n = contexts[thread] ? slots_now(contexts[thread], b->id) : 0;

	if (n != b->held[thread])
		ex_fail("holders: thread %d holds %" PRId64 ", its slots contain "
			"%" PRId64, thread, b->held[thread], n);
}

/* All contexts: no call is in progress. */
static void check_sum(const struct book *b)
{
	const struct rg_object *object = weir_rg_object_(base_now(), b->id);
	int64_t held = b->out, n = -object->handed_over;
	uint64_t acquires = object->acquires[RG_IMMEDIATE] +
			    object->acquires[RG_QUEUED];
	uint64_t releases = object->releases;

	for (int i = 0; i < EX_THREADS; i++)
		held += b->held[i];
	for (uint32_t i = 0; i < RG_CONTEXTS; i++) {
		const struct rg_context *context =
			weir_rg_context_(base_now(), i);

		if (context->state == RG_FREE)
			continue;
		for (unsigned s = 0; s < RG_SLOTS; s++) {
			if (context->slots[s].object != b->id)
				continue;
			n += slot_now(&context->slots[s]);
			acquires += context->slots[s].acquires;
			releases += context->slots[s].releases;
		}
	}
	if (n != held)
		ex_fail("holders: the threads hold %" PRId64 ", the registry "
			"contains %" PRId64, held, n);
	if (acquires != b->acquires || releases != b->releases)
		ex_fail("counts: %" PRIu64 " acquires and %" PRIu64 " releases, "
			"the registry has %" PRIu64 " and %" PRIu64, b->acquires,
			b->releases, acquires, releases);
}

bool holders_are_in(int thread)
{
	return calls[thread];
}

static void check_books(void)
{
	bool quiet = true;

	for (int i = 0; i < EX_THREADS; i++)
		quiet = quiet && !calls[i];
	for (int i = 0; i < BOOKS; i++) {
		const struct book *b = &books[i];
		const struct rg_object *object;

		if (!b->sem || !b->id)
			continue;
		object = weir_rg_object_(base_now(), b->id);
		if (object->id != b->id || object->state != RG_LIVE)
			ex_fail("holders: the semaphore has no object");
		for (int t = 0; t < EX_THREADS; t++)
			if (!calls[t] && !b->passing && !object->moved &&
			    !(object->flags & INEXACT))
				check_thread(b, t);
		if (quiet)
			check_sum(b);
	}
}

/*
 * A semaphore with a static initialiser has an object when its name is that of an
 * object.
 */
static void find_objects(void)
{
	for (int i = 0; i < BOOKS; i++) {
		size_t at = books[i].sem ? (size_t)(books[i].sem->name_ -
						    base_now()) : 0;

		if (!books[i].sem || books[i].id || !base_now() ||
		    at - RG_OBJECTS_AT >= RG_OBJECTS * sizeof(struct rg_object))
			continue;
		at -= RG_OBJECTS_AT;
		books[i].id = weir_rg_object_(base_now(),
					      at / sizeof(struct rg_object))->id;
	}
}

static bool context_exists(uint64_t id)
{
	const struct rg_context *context = weir_rg_context_(base_now(),
							    id & 0xffff);

	return context->id == id && context->state == RG_LIVE;
}

static void check_waits(void)
{
	for (uint32_t i = 0; base_now() && i < RG_WAITS; i++) {
		const struct rg_wait *wait = weir_rg_wait_(base_now(), i);

		if (wait->state == RG_LIVE && !context_exists(wait->context))
			ex_fail("waits: the context of a wait does not exist");
	}
}

/* The record of a member of an any-of request. */
static void check_member(const struct weir_waiter_ *w,
			 const struct rg_wait *wait)
{
	const struct rg_context *context =
		weir_rg_context_(base_now(), wait->context & 0xffff);

	if (!(wait->flags & RG_ANY_OF))
		ex_fail("waits: a member waits for itself alone");
	if (w->context ? context->kind != RG_OPERATION ||
				 context->address != (uintptr_t)w->any ||
				 *w->context != (wait->context & 0xffff) + 1 :
			 context->kind != RG_THREAD)
		ex_fail("waits: a member has the context of another request");
}

/* The queue, when the lock is dropped. */
static void check_queue(const struct book *b)
{
	uint64_t ticket = 0;
	int n = 0;

	RING_EACH(link, next, end, b->sem->queue_) {
		const struct weir_waiter_ *w = weir_waiter_of_(link);
		const struct rg_wait *wait;

		if (++n > EX_THREADS)
			ex_fail("the queue has no end");
		uint32_t record = w->kind == WEIR_MEMBER_ ? w->member_record :
							    w->record;

		if (!record)
			ex_fail("waits: a waiter has no record");
		wait = weir_rg_wait_(base_now(), record - 1);
		if (w->kind == WEIR_MEMBER_)
			check_member(w, wait);
		if (wait->state != RG_LIVE || wait->object != b->id ||
		    wait->min != w->min || wait->flags & RG_GRANTED)
			ex_fail("waits: the record of a waiter is not its own");
		if (n > 1 && wait->ticket <= ticket)
			ex_fail("waits: the tickets are not in the order of the "
				"queue");
		ticket = wait->ticket;
	}
}

static void written(const void *address, uint64_t before, uint64_t after)
{
	(void)before;
	if (ex_self() < 0)
		return;
	find_objects();
	check_books();
	check_waits();
	items_check_now();
	for (int i = 0; i < BOOKS; i++)
		if (books[i].id && address == &books[i].sem->word_ &&
		    weir_door_(after) != WEIR_LOCKED_)
			check_queue(&books[i]);
}

/*
 * A reader.  Its loads are steps of the search.
 */
static int64_t read_slots(const struct rg_context *context, uint64_t id)
{
	int64_t n = 0;

	for (unsigned i = 0; i < RG_SLOTS; i++) {
		const struct rg_slot *slot = &context->slots[i];
		/* [D1] acquire */
		uint64_t key = at_load_acquire(&slot->object);

		if (!key)
			break;
		if (key == id)
			n += weir_slot_holds_(slot);
	}
	return n;
}

/* As the reader does, before the slots and after them. */
static void read_moved(bool *moved)
{
	for (int i = 0; i < BOOKS; i++)
		if (books[i].sem)
			/* [D11] acquire */
			moved[i] |= at_load_acquire(
				&weir_rg_object_(base_now(), books[i].id)
					 ->moved);
}

static void compare(const struct rg_context *context, const int64_t *n,
		    const bool *moved)
{
	for (int t = 0; t < EX_THREADS; t++) {
		if (ex_mine[t + 1].context != context)
			continue;
		for (int i = 0; i < BOOKS; i++) {
			const struct rg_object *object =
				weir_rg_object_(base_now(), books[i].id);

			if (books[i].sem && !(object->flags & INEXACT) &&
			    !moved[i] && !books[i].passing &&
			    n[i] != books[i].held[t])
				ex_fail("reader: waiting thread %d holds %" PRId64
					", the reader has seen %" PRId64, t,
					books[i].held[t], n[i]);
		}
		return;
	}
	/* An operation holds nothing; its record may have a next user by now. */
	if (context->kind != RG_OPERATION)
		ex_fail("reader: a wait whose context is no thread");
}

static void read_wait(const struct rg_wait *wait)
{
	/* [D1] acquire */
	uint32_t state = at_load_acquire(&wait->state);
	uint32_t seq = at_load_relaxed(&wait->seq);
	uint64_t id = at_load_relaxed(&wait->context);
	const struct rg_context *context = weir_rg_context_(base_now(),
							    id & 0xffff);
	int64_t n[BOOKS] = { 0 };
	bool moved[BOOKS] = { false };

	if (state != RG_LIVE || at_load_relaxed(&context->id) != id)
		return;
	read_moved(moved);
	for (int i = 0; i < BOOKS; i++)
		if (books[i].sem)
			n[i] = read_slots(context, books[i].id);
	read_moved(moved);
	if (at_load_relaxed(&wait->seq) == seq &&
	    at_load_relaxed(&wait->state) == RG_LIVE)
		compare(context, n, moved);
}

void holders_read(void)
{
	for (uint32_t i = 0; i < RG_WAITS; i++)
		read_wait(weir_rg_wait_(base_now(), i));
}

void holders_check(void)
{
	check_books();
	for (int t = 0; t < EX_THREADS; t++)
		EX_ASSERT(!calls[t] && !ex_mine[t + 1].busy);
	for (uint32_t i = 0; i < RG_WAITS; i++)
		EX_ASSERT(weir_rg_wait_(base_now(), i)->state == RG_FREE);
	for (int i = 0; i < BOOKS; i++)
		if (books[i].sem)
			EX_ASSERT(!weir_rg_object_(base_now(),
						   books[i].id)->queued);
	for (uint32_t i = 0; i < RG_CONTEXTS; i++) {
		const struct rg_context *context =
			weir_rg_context_(base_now(), i);

		if (context->state != RG_FREE && context->kind == RG_OPERATION)
			ex_fail("waits: a request has ended, its context has not");
	}
	for (uint32_t i = 0; i < RG_OBJECTS; i++)
		EX_ASSERT(!weir_rg_object_(base_now(), i)->late);
	EX_ASSERT(!weir_rg_header_(base_now())->lost);
}

/*
 * The wrapped calls.
 */
weir_err holders_init(weir_sem *sem, const weir_sem_opts *opts)
{
	weir_err err = weir_sem_init_opts(sem, opts);
	struct book *b = err ? NULL : book_of(NULL);

	if (err)
		return err;
	*b = (struct book){ .sem = sem, .id = weir_record_of_(sem),
			     .number = ++books_so_far,
			     .out = sem->capacity_ - weir_value_(sem->word_) };
	EX_ASSERT(b->id);
	return WEIR_OK;
}

void holders_add(weir_sem *sem)
{
	*book_of(NULL) = (struct book){
		.sem = sem, .number = ++books_so_far,
		.out = sem->capacity_ - weir_value_(sem->word_) };
}

weir_err holders_destroy(weir_sem *sem)
{
	struct book before = *book_of(sem);
	weir_err err;

	/* The object ends within the call. */
	*book_of(sem) = (struct book){ 0 };
	err = weir_sem_destroy(sem);
	if (err)
		*book_of(NULL) = before;
	return err;
}

void holders_enter(void)
{
	calls[ex_self()]++;
}

void holders_leave(void)
{
	contexts[ex_self()] = ex_mine[ex_self() + 1].context;
	calls[ex_self()]--;
	check_books();
	items_check_now();
}

static void change(struct book *b, int64_t n, int thread)
{
	b->held[thread] += n;
	b->acquires += n > 0;
	b->releases += n < 0;
}

void holders_took(weir_sem *sem, int64_t n)
{
	change(book_of(sem), n, ex_self());
}

uint64_t holders_begin(weir_sem *sem, bool moved)
{
	struct book *b = book_of(sem);

	holders_enter();
	if (moved)
		b->passing |= UINT32_C(1) << ex_self();
	return b->number;
}

void holders_end_of(uint64_t number, int64_t n, int thread)
{
	/* It may have been destroyed after a release. */
	for (int i = 0; i < BOOKS; i++)
		if (books[i].number == number) {
			change(&books[i], n, thread);
			books[i].passing &= ~(UINT32_C(1) << ex_self());
		}
	holders_leave();
}

void holders_end(uint64_t number, int64_t n)
{
	holders_end_of(number, n, ex_self());
}

weir_err holders_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	uint64_t id = holders_begin(sem, false);
	weir_err err;

	err = weir_sem_acquire(sem, n, ctx);
	holders_end(id, err ? 0 : n);
	return err;
}

weir_err holders_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns)
{
	uint64_t id = holders_begin(sem, false);
	weir_err err;

	err = weir_sem_acquire_for(sem, n, timeout_ns);
	holders_end(id, err ? 0 : n);
	return err;
}

weir_err holders_try_acquire(weir_sem *sem, int64_t n)
{
	uint64_t id = holders_begin(sem, false);
	weir_err err;

	err = weir_sem_try_acquire(sem, n);
	holders_end(id, err ? 0 : n);
	return err;
}

void holders_release(weir_sem *sem, int64_t n)
{
	uint64_t id = holders_begin(sem, false);

	weir_sem_release(sem, n);
	holders_end(id, -n);
}

weir_err holders_try_release(weir_sem *sem, int64_t n)
{
	uint64_t id = holders_begin(sem, false);
	weir_err err;

	err = weir_sem_try_release(sem, n);
	holders_end(id, err ? 0 : -n);
	return err;
}

void holders_end_thread(void)
{
	struct rg_context *context = ex_mine[ex_self() + 1].context;
	int64_t held = 0;

	for (int i = 0; i < BOOKS; i++)
		held += books[i].held[ex_self()];
	holders_enter();
	ex_end_thread();
	items_end_thread();
	contexts[ex_self()] = held ? context : NULL;
	calls[ex_self()]--;
	check_books();
	items_check_now();
}

weir_err holders_acquire_any(const weir_req *reqs, size_t k,
			     struct weir_ctx *ctx, size_t *which)
{
	weir_err err;

	holders_enter();
	err = weir_acquire_any(reqs, k, ctx, which);
	if (!err)
		holders_took(reqs[*which].sem, reqs[*which].n);
	holders_leave();
	return err;
}

/*
 * Names for the trace.
 */
static bool name(const void *address, char *text, size_t size)
{
	static const char *const fields[] = { "object", "site", "taken", "since",
					      "since+1", "acquires", "releases",
					      "given", "returned", "reserved" };
	const char *base = base_now();
	size_t at = (size_t)((const char *)address - base);

	for (int i = 0; i < BOOKS; i++)
		if (books[i].sem && address == &books[i].sem->word_) {
			snprintf(text, size, "word %d", i);
			return true;
		}
	if (!base || at >= RG_SIZE)
		return false;
	if (at >= RG_WAITS_AT) {
		snprintf(text, size, "wait+%zu", at - RG_WAITS_AT);
	} else if (at >= RG_CONTEXTS_AT) {
		size_t in = (at - RG_CONTEXTS_AT) % sizeof(struct rg_context);
		size_t slots = offsetof(struct rg_context, slots);

		at = (at - RG_CONTEXTS_AT) / sizeof(struct rg_context);
		if (in < slots)
			snprintf(text, size, "context %zu+%zu", at, in);
		else
			snprintf(text, size, "%s %zu.%zu",
				 fields[(in - slots) / 8 % 10], at,
				 (in - slots) / sizeof(struct rg_slot));
	} else if (at >= RG_OBJECTS_AT) {
		snprintf(text, size, "object+%zu", at - RG_OBJECTS_AT);
	} else {
		snprintf(text, size, "header+%zu", at);
	}
	return true;
}

const struct ex_meaning ex_meaning = {
	.written = written,
	.name = name,
};
