/* SPDX-License-Identifier: MIT */
/*
 * A blocking acquire that a Python signal handler can end.
 *
 * An interruptible acquire would leave the queue at each signal, and lose its
 * place if the handler raises nothing.  Therefore an operation waits in the
 * queue, and the thread sleeps on a semaphore of its own.  The callback of the
 * operation, which runs on the releasing thread, wakes it.
 *
 * A signal may arrive just before the thread sleeps.  CPython runs handlers on
 * the main thread only, so the main thread looks for signals once a second as
 * well; other threads do not wake up.
 */
#include "weirpy.h"

#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS INT64_C(1000000000)

struct wait {
	weir_op op;
	weir_sem done;		/* released once, by the callback */
	weir_err err;		/* the outcome; written before the release */
};

static void finish(weir_op *op, weir_err err, void *user)
{
	struct wait *w = user;

	(void)op;
	w->err = err;
	/* The last access: *w is on the stack of the thread that this wakes. */
	weir_sem_release(&w->done, 1);
}

/*
 * Sleep until the operation has ended, the deadline has passed or a signal
 * handler has run.  Returns WEIR_OK if the operation has ended.  If the
 * deadline has passed, then the operation is cancelled before the GIL is
 * taken: a daemon thread does not return from that at the end of Python.
 */
static weir_err sleep_once(struct wait *w, int64_t deadline)
{
	bool is_main = syscall(SYS_gettid) == getpid();
	int64_t until = is_main ? weir_deadline_after(LOOK_NS) : WEIR_FOREVER;
	weir_err err;

	Py_BEGIN_ALLOW_THREADS
	err = weir_sem_acquire_until(&w->done, 1,
				     until < deadline ? until : deadline);
	if (err == WEIR_ETIMEDOUT && weir_now_ns() >= deadline) {
		if (weir_op_cancel(&w->op) == WEIR_OK) {
			w->err = WEIR_ETIMEDOUT;
			err = WEIR_OK;
		}
	}
	Py_END_ALLOW_THREADS
	return err;
}

/* Returns WEIR_EINTR if a signal handler has raised an exception. */
static weir_err wait_for(struct wait *w, weir_sem *sem, int64_t n,
			 int64_t deadline)
{
	weir_err err;

	while (sleep_once(w, deadline) != WEIR_OK) {
		if (!PyErr_CheckSignals())
			continue;
		if (weir_op_cancel(&w->op) == WEIR_OK)
			return WEIR_EINTR;
		/* The callback has begun and will wake this thread. */
		do {
			err = weir_sem_acquire(&w->done, 1, NULL);
		} while (err);
		if (w->err == WEIR_OK)
			weir_sem_release(sem, n);
		return WEIR_EINTR;
	}
	return w->err;
}

weir_err weirpy_wait(weir_sem *sem, int64_t n, int64_t deadline)
{
	static const weir_sem_opts opts = {
		.flags = WEIR_SEM_UNBOUNDED | WEIR_SEM_INTERRUPTIBLE,
	};
	struct wait w;
	weir_err err = weir_sem_init_opts(&w.done, &opts);

	if (err)
		return err;
	weir_op_init(&w.op, NULL, finish, &w);
	err = weir_op_submit(&w.op, sem, n, NULL);
	if (err == WEIR_EQUEUED)
		err = wait_for(&w, sem, n, deadline);
	/* No call waits: the destroy cannot fail. */
	if (weir_sem_destroy(&w.done))
		Py_FatalError("weir: a private semaphore is in use");
	return err;
}
