/* SPDX-License-Identifier: MIT */
/*
 * The circuit breaker of weir/breaker.h.
 *
 * lock_, held briefly, protects all fields.  Results are bits of a word, the
 * newest in the lowest bit: a shift moves the window.  Each change of state
 * begins a new term.  A pass carries its term, and a result from another term
 * is ignored: the results of calls that began before the breaker opened do not
 * count once it is half open.
 *
 * inside_ counts the passes of the current term that have not been used.  A
 * leave that finds 0 is one too many.
 */
#include "weir/breaker.h"

#include <stddef.h>

#include "base/lock.h"
#include "base/panic.h"
#include "pattern/ready.h"

#define SECOND INT64_C(1000000000)

/* The check at the beginning of every call: ready.h. */
static weir_err check(weir_breaker *b, const char *call,
		      enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "breaker", .object = b };

	if (weir_is_ready_(b))
		return WEIR_OK;
	if (!weir_is_misaligned_(b)) {
		o.ready = &b->ready_;
		o.lock = &b->lock_;
	}
	return weir_unready_(&o, call, refusal);
}

static uint32_t failed(const weir_breaker *b)
{
	uint32_t n = 0;

	for (uint64_t rest = b->results_; rest; rest &= rest - 1)
		n++;
	return n;
}

/* Requires: lock_ is held. */
static void change(weir_breaker *b, weir_breaker_state state, int64_t now_ns)
{
	b->state_ = (uint32_t)state;
	b->since_ns_ = now_ns;
	b->term_++;
	b->results_ = 0;
	b->counted_ = b->out_ = b->good_ = 0;
	b->inside_ = 0;
	b->opened_ += state == WEIR_BREAKER_OPEN;
}

/*
 * Returns true if open_ns_ has passed since the breaker opened, or since the
 * last probe of a half-open breaker, whose probes have not all left.
 */
static bool is_due(const weir_breaker *b, int64_t now_ns)
{
	int64_t from_ns = b->state_ == WEIR_BREAKER_OPEN ? b->since_ns_ :
							   b->probed_ns_;

	/*
	 * The subtraction is unsigned, so the difference of any two times fits.
	 */
	return now_ns >= from_ns &&
	       (uint64_t)now_ns - (uint64_t)from_ns >= (uint64_t)b->open_ns_;
}

/* Returns true if a call may pass.  Requires: lock_ is held. */
static bool let_through(weir_breaker *b, int64_t now_ns)
{
	if (b->state_ == WEIR_BREAKER_CLOSED)
		return true;
	if ((b->state_ == WEIR_BREAKER_OPEN || b->out_ == b->probes_) &&
	    is_due(b, now_ns))
		change(b, WEIR_BREAKER_HALF_OPEN, now_ns);
	if (b->state_ == WEIR_BREAKER_OPEN || b->out_ == b->probes_)
		return false;
	b->out_++;
	b->probed_ns_ = now_ns;
	return true;
}

weir_err weir_breaker_enter_at(weir_breaker *breaker, int64_t now_ns,
			       weir_breaker_pass *pass)
{
	bool through;

	if (check(breaker, "weir_breaker_enter", WEIR_BY_ERROR_) || !pass)
		return WEIR_EINVAL;
	weir_lock_(&breaker->lock_);
	through = let_through(breaker, now_ns);
	breaker->passed_ += through;
	breaker->inside_ += through;
	breaker->refused_ += !through;
	pass->term_ = through ? breaker->term_ : 0;
	weir_unlock_(&breaker->lock_);
	return through ? WEIR_OK : WEIR_EOPEN;
}

weir_err weir_breaker_enter(weir_breaker *breaker, weir_breaker_pass *pass)
{
	return weir_breaker_enter_at(breaker, weir_now_ns(), pass);
}

/* Requires: lock_ is held. */
static void count(weir_breaker *b, bool good, int64_t now_ns)
{
	uint64_t window = b->window_ == 64 ? UINT64_MAX :
					     (UINT64_C(1) << b->window_) - 1;

	if (b->state_ == WEIR_BREAKER_HALF_OPEN) {
		b->good_ += good;
		if (!good)
			change(b, WEIR_BREAKER_OPEN, now_ns);
		else if (b->good_ == b->probes_)
			change(b, WEIR_BREAKER_CLOSED, now_ns);
		return;
	}
	b->results_ = (b->results_ << 1 | (good ? 0 : 1)) & window;
	b->counted_ += b->counted_ < b->window_;
	if (failed(b) >= b->failures_)
		change(b, WEIR_BREAKER_OPEN, now_ns);
}

void weir_breaker_leave_at(weir_breaker *breaker, int64_t now_ns,
			   weir_breaker_pass pass, bool good)
{
	uint64_t inside;
	bool current;

	if (check(breaker, "weir_breaker_leave", WEIR_BY_PANIC_))
		return;
	weir_lock_(&breaker->lock_);
	current = pass.term_ == breaker->term_;
	inside = breaker->inside_;
	if (current && inside) {
		breaker->inside_--;
		count(breaker, good, now_ns);
	}
	weir_unlock_(&breaker->lock_);
	if (current && !inside)
		weir_panic_("weir_breaker_leave: breaker %p: more calls left "
			    "than entered", breaker);
}

void weir_breaker_leave(weir_breaker *breaker, weir_breaker_pass pass, bool good)
{
	weir_breaker_leave_at(breaker, weir_now_ns(), pass, good);
}

static bool opts_ok(const weir_breaker_opts *o)
{
	return !o->flags && !o->reserved_[0] && !o->reserved_[1] &&
	       !o->reserved_[2] && o->probes <= INT32_MAX && o->open_ns >= 0;
}

weir_err weir_breaker_init(weir_breaker *breaker, const weir_breaker_opts *opts)
{
	static const weir_breaker_opts defaults;
	const weir_breaker_opts *o = opts ? opts : &defaults;
	uint32_t window = o->window ? o->window : 20;
	uint32_t failures = o->failures ? o->failures : (window + 1) / 2;

	if (!breaker || (uintptr_t)breaker % sizeof(uint64_t) || !opts_ok(o) ||
	    window > WEIR_BREAKER_WINDOW_MAX || failures > window)
		return WEIR_EINVAL;
	*breaker = (weir_breaker){
		.term_ = 1,
		.open_ns_ = o->open_ns ? o->open_ns : SECOND,
		.window_ = window,
		.failures_ = failures,
		.probes_ = o->probes ? o->probes : 1,
		.ready_ = weir_generation_,
	};
	return WEIR_OK;
}

weir_err weir_breaker_stat(weir_breaker *breaker, weir_breaker_info *info)
{
	if (check(breaker, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	weir_lock_(&breaker->lock_);
	*info = (weir_breaker_info){
		.state = (weir_breaker_state)breaker->state_,
		.counted = breaker->counted_,
		.failed = failed(breaker),
		.passed = breaker->passed_,
		.refused = breaker->refused_,
		.opened = breaker->opened_,
		.since_ns = breaker->since_ns_,
	};
	weir_unlock_(&breaker->lock_);
	return WEIR_OK;
}
