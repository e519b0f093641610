/* SPDX-License-Identifier: MIT */
/* The library calls that jobs make: job.h. */
#include "inject.h"
#include "job.h"

static int turns;

void turns_from_zero(void)
{
	__atomic_store_n(&turns, 0, __ATOMIC_SEQ_CST);
}

weir_err do_acquire(struct job *j)
{
	return weir_sem_acquire(j->sem, j->n, j->ctx);
}

weir_err do_acquire_until(struct job *j)
{
	return weir_sem_acquire_until(j->sem, j->n, j->deadline);
}

weir_err do_acquire_for(struct job *j)
{
	j->deadline = clock_real() + j->max;
	return weir_sem_acquire_for(j->sem, j->n, j->max);
}

weir_err do_acquire_upto(struct job *j)
{
	return weir_sem_acquire_upto(j->sem, j->n, j->max, j->ctx, &j->got);
}

weir_err do_drain(struct job *j)
{
	return weir_sem_drain(j->sem, &j->got);
}

weir_err do_try_acquire(struct job *j)
{
	return weir_sem_try_acquire(j->sem, j->n);
}

weir_err do_acquire_and_release(struct job *j)
{
	weir_err err = do_acquire(j);

	j->turn = __atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST);
	if (!err)
		weir_sem_release(j->sem, j->n);
	return err;
}

weir_err do_acquire_and_destroy(struct job *j)
{
	weir_err err = do_acquire(j);

	return err ? err : weir_sem_destroy(j->sem);
}

weir_err do_release(struct job *j)
{
	weir_sem_release(j->sem, j->n);
	return WEIR_OK;
}

weir_err do_try_release(struct job *j)
{
	return weir_sem_try_release(j->sem, j->n);
}

weir_err do_close(struct job *j)
{
	weir_sem_close(j->sem, (weir_close)j->n);
	return WEIR_OK;
}

weir_err do_resize(struct job *j)
{
	return weir_sem_resize(j->sem, j->n, &j->got);
}

weir_err do_forget(struct job *j)
{
	return weir_sem_forget(j->sem, j->n);
}

weir_err do_destroy(struct job *j)
{
	return weir_sem_destroy(j->sem);
}

weir_err do_stat(struct job *j)
{
	weir_sem_info info;
	weir_err err = weir_sem_stat(j->sem, &info);

	if (err)
		return err;
	CHECK_EQ(info.capacity,
		 info.free + info.held + info.granted - info.debt);
	CHECK(info.oldest_wait_ns >= 0);
	return WEIR_OK;
}

weir_err do_wait_idle(struct job *j)
{
	return weir_sem_wait_idle(j->sem, j->ctx);
}

weir_err do_new(struct job *j)
{
	weir_sem_opts opts = { .permits = j->n, .name = "heap" };

	j->sem = weir_sem_new(&opts);
	return j->sem ? WEIR_OK : WEIR_ENOMEM;
}

weir_err do_unref(struct job *j)
{
	weir_sem_unref(j->sem);
	return WEIR_OK;
}

weir_err do_permit_acquire(struct job *j)
{
	weir_err err = weir_permit_acquire(j->permit, j->sem, j->n, j->ctx);

	return err ? err : weir_permit_own(j->permit);
}

weir_err do_permit_release(struct job *j)
{
	weir_permit_release(j->permit);
	return WEIR_OK;
}

weir_err do_cancel(struct job *j)
{
	weir_ctx_cancel(j->ctx);
	return WEIR_OK;
}

weir_err do_ctx_err(struct job *j)
{
	return weir_ctx_err(j->ctx);
}

weir_err do_ctx_wait(struct job *j)
{
	return weir_ctx_wait(j->ctx, j->deadline);
}

weir_err do_ctx_init(struct job *j)
{
	return weir_ctx_init(j->ctx, j->parent, j->deadline);
}

weir_err do_ctx_destroy(struct job *j)
{
	return weir_ctx_destroy(j->ctx);
}

weir_err do_ctx_fd(struct job *j)
{
	return weir_ctx_fd(j->ctx, &j->fd);
}

weir_err do_ctx_come_and_go(struct job *j)
{
	weir_ctx ctx;
	weir_err err = weir_ctx_init(&ctx, j->parent, WEIR_FOREVER);

	return err ? err : weir_ctx_destroy(&ctx);
}
