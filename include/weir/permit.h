/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PERMIT_H
#define WEIR_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_permit: an object that holds permits.  It stores its semaphore and the
 * number of permits, so a second release, or a release after a failed acquire,
 * does nothing.
 *
 *     WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;
 *     weir_err err = weir_permit_acquire(&p, &sem, 1, ctx);
 *     if (err)
 *             return err;
 *     ...                     released on every path out of the block
 *
 * A permit object is empty or holds at least one permit.  If a call acquires,
 * adopts or splits off 0 permits, then it succeeds and leaves an empty object.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   A permit object belongs to one thread at a time; weir_permit_move
 *             passes it on.  If the struct is copied instead, then both copies
 *             release the same permits, which is an over-release.
 *   Memory    No function allocates.  If a permit object is not owned, then it
 *             must be released before its semaphore is destroyed.
 *   Orders    As in weir/sem.h: acquire and release order, the others do not.
 *   Signals   A signal handler may call weir_permit_release where it may call
 *             weir_sem_release (weir/sem.h), unless the object is owned or the
 *             interrupted code is using the same object.  No other function is
 *             async-signal-safe.
 *   Fork      As in weir/sem.h.  The child holds no permits; weir_permit_disown
 *             empties its copy of an object without changing the semaphore.
 *   Misuse    As in weir/sem.h, also for a null or misaligned permit object.
 *             If an object was not initialised, then a call panics when it
 *             detects that.
 *
 * A scoped permit object is released by return, break, continue, goto and a C++
 * exception.  If the code is compiled with -fexceptions and runs on glibc, then
 * pthread_exit and pthread_cancel release it as well; otherwise (musl does not
 * unwind the stack) the program needs pthread_cleanup_push.  longjmp and exit
 * do not release it.
 */
typedef struct weir_permit {
	weir_sem *sem_;		/* null: empty */
	int64_t n_;		/* at least 1, or 0 with a null sem_ */
	uint32_t owned_;	/* also holds a reference to the semaphore */
	uint32_t slot_;		/* of a watched semaphore: the holder */
} weir_permit;

#define WEIR_PERMIT_INIT { WEIR_NULL_, 0, 0, 0 }

/*
 * Written before a declaration: the object is released at the end of its block.
 */
#define WEIR_SCOPED __attribute__((cleanup(weir_permit_release)))

/*
 * Acquire as weir_sem_acquire, weir_sem_acquire_until and weir_sem_try_acquire,
 * and store the permits in *permit.  WEIR_EINVAL also if *permit is not empty.
 * After an error *permit is unchanged.
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
 * Make *permit owned: it keeps its semaphore alive until it is released or
 * forgotten.  WEIR_EINVAL: *permit is empty or already owned.
 * Requires: its semaphore is from weir_sem_new, and a reference to it exists
 * during this call.
 */
WEIR_API WEIR_MUST_USE weir_err weir_permit_own(weir_permit *permit);

/*
 * Put n permits that the caller holds into *permit, which releases them from
 * now on.  WEIR_EINVAL also if *permit is not empty.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_adopt(weir_permit *permit, weir_sem *sem, int64_t n);

/*
 * Release all permits of the object, and then the reference if it is owned.  If
 * *permit is empty, then this does nothing.  Afterwards *permit is empty, also
 * if weir_sem_release panicked.  *permit is not accessed after its permits have
 * been released.
 */
WEIR_API void weir_permit_release(weir_permit *permit);

/*
 * Move n permits of *from into *to.  If *from is owned, then *to becomes owned.
 * WEIR_EINVAL: *to is not empty, or *from has fewer than n; nothing has
 * changed.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_split(weir_permit *from, int64_t n, weir_permit *to);

/*
 * Move all permits of *from into *to, which leaves *from empty.  If either is
 * owned, then *to is owned.  WEIR_EINVAL: the objects are of different
 * semaphores, are the same object, or hold more than WEIR_SEM_MAX together;
 * nothing has changed.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_permit_merge(weir_permit *to, weir_permit *from);

/*
 * Return the contents of *permit and leave it empty, to return an object by
 * value or to pass it to another thread.
 */
WEIR_API WEIR_MUST_USE weir_permit weir_permit_move(weir_permit *permit);

/*
 * Remove the permits from the capacity instead of releasing them, with
 * weir_sem_forget.  After an error *permit is unchanged.
 */
WEIR_API WEIR_MUST_USE weir_err weir_permit_forget(weir_permit *permit);

/*
 * Empty *permit.  The caller holds its permits and releases them with
 * weir_sem_release.  Returns their number.  If the object is owned, then its
 * reference goes to the caller, who drops it with weir_sem_unref; call
 * weir_permit_is_owned first.
 */
WEIR_API int64_t weir_permit_disown(weir_permit *permit);

/*
 * Return the number of permits, and their semaphore (null if empty).
 * Requires: the pointer is valid; it is not checked.
 */
WEIR_API int64_t weir_permit_count(const weir_permit *permit);
WEIR_API weir_sem *weir_permit_sem(const weir_permit *permit);

/* Returns true if the object keeps its semaphore alive.  Requires: as above. */
WEIR_API bool weir_permit_is_owned(const weir_permit *permit);

/*
 * The block form runs the statement while the thread holds n permits of sem,
 * and releases them on every path out of the statement.  If the acquire fails,
 * then the statement is skipped.  err, an lvalue of type weir_err, is set to
 * the result; the statement may overwrite it.
 *
 *     weir_err err;
 *     WEIR_WITH_PERMIT(err, &sem, 1, ctx) {
 *             ...
 *     }
 *     if (err)
 *             ...
 *
 * break and continue leave the statement, not an enclosing loop.
 */
#define WEIR_WITH_PERMIT(err, sem, n, ctx)                                     \
	WEIR_WITH_PERMIT_(WEIR_AT_LINE_(weir_held_, __LINE__),                 \
			  WEIR_AT_LINE_(weir_once_, __LINE__),                 \
			  err, sem, n, ctx)

/*
 * This is a loop of at most one iteration; its first clause opens the scope.
 * The names are unique, so that a nested block shadows nothing.
 * err is set there, so that no compiler warns that err may be unset.
 */
#define WEIR_WITH_PERMIT_(held, once, err, sem, n, ctx)                        \
	for (weir_permit held WEIR_SCOPED = WEIR_PERMIT_INIT,                  \
	     *once = ((err) = weir_permit_acquire(&held, (sem), (n),           \
						  (ctx))) == WEIR_OK           \
			? &held : WEIR_NULL_;                                  \
	     once; once = WEIR_NULL_)

WEIR_DECLS_END

#ifdef __cplusplus

namespace weir {

/*
 * RAII form of weir_permit.  If an acquire fails, then the object is empty:
 * check error(), or the conversion to bool, which is true if the object holds
 * permits (an acquire of 0 succeeds and holds none).
 *
 *     weir::permit p(sem, 1, ctx);
 *     if (!p)
 *             return p.error();
 *
 * get() returns the weir_permit for the functions above.
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
