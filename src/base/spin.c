/* SPDX-License-Identifier: MIT */
/* Spinning before sleeping (spin.h), and the decision whether to spin. */
#include "base/spin.h"

#include "base/cpu.h"
#include "base/tls.h"
#include "weir/base.h"

#define PAUSES_PER_CLOCK 8
#define PAUSES_MAX 16000		/* a bound if the clock does not advance */
#define EVEN_PAUSES 32		/* a backoff pauses evenly before */
#define FAILURES_MAX 6

/*
 * A thread whose last k spins have failed skips its next 2^k - 1 opportunities
 * to spin, at most 63.
 */
static _Thread_local struct {
	uint8_t failures, skips;
} history WEIR_TLS_READY_;

bool weir_spin_wait_may_pay_(void)
{
	if (!weir_cpu_has_others_())
		return false;
	if (history.skips) {
		history.skips--;
		return false;
	}
	return true;
}

struct weir_spin_wait_ weir_spin_wait_begin_(int64_t ns)
{
	return (struct weir_spin_wait_){ weir_deadline_after(ns), 0, 0 };
}

static bool pause_for(struct weir_spin_wait_ *spin, uint32_t pauses)
{
	uint32_t clocks = spin->pauses / PAUSES_PER_CLOCK;

	for (uint32_t i = 0; i < pauses; i++)
		weir_cpu_pause_();
	spin->pauses += pauses;
	if (spin->pauses / PAUSES_PER_CLOCK == clocks)
		return true;
	return spin->pauses < PAUSES_MAX && weir_now_ns() < spin->until_ns;
}

bool weir_spin_wait_continue_(struct weir_spin_wait_ *spin)
{
	return pause_for(spin, 1);
}

bool weir_spin_wait_back_off_(struct weir_spin_wait_ *spin)
{
	uint32_t before = spin->pauses + spin->apart;

	return pause_for(spin, before < EVEN_PAUSES ?
				       1 : 1 + (before - EVEN_PAUSES) / 2);
}

void weir_spin_wait_end_(bool paid)
{
	if (paid)
		history.failures = 0;
	else if (history.failures < FAILURES_MAX)
		history.failures++;
	history.skips = paid ? 0 : (uint8_t)((1u << history.failures) - 1);
}
