/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PERMIT_H
#define WEIR_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_permit: permits as a thing.  It remembers its semaphore and how many it
 * holds, so releasing it twice, or after a failed acquire, does nothing.
 *
 *     WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;
 *     weir_err err = weir_permit_acquire(&p, &sem, 1, ctx);
 *     if (err)
 *             return err;
 *     ...                     released on every way out of the block
 *
 * A permit either is empty or holds at least one: what acquires, adopts or
 * splits off 0 succeeds and leaves an empty permit.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   A permit belongs to one thread at a time; moving it hands it on.
 *             Copying the struct is not moving it: one of the two is released
 *             once too often.
 *   Memory    Allocates nothing.  A permit that is not owned must be released
 *             before its semaphore is destroyed.
 *   Orders    As in weir/sem.h: acquire and release order, the rest do not.
 *   Signals   Not async-signal-safe; weir_permit_release is, unless the permit
 *             is owned or the interrupted code is at work on the same permit.
 *   Fork      As in weir/sem.h.  The child holds none; weir_permit_disown
 *             empties its copy of a permit without touching the semaphore.
 *   Misuse    As in weir/sem.h, for a null or misaligned permit too.  A permit
 *             that was not initialised panics when that is noticed.
 *
 * A scoped permit is released by return, break, continue, goto and a C++
 * exception.  pthread_exit and pthread_cancel release it in code compiled with
 * -fexceptions, on glibc; musl does not unwind the stack, and there, as without
 * -fexceptions, it takes pthread_cleanup_push.  longjmp and exit skip it.
 */
typedef struct weir_permit {
	weir_sem *sem_;		/* null: holds nothing */
	int64_t n_;		/* at least 1, or 0 with a null sem_ */
	uint32_t owned_;	/* also holds a reference to a heap semaphore */
	uint32_t reserved_;
} weir_permit;

#define WEIR_PERMIT_INIT { 0, 0, 0, 0 }

/* Before a declaration: release the permit at the end of its block. */
#define WEIR_SCOPED __attribute__((cleanup(weir_permit_release)))

/*
 * weir_sem_acquire and its kin, into *permit.  WEIR_EINVAL also when *permit is
 * not empty.  On an error *permit is as it was.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_acquire(weir_permit *permit, weir_sem *sem, int64_t n,
		    struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_permit_acquire_until(weir_permit *permit, weir_sem *sem, int64_t n,
			  int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_permit_try_acquire(weir_permit *permit, weir_sem *sem, int64_t n);

/*
 * Also keep the semaphore alive until the permit is released or forgotten.
 * WEIR_EINVAL: *permit is empty or already owned.
 * Requires: its semaphore comes from weir_sem_new, and somebody has a reference
 * to it during this call.
 */
WEIR_API WEIR_MUST_USE weir_err weir_permit_own(weir_permit *permit);

/*
 * Wrap n permits that the caller already holds; *permit gives them back now.
 * WEIR_EINVAL also when *permit is not empty.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_adopt(weir_permit *permit, weir_sem *sem, int64_t n);

/*
 * Give everything back, and then the reference, if it is owned.  An empty
 * permit: nothing.  *permit is empty afterwards, also if weir_sem_release
 * panicked, and is not touched any more once its permits are back.
 */
WEIR_API void weir_permit_release(weir_permit *permit);

/*
 * Move n of *from's permits into *to.  WEIR_EINVAL, with nothing changed: *to
 * is not empty, or *from has fewer than n.  Parts of an owned permit are owned.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_split(weir_permit *from, int64_t n, weir_permit *to);

/*
 * Move all of *from's permits into *to; *from is empty then.  *to is owned if
 * either was.  WEIR_EINVAL, with nothing changed: they are of two semaphores,
 * or are one and the same permit, or hold more than WEIR_SEM_MAX together.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_merge(weir_permit *to, weir_permit *from);

/*
 * Take what *permit holds out of it, leaving it empty, for return by value or
 * to hand to another thread.
 */
WEIR_API WEIR_MUST_USE weir_permit weir_permit_move(weir_permit *permit);

/*
 * Let go of the permits without giving them back: weir_sem_forget removes them
 * from the capacity.  On its error *permit is as it was.
 */
WEIR_API WEIR_MUST_USE weir_err weir_permit_forget(weir_permit *permit);

/*
 * Empty *permit and leave its permits with the caller, who releases them with
 * weir_sem_release.  Returns how many.  An owned permit's reference goes to the
 * caller too, who drops it with weir_sem_unref; ask weir_permit_is_owned first.
 */
WEIR_API int64_t weir_permit_disown(weir_permit *permit);

/*
 * How many permits it holds, and of which semaphore (null if none).  Requires: a
 * good pointer; these look at nothing.
 */
static inline int64_t weir_permit_count(const weir_permit *permit)
{
	return permit->n_;
}

static inline weir_sem *weir_permit_sem(const weir_permit *permit)
{
	return permit->sem_;
}

/* Whether it keeps its semaphore alive. */
static inline bool weir_permit_is_owned(const weir_permit *permit)
{
	return permit->owned_ != 0;
}

/*
 * Block form: the statement runs holding n permits of sem, which are given back
 * on every way out of it; it is skipped if the acquire fails, and err (an
 * lvalue of weir_err) says why.  The statement may use err for its own ends.
 *
 *     weir_err err;
 *     WEIR_WITH_PERMIT(err, &sem, 1, ctx) {
 *             ...
 *     }
 *     if (err)
 *             ...
 *
 * break and continue leave the statement, not a loop around it.
 */
#define WEIR_WITH_PERMIT(err, sem, n, ctx)                                     \
	WEIR_WITH_PERMIT_(WEIR_AT_LINE_(weir_held_, __LINE__),                 \
			  WEIR_AT_LINE_(weir_once_, __LINE__),                 \
			  err, sem, n, ctx)

/* Names of their own, so that a block within a block shadows nothing. */
#define WEIR_AT_LINE_(name, line) WEIR_PASTE_(name, line)
#define WEIR_PASTE_(a, b) a##b

/*
 * A loop of at most one round, for the scope that its first clause opens.  err
 * is set there, so that no compiler takes it for possibly unset.
 */
#define WEIR_WITH_PERMIT_(held, once, err, sem, n, ctx)                        \
	for (weir_permit held WEIR_SCOPED = WEIR_PERMIT_INIT,                  \
	     *once = ((err) = weir_permit_acquire(&held, (sem), (n),           \
						  (ctx))) == WEIR_OK           \
			? &held : 0;                                           \
	     once; once = 0)

WEIR_DECLS_END

#ifdef __cplusplus

namespace weir {

/*
 * RAII form of weir_permit.  An acquire that fails leaves it empty: check
 * error(), or the conversion to bool, which tells whether it holds permits (an
 * acquire of 0 succeeds and holds none).
 *
 *     weir::permit p(sem, 1, ctx);
 *     if (!p)
 *             return p.error();
 *
 * get() lends the weir_permit to the functions above.
 */
class permit {
public:
	permit() noexcept : p_(), err_(WEIR_OK) {}
	explicit permit(weir_sem &sem, int64_t n = 1,
			struct weir_ctx *ctx = nullptr) noexcept
		: p_(), err_(weir_permit_acquire(&p_, &sem, n, ctx)) {}
	permit(const permit &) = delete;
	permit &operator=(const permit &) = delete;
	permit(permit &&other) noexcept
		: p_(weir_permit_move(&other.p_)), err_(other.err_) {}
	permit &operator=(permit &&other) noexcept
	{
		if (this != &other) {
			weir_permit_release(&p_);
			p_ = weir_permit_move(&other.p_);
			err_ = other.err_;
		}
		return *this;
	}
	~permit() { weir_permit_release(&p_); }

	static permit try_acquire(weir_sem &sem, int64_t n = 1) noexcept
	{
		permit result;
		result.err_ = weir_permit_try_acquire(&result.p_, &sem, n);
		return result;
	}

	explicit operator bool() const noexcept { return p_.sem_ != nullptr; }
	weir_err error() const noexcept { return err_; }
	int64_t count() const noexcept { return p_.n_; }
	void release() noexcept { weir_permit_release(&p_); }
	weir_permit *get() noexcept { return &p_; }

private:
	weir_permit p_;
	weir_err err_;
};

} /* namespace weir */
#endif /* __cplusplus */

#endif /* WEIR_PERMIT_H */
