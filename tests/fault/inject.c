/* SPDX-License-Identifier: MIT */
/* Plans: inject.h.  The calls that they affect: sys.c, libc.c, vclock.c. */
#include "inject.h"

#include <errno.h>
#include <stdio.h>

#include "job.h"

static struct {
	const struct fault *fault;
	const char *work;
	int nth;
	bool sticky;
	int calls;
} plan;

static int own_counter;
static int *hit_counter = &own_counter;

bool fault_due(enum place place)
{
	const struct fault *fault = fault_now();
	int call;

	if (!fault || !job_is_armed())
		return false;
	if (fault->place != place && !(fault->place == AT_FUTEX &&
				       (place == AT_WAIT || place == AT_WAKE)))
		return false;
	call = __atomic_add_fetch(&plan.calls, 1, __ATOMIC_SEQ_CST);
	if (plan.sticky ? call < plan.nth : call != plan.nth)
		return false;
	__atomic_add_fetch(hit_counter, 1, __ATOMIC_SEQ_CST);
	return true;
}

void fault_counts_in(int *counter)
{
	hit_counter = counter;
}

const struct fault *fault_now(void)
{
	return __atomic_load_n(&plan.fault, __ATOMIC_SEQ_CST);
}

bool fault_is_sticky(void)
{
	return plan.sticky;
}

const char *fault_plan(void)
{
	static _Thread_local char text[200];
	const struct fault *fault = fault_now();

	if (!fault && !plan.work)
		return "no fault";
	if (!fault) {
		snprintf(text, sizeof(text), "no fault, in \"%s\"", plan.work);
		return text;
	}
	snprintf(text, sizeof(text), "%s, %s call %d, in \"%s\"", fault->name,
		 plan.sticky ? "from" : "at", plan.nth, plan.work);
	return text;
}

void fault_begin(const struct fault *fault, bool sticky, int nth,
		 const char *work)
{
	plan.work = work;
	plan.sticky = sticky;
	plan.nth = nth;
	plan.calls = *hit_counter = 0;
	clock_reset();
	__atomic_store_n(&plan.fault, fault, __ATOMIC_SEQ_CST);
}

int fault_end(void)
{
	__atomic_store_n(&plan.fault, NULL, __ATOMIC_SEQ_CST);
	clock_reset();
	return __atomic_load_n(hit_counter, __ATOMIC_SEQ_CST);
}

/* The result of a faulty call. */
long fault_result(void)
{
	const struct fault *fault = fault_now();

	if (fault->error)
		errno = fault->error;
	return fault->result;
}
