/* SPDX-License-Identifier: MIT */
/* The semaphores and locks between processes. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <unistd.h>

#include "processes.h"
#include "weir/named.h"

#define PAIRS(name)                                                            \
	static void name##_pairs(void *arg, int64_t times)                     \
	{                                                                      \
		(void)arg;                                                     \
		for (int64_t i = 0; i < times; i++) {                          \
			name##_acquire();                                      \
			name##_release();                                      \
		}                                                              \
	}

static void nothing(void)
{
}

/*
 * weir_named.  A dead holder's permit is free at once, or (strict) after its
 * end.
 */
static weir_named *named;

static void open_named(weir_named_policy policy)
{
	weir_named_opts opts = { .capacity = 1, .policy = policy,
				 .flags = WEIR_NAMED_CREATE };

	must(weir_named_open("bench", &opts, &named) == WEIR_OK,
	     "weir_named_open");
}

static void named_attach(void)
{
	open_named(WEIR_NAMED_FAST);
}

static void named_make(void)
{
	must(setenv("WEIR_DIR", scratch_folder(), 1) == 0, "setenv");
	named_attach();
}

static void strict_make(void)
{
	must(setenv("WEIR_DIR", scratch_folder(), 1) == 0, "setenv");
	open_named(WEIR_NAMED_STRICT);
}

static void named_acquire(void)
{
	must(weir_named_acquire(named, 1, NULL) == WEIR_OK, "acquire");
}

static void named_release(void)
{
	weir_named_release(named, 1);
}
PAIRS(named)

/* sem_t in shared memory. */
static sem_t *shared;

static void sem_t_make(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED && sem_init(shared, 1, 1) == 0, "sem_init");
}

static void sem_t_acquire(void)
{
	while (sem_wait(shared) != 0)
		must(errno == EINTR, "sem_wait");
}

static void sem_t_release(void)
{
	must(sem_post(shared) == 0, "sem_post");
}
PAIRS(sem_t)

/* System V, without and with SEM_UNDO. */
static int set;

static void remove_set(void)
{
	(void)semctl(set, 0, IPC_RMID);
}

static pid_t maker;

static void remove_set_once(void)
{
	if (getpid() == maker)
		remove_set();
}

static void semop_make(void)
{
	union {
		int val;
		void *pointer;
	} one = { .val = 1 };

	set = semget(IPC_PRIVATE, 1, 0600);
	must(set >= 0, "semget");
	maker = getpid();
	(void)atexit(remove_set_once);
	must(semctl(set, 0, SETVAL, one) == 0, "semctl");
}

static void change(short by, short flags)
{
	struct sembuf op = { .sem_num = 0, .sem_op = by, .sem_flg = flags };

	while (semop(set, &op, 1) != 0)
		must(errno == EINTR, "semop");
}

static void semop_acquire(void) { change(-1, 0); }
static void semop_release(void) { change(1, 0); }
PAIRS(semop)

static void undo_acquire(void) { change(-1, SEM_UNDO); }
static void undo_release(void) { change(1, SEM_UNDO); }
PAIRS(undo)

/* flock(2): the lock belongs to the open file, so each process opens it. */
static int file = -1;

static void flock_attach(void)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "%s/lock", scratch_folder());
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(file >= 0, "open");
}

static void flock_acquire(void)
{
	while (flock(file, LOCK_EX) != 0)
		must(errno == EINTR, "flock");
}

static void flock_release(void)
{
	must(flock(file, LOCK_UN) == 0, "flock");
}
PAIRS(flock)

static const struct kind kinds[] = {
	{ "named", named_make, named_attach, named_acquire, named_release,
	  named_pairs, true },
	{ "named-strict", strict_make, named_attach, named_acquire,
	  named_release, named_pairs, true },
	{ "sem_t", sem_t_make, nothing, sem_t_acquire, sem_t_release,
	  sem_t_pairs, false },
	{ "semop", semop_make, nothing, semop_acquire, semop_release,
	  semop_pairs, false },
	{ "undo", semop_make, nothing, undo_acquire, undo_release, undo_pairs,
	  true },
	{ "flock", flock_attach, flock_attach, flock_acquire, flock_release,
	  flock_pairs, true },
};

const struct kind *kind_called(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	bench_cannot(name);
}
