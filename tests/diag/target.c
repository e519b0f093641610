/* SPDX-License-Identifier: MIT */
/*
 * A process with a registry that is filled in by hand.
 *
 *     target SCENARIO [changing | old | short | abort | vanished | destroys | hidden]
 *
 * It prints "ready" and sleeps until its standard input ends.
 * changing: it keeps writing random words into the registry meanwhile.
 * old: the registry has another version.  short: the file is truncated.
 * abort: it ends with a core file.  vanished: its contexts have no threads.
 * hidden: it is not dumpable.
 * destroys: after a line of its standard input its first object does not exist.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"

#define THREADS_MAX 100

/* Write random words into the parts that are read. */
static void change(char *base)
{
	uint64_t random = 88172645463325252u;

	for (;;) {
		static const uint64_t places[] = { 0, RG_OBJECTS_AT,
						   RG_CONTEXTS_AT,
						   RG_WAITS_AT };
		volatile uint32_t *word;
		uint64_t at;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		at = places[random % 4] + (random >> 8) % 8192 / 4 * 4;
		/* The magic and the sizes stay. */
		if (at < 72)
			continue;
		word = (volatile uint32_t *)(void *)(base + at);
		*word = (uint32_t)(random >> 33) %
			(random & 0x100 ? 20u : UINT32_MAX);
	}
}

static char *base;

/* Be the thread of a context. */
static void *live(void *arg)
{
	struct rg_context *context = arg;

	prctl(PR_SET_NAME, context->name);
	__atomic_store_n(&context->tid, (uint32_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

/*
 * A reader looks whether the thread of a context exists.  With "vanished", none
 * does.
 */
static void start_threads(void)
{
	for (uint32_t i = 0; i < fake_header(base)->contexts_high; i++) {
		struct rg_context *context = fake_context(base, i);
		pthread_t thread;

		if (context->state != RG_LIVE || i >= THREADS_MAX)
			continue;
		context->tid = 0;
		if (pthread_create(&thread, NULL, live, context))
			exit(2);
		while (!__atomic_load_n(&context->tid, __ATOMIC_ACQUIRE))
			sched_yield();
	}
}

/* Map a registry of another process, very often, at lower addresses. */
static void crowd(void)
{
	char *other = fake_registry(1);

	fake_header(other)->pid = 1;
	for (int i = 0; i < 4096; i++)
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4, 0) ==
		    MAP_FAILED)
			exit(2);
}

int main(int argc, char **argv)
{
	char word[64];
	const char *how = argc > 2 ? argv[2] : "";

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "none")) {
		puts("ready");
		fflush(stdout);
		(void)!read(0, word, sizeof(word));
		return 0;
	}
	base = fake_registry(1);
	if (!fake_scenario(base, argv[1]))
		return 2;
	if (strcmp(how, "vanished") != 0)
		start_threads();
	if (!strcmp(how, "old"))
		fake_header(base)->version = 99;
	if (!strcmp(how, "closed"))
		close(3);
	if (!strcmp(how, "short"))
		(void)!ftruncate(3, 4096);
	/* As two copies of the library. */
	if (!strcmp(how, "twice"))
		(void)fake_registry(1);
	if (!strcmp(how, "crowded"))
		crowd();
	if (!strcmp(how, "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	puts("ready");
	fflush(stdout);
	if (!strcmp(how, "changing"))
		change(base);
	(void)!read(0, word, sizeof(word));
	if (!strcmp(how, "destroys")) {
		fake_object(base, 0)->state = RG_FREE;
		(void)!read(0, word, sizeof(word));
	}
	if (!strcmp(how, "abort")) {
		struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

		setrlimit(RLIMIT_CORE, &all);
		abort();
	}
	return 0;
}
