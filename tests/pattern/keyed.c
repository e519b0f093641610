/* SPDX-License-Identifier: MIT */
/* One limit for each key: fair between tenants, and bounded. */
#include <stdio.h>

#include "check.h"
#include "weir/ctx.h"
#include "weir/rate.h"

#define SECOND INT64_C(1000000000)

static weir_keyed keyed;
static const weir_rate_opts ten = { .rate = 10, .burst = 5 };

static weir_err take(const char *key, int64_t n, int64_t now)
{
	return weir_keyed_try_acquire_at(&keyed, key, strlen(key), n, now);
}

static weir_keyed_info info(void)
{
	weir_keyed_info i;

	CHECK_OK(weir_keyed_stat(&keyed, &i));
	return i;
}

/* A tenant that asks a thousand times as much delays nobody else. */
TEST(noisy_tenant_does_not_delay_a_quiet_one)
{
	int64_t noisy = 0, refused = 0;

	CHECK_OK(weir_keyed_init(&keyed, NULL, 8, &ten));
	for (int64_t ms = 0; ms < 10000; ms++) {
		for (int i = 0; i < 10; i++) {
			if (take("noisy", 1, ms * 1000000))
				refused++;
			else
				noisy++;
		}
		/* Ten in a second, evenly: never refused. */
		if (ms % 100 == 0)
			CHECK_OK(take("quiet", 1, ms * 1000000));
	}
	/* A burst, and ten a second; exact. */
	CHECK_EQ(noisy, 5 + 99);
	CHECK_EQ(refused, 100000 - noisy);
	CHECK_EQ(info().keys, 2);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

static void *wait_for_noisy(void *arg)
{
	return (void *)(intptr_t)weir_keyed_acquire(&keyed, "noisy", 5, 1, arg);
}

/* The same with threads that wait: the quiet one's call goes through. */
TEST(waiting_tenant_does_not_delay_another)
{
	const weir_rate_opts slow = { .rate = 1, .period_ns = 3600 * SECOND };
	weir_ctx ctx = WEIR_CTX_INIT;
	check_thread threads[4];

	CHECK_OK(weir_keyed_init(&keyed, NULL, 2, &slow));
	CHECK_OK(weir_keyed_acquire(&keyed, "noisy", 5, 1, NULL));
	for (int i = 0; i < 4; i++)
		threads[i] = start(wait_for_noisy, i < 2 ? &ctx : NULL);
	AWAIT(info().calls == 4);
	CHECK_ERR(weir_keyed_destroy(&keyed), WEIR_EBUSY);
	CHECK_OK(weir_keyed_acquire(&keyed, "quiet", 5, 1, NULL));
	/* Both have used theirs up, and neither can be forgotten. */
	CHECK_ERR(weir_keyed_acquire(&keyed, "third", 5, 1, NULL), WEIR_EBUSY);
	weir_ctx_cancel(&ctx);
	for (int i = 0; i < 2; i++)
		CHECK_EQ((intptr_t)finish(threads[i]), WEIR_ECANCELED);
	weir_keyed_close(&keyed);
	weir_keyed_close(&keyed);
	for (int i = 2; i < 4; i++)
		CHECK_EQ((intptr_t)finish(threads[i]), WEIR_ECLOSED);
	CHECK_ERR(weir_keyed_acquire(&keyed, "quiet", 5, 1, NULL),
		  WEIR_ECLOSED);
	CHECK_ERR(weir_keyed_acquire(&keyed, "new", 3, 1, NULL), WEIR_ECLOSED);
	CHECK(info().closed);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/* Forgetting gives nobody tokens: only who has all of them is forgotten. */
TEST(keys_are_bounded_and_idle_ones_forgotten)
{
	static uint64_t memory[WEIR_KEYED_BYTES(2) / 8];

	CHECK_OK(weir_keyed_init(&keyed, memory, 2, &ten));
	CHECK_OK(take("a", 5, 0));
	CHECK_OK(take("b", 1, 0));
	/* b is full again after 100 ms, a after 500. */
	CHECK_ERR(take("c", 1, 99999999), WEIR_EBUSY);
	CHECK_OK(take("c", 5, 100000000));
	CHECK_EQ(info().keys, 2);
	CHECK_EQ(info().forgotten, 1);
	CHECK_ERR(take("b", 1, 499999999), WEIR_EBUSY);
	CHECK_OK(take("b", 5, 500000000));
	CHECK_ERR(take("b", 1, 500000000), WEIR_EAGAIN);
	CHECK_ERR(take("c", 5, 500000000), WEIR_EAGAIN);
	CHECK_ERR(take("a", 1, 500000000), WEIR_EBUSY);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/*
 * It looks at the sixteen that were unused longest, and no further; but then at
 * others.  Else sixteen busy tenants keep every new one out for as long as they like.
 */
TEST(looking_for_one_to_forget_ends)
{
	char key = 'a';

	CHECK_OK(weir_keyed_init(&keyed, NULL, 20, &ten));
	for (int i = 0; i < 20; i++, key++)
		CHECK_OK(weir_keyed_try_acquire_at(&keyed, &key, 1,
						   i < 16 ? 5 : 1, 0));
	/* The last four are full again, but behind sixteen that are not. */
	CHECK_ERR(take("new", 1, SECOND / 10), WEIR_EBUSY);
	CHECK_OK(take("new", 1, SECOND / 10));
	CHECK_EQ(info().forgotten, 1);
	/* None of the others has got anything by it. */
	CHECK_ERR(take("a", 5, SECOND / 10), WEIR_EAGAIN);
	CHECK_ERR(take("p", 5, SECOND / 10), WEIR_EAGAIN);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/* Many keys, in and out, against a table of when each was full. */
TEST(every_key_keeps_its_own_count)
{
	enum { KEYS = 64 };
	int64_t left[KEYS];
	uint64_t seed = seed_of(1);
	char key[16];

	CHECK_OK(weir_keyed_init(&keyed, NULL, KEYS, &ten));
	for (int i = 0; i < KEYS; i++)
		left[i] = 5;
	for (int i = 0; i < 2000; i++) {
		int k = (int)random_below(&seed, KEYS);
		int64_t n = 1 + random_below(&seed, 3);
		weir_err err;

		snprintf(key, sizeof(key), "tenant %d", k);
		err = take(key, n, 0);
		CHECK_ERR(err, n <= left[k] ? WEIR_OK : WEIR_EAGAIN);
		left[k] -= err ? 0 : n;
	}
	CHECK(info().keys <= KEYS);
	/* All of them make room for as many others, one after the other. */
	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "guest %d", i);
		CHECK_OK(take(key, 1, (i + 10) * SECOND));
	}
	CHECK(info().forgotten >= 500 - KEYS);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/* C2: a new key is told the same as an old one, also while there is no room for it. */
TEST(c2_order_of_checks_for_a_new_key)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	CHECK_OK(weir_keyed_init(&keyed, NULL, 1, &ten));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_keyed_acquire(&keyed, "old", 3, 1, &ctx),
		  WEIR_ECANCELED);
	CHECK_OK(weir_keyed_acquire(&keyed, "old", 3, 0, NULL));
	CHECK_ERR(take("old", 6, 0), WEIR_ETOOBIG);
	/* None of these has made an entry, let alone forgotten one. */
	CHECK_EQ(info().keys, 0);
	CHECK_OK(take("old", 5, 0));
	CHECK_ERR(weir_keyed_acquire(&keyed, "new", 3, 1, &ctx),
		  WEIR_ECANCELED);
	CHECK_OK(take("new", 0, 0));
	CHECK_ERR(take("new", 6, 0), WEIR_ETOOBIG);
	CHECK_ERR(take("new", 1, 0), WEIR_EBUSY);
	CHECK_ERR(take("new", 6, SECOND), WEIR_ETOOBIG);
	CHECK_EQ(info().forgotten, 0);
	CHECK_ERR(weir_keyed_acquire(&keyed, "old", 3, 1, &ctx),
		  WEIR_ECANCELED);
	CHECK_OK(take("old", 0, 0));
	CHECK_ERR(take("old", 6, 0), WEIR_ETOOBIG);
	weir_keyed_close(&keyed);
	CHECK_ERR(weir_keyed_acquire(&keyed, "new", 3, 0, &ctx),
		  WEIR_ECANCELED);
	CHECK_ERR(take("new", 0, 0), WEIR_ECLOSED);
	CHECK_ERR(take("old", 0, 0), WEIR_ECLOSED);
	CHECK_EQ(info().calls, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_keyed_destroy(&keyed));
	/* A burst that was not given is 1. */
	CHECK_OK(weir_keyed_init(&keyed, NULL, 1,
				 &(weir_rate_opts){ .rate = 1 }));
	CHECK_ERR(take("new", 2, 0), WEIR_ETOOBIG);
	CHECK_OK(take("new", 1, 0));
	CHECK_OK(weir_keyed_destroy(&keyed));
}

TEST(bad_input)
{
	_Alignas(8) char longest[WEIR_KEY_MAX + 1] = "";
	weir_keyed zeroed;
	weir_keyed_info i;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_ERR(weir_keyed_init(NULL, NULL, 1, &ten), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_init(&keyed, NULL, 0, &ten), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_init(&keyed, NULL, WEIR_KEYED_MAX + 1, &ten),
		  WEIR_EINVAL);
	CHECK_ERR(weir_keyed_init(&keyed, NULL, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_init(&keyed, NULL, 1, &(weir_rate_opts){ 0 }),
		  WEIR_EINVAL);
	CHECK_ERR(weir_keyed_init(&keyed, longest + 1, 1, &ten), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_acquire(&zeroed, "a", 1, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_destroy(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_PANICS("weir_keyed_close", weir_keyed_close(NULL));
	CHECK_OK(weir_keyed_init(&keyed, NULL, 1, &ten));
	CHECK_ERR(weir_keyed_try_acquire(&keyed, NULL, 1, 1), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_try_acquire(&keyed, "", 0, 1), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_try_acquire(&keyed, longest, WEIR_KEY_MAX + 1, 1),
		  WEIR_EINVAL);
	CHECK_OK(weir_keyed_try_acquire(&keyed, longest, WEIR_KEY_MAX, 1));
	/* The arguments first, though there is no room for another key. */
	CHECK_ERR(weir_keyed_try_acquire(&keyed, "a", 1, -1), WEIR_EINVAL);
	CHECK_ERR(weir_keyed_try_acquire(&keyed, longest, WEIR_KEY_MAX, -1),
		  WEIR_EINVAL);
	CHECK_ERR(weir_keyed_stat(&keyed, NULL), WEIR_EINVAL);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

static void *guests(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 3000; i++) {
		char key = (char)('a' + random_below(&seed, 12));
		weir_err err = weir_keyed_try_acquire(&keyed, &key, 1, 1);

		CHECK(err == WEIR_OK || err == WEIR_EAGAIN ||
		      err == WEIR_EBUSY);
	}
	return NULL;
}

/* Threads that come, wait for nothing and forget each other. */
TEST(storm_of_keys)
{
	const weir_rate_opts quick = { .rate = 100000 };
	check_thread threads[4];

	CHECK_OK(weir_keyed_init(&keyed, NULL, 4, &quick));
	for (uintptr_t i = 0; i < 4; i++)
		threads[i] = start(guests, (void *)i);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	CHECK(info().keys <= 4 && info().forgotten > 0);
	CHECK_OK(weir_keyed_destroy(&keyed));
}
