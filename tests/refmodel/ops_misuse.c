/* SPDX-License-Identifier: MIT */
/* Invalid calls: each reports its error and changes nothing (C1, C8, C16). */
#include "ops.h"

/* An invalid pointer: null or misaligned. */
static void *misplaced(world *w, void *object)
{
	return draw(w, 2) ? (char *)object + 1 : NULL;
}

static void mistaken_sem(world *w)
{
	weir_sem *sem = misplaced(w, w->sem);
	weir_sem_info info;
	int64_t got;

	EXPECT(w, weir_sem_acquire(sem, 1, NULL), WEIR_EINVAL);
	EXPECT(w, weir_sem_try_acquire(sem, 1), WEIR_EINVAL);
	EXPECT(w, weir_sem_try_release(sem, 1), WEIR_EINVAL);
	EXPECT(w, weir_sem_drain(sem, &got), WEIR_EINVAL);
	EXPECT(w, weir_sem_resize(sem, 1, NULL), WEIR_EINVAL);
	EXPECT(w, weir_sem_forget(sem, 1), WEIR_EINVAL);
	EXPECT(w, weir_sem_wait_idle(sem, NULL), WEIR_EINVAL);
	EXPECT(w, weir_sem_stat(sem, &info), WEIR_EINVAL);
	EXPECT(w, weir_sem_destroy(sem), WEIR_EINVAL);
	EXPECT(w, weir_sem_init(sem, 1), WEIR_EINVAL);
	world_expect_panics(5);
	weir_sem_release(sem, 1);
	weir_sem_close(sem, WEIR_CLOSE_NOW);
	EXPECT(w, weir_sem_available(sem), 0);
	EXPECT(w, weir_sem_is_closed(sem), true);
	weir_sem_unref(sem);
	world_check_panics(w);
}

static void mistaken_argument(world *w)
{
	weir_sem_opts opts = { .permits = 4, .capacity = 3 };
	weir_sem fresh;

	EXPECT(w, weir_sem_drain(w->sem, NULL), WEIR_EINVAL);
	EXPECT(w, weir_sem_acquire_upto(w->sem, 0, 1, NULL, NULL), WEIR_EINVAL);
	EXPECT(w, weir_sem_stat(w->sem, NULL), WEIR_EINVAL);
	EXPECT(w, weir_sem_init(&fresh, ~draw(w, 3)), WEIR_EINVAL);
	EXPECT(w, weir_sem_init_opts(&fresh, draw(w, 2) ? &opts : NULL),
	       WEIR_EINVAL);
	EXPECT(w, weir_sem_new(&opts) == NULL, true);
	world_expect_panics(1);
	weir_sem_close(w->sem, (weir_close)(2 + draw(w, 5)));
	world_check_panics(w);
}

/*
 * Unref a semaphore that is not on the heap, or drop its last reference while a
 * thread waits.
 */
static void mistaken_unref(world *w)
{
	bool last = w->m.queue.count || w->m.oversized.count;

	for (int i = 0; i < HOLDS; i++)
		last &= w->scene->hold[i].of != w || !w->scene->hold[i].owned;
	if (w->sem != &w->own && !last)
		return;
	world_expect_panics(1);
	weir_sem_unref(w->sem);
	world_check_panics(w);
}

static void mistaken_ctx(world *w)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_ctx *bad = misplaced(w, &ctx);
	int fd;

	EXPECT(w, weir_ctx_init(bad, NULL, WEIR_FOREVER), WEIR_EINVAL);
	EXPECT(w, weir_ctx_init(&ctx, &ctx, WEIR_FOREVER), WEIR_EINVAL);
	EXPECT(w, weir_ctx_destroy(bad), WEIR_EINVAL);
	EXPECT(w, weir_ctx_err(bad), WEIR_EINVAL);
	EXPECT(w, weir_ctx_wait(bad, 0), WEIR_EINVAL);
	EXPECT(w, weir_ctx_fd(bad, &fd), WEIR_EINVAL);
	EXPECT(w, weir_ctx_fd(&ctx, NULL), WEIR_EINVAL);
	world_expect_panics(2);
	weir_ctx_cancel(bad);
	EXPECT(w, weir_ctx_deadline(bad), WEIR_FOREVER);
	world_check_panics(w);
	/* A destroyed context. */
	EXPECT(w, weir_ctx_destroy(&ctx), WEIR_OK);
	world_expect_panics(2);
	EXPECT(w, weir_sem_acquire(w->sem, 0, &ctx), WEIR_EINVAL);
	EXPECT(w, weir_ctx_destroy(&ctx), WEIR_EINVAL);
	world_check_panics(w);
}

static void mistaken_permit(world *w)
{
	weir_permit good = WEIR_PERMIT_INIT;
	weir_permit torn = { w->sem, 0, 0, 0 };
	weir_permit *bad = misplaced(w, &good);

	EXPECT(w, weir_permit_acquire(bad, w->sem, 0, NULL), WEIR_EINVAL);
	EXPECT(w, weir_permit_try_acquire(bad, w->sem, 0), WEIR_EINVAL);
	EXPECT(w, weir_permit_acquire_until(bad, w->sem, 0, 0), WEIR_EINVAL);
	EXPECT(w, weir_permit_adopt(bad, w->sem, 1), WEIR_EINVAL);
	EXPECT(w, weir_permit_split(bad, 0, &good), WEIR_EINVAL);
	EXPECT(w, weir_permit_merge(&good, bad), WEIR_EINVAL);
	EXPECT(w, weir_permit_own(bad), WEIR_EINVAL);
	EXPECT(w, weir_permit_forget(bad), WEIR_EINVAL);
	world_expect_panics(4);
	weir_permit_release(bad);
	EXPECT(w, weir_permit_disown(bad), 0);
	weir_permit_release(&torn);
	EXPECT(w, weir_permit_forget(&torn), WEIR_EINVAL);
	world_check_panics(w);
}

void ops_misuse(world *w)
{
	static ops_fn *const mistakes[] = {
		mistaken_sem, mistaken_argument, mistaken_unref, mistaken_ctx,
		mistaken_permit,
	};
	int64_t which = draw(w, 5);

	world_log(w, "mistake %d", (int)which);
	mistakes[which](w);
	world_settle(w, true);
}
