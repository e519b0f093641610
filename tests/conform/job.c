/* SPDX-License-Identifier: MIT */
/* Waiting calls for scenarios; see kind.h. */
#include "kind.h"

void drop(const struct kind *k, void *sem)
{
	struct picture now = CHECK_PICTURE(k, sem);

	CHECK_EQ(now.held + now.granted, 0);
	CHECK_EQ(now.waiters + now.oversized, 0);
	CHECK_EQ(now.free, now.capacity);
	CHECK_OK(k->destroy(sem));
}

struct picture check_picture(const char *file, int line, const struct kind *k,
			     void *sem)
{
	struct picture now = k->stat(sem);

	check_int(file, line, "free + held + granted - debt",
		  now.free + now.held + now.granted - now.debt, now.capacity);
	if (now.free < 0 || now.held < 0 || now.granted < 0 || now.debt < 0 ||
	    now.waiting_permits < 0)
		check_fail(file, line, "a count is negative");
	if (now.debt && now.free)
		check_fail(file, line, "permits are free and owed");
	return now;
}

static weir_err call(struct job *job)
{
	const struct kind *k = job->k;

	switch (job->verb) {
	case ACQUIRE:
		return k->acquire(job->sem, job->n, job->ctx);
	case UNTIL:
		return k->acquire_until(job->sem, job->n, job->deadline);
	case UPTO:
		return k->acquire_upto(job->sem, job->n, job->max, job->ctx,
				       &job->got);
	case IDLE:
		return k->wait_idle(job->sem, job->ctx);
	}
	return WEIR_EINVAL;
}

static void *run(void *arg)
{
	struct job *job = arg;

	job->err = call(job);
	if (job->verb == ACQUIRE || job->verb == UNTIL)
		job->got = job->err ? 0 : job->n;
	__atomic_store_n(&job->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static uint32_t standing(const struct kind *k, void *sem)
{
	struct picture now = k->stat(sem);

	return now.waiters + now.oversized;
}

bool is_done(const struct job *job)
{
	return __atomic_load_n(&job->done, __ATOMIC_ACQUIRE);
}

static void start_job(struct job *job, void *sem)
{
	uint32_t before = standing(job->k, sem);

	job->sem = job->k->another(sem);
	job->thread = start(run, job);
	/* The call may have timed out already. */
	AWAIT(standing(job->k, sem) == before + 1 || is_done(job));
}

void begin(struct job *job, const struct kind *k, void *sem, int64_t n,
	   weir_ctx *ctx)
{
	*job = (struct job){ .k = k, .verb = ACQUIRE, .n = n, .ctx = ctx };
	start_job(job, sem);
}

void begin_until(struct job *job, const struct kind *k, void *sem, int64_t n,
		 int64_t deadline)
{
	*job = (struct job){ .k = k, .verb = UNTIL, .n = n,
			     .deadline = deadline };
	start_job(job, sem);
}

void begin_upto(struct job *job, const struct kind *k, void *sem, int64_t min,
		int64_t max)
{
	*job = (struct job){ .k = k, .verb = UPTO, .n = min, .max = max };
	start_job(job, sem);
}

void begin_idle(struct job *job, const struct kind *k, void *sem,
		weir_ctx *ctx)
{
	*job = (struct job){ .k = k, .verb = IDLE, .ctx = ctx };
	start_job(job, sem);
}

weir_err outcome(struct job *job)
{
	finish(job->thread);
	return job->err;
}

void leave(struct job *job, const void *sem)
{
	if (!job->err && job->got)
		job->k->release(job->sem, job->got);
	if (job->sem != sem)
		CHECK_OK(job->k->destroy(job->sem));
}
