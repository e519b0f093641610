/* SPDX-License-Identifier: MIT */
/*
 * weir_spin on bare metal, with an interrupt at every instruction.
 *
 * A sweep runs one operation repeatedly and sets the timer one cycle later each
 * time, until the operation ends before the interrupt.  The handler uses the
 * same semaphore, and the counts must be right afterwards.  The handler also
 * records the interrupted instruction: a sweep must interrupt before every
 * instruction, also between the exclusive load and store of the
 * compare-and-swap.  With QEMU's -icount time is counted in instructions, so
 * every run is the same.
 */
#include "board.h"
#include "plant.h"

#ifdef USE_WFE
/*
 * Sleep between two checks.  The return of a handler sets the event register,
 * so wfe does not sleep if an interrupt came after the check.
 */
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("wfe" ::: "memory")
#endif
#include "weir/spin.h"

static const char *current;
static long passed;

static void check(int line, const char *what, long got, long want)
{
	if (got == want)
		return;
	print(current);
	print(":");
	print_number(line);
	print(": ");
	print(what);
	print(" is ");
	print_number(got);
	print(", not ");
	print_number(want);
	print("\n");
	tick_stop();
	quit(STATUS_FAILED);
}

#define CHECK_EQ(got, want) check(__LINE__, #got, (got), (want))

/* Counts of 32 bits. */

static weir_spin three = WEIR_SPIN_INIT(3);
static weir_spin zeroed;

static void plain_calls(void)
{
	/* C1: 32 bits here; a negative count is refused. */
	CHECK_EQ(sizeof(long), 4);
	CHECK_EQ(sizeof(weir_spin), 8);
	CHECK_EQ(weir_spin_acquire(&three, -1), WEIR_EINVAL);
	CHECK_EQ(weir_spin_try_acquire(&three, -1), WEIR_EINVAL);
	CHECK_EQ(weir_spin_release(&three, -1), WEIR_EINVAL);
	CHECK_EQ(weir_spin_release((weir_spin *)((uintptr_t)&three + 2), 1),
		 WEIR_EINVAL);
	CHECK_EQ(weir_spin_release(0, 1), WEIR_EINVAL);
	CHECK_EQ(weir_spin_available(&three), 3);

	/* C2, C5, C10, C11: zero, all or nothing, more than the capacity. */
	CHECK_EQ(weir_spin_acquire(&three, 2), WEIR_OK);
	CHECK_EQ(weir_spin_try_acquire(&three, 2), WEIR_EAGAIN);
	CHECK_EQ(weir_spin_acquire(&three, 4), WEIR_ETOOBIG);
	CHECK_EQ(weir_spin_try_acquire(&three, 1), WEIR_OK);
	CHECK_EQ(weir_spin_acquire(&three, 0), WEIR_OK);
	CHECK_EQ(weir_spin_available(&three), 0);

	/* C8: a release of more than is held fails. */
	CHECK_EQ(weir_spin_release(&three, 4), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_release(&three, 3), WEIR_OK);
	CHECK_EQ(weir_spin_release(&three, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&three), 3);

	/* C23: zeroed memory. */
	CHECK_EQ(weir_spin_try_acquire(&zeroed, 1), WEIR_EAGAIN);
	CHECK_EQ(weir_spin_release(&zeroed, 1), WEIR_EOVERFLOW);
}

/* C8, C9: the maximum of a 32-bit count (glibc BZ#18434). */
static void maximum(void)
{
	weir_spin spin;

	CHECK_EQ(WEIR_SPIN_MAX, 0x7fffffff);
	CHECK_EQ(weir_spin_init_unbounded(&spin, WEIR_SPIN_MAX), WEIR_OK);
	CHECK_EQ(weir_spin_release(&spin, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_release(&spin, WEIR_SPIN_MAX), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&spin), WEIR_SPIN_MAX);
	CHECK_EQ(weir_spin_acquire(&spin, WEIR_SPIN_MAX), WEIR_OK);
	CHECK_EQ(weir_spin_available(&spin), 0);
	CHECK_EQ(weir_spin_release(&spin, WEIR_SPIN_MAX), WEIR_OK);
	CHECK_EQ(weir_spin_release(&spin, 1), WEIR_EOVERFLOW);
}

/* The handler's operation and its result. */
typedef weir_err operation(weir_spin *spin);

/* In a block of its own, so that only it is forbidden. */
static union {
	weir_spin spin;
	char block[BLOCK];
} room __attribute__((aligned(BLOCK)));
#define shared room.spin
static operation *volatile handler_op;
static volatile weir_err handler_err;
static volatile long handled;
static volatile uintptr_t interrupted;	/* the next instruction */

/*
 * One function per operation, each aligned to ROOM bytes, so that an address
 * can be assigned to its function.
 */
#define ROOM 128
#define OPERATION(name, call)                                                  \
	__attribute__((noipa, flatten, section(".text.operations"),            \
		       aligned(ROOM)))                                         \
	static weir_err name(weir_spin *spin)                                  \
	{                                                                      \
		return call(spin, 1);                                          \
	}
OPERATION(acquire_one, weir_spin_acquire)
OPERATION(try_one, weir_spin_try_acquire)
OPERATION(release_one, weir_spin_release)

static uint16_t code_at(uintptr_t pc)
{
	return *(const uint16_t *)pc;
}

static uintptr_t after(uintptr_t pc)
{
	/* The top five bits distinguish a 32-bit instruction. */
	return pc + (code_at(pc) >> 11 >= 0x1d ? 4 : 2);
}

static int is_branch(uintptr_t pc)
{
	uint16_t code = code_at(pc);

	return (code & 0xf500u) == 0xb100u ||	/* cbz, cbnz */
	       (code & 0xf000u) == 0xd000u ||	/* b<condition> */
	       (code & 0xf800u) == 0xe000u ||	/* b */
	       (code & 0xf800u) == 0xf000u;	/* 32-bit, among others */
}

/* The address of fn's first instruction; the lowest bit of fn means Thumb. */
static uintptr_t start_of(operation *fn)
{
	return (uintptr_t)fn & ~(uintptr_t)1;
}

static int is_in(operation *fn, uintptr_t pc)
{
	return pc >= start_of(fn) && pc < start_of(fn) + ROOM;
}

/* Returns true if pc is between an exclusive load and store of fn. */
static int splits_exclusive(operation *fn, uintptr_t pc)
{
	int open = 0;

	for (uintptr_t at = start_of(fn); at < pc; at = after(at)) {
		uint16_t code = code_at(at) & 0xfff0u;

		if (code == 0xe850u)		/* ldrex */
			open = 1;
		else if (code == 0xe840u)	/* strex */
			open = 0;
	}
	return open;
}

void on_tick(uintptr_t pc)
{
	handler_err = handler_op(&shared);
	handled++;
	interrupted = pc;
}

struct sweep {
	operation *main, *handler;
	long capacity, free;
	long want_free;		/* after both operations */
	int one_fails;		/* 0: both succeed */
	weir_err failure;
};

static void sweep(const struct sweep *s)
{
	long main_failed = 0, handler_failed = 0;
	long skipped = 0, splits = 0;
	uintptr_t last = 0;
	uint32_t cycles = 0;
	int in_time;

	handler_op = s->handler;
	do {
		weir_err err, other;

		CHECK_EQ(weir_spin_init(&shared, s->capacity), WEIR_OK);
		CHECK_EQ(weir_spin_acquire(&shared, s->capacity - s->free),
			 WEIR_OK);
		handled = 0;
		tick_once(++cycles);
		err = s->main(&shared);
		in_time = handled != 0;
		while (!handled)
			;
		other = handler_err;
		CHECK_EQ(weir_spin_available(&shared), s->want_free);
		CHECK_EQ((err != WEIR_OK) + (other != WEIR_OK), s->one_fails);
		if (s->one_fails)
			CHECK_EQ(err ? err : other, s->failure);
		main_failed += err != WEIR_OK;
		handler_failed += other != WEIR_OK;
		if (!is_in(s->main, interrupted))
			continue;
		splits += splits_exclusive(s->main, interrupted);
		if (last)
			skipped += interrupted != last &&
				   interrupted != after(last) &&
				   !is_branch(last);
		else
			CHECK_EQ(interrupted == start_of(s->main), 1);
		last = interrupted;
	} while (in_time);
	CHECK_EQ(skipped, 0);
	CHECK_EQ(splits > 0, 1);
	/* The first operation wins, so each of them has failed sometimes. */
	CHECK_EQ(main_failed > 0, s->one_fails);
	CHECK_EQ(handler_failed > 0, s->one_fails);
}

/* C25: a handler releases at every instruction of an acquire. */
static void release_interrupts_acquire(void)
{
	static const struct sweep s = {
		acquire_one, release_one, 8, 4, 4, 0, WEIR_OK
	};
	sweep(&s);
}

/* C25: a handler releases at every instruction of a release. */
static void release_interrupts_release(void)
{
	static const struct sweep s = {
		release_one, release_one, 8, 4, 6, 0, WEIR_OK
	};
	sweep(&s);
}

/* C25: a handler acquires at every instruction of a release. */
static void try_interrupts_release(void)
{
	static const struct sweep s = {
		release_one, try_one, 8, 4, 4, 0, WEIR_OK
	};
	sweep(&s);
}

/* C5: both try to acquire the last permit; one gets WEIR_EAGAIN. */
static void try_interrupts_try(void)
{
	static const struct sweep s = {
		try_one, try_one, 8, 1, 0, 1, WEIR_EAGAIN
	};
	sweep(&s);
}

/* C8: both release the last held permit; one gets WEIR_EOVERFLOW. */
static void last_release_interrupts_last_release(void)
{
	static const struct sweep s = {
		release_one, release_one, 8, 7, 8, 1, WEIR_EOVERFLOW
	};
	sweep(&s);
}

/*
 * Acquires the released permit, if it is free already, and forbids the memory.
 */
static weir_err acquire_and_forbid(weir_spin *spin)
{
	weir_err err = weir_spin_try_acquire(spin, 1);

	if (!err)
		block_forbid(&room);
	return err;
}

/*
 * C22: at every instruction after the compare-and-swap that releases the
 * permit, the handler acquires it and forbids the memory (glibc BZ#12674).  The
 * release must not access the memory again.
 */
static void release_does_not_read_again(void)
{
	uint32_t cycles = 0;
	long taken = 0;
	int in_time;

	handler_op = acquire_and_forbid;
	do {
		CHECK_EQ(weir_spin_init_unbounded(&shared, 0), WEIR_OK);
		handled = 0;
		tick_once(++cycles);
		CHECK_EQ(release_one(&shared), WEIR_OK);
		in_time = handled != 0;
		while (!handled)
			;
		block_allow();
		CHECK_EQ(weir_spin_available(&shared), handler_err ? 1 : 0);
		taken += in_time && !handler_err;
	} while (in_time);
	CHECK_EQ(taken > 0, 1);
}

/* A handler that releases permits to the spinning main program. */

static long delivered;		/* released to shared by the handler */

static weir_err deliver(weir_spin *spin)
{
	delivered++;
	return weir_spin_release(spin, 1);
}

/* C6, C10, C24: each tick releases one permit; the acquire is for three. */
static void acquire_waits_for_the_handler(void)
{
	CHECK_EQ(weir_spin_init_unbounded(&shared, 0), WEIR_OK);
	delivered = 0;
	handled = 0;
	handler_op = deliver;
	for (long i = 1; i <= 200; i++) {
		/* Another period each time, to interrupt elsewhere. */
		tick_always(300 + (uint32_t)i);
		CHECK_EQ(weir_spin_acquire(&shared, 3), WEIR_OK);
		tick_stop();
		CHECK_EQ(handler_err, WEIR_OK);
		CHECK_EQ(delivered, handled);
		CHECK_EQ(weir_spin_available(&shared), delivered - 3 * i);
		CHECK_EQ(delivered >= 3 * i, 1);
	}
}

static void test(const char *name, void (*fn)(void))
{
	current = name;
	fn();
	tick_stop();
	print("ok ");
	print(name);
	print("\n");
	passed++;
}

#define TEST(fn) test(#fn, fn)

void run(void)
{
	TEST(plain_calls);
	TEST(maximum);
	TEST(release_interrupts_acquire);
	TEST(release_interrupts_release);
	TEST(try_interrupts_release);
	TEST(try_interrupts_try);
	TEST(last_release_interrupts_last_release);
	TEST(release_does_not_read_again);
	TEST(acquire_waits_for_the_handler);
	print_number(passed);
	print(" passed, 0 failed\n");
	quit(STATUS_PASSED);
}
