/* SPDX-License-Identifier: MIT */
/*
 * C8: the message of a panic when standard error is full, closed, slow or
 * interrupted.  The message is complete if that is possible; the process aborts
 * in every case.
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

static const char expected[] = "weir: weir_sem_release: semaphore \"dock\": 2 "
	"permits released, 1 held (capacity 1, free 0)\n";

/* The number of faulty calls, in memory shared with the child. */
static int *hits;

/*
 * In the child: release too many permits, on a thread that the fault affects.
 */
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
	/* End the child if it hangs. */
	signal(SIGALRM, SIG_DFL);
	alarm(60);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	fault_counts_in(hits);
	fault_begin(fault, sticky, nth, "panic");
	release_too_many();
	_exit(0);
}

/* Panic in a child process and copy its message to text. */
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
	/* An emulator prints its own message on abort. */
	if (strstr(text, "qemu: "))
		*strstr(text, "qemu: ") = '\0';
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		check_fail(__FILE__, __LINE__, "status %#x: %s, %s call %d",
			   (unsigned)status, fault->name,
			   sticky ? "from" : "at", nth);
}

/* Returns true if the message is complete in spite of the fault. */
static bool message_is_complete(const struct fault *fault, bool sticky)
{
	return fault->result > 0 ||
	       (!sticky && (!fault->error || fault->error == EINTR));
}

static int sweep_panic(const struct fault *fault, bool sticky)
{
	char text[512];

	for (int nth = 1;; nth++) {
		panic(fault, sticky, nth, text, sizeof(text));
		if (!*hits || message_is_complete(fault, sticky))
			CHECK(!strcmp(text, expected));
		else
			CHECK(!strncmp(text, expected, strlen(text)));
		if (!*hits)
			return nth - 1;
		/* With one byte per write there is one call for each byte. */
		CHECK(nth < 300);
	}
}

TEST(c8_message_of_a_panic)
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
