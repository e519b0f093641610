/* SPDX-License-Identifier: MIT */
/*
 * A reader-writer lock around an addition: nanoseconds for each lock and
 * unlock, with writes= writes in a thousand operations, chosen at random.  The
 * writes must add up.
 */
#include "patterns.h"

#include "weir/rwlock.h"

static weir_rwlock weir_lock = WEIR_RWLOCK_INIT;
static pthread_rwlock_t pthread_lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t value;
static uint64_t writes;		/* in a thousand operations */

static inline void weir_begin(bool write)
{
	must(!(write ? weir_rwlock_write(&weir_lock, NULL) :
		       weir_rwlock_read(&weir_lock, NULL)), "lock");
}

static inline void weir_end(bool write)
{
	if (write)
		weir_rwlock_write_done(&weir_lock);
	else
		weir_rwlock_read_done(&weir_lock);
}

static inline void pthread_begin(bool write)
{
	must(!(write ? pthread_rwlock_wrlock(&pthread_lock) :
		       pthread_rwlock_rdlock(&pthread_lock)), "lock");
}

static inline void pthread_end(bool write)
{
	(void)write;
	must(!pthread_rwlock_unlock(&pthread_lock), "unlock");
}

/* Inlined for each kind, so that none pays for a call through a pointer. */
static inline __attribute__((always_inline)) void
rounds(int number, void (*begin)(bool), void (*end)(bool))
{
	struct share *mine = &crowd.shares[number];
	uint64_t chance = (uint64_t)number + 1, seen = 0;

	while (!stopped()) {
		bool write;

		chance = busy(chance, 1);
		write = (chance >> 33) % 1000 < writes;
		begin(write);
		if (write)
			value++;
		else
			seen |= value;
		end(write);
		mine->sum += write;
		count(mine, 1);
	}
	/* Keeps the compiler from dropping the reads. */
	__asm__ volatile("" : : "r"(seen));
}

static void weir_rounds(void *arg, int number)
{
	(void)arg;
	rounds(number, weir_begin, weir_end);
}

static void pthread_rounds(void *arg, int number)
{
	(void)arg;
	rounds(number, pthread_begin, pthread_end);
}

void measure_rwlock(const struct bench_args *args)
{
	const weir_rwlock_opts fifo = { .prefer = WEIR_RW_FIFO };
	uint64_t written = 0;

	writes = (uint64_t)args->writes;
	if (!strcmp(args->kind, "weir-fifo"))
		must(!weir_rwlock_init(&weir_lock, &fifo), "init");
	if (!strcmp(args->kind, "weir") || !strcmp(args->kind, "weir-fifo"))
		crowd_measure(args, (int)args->threads, weir_rounds);
	else if (!strcmp(args->kind, "pthread"))
		crowd_measure(args, (int)args->threads, pthread_rounds);
	else
		bench_cannot(args->kind);
	for (int i = 0; i < args->threads; i++)
		written += crowd.shares[i].sum;
	must(written == value, "writes were lost");
}
