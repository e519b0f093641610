/* SPDX-License-Identifier: MIT */
/*
 * A rate limit for each tenant: 50 calls per second, bursts of 5.  One tenant
 * is noisy and calls all the time, three are quiet.  The noisy tenant gets its
 * rate and no more, and the quiet tenants are never refused.
 *
 * The example simulates two seconds with times that it passes in.  A server
 * would call weir_keyed_acquire, which waits, or weir_keyed_try_acquire, and
 * answer 429.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <weir/rate.h>

#define MS INT64_C(1000000)

static int64_t asked, served;

static weir_err call(weir_keyed *tenants, const char *who, int64_t now_ns)
{
	weir_err err = weir_keyed_try_acquire_at(tenants, who, strlen(who), 1,
						 now_ns);

	asked++;
	served += err == WEIR_OK;
	return err;
}

int main(void)
{
	static const char *const quiet[] = { "anna", "bert", "cleo" };
	const weir_rate_opts each = { .rate = 50, .burst = 5 };
	int refused = 0;
	weir_keyed tenants;

	if (weir_keyed_init(&tenants, NULL, 1000, &each) != WEIR_OK)
		return 1;
	for (int64_t ms = 0; ms < 2000; ms++)
		for (int i = 0; i < 3; i++)
			(void)!call(&tenants, "noisy", ms * MS);
	printf("noisy: %" PRId64 " calls, %" PRId64 " served\n", asked, served);
	int64_t of_noisy = served;

	asked = served = 0;
	for (int64_t ms = 0; ms < 2000; ms += 40)
		for (int i = 0; i < 3; i++)
			refused += call(&tenants, quiet[i], ms * MS) != WEIR_OK;
	printf("quiet: %" PRId64 " calls, %d refused\n", asked, refused);

	weir_keyed_info info;
	if (weir_keyed_stat(&tenants, &info) != WEIR_OK ||
	    weir_keyed_destroy(&tenants) != WEIR_OK)
		return 1;
	printf("%" PRId64 " tenants, room for %" PRId64 "\n", info.keys,
	       info.max_keys);
	return of_noisy == 5 + 99 && refused == 0 ? 0 : 1;
}
