/* SPDX-License-Identifier: MIT */
/* The callers of a call on the stack of this thread: callers.h. */
#include "diag/callers.h"

#ifdef WEIR_UNWINDER
#include <stdbool.h>
#include <unwind.h>

/* The most frames of this library above the call: the call is not found. */
#define OWN_MAX 64u

struct walk {
	uint64_t site;
	uint64_t *to;
	uint32_t used, max;
	uint32_t frames;	/* so far */
	bool found;		/* the frame of the call */
};

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *user)
{
	struct walk *walk = user;
	uint64_t pc = (uint64_t)_Unwind_GetIP(context);

	if (walk->found && pc)
		walk->to[walk->used++] = pc;
	else if (pc == walk->site)
		walk->found = true;
	/* Any value other than _URC_NO_REASON ends the walk. */
	if (!pc || walk->used == walk->max ||
	    (!walk->found && ++walk->frames == OWN_MAX))
		return _URC_END_OF_STACK;
	return _URC_NO_REASON;
}

/* The unwinder exports this function, and has no header for it. */
struct bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct bases *bases);

/*
 * Returns true if the unwinder finds its own unwind tables.  It aborts otherwise.  A
 * static program whose section .eh_frame was removed has none.
 */
static bool can_unwind(void)
{
	char *at = (char *)(uintptr_t)&_Unwind_Backtrace;
	struct bases bases;

	return _Unwind_Find_FDE(at + 1, &bases);
}

uint32_t weir_diag_callers_(uint64_t site, uint64_t *to, uint32_t max)
{
	struct walk walk = { .site = site, .to = to, .max = max };

	if (site && max && can_unwind())
		(void)_Unwind_Backtrace(take, &walk);
	return walk.used;
}
#else
uint32_t weir_diag_callers_(uint64_t site, uint64_t *to, uint32_t max)
{
	(void)site;
	(void)to;
	(void)max;
	return 0;
}
#endif
