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
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   A permit belongs to one thread at a time; moving it hands it on.
 *   Memory    Allocates nothing.
 *   Misuse    As in weir/sem.h.  Acquiring into a permit that holds some is
 *             WEIR_EINVAL and changes nothing.
 *
 * A scoped permit is released by return, break, continue, goto, a C++ exception
 * and, in code compiled with -fexceptions, pthread_exit and pthread_cancel.
 * longjmp and exit skip it.
 */
typedef struct weir_permit {
	weir_sem *sem_;		/* null: holds nothing */
	int64_t n_;
	uint32_t owned_;	/* also holds a reference to a heap semaphore */
	uint32_t reserved_;
} weir_permit;

#define WEIR_PERMIT_INIT { 0, 0, 0, 0 }

/* Before a declaration: release the permit at the end of its block. */
#define WEIR_SCOPED __attribute__((cleanup(weir_permit_release)))

/*
 * weir_sem_acquire and its kin, into *permit.  On an error *permit is empty.
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
 * Requires: sem comes from weir_sem_new.  WEIR_EINVAL: *permit is empty or
 * already owns.
 */
WEIR_API WEIR_MUST_USE weir_err weir_permit_own(weir_permit *permit);

/* Wrap n permits that the caller already holds. */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_adopt(weir_permit *permit, weir_sem *sem, int64_t n);

/* Give everything back.  An empty permit: nothing.  Async-signal-safe unless
 * the permit is owned. */
WEIR_API void weir_permit_release(weir_permit *permit);

/*
 * Move n of *from's permits into *to.  WEIR_EINVAL, with nothing changed: *to is
 * not empty, or *from has fewer than n.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_split(weir_permit *from, int64_t n, weir_permit *to);

/*
 * Move all of *from's permits into *to, which may be empty or of the same
 * semaphore; *from is empty then.  WEIR_EINVAL, with nothing changed, otherwise.
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
 * from the capacity.
 */
WEIR_API WEIR_MUST_USE weir_err weir_permit_forget(weir_permit *permit);

/*
 * Empty *permit and leave its permits with the caller, who releases them with
 * weir_sem_release.  Returns how many.  An owned permit's reference goes to the
 * caller too.
 */
WEIR_API int64_t weir_permit_disown(weir_permit *permit);

/* How many permits it holds, and of which semaphore (null if none). */
static inline int64_t weir_permit_count(const weir_permit *permit)
{
	return permit->n_;
}

static inline weir_sem *weir_permit_sem(const weir_permit *permit)
{
	return permit->sem_;
}

/*
 * Block form: the statement runs holding n permits of sem, which are given back
 * on every way out of it; it is skipped if the acquire fails, and err (an
 * lvalue of weir_err) says why.
 *
 *     weir_err err;
 *     WEIR_WITH_PERMIT(err, &sem, 1, ctx) {
 *             ...
 *     }
 *     if (err)
 *             ...
 */
#define WEIR_WITH_PERMIT(err, sem, n, ctx)                                     \
	for (weir_permit weir_with_ WEIR_SCOPED = WEIR_PERMIT_INIT,            \
	     *weir_once_ = &weir_with_;                                        \
	     weir_once_ && ((err) = weir_permit_acquire(&weir_with_, (sem),    \
					(n), (ctx))) == WEIR_OK;               \
	     weir_once_ = 0)

WEIR_DECLS_END

#ifdef __cplusplus

namespace weir {

/*
 * RAII form of weir_permit.  Check error() or the conversion to bool: an
 * acquire that fails leaves it empty.
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
