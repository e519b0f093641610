/* SPDX-License-Identifier: MIT */
/*
 * weir.  The kind is "fifo" or "barging", both bounded; "signal", FIFO and
 * unbounded; "watched", FIFO and bounded, with a name, so that its holders are
 * recorded; or "ops", FIFO and bounded, with operations as waiters.  The build
 * decides how weir is linked or inlined.
 */
#ifdef BENCH_INLINE
#define WEIR_INLINE
#endif
#include <weir/async.h>
#include <weir/ctx.h>
#include <weir/permit.h>
#include <weir/sem.h>

typedef weir_sem peer_sem;

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	weir_sem_opts opts = { 0 };

	opts.permits = permits;
	opts.capacity = capacity;
	if (!strcmp(kind, "barging"))
		opts.policy = WEIR_BARGING;
	else if (!strcmp(kind, "signal"))
		opts.flags = WEIR_SEM_UNBOUNDED;
	else if (strcmp(kind, "watched"))
		must(!strcmp(kind, "fifo"),
		     "kind=fifo, barging, signal or watched");
	if (!strcmp(kind, "watched")) {
		opts.name = kind;
		/* All permits have a holder who is recorded. */
		opts.capacity = permits;
	}
	must(weir_sem_init_opts(sem, &opts) == WEIR_OK, "weir_sem_init_opts");
}

static inline void peer_acquire(peer_sem *sem)
{
	must(weir_sem_acquire(sem, 1, NULL) == WEIR_OK, "acquire");
}

static inline void peer_release(peer_sem *sem)
{
	weir_sem_release(sem, 1);
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	return weir_sem_try_acquire(sem, 1) == WEIR_OK;
}

#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	return weir_sem_acquire_for(sem, 1, ns) == WEIR_OK;
}

/* Queue a waiter that is never granted. */
#define PEER_QUEUE
static inline void peer_queue(peer_sem *sem)
{
	static weir_op op;

	weir_op_init(&op, NULL, NULL, NULL);
	must(weir_op_submit(&op, sem, 1, NULL) == WEIR_EQUEUED, "submit");
}

/* A call that fails: without the lock, or, behind a waiter, with it. */
#define PEER_POLL
static inline void peer_poll(peer_sem *sem)
{
	must(weir_sem_acquire_for(sem, 1, 0) == WEIR_ETIMEDOUT, "timeout 0");
}

#define PEER_WEIGHT
static inline void peer_acquire_n(peer_sem *sem, int64_t n)
{
	must(weir_sem_acquire(sem, n, NULL) == WEIR_OK, "acquire n");
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	weir_sem_release(sem, n);
}

#define PEER_CANCEL
typedef weir_ctx peer_token;

static inline void peer_token_init(peer_token *token)
{
	must(weir_ctx_init(token, NULL, WEIR_FOREVER) == WEIR_OK, "ctx_init");
}

static inline void peer_token_destroy(peer_token *token)
{
	must(weir_ctx_destroy(token) == WEIR_OK, "ctx_destroy");
}

static inline void peer_token_cancel(peer_token *token)
{
	weir_ctx_cancel(token);
}

/* Returns false if the token was cancelled. */
static inline bool peer_acquire_token(peer_sem *sem, peer_token *token)
{
	return weir_sem_acquire(sem, 1, token) == WEIR_OK;
}

/* The caller already has a deadline. */
#define PEER_UNTIL
static inline bool peer_acquire_until(peer_sem *sem, int64_t deadline)
{
	return weir_sem_acquire_until(sem, 1, deadline) == WEIR_OK;
}

/* A pair with a permit object. */
#define PEER_PERMIT
static inline void peer_pair_by_permit(peer_sem *sem)
{
	weir_permit permit = WEIR_PERMIT_INIT;

	must(weir_permit_acquire(&permit, sem, 1, NULL) == WEIR_OK, "permit");
	weir_permit_release(&permit);
}

#define PEER_OPS
typedef weir_op peer_op;

static inline void peer_op_done(weir_op *op, weir_err err, void *ran)
{
	(void)op;
	must(err == WEIR_OK, "granted");
	++*(int64_t *)ran;
}

static inline void peer_op_queue(peer_op *op, peer_sem *sem, int64_t *ran)
{
	weir_op_init(op, NULL, peer_op_done, ran);
	must(weir_op_submit(op, sem, 1, NULL) == WEIR_EQUEUED, "queued");
}

struct peer_op_job {
	void (*work)(peer_op *op);
};

static inline void peer_op_granted(weir_op *op, weir_err err, void *job)
{
	must(err == WEIR_OK, "granted");
	((struct peer_op_job *)job)->work(op);
}

/* Returns true if the permit was free; otherwise job->work is called later. */
static inline bool peer_op_start(peer_op *op, peer_sem *sem,
				 struct peer_op_job *job)
{
	weir_err err;

	weir_op_init(op, NULL, peer_op_granted, job);
	err = weir_op_submit(op, sem, 1, NULL);
	must(err == WEIR_EQUEUED || err == WEIR_OK, "submitted");
	return err == WEIR_OK;
}

static inline void peer_op_cancel(peer_op *op)
{
	must(weir_op_cancel(op) == WEIR_OK, "cancelled");
}
