/* SPDX-License-Identifier: MIT */
/*
 * A backend is down for two seconds of ten.  Without a breaker every call of that
 * time would wait for a timeout; with one, a few calls fail and the others are
 * refused at once.  The example simulates the ten seconds with times that it
 * passes in.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include <weir/breaker.h>

#define MS INT64_C(1000000)

static bool is_down(int64_t ms)
{
	return ms >= 3000 && ms < 5000;
}

int main(void)
{
	const weir_breaker_opts opts = { .window = 10, .failures = 5,
					 .probes = 2, .open_ns = 250 * MS };
	int served = 0, failed = 0, refused = 0, too_long = 0;
	weir_breaker backend;

	if (weir_breaker_init(&backend, &opts) != WEIR_OK)
		return 1;
	for (int64_t ms = 0; ms < 10000; ms++) {
		weir_breaker_pass pass;

		if (weir_breaker_enter_at(&backend, ms * MS, &pass)) {
			refused++;
			too_long += ms >= 5250;
			continue;
		}
		failed += is_down(ms);
		served += !is_down(ms);
		weir_breaker_leave_at(&backend, ms * MS, pass, !is_down(ms));
	}
	printf("10000 calls: %d served, %d failed, %d refused at once\n",
	       served, failed, refused);
	return failed > 20 || too_long ? 1 : 0;
}
