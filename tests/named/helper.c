/* SPDX-License-Identifier: MIT */
/*
 * C37: a death is noticed also while the watched words move from one helper to
 * another (docs/design/named.md, "Watching").
 *
 * The kernel wakes one sleeper per word and death.  This is the lost wake-up if
 * B could sleep on a word that A has not left yet:
 *
 * 	keeper            A                    B                 a holder
 * 	                  sleeps on X
 * 	orders B: X
 * 	                                       sleeps on X
 * 	                                                         dies: wakes A
 * 	orders A: not X
 * 	                  awake; sees the
 * 	                  order, leaves X
 * 	                                       sleeps forever
 *
 * Here, words without a real owner move between two sets of helpers, again and
 * again, and at a random moment one of the words is marked as dead.
 */
#include "named/handle.h"
#include "puppet.h"

enum { MOST = 2 * (WEIR_WATCH_MAX_ - 1), ROUNDS = 2000 };

static uint32_t words[MOST];
static struct nm_slot slot;

/* The word to mark and when; `round` starts it. */
struct death {
	uint32_t *word;
	int64_t delay_ns;
	uint32_t round;		/* atomic */
	uint32_t done;		/* atomic; last completed round */
};

/* Mark a word as dead and wake one sleeper, as the kernel does it. */
static void die(uint32_t *word)
{
	at_add_relaxed(word, WEIR_DIED_);
	weir_shared_wake_(word);
}

static void *kill_one_a_round(void *arg)
{
	struct death *death = arg;

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		int64_t from;

		while (at_load_acquire(&death->round) != round)
			weir_futex_wait_(&death->round, round - 1,
					 WEIR_FOREVER);
		from = weir_now_ns();
		while (weir_now_ns() - from < death->delay_ns)
			;
		die(death->word);
		at_store_release(&death->done, round);
	}
	return NULL;
}

/* Mark some of count words; each helper watches half of them, or one. */
static void change_hands(bool can_wait_any, unsigned count)
{
	static struct weir_watch_ watches[2 * MOST];
	weir_named h = { .mine = &slot, .can_wait_any = can_wait_any };
	struct death death = { .round = 0 };
	uint64_t random = seed_of(6);
	int64_t took = 100000;
	check_thread killer;

	/* With a second copy, a list can start in the middle. */
	for (unsigned i = 0; i < 2 * count; i++) {
		words[i % count] = weir_alive_value_();
		watches[i].word = &words[i % count];
		watches[i].value = words[i % count];
	}
	killer = start(kill_one_a_round, &death);
	weir_nm_helpers_watch_(&h, watches, count);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint32_t kicks = at_load_acquire(&slot.kick);
		int64_t from = weir_now_ns();

		death.word = &words[random_below(&random, count)];
		death.delay_ns = random_below(&random, took + 1);
		at_store_release(&death.round, round);
		weir_futex_wake_(&death.round);
		weir_nm_helpers_watch_(&h, watches + round % 2 * (count / 2),
				       count);
		took = (took + weir_now_ns() - from) / 2;
		AWAIT(at_load_acquire(&death.done) == round);
		AWAIT(at_load_acquire(&slot.kick) != kicks);
		/* Make the word alive again. */
		at_sub_relaxed(death.word, WEIR_DIED_);
	}
	finish(killer);
	weir_nm_helpers_stop_(&h);
}

TEST(c37_a_death_while_words_change_hands)
{
	if (weir_shared_can_wait_any_())
		change_hands(true, MOST);
}

TEST(c37_a_death_while_words_change_hands_one_each)
{
	change_hands(false, 4);
}
