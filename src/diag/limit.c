/* SPDX-License-Identifier: MIT */
#include "diag/limit.h"

#include "base/atomic.h"
#include "base/thread.h"
#include "base/tls.h"
#include "weir/base.h"

#define MINUTE_NS INT64_C(60000000000)

/* *spent is minute << 32 | reports. */
bool weir_diag_may_print_(uint64_t *spent, uint32_t most)
{
	uint64_t minute = (uint64_t)(weir_now_ns() / MINUTE_NS) & UINT32_MAX;
	/* relaxed: it orders nothing. */
	uint64_t before = at_load_relaxed(spent), after;

	do {
		uint64_t used = before >> 32 == minute ? before & UINT32_MAX :
							 0;

		if (used >= most)
			return false;
		after = minute << 32 | (used + 1);
		/* relaxed: as above. */
	} while (!at_cas_weak_relaxed(spent, &before, after));
	return true;
}

static _Thread_local bool reporting WEIR_TLS_READY_;

bool weir_diag_begin_(int *before)
{
	if (reporting)
		return false;
	reporting = true;
	*before = weir_thread_cancel_off_();
	return true;
}

void weir_diag_end_(int before)
{
	reporting = false;
	weir_thread_cancel_reset_(before);
}
