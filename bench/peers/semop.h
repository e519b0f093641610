/* SPDX-License-Identifier: MIT */
/* System V semaphores. */
#include <errno.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct peer_sem {
	int id;
} peer_sem;

/*
 * System V semaphores outlive the process, even if it is killed.  A child waits
 * for the end of a pipe that this process keeps open, and then removes the
 * semaphore.
 */
static inline void semop_remove_at_end(int id)
{
	int ends[2];
	pid_t child;
	char c;

	must(pipe(ends) == 0, "pipe");
	fflush(stdout);
	child = fork();
	must(child >= 0, "fork");
	if (child)
		return;
	for (int fd = 0; fd < 256; fd++)
		if (fd != ends[0])
			close(fd);
	while (read(ends[0], &c, 1) < 0 && errno == EINTR)
		;
	semctl(id, 0, IPC_RMID);
	_exit(0);
}

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	static int made;
	union {
		int val;
		void *other;
	} value;

	(void)capacity;
	(void)kind;
	/* The number of semaphores is limited, and a value has 16 bits. */
	if (++made > 4)
		bench_cannot("many System V semaphores");
	value.val = permits < 32767 ? (int)permits : 32767;
	sem->id = semget(IPC_PRIVATE, 1, 0600);
	must(sem->id >= 0, "semget");
	semop_remove_at_end(sem->id);
	must(semctl(sem->id, 0, SETVAL, value) == 0, "semctl");
}

/* Returns false if the call would wait, or has timed out. */
static inline bool semop_do(peer_sem *sem, int64_t n, int flags,
			    const struct timespec *timeout)
{
	struct sembuf op = { 0, (short)n, (short)flags };

	while (semtimedop(sem->id, &op, 1, timeout) != 0) {
		if (errno == EAGAIN)
			return false;
		must(errno == EINTR, "semop");
	}
	return true;
}

#define PEER_WEIGHT
static inline void peer_acquire_n(peer_sem *sem, int64_t n)
{
	must(semop_do(sem, -n, 0, NULL), "semop");
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	must(semop_do(sem, n, 0, NULL), "semop");
}

static inline void peer_acquire(peer_sem *sem)
{
	peer_acquire_n(sem, 1);
}

static inline void peer_release(peer_sem *sem)
{
	peer_release_n(sem, 1);
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	return semop_do(sem, -1, IPC_NOWAIT, NULL);
}

#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	struct timespec timeout = { (time_t)(ns / 1000000000),
				    (long)(ns % 1000000000) };

	return semop_do(sem, -1, 0, &timeout);
}
