/* SPDX-License-Identifier: MIT */
/* C48: semaphores without a name, with WEIR_DIAG=all of meson.build. */
#include "check.h"
#include "look.h"

/* A function that ends with a call would jump to it. */
#define HERE __attribute__((noinline)) static void
#define END __asm__ volatile("")

static weir_sem a;

HERE init_here(void)
{
	CHECK_OK(weir_sem_init(&a, 1));
	END;
}

HERE init_there(void)
{
	CHECK_OK(weir_sem_init(&a, 1));
	END;
}

static uint64_t site_after(void (*init)(void))
{
	uint64_t site;

	init();
	site = object_of(&a)->site;
	CHECK_OK(weir_sem_destroy(&a));
	return site;
}

/* The call site is that of weir_sem_init, not that of its caller. */
TEST(c48_an_init_without_options_is_recorded_with_its_call_site)
{
	uint64_t here = site_after(init_here), there = site_after(init_there);

	CHECK(here);
	CHECK(here != there);
	CHECK(here == site_after(init_here));
}
