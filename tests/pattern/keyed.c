/* SPDX-License-Identifier: MIT */
/* One rate limit for each key: fair between tenants, and bounded in memory. */
#include <stdio.h>

#include "check.h"
#include "weir/ctx.h"
#include "weir/diag.h"
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

/* A tenant with a thousand times as many requests delays no other tenant. */
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
		/* Ten requests a second, evenly spaced: never refused. */
		if (ms % 100 == 0)
			CHECK_OK(take("quiet", 1, ms * 1000000));
	}
	/* Exactly one burst and ten requests a second. */
	CHECK_EQ(noisy, 5 + 99);
	CHECK_EQ(refused, 100000 - noisy);
	CHECK_EQ(info().keys, 2);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/* A key is used with an older time than that at which it was evicted. */
TEST(eviction_provides_no_tokens_for_an_earlier_time)
{
	const weir_rate_opts one = { .rate = 1, .burst = 1 };

	CHECK_OK(weir_keyed_init(&keyed, NULL, 2, &one));
	CHECK_OK(take("a", 1, 10 * SECOND));
	CHECK_OK(take("b", 1, 1 * SECOND));
	CHECK_OK(take("c", 1, 20 * SECOND));	/* evicts "a" */
	CHECK_EQ(info().forgotten, 1);
	/* Evicts "b".  The next token of "a" is due at 11 s. */
	CHECK_ERR(take("a", 1, 10 * SECOND + SECOND / 2), WEIR_EAGAIN);
	CHECK_EQ(info().forgotten, 2);
	CHECK_ERR(take("a", 1, 11 * SECOND - 1), WEIR_EAGAIN);
	CHECK_OK(take("a", 1, 11 * SECOND));
	CHECK_OK(weir_keyed_destroy(&keyed));
}

static void *wait_for_noisy(void *arg)
{
	return (void *)(intptr_t)weir_keyed_acquire(&keyed, "noisy", 5, 1, arg);
}

/* The same while calls of the noisy tenant wait. */
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
	/* The tokens of both keys are used up, so neither can be forgotten. */
	CHECK_ERR(weir_keyed_acquire(&keyed, "third", 5, 1, NULL), WEIR_EFULL);
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

/*
 * Only a key with a full bucket is forgotten, so forgetting grants no tokens.
 */
TEST(keys_are_bounded_and_idle_ones_forgotten)
{
	static uint64_t memory[WEIR_KEYED_BYTES(2) / 8];

	CHECK_OK(weir_keyed_init(&keyed, memory, 2, &ten));
	CHECK_OK(take("a", 5, 0));
	CHECK_OK(take("b", 1, 0));
	/* b is full again after 100 ms, a after 500. */
	CHECK_ERR(take("c", 1, 99999999), WEIR_EFULL);
	CHECK_OK(take("c", 5, 100000000));
	CHECK_EQ(info().keys, 2);
	CHECK_EQ(info().forgotten, 1);
	CHECK_ERR(take("b", 1, 499999999), WEIR_EFULL);
	CHECK_OK(take("b", 5, 500000000));
	CHECK_ERR(take("b", 1, 500000000), WEIR_EAGAIN);
	CHECK_ERR(take("c", 5, 500000000), WEIR_EAGAIN);
	CHECK_ERR(take("a", 1, 500000000), WEIR_EFULL);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/*
 * The search for a key to forget examines the sixteen least recently used keys,
 * and the next search examines others.  Otherwise sixteen busy keys could keep
 * new keys out forever.
 */
TEST(search_for_a_key_to_forget_is_bounded)
{
	char key = 'a';

	CHECK_OK(weir_keyed_init(&keyed, NULL, 20, &ten));
	for (int i = 0; i < 20; i++, key++)
		CHECK_OK(weir_keyed_try_acquire_at(&keyed, &key, 1,
						   i < 16 ? 5 : 1, 0));
	/*
	 * The buckets of the last four keys are full, behind sixteen that are
	 * not.
	 */
	CHECK_ERR(take("new", 1, SECOND / 10), WEIR_EFULL);
	CHECK_OK(take("new", 1, SECOND / 10));
	CHECK_EQ(info().forgotten, 1);
	/* The search has granted no tokens to the examined keys. */
	CHECK_ERR(take("a", 5, SECOND / 10), WEIR_EAGAIN);
	CHECK_ERR(take("p", 5, SECOND / 10), WEIR_EAGAIN);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/* Many keys, added and forgotten, compared with a simple model. */
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
	/* All keys are forgotten one by one in favour of as many other keys. */
	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "guest %d", i);
		CHECK_OK(take(key, 1, (i + 10) * SECOND));
	}
	CHECK(info().forgotten >= 500 - KEYS);
	CHECK_OK(weir_keyed_destroy(&keyed));
}

/*
 * C2: errors of a new key are those of an old one, even if the table is full.
 */
TEST(c2_order_of_checks_for_a_new_key)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	CHECK_OK(weir_keyed_init(&keyed, NULL, 1, &ten));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_keyed_acquire(&keyed, "old", 3, 1, &ctx),
		  WEIR_ECANCELED);
	CHECK_OK(weir_keyed_acquire(&keyed, "old", 3, 0, NULL));
	CHECK_ERR(take("old", 6, 0), WEIR_ETOOBIG);
	/* None of these calls has added or forgotten an entry. */
	CHECK_EQ(info().keys, 0);
	CHECK_OK(take("old", 5, 0));
	CHECK_ERR(weir_keyed_acquire(&keyed, "new", 3, 1, &ctx),
		  WEIR_ECANCELED);
	CHECK_OK(take("new", 0, 0));
	CHECK_ERR(take("new", 6, 0), WEIR_ETOOBIG);
	CHECK_ERR(take("new", 1, 0), WEIR_EFULL);
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
	/* The default burst is 1. */
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
	/* Arguments are checked first, even if the table is full. */
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
		      err == WEIR_EFULL);
	}
	return NULL;
}

/* Many threads add keys and thereby forget the keys of each other. */
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

static weir_keyed hooked;
static int events;

static void stat_in_the_hook(const weir_diag_event *event)
{
	weir_keyed_info info;

	(void)event;
	CHECK_OK(weir_keyed_stat(&hooked, &info));
	CHECK(info.closed);
	events++;
}

/* The event hook runs with no lock held: it may use the keyed limit. */
TEST(c27_the_hook_of_a_close_uses_the_limit)
{
	const weir_rate_opts each = { .rate = 1, .burst = 5 };
	weir_keyed_info info;

	CHECK_OK(weir_keyed_init(&hooked, NULL, 4, &each));
	CHECK_OK(weir_keyed_try_acquire(&hooked, "a", 1, 1));
	CHECK_OK(weir_keyed_try_acquire(&hooked, "b", 1, 1));
	CHECK(!weir_diag_set_hook(stat_in_the_hook));
	weir_keyed_close(&hooked);
	weir_keyed_close(&hooked);
	CHECK(weir_diag_set_hook(NULL) == stat_in_the_hook);
	CHECK(events >= 2);
	CHECK_ERR(weir_keyed_try_acquire(&hooked, "a", 1, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_keyed_try_acquire(&hooked, "b", 1, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_keyed_try_acquire(&hooked, "c", 1, 1), WEIR_ECLOSED);
	CHECK_OK(weir_keyed_stat(&hooked, &info));
	CHECK_EQ(info.calls, 0);
	CHECK_OK(weir_keyed_destroy(&hooked));
}
