/* SPDX-License-Identifier: MIT */
/*
 * C8: the last words of a panic, when standard error is full, closed, slow or
 * interrupted.  They come out whole if they can; the process aborts anyway.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

const int fault_cpus = 2;

static const char words[] = "weir: weir_sem_release: semaphore \"dock\": 2 "
	"permits released, 1 are out (capacity 1, free 0)\n";

/* What the child did, in memory that it shares. */
static int *hits;

/* In the child: release too many, on a thread that the fault befalls. */
static void release_too_many(void)
{
	weir_sem_opts opts = { .permits = 1, .name = "dock" };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	(void)run(do_release, &sem, 2);
}

static void be_the_child(const struct fault *fault, bool sticky, int nth)
{
	/* Ends one that hangs. */
	signal(SIGALRM, SIG_DFL);
	alarm(10);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	fault_counts_in(hits);
	fault_begin(fault, sticky, nth, "panic");
	release_too_many();
	_exit(0);
}

/* Panic in a child; what it said is in text. */
static void panic(const struct fault *fault, bool sticky, int nth, char *text,
		  size_t size)
{
	int ends[2], status;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	*hits = 0;
	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		be_the_child(fault, sticky, nth);
	}
	close(ends[1]);
	while (used + 1 < size &&
	       (got = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	/* An emulator has its own last words on an abort. */
	if (strstr(text, "qemu: "))
		*strstr(text, "qemu: ") = '\0';
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		check_fail(__FILE__, __LINE__, "status %#x: %s, %s call %d",
			   (unsigned)status, fault->name,
			   sticky ? "from" : "at", nth);
}

/* Whether all words come out in spite of it. */
static bool can_speak(const struct fault *fault, bool sticky)
{
	return fault->result > 0 ||
	       (!sticky && (!fault->error || fault->error == EINTR));
}

static int sweep_panic(const struct fault *fault, bool sticky)
{
	char text[512];

	for (int nth = 1;; nth++) {
		panic(fault, sticky, nth, text, sizeof(text));
		if (!*hits || can_speak(fault, sticky))
			CHECK(!strcmp(text, words));
		else
			CHECK(!strncmp(text, words, strlen(text)));
		if (!*hits)
			return nth - 1;
		/* A byte at a time, it is called once for each. */
		CHECK(nth < 300);
	}
}

TEST(c8_the_last_words)
{
	static const struct fault faults[] = {
		{ "panic's write: EINTR", AT_WRITE, -1, EINTR, false, 0 },
		{ "panic's write: EAGAIN", AT_WRITE, -1, EAGAIN, false, 0 },
		{ "panic's write: EIO", AT_WRITE, -1, EIO, false, 0 },
		{ "panic's write: EBADF", AT_WRITE, -1, EBADF, false, 0 },
		{ "panic's write: 0 bytes", AT_WRITE, 0, 0, false, 0 },
		{ "panic's write: 1 byte", AT_WRITE, 1, 0, true, 0 },
	};

	hits = mmap(NULL, sizeof(*hits), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(hits != MAP_FAILED);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		int once = sweep_panic(&faults[i], false);
		int sticky = sweep_panic(&faults[i], true);

		CHECK(once > 0 && sticky > 0);
		printf("evidence: fault points, %s | %d once, %d sticky\n",
		       faults[i].name, once, sticky);
	}
	CHECK_EQ(munmap(hits, sizeof(*hits)), 0);
}
