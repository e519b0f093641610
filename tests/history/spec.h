/* SPDX-License-Identifier: MIT */
/*
 * The semaphore as its callers may see it: a state, and the steps that calls in
 * progress can make.  A history is correct if some order of steps, each within
 * its call, explains every result (linear.c searches for one).
 *
 * A call that does not wait is one step.  An acquire that waits is two: it is
 * enqueued (C3), and later it is granted or leaves.  FIFO grants are not steps
 * of the waiter: they are part of the step that made the head fit (C6, C7).
 * There is one exception, which weir_sem_release documents: while another call
 * works on the queue, permits can be added, and the grants are made when that
 * call has finished with the queue.  In the meantime no other call can take
 * permits, enqueue or leave; a try can fail for lack of permits.  In this state
 * the config has a holder: the call that owes the grants.  The holder must make
 * them before it returns.
 *
 * An acquire that fails because its ctx ends may have held permits for a
 * moment, granted or found free, and given them back: two additional steps
 * (C13).
 *
 * Steps that change nothing, such as a try that fails, are made as soon as they
 * are possible: delaying them gains nothing.
 */
#ifndef TESTS_HISTORY_SPEC_H
#define TESTS_HISTORY_SPEC_H

#include "history.h"

/* The progress of a thread's call. */
enum phase {
	IDLE,		/* no call */
	BEGUN,		/* no step made yet */
	QUEUED,
	OVERSIZED,		/* C11: above the capacity, outside the queue */
	TOOK,		/* holds permits, must return them: ctx ends */
	REPORTS,	/* a resize that still has to read the debt */
	OVER		/* all steps made */
};

enum closed { OPEN, DRAINING, SHUT };

#define NO_THREAD (-1)

typedef struct config {
	int16_t value;			/* free minus debt */
	int16_t capacity;
	int8_t holder;			/* owes grants, or NO_THREAD */
	int8_t last;			/* thread that took the lock last */
	uint8_t closed;
	uint8_t queue_count, oversized_count;
	uint8_t phase[HISTORY_THREADS];
	uint8_t took[HISTORY_THREADS];	/* TOOK: number of permits */
	uint8_t queue[HISTORY_THREADS];	/* threads; zero after the last */
	uint8_t oversized[HISTORY_THREADS];
	uint16_t op[HISTORY_THREADS];	/* the current call, or the last */
} config;

typedef struct spec {
	const history *h;
	const ctx_end *ends;
	uint64_t now;		/* steps are made before this stamp */
	bool left_out;		/* a choice was omitted */
} spec;

enum step_kind {
	STEP_ACT,	/* the first effect of the call */
	STEP_LEAVE,	/* a waiter leaves, or its ctx ends */
	STEP_SKIP,	/* ctx found ended; no effect */
	STEP_TAKE,	/* takes permits that it will return */
	STEP_BACK,	/* returns them */
	STEP_GRANT,	/* BARGING: the head takes its permits */
	STEP_GRANT_ALL	/* the holder makes the grants it owes */
};

typedef struct step {
	uint8_t kind;
	uint8_t thread;
	int8_t holder;	/* thread that owes the grants then; NO_THREAD: none */
	uint8_t choice;	/* GRANT_ALL: 1 grants to a head whose ctx ends, more
			   grant it less.  ACT of a close: one bit for each such
			   waiter.  GRANT: how much less for such a waiter */
} step;

#define STEPS_MAX 2048
#define SPEC_CHOICES 3	/* bits of choice; maximum of `less` */

void spec_start(const spec *s, config *c);

/* A call begins; a call returns. */
void spec_begin(const spec *s, config *c, int number);
void spec_end(config *c, int thread);

/* Returns true if the call can return in this state. */
bool spec_can_end(const config *c, int thread);

/*
 * List the possible next steps, the likely ones first, steps of `first` before
 * all others (spec_steps.c).
 */
int spec_steps(spec *s, const config *c, int first, step *steps);

/*
 * Make a step.  Returns false if it turns out to be impossible; *c is invalid
 * then.
 */
bool spec_do(spec *s, config *c, step st);

/*
 * For spec.c: complete every call in progress whose result the state *c
 * explains and that changes nothing (spec_observe.c).
 */
void spec_observe(const spec *s, config *c);

/* Returns true if t may hold the lock while another call adds permits. */
bool spec_may_hold(const spec *s, const config *c, int t);

static inline const op *spec_op(const spec *s, const config *c, int thread)
{
	return &s->h->ops[c->op[thread]];
}

/* Returns true if st adds permits, which does not require the lock. */
static inline bool spec_adds(const spec *s, const config *c, step st)
{
	return st.kind == STEP_BACK ||
	       (st.kind == STEP_ACT &&
		spec_op(s, c, st.thread)->kind == OP_RELEASE);
}

static inline bool spec_fifo(const spec *s)
{
	return s->h->policy == WEIR_FIFO;
}

/* The permits that a new request can take (C2, C4, C30). */
static inline int spec_room(const spec *s, const config *c)
{
	if (c->value < 0 || (spec_fifo(s) && c->queue_count))
		return 0;
	return c->value;
}

/* BARGING: returns true if a new request may be refused free permits. */
static inline bool spec_refuses(const spec *s, const config *c)
{
	return !spec_fifo(s) && s->h->overdue && c->queue_count;
}

/* Returns true if t can take the lock. */
static inline bool spec_unlocked(const config *c, int t)
{
	return c->holder == NO_THREAD || c->holder == t;
}

#endif /* TESTS_HISTORY_SPEC_H */
