/* SPDX-License-Identifier: MIT */
/*
 * A process with a registry that is filled in by hand.
 *
 *     target SCENARIO [changing | old | short | abort]
 *
 * It prints "ready" and sleeps until its standard input ends.
 * changing: it keeps writing random words into the registry meanwhile.
 * old: the registry has another version.  short: the file is truncated.
 * abort: it ends with a core file.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake.h"

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

int main(int argc, char **argv)
{
	char *base, word[64];
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
	if (!strcmp(how, "old"))
		fake_header(base)->version = 99;
	if (!strcmp(how, "closed"))
		close(3);
	if (!strcmp(how, "short"))
		(void)!ftruncate(3, 4096);
	puts("ready");
	fflush(stdout);
	if (!strcmp(how, "changing"))
		change(base);
	(void)!read(0, word, sizeof(word));
	if (!strcmp(how, "abort")) {
		struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

		setrlimit(RLIMIT_CORE, &all);
		abort();
	}
	return 0;
}
