/* SPDX-License-Identifier: MIT */
/*
 * The measuring program of a peer in C or C++.  It is compiled once for each
 * peer.  BENCH_PEER names the header with the peer's operations, which are all
 * inlined, so that no call is added to the cost of a peer.
 *
 * The header defines peer_sem, peer_init(sem, permits, capacity, kind),
 * peer_acquire and peer_release.  It announces further capabilities with
 * macros: PEER_TRY, PEER_TIMED, PEER_UNTIL, PEER_WEIGHT, PEER_RELEASE_N,
 * PEER_POLL, PEER_CANCEL, PEER_OPS; bench/peers/weir.h has all of them.
 */
#include <sched.h>
#include <unistd.h>

#include "support.h"

#include BENCH_PEER
#include "contended.h"
#include "overtaken.h"
#include "uncontended.h"
#include "waiters.h"
#ifdef PEER_OPS
#include "ops.h"
#endif

/* The section alone, to check its length. */
static void repeat_busy(void *arg, int64_t times)
{
	for (int64_t i = 0; i < times; i++)
		*(uint64_t *)arg = busy(*(uint64_t *)arg, arena.rounds);
}

static bool section(const struct bench_args *args)
{
	uint64_t x = 1;

	if (strcmp(args->workload, "section") != 0)
		return false;
	arena.rounds = bench_busy_rounds(args->section);
	printf("{\"ns\": %.3f}\n", bench_repeat(args, repeat_busy, &x));
	return true;
}

int main(int argc, char **argv)
{
	struct bench_args args = bench_args(argc, argv);

#ifdef PEER_OPS
	if (operations(&args))
		return 0;
#endif
	if (uncontended(&args) || many_semaphores(&args) || contended(&args) ||
	    ping_pong(&args) || waiters(&args) || storm(&args) ||
	    overtaken(&args) ||
#ifdef PEER_CANCEL
	    cancel_growth(&args) ||
#endif
	    section(&args))
		return 0;
	bench_cannot(args.workload);
}
