/* SPDX-License-Identifier: MIT */
/*
 * The semaphore as its callers may see it: a state, and the steps that calls
 * in progress can make.  A history is right if some order of steps, each within
 * its call, explains every answer (linear.c looks for one).
 *
 * A call that does not wait is one step.  An acquire that waits is two: it
 * joins the queue (C3), and later it is granted or leaves.  FIFO grants are no
 * steps of the waiter: they follow at once from the step that made the head fit
 * (C6, C7).  "At once" has one exception, which weir_sem_release documents:
 * while another call is at work on the queue, permits can be added and the
 * grants are made when that call is done.  Meanwhile nobody else can take, join
 * or leave; a try can fail for lack of permits.  The state then has a holder:
 * the call that owes the grants.  It must pay before it returns.
 *
 * An acquire that fails because its ctx ends may have had permits for a moment,
 * granted or found free, and given them back: two steps more (C13).
 *
 * Steps that change nothing, such as a try that fails, are made as soon as
 * they can be: nothing is gained by waiting with them.
 */
#ifndef TESTS_HISTORY_SPEC_H
#define TESTS_HISTORY_SPEC_H

#include "history.h"

/* How far the call of a thread is. */
enum phase {
	IDLE,		/* there is none */
	BEGUN,		/* nothing of it has happened yet */
	QUEUED,
	ASIDE,		/* C11: more than the capacity, waits outside */
	TOOK,		/* has permits and gives them back: its ctx ends */
	REPORTS,	/* a resize that has yet to see the debt it reported */
	OVER		/* all has happened */
};

enum closed { OPEN, DRAINING, SHUT };

#define NOBODY (-1)

typedef struct config {
	int16_t value;			/* free less debt */
	int16_t capacity;
	int8_t holder;			/* who owes grants, or NOBODY */
	int8_t last;			/* who took the lock last */
	uint8_t closed;
	uint8_t queue_count, oversized_count;
	uint8_t phase[HISTORY_THREADS];
	uint8_t took[HISTORY_THREADS];	/* TOOK: how many */
	uint8_t queue[HISTORY_THREADS];	/* threads; zero behind the last */
	uint8_t oversized[HISTORY_THREADS];
	uint16_t op[HISTORY_THREADS];	/* the call, or the last one */
} config;

typedef struct spec {
	const history *h;
	const ctx_end *ends;
	uint64_t now;		/* the steps are made before this stamp */
	bool left_out;		/* a choice was */
} spec;

enum step_kind {
	STEP_ACT,	/* what the call does first */
	STEP_LEAVE,	/* a waiter leaves by itself, or its ctx ends */
	STEP_SKIP,	/* it found its ctx ended and does nothing */
	STEP_TAKE,	/* takes what it will give back */
	STEP_BACK,	/* gives it back */
	STEP_GRANT,	/* BARGING: the head takes its permits */
	STEP_SETTLE	/* the holder makes the grants that it owes */
};

typedef struct step {
	uint8_t kind;
	uint8_t thread;
	int8_t holder;	/* who is to owe the grants; NOBODY: made at once */
	uint8_t choice;	/* SETTLE: 1 grants to a head whose ctx ends, more
			   grant it less.  ACT of a close: a bit for each of
			   those.  GRANT: how much less for one of those */
} step;

#define STEPS_MAX 2048
#define SPEC_CHOICES 3	/* bits of choice; the most that `less` can be */

void spec_start(const spec *s, config *c);

/* A call begins, and returns. */
void spec_begin(const spec *s, config *c, int number);
void spec_end(config *c, int thread);

/* Whether it can return now, as far as the state is concerned. */
bool spec_can_end(const config *c, int thread);

/*
 * What may be done next, the likely first; the call of `first` before all
 * (spec_steps.c).
 */
int spec_steps(spec *s, const config *c, int first, step *steps);

/* Do it; false if it is not possible after all, and *c is spoiled. */
bool spec_do(spec *s, config *c, step st);

/*
 * For spec.c: a look that changes nothing (spec_look.c).  Every call that is
 * explained by *c as it is, is over.
 */
void spec_look(const spec *s, config *c);

/* Whether t may have the lock while somebody else adds permits. */
bool spec_may_hold(const spec *s, const config *c, int t);

static inline const op *spec_op(const spec *s, const config *c, int thread)
{
	return &s->h->ops[c->op[thread]];
}

/* Whether st adds permits, for which nobody needs the lock. */
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

/* What a newcomer can take (C2, C4, C30). */
static inline int spec_room(const spec *s, const config *c)
{
	if (c->value < 0 || (spec_fifo(s) && c->queue_count))
		return 0;
	return c->value;
}

/* BARGING: whether a newcomer may be refused what is free. */
static inline bool spec_refuses(const spec *s, const config *c)
{
	return !spec_fifo(s) && s->h->overdue && c->queue_count;
}

/* Whether t can have the lock. */
static inline bool spec_unlocked(const config *c, int t)
{
	return c->holder == NOBODY || c->holder == t;
}

#endif /* TESTS_HISTORY_SPEC_H */
