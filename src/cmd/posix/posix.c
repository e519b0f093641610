/* SPDX-License-Identifier: MIT */
/*
 * weir posix: run a program with libweir-posix preloaded.  The library is
 * $WEIR_POSIX_LIBRARY if that is set; else library_find searches for it.
 */
#include "cmd/posix/posix.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/exec.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/library.h"
#include "cmd/lib/options.h"
#include "cmd/lib/text.h"

#define LIBRARY "libweir-posix.so.0"

enum { OPT_BARGING = 256, OPT_LIBRARY };

/*
 * Returns true if the program header of this class has the segment PT_INTERP.  A
 * program has it, also one that can be loaded at any address; the library does
 * not.
 */
#define HAS_INTERPRETER(Class)                                                 \
	static bool has_interpreter_##Class(int fd, const void *head)          \
	{                                                                      \
		const Elf##Class##_Ehdr *elf = head;                           \
		Elf##Class##_Phdr segment;                                     \
                                                                               \
		for (unsigned i = 0; i < elf->e_phnum; i++)                    \
			if (pread(fd, &segment, sizeof(segment),               \
				  (off_t)(elf->e_phoff +                       \
					  i * sizeof(segment))) ==             \
				    sizeof(segment) &&                         \
			    segment.p_type == PT_INTERP)                       \
				return true;                                   \
		return false;                                                  \
	}
HAS_INTERPRETER(32)
HAS_INTERPRETER(64)

/*
 * Returns true if the file is a shared library, of any machine: the program may
 * have another class than this command.  The dynamic loader only prints a
 * warning about another file, and runs the program without it.
 */
static bool is_library(int fd)
{
	union {
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} head;

	/* Both kinds of header begin with the same members. */
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.narrow.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.narrow.e_type != ET_DYN)
		return false;
	switch (head.narrow.e_ident[EI_CLASS]) {
	case ELFCLASS32:
		return !has_interpreter_32(fd, &head);
	case ELFCLASS64:
		return !has_interpreter_64(fd, &head);
	default:
		return false;
	}
}

/* Exit if the file cannot be preloaded. */
static void check_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		cmd_die(EXIT_NOT_FOUND, "posix: %s: %s", path, strerror(errno));
	if (!is_library(fd))
		cmd_die(EXIT_NOT_FOUND, "posix: %s: it is not a shared library",
			path);
	close(fd);
}

/* Find the library; exits if it does not exist. */
static void find_library(char path[PATH_MAX])
{
	const char *given = getenv("WEIR_POSIX_LIBRARY");

	if (given && *given) {
		if (!realpath(given, path))
			cmd_die(EXIT_NOT_FOUND, "posix: %s: %s", given,
				strerror(errno));
		check_library(path);
		return;
	}
	if (!library_find(LIBRARY, "../posix/", path))
		cmd_die(EXIT_NOT_FOUND, "posix: %s is not installed; set "
			"WEIR_POSIX_LIBRARY to its path", LIBRARY);
}

/* Put the library before the others that are preloaded. */
static void preload(const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	char *all;

	/* LD_PRELOAD is a list that is separated by colons and blanks. */
	if (strpbrk(path, ": "))
		cmd_die(EXIT_WEIR, "posix: %s: the path has a colon or a "
			"blank, so it cannot be preloaded", path);
	if (asprintf(&all, "%s%s%s", path, others && *others ? ":" : "",
		     others ? others : "") < 0 ||
	    setenv("LD_PRELOAD", all, 1))
		cmd_die(EXIT_WEIR, "posix: out of memory");
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP,
		{ "barging", no_argument, NULL, OPT_BARGING },
		{ "print-library", no_argument, NULL, OPT_LIBRARY },
		OPTIONS_END
	};
	bool barging = false, print = false;
	char path[PATH_MAX];
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_BARGING)
			barging = true;
		else if (option == OPT_LIBRARY)
			print = true;
		else {
			/* The program: the options after it are its own. */
			optind--;
			break;
		}
	}
	if (!print && optind >= argc)
		cmd_misuse(self, "posix: PROGRAM is missing");
	find_library(path);
	if (print) {
		puts(path);
		cmd_flush();
		return EXIT_SUCCESS;
	}
	preload(path);
	if (setenv("WEIR_POSIX", barging ? "barging" : "fifo", 1))
		cmd_die(EXIT_WEIR, "posix: out of memory");
	exec_command(argv + optind);
	cmd_die(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, "%s: %s",
		text_visible(argv[optind]), strerror(errno));
}

const struct cmd cmd_posix = {
	.name = "posix",
	.summary = "run a program with sem_t on weir",
	.help =
"usage: weir posix [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
"\n"
"Runs PROGRAM with libweir-posix preloaded: its semaphores of <semaphore.h> are\n"
"weir's, without compiling it again.  Threads are served in order of arrival.\n"
"Semaphores that are shared between processes stay those of the C library.\n"
"\n"
"      --barging         a running thread may overtake, for at most 1 ms\n"
"      --print-library   print the path of the library and exit\n"
"  -h, --help            print this text\n",
	.run = run,
};
