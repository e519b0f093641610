/* SPDX-License-Identifier: MIT */
/*
 * A limit that finds the capacity of a server.  The server works on 40 calls
 * at a time and queues the others; after a while it loses half of its cores.
 * The example simulates rounds of calls with times that it passes in.
 */
#include <inttypes.h>
#include <stdio.h>

#include <weir/adaptive.h>

#define MS INT64_C(1000000)

static int64_t now_ns = 1;

/*
 * Simulate n rounds of as many calls as the limit allows; more calls than cores
 * take longer.
 */
static int64_t rounds(weir_adaptive *limit, int n, int64_t cores)
{
	weir_adaptive_info info = { 0 };

	for (int i = 0; i < n; i++) {
		int64_t took = 10 * MS;

		if (weir_adaptive_stat(limit, &info) != WEIR_OK)
			return -1;
		if (info.limit > cores)
			took = took * info.limit / cores;
		for (int64_t k = 0; k < info.limit; k++)
			if (weir_adaptive_learn(limit, now_ns, now_ns + took,
						info.limit, WEIR_CALL_OK))
				return -1;
		now_ns += took;
	}
	return info.limit;
}

int main(void)
{
	const weir_adaptive_opts opts = { .slow_ns = 12 * MS };
	int64_t at_first, later;
	weir_adaptive limit;
	weir_sem sem;

	if (weir_sem_init(&sem, 1) != WEIR_OK ||
	    weir_adaptive_init(&limit, &sem, &opts) != WEIR_OK)
		return 1;
	at_first = rounds(&limit, 200, 40);
	printf("40 cores: the limit is %" PRId64 "\n", at_first);
	later = rounds(&limit, 200, 20);
	printf("20 cores: the limit is %" PRId64 "\n", later);
	printf("1000 calls a second of 20 ms: Little says %" PRId64 "\n",
	       weir_little(1000, 20 * MS));
	return at_first < 40 || at_first > 50 || later < 18 || later > 26;
}
