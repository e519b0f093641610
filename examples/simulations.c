/* SPDX-License-Identifier: MIT */
/*
 * Five hundred slow calls, four at a time; the rest is cancelled when one
 * fails.  Spawning waits when the backlog is full, so the memory does not
 * depend on the number of calls.
 *
 *     simulations           all succeed
 *     simulations 100       the hundredth fails
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/group.h>

#define CALLS 500
#define AT_ONCE 4

static atomic_int running, most, finished;
static int fails_at = -1;

/* A call that takes a while, or less if it is cancelled. */
static weir_err call(void *arg, struct weir_ctx *ctx)
{
	int number = (int)(intptr_t)arg, before = most;
	int now = atomic_fetch_add(&running, 1) + 1;
	weir_err err;

	while (now > before &&
	       !atomic_compare_exchange_weak(&most, &before, now))
		;
	err = weir_ctx_wait(ctx, weir_deadline_after(200000));
	atomic_fetch_sub(&running, 1);
	if (err != WEIR_EAGAIN)
		return err;		/* cancelled */
	if (number == fails_at)
		return WEIR_ESYSTEM;
	atomic_fetch_add(&finished, 1);
	return WEIR_OK;
}

int main(int argc, char **argv)
{
	const weir_group_opts opts = { .workers = AT_ONCE, .backlog = 16,
				       .flags = WEIR_GROUP_FAIL_FAST };
	weir_err err = WEIR_OK, first = WEIR_OK;
	weir_group_info info;
	weir_group group;

	if (argc > 1)
		fails_at = atoi(argv[1]);
	if (weir_group_init(&group, &opts) != WEIR_OK)
		return 1;
	for (intptr_t i = 0; i < CALLS && !err; i++)
		err = weir_group_spawn(&group, call, (void *)i, 1, NULL);
	if (err)
		return 1;
	first = weir_group_wait(&group, NULL, NULL);
	if (weir_group_stat(&group, &info) != WEIR_OK ||
	    weir_group_destroy(&group) != WEIR_OK)
		return 1;
	printf("%d calls finished, at most %s at once; %s\n",
	       atomic_load(&finished), most <= AT_ONCE ? "4" : "MORE",
	       first ? weir_err_text(first) : "none failed");
	printf("%" PRId64 " over, %s were called off\n", info.done,
	       info.failed > 1 ? "some" : "none");
	return most > AT_ONCE || info.done != CALLS ||
	       finished + info.failed != CALLS;
}
