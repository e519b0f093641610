/* SPDX-License-Identifier: MIT */
/*
 * C50: a thread that holds a watched semaphore, and waits for one between processes,
 * is not running.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "look.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/named.h"

static char text[65536];

static const char *explained(void)
{
	CHECK_OK(weir_explain(text, sizeof(text), NULL));
	return text;
}

struct job {
	weir_sem *sem;
	weir_ctx *ctx;
	const char *name;
};

static void *hold_and_wait(void *arg)
{
	struct job *job = arg;
	weir_named *named;

	CHECK_OK(weir_sem_acquire(job->sem, 1, NULL));
	CHECK_OK(weir_named_open(job->name, NULL, &named));
	CHECK_ERR(weir_named_acquire(named, 1, job->ctx), WEIR_ECANCELED);
	/* Now it runs. */
	CHECK(strstr(explained(), "  running, waits for no semaphore"));
	CHECK(!strstr(text, "between processes"));
	CHECK_OK(weir_named_close_handle(named));
	weir_sem_release(job->sem, 1);
	return NULL;
}

TEST(c50_a_thread_that_waits_between_processes)
{
	const weir_named_opts opts = { .capacity = 1,
				       .flags = WEIR_NAMED_CREATE };
	char folder[] = "/tmp/weir-away-XXXXXX";
	struct job job = { .name = "builds" };
	check_thread waiter;
	weir_named *named;
	weir_sem sem;
	weir_ctx ctx;

	CHECK(mkdtemp(folder));
	CHECK_EQ(setenv("WEIR_DIR", folder, 1), 0);
	watch(&sem, 1, "limit");
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_named_open(job.name, &opts, &named));
	CHECK_OK(weir_named_acquire(named, 1, NULL));
	job.sem = &sem;
	job.ctx = &ctx;
	waiter = start(hold_and_wait, &job);
	AWAIT(strstr(explained(), "  waits for builds between processes, for "));
	CHECK(!strstr(text, "running"));
	weir_ctx_cancel(&ctx);
	finish(waiter);
	weir_named_release(named, 1);
	CHECK_OK(weir_named_unlink_handle(named));
	CHECK_OK(weir_named_close_handle(named));
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_EQ(rmdir(folder), 0);
}
