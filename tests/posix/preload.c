/* SPDX-License-Identifier: MIT */
/* Promises of libweir-posix beyond POSIX: order, names and misuse. */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "weir/posix/semaphore.h"

sem_t a_known_symbol;

static int turn;
static sem_t order;

struct in_turn {
	int tid, mine;
};

static void *take_turn(void *arg)
{
	struct in_turn *t = arg;

	__atomic_store_n(&t->tid, gettid(), __ATOMIC_RELEASE);
	CHECK_EQ(sem_wait(&order), 0);
	t->mine = __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED);
	CHECK_EQ(sem_post(&order), 0);
	return NULL;
}

/* C4: the threads are granted in the order in which they came. */
TEST(c4_order_of_arrival)
{
	struct in_turn t[8] = { { 0, 0 } };
	check_thread threads[8];

	CHECK_EQ(sem_init(&order, 0, 0), 0);
	for (int i = 0; i < 8; i++) {
		threads[i] = start(take_turn, &t[i]);
		AWAIT(__atomic_load_n(&t[i].tid, __ATOMIC_ACQUIRE));
		AWAIT(check_asleep(t[i].tid));
	}
	CHECK_EQ(sem_post(&order), 0);
	for (int i = 0; i < 8; i++)
		finish(threads[i]);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(t[i].mine, i + 1);
	CHECK_EQ(sem_destroy(&order), 0);
}

TEST(misuse_is_reported)
{
	struct in_turn t = { 0, 0 };
	check_thread thread;
	sem_t s;

	CHECK_EQ(sem_init(&order, 0, 0), 0);
	thread = start(take_turn, &t);
	AWAIT(__atomic_load_n(&t.tid, __ATOMIC_ACQUIRE));
	AWAIT(check_asleep(t.tid));
	errno = 0;
	CHECK_EQ(sem_destroy(&order), -1);
	CHECK_EQ(errno, EBUSY);
	CHECK_EQ(sem_post(&order), 0);
	finish(thread);
	CHECK_EQ(sem_destroy(&order), 0);
	CHECK_EQ(sem_init(&s, 0, 1), 0);
	CHECK_EQ(sem_destroy(&s), 0);
	CHECK_EQ(sem_post(&s), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(sem_wait(&s), -1);
	CHECK_EQ(sem_destroy(&s), -1);
	CHECK_EQ(sem_init(&s, 0, 1), 0);
	CHECK_EQ(sem_wait(&s), 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

TEST(names)
{
	static sem_t pair[2];
	sem_t local, zero = { { 0 } }, shared;
	char address[24];

	CHECK_EQ(sem_init(&a_known_symbol, 0, 1), 0);
	CHECK_EQ(strcmp(weir_posix_name(&a_known_symbol), "a_known_symbol"), 0);
	CHECK_EQ(sem_init(&local, 0, 1), 0);
	/* The place of the sem_init, and the address. */
	snprintf(address, sizeof(address), "@%p", (void *)&local);
	CHECK(strstr(weir_posix_name(&local), "+0x"));
	CHECK(strstr(weir_posix_name(&local), address));
	/* Two variables that the dynamic linker does not know. */
	CHECK_EQ(sem_init(&pair[0], 0, 1), 0);
	CHECK_EQ(sem_init(&pair[1], 0, 1), 0);
	CHECK(!strchr(weir_posix_name(&pair[0]), '@'));
	CHECK(strcmp(weir_posix_name(&pair[0]), weir_posix_name(&pair[1])));
	CHECK_EQ(sem_destroy(&pair[0]), 0);
	CHECK_EQ(sem_destroy(&pair[1]), 0);
	CHECK_EQ(sem_post(&zero), 0);
	CHECK_EQ(strcmp(weir_posix_name(&zero), ""), 0);
	CHECK_EQ(sem_init(&shared, 1, 1), 0);
	CHECK(!weir_posix_name(&shared));
	CHECK_EQ(sem_destroy(&shared), 0);
	CHECK_EQ(sem_destroy(&local), 0);
	CHECK_EQ(sem_destroy(&zero), 0);
	CHECK_EQ(sem_destroy(&a_known_symbol), 0);
}
