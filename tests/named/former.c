/* SPDX-License-Identifier: MIT */
/*
 * C37: a former watcher, which still sleeps on the same words, dies together
 * with the watched process (docs/design/named.md, "Former watchers").
 *
 * The kernel wakes one sleeper per word and death.  If that sleeper is a former
 * watcher that is being killed itself, the wake-up is lost.  Pinning the
 * processes to CPUs makes that likely: processes on one CPU are all killed
 * before the first of them ends.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named/format.h"
#include "puppet.h"

enum { ROUNDS = UNDER_TSAN ? 20 : 200 };

/* Pin a thread, and the threads that it starts later; 0 means the caller. */
static void set_cpu(pid_t thread, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	CHECK(!sched_setaffinity(thread, sizeof(cpus), &cpus));
}

/* Map the file, to read which keeper is armed for which slot. */
static struct nm_header *look_into(const char *name)
{
	struct nm_header *head;
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s.weir", getenv("WEIR_DIR"),
		       name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	head = mmap(NULL, NM_FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(head != MAP_FAILED);
	close(fd);
	return head;
}

static void join_queue(struct puppet *puppet, weir_named *sem, uint32_t place)
{
	puppet_tell(puppet, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == place);
}

static void reap(const struct puppet *puppets, int count)
{
	for (int i = 0; i < count; i++) {
		CHECK_EQ(waitpid(puppets[i].pid, NULL, 0), puppets[i].pid);
		close(puppets[i].fd);
	}
}

/* Kill all of them at once. */
static void kill_all(const struct puppet *puppets, int count)
{
	for (int i = 0; i < count; i++)
		kill_hard(puppets[i].pid);
	reap(puppets, count);
}

/* The first two of the chain have been replaced by others. */
static void former_first_two(void)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct nm_header *head = look_into(name);
	struct puppet dying[3], first, second;
	struct puppet *holder = &dying[2];
	uint32_t armed[2];

	for (int i = 0; i < 3; i++)
		dying[i] = puppet_at(name, 1);
	first = puppet_at(name, 1);
	second = puppet_at(name, 1);
	CHECK_EQ(puppet_do(holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	join_queue(&dying[0], sem, 1);
	join_queue(&dying[1], sem, 2);
	for (int r = 0; r < 2; r++) {
		AWAIT(at_load_relaxed(&head->armed_by[r]));
		armed[r] = at_load_relaxed(&head->armed_by[r]);
	}
	/* Both get the permit and release it; their keepers do not wake. */
	CHECK_EQ(puppet_do(holder, PUPPET_RELEASE, 1), WEIR_OK);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(puppet_hear(&dying[i]), WEIR_OK);
		CHECK_EQ(puppet_do(&dying[i], PUPPET_RELEASE, 1), WEIR_OK);
	}
	CHECK_EQ(puppet_do(holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	join_queue(&first, sem, 1);
	join_queue(&second, sem, 2);
	for (int r = 0; r < 2; r++)
		AWAIT(at_load_relaxed(&head->armed_by[r]) != armed[r]);
	close_named(sem);
	kill_all(dying, 3);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	puppet_end(&first);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	puppet_end(&second);
	munmap(head, NM_FILE_SIZE);
}

/* The third of the chain, which watches the second, has been replaced. */
static void former_third(void)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2);
	struct nm_header *head = look_into(name);
	struct nm_slot *slots = (struct nm_slot *)(head + 1);
	struct puppet dying[4], last;
	struct puppet *third = &dying[0], *holder = &dying[3];

	/* In this order they get slots 1 to 4; slot 0 is ours. */
	for (int i = 0; i < 4; i++)
		dying[i] = puppet_at(name, 2);
	last = puppet_at(name, 2);
	CHECK_EQ(puppet_do(holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	join_queue(&dying[1], sem, 1);
	join_queue(&dying[2], sem, 2);
	puppet_tell(third, PUPPET_ACQUIRE, 2, 0, NULL);
	AWAIT(look_at(sem).waiters == 3);
	AWAIT(at_load_relaxed(&slots[1].armed_pred) == 4);
	/* C11: the request is oversized for a moment. */
	CHECK_OK(weir_named_resize(sem, 1, NULL));
	CHECK_EQ(puppet_hear(third), WEIR_ETOOBIG);
	CHECK_OK(weir_named_resize(sem, 2, NULL));
	join_queue(&last, sem, 3);
	AWAIT(at_load_relaxed(&slots[5].armed_pred) == 4);
	close_named(sem);
	kill_all(dying, 4);
	CHECK_EQ(puppet_hear(&last), WEIR_OK);
	puppet_end(&last);
	munmap(head, NM_FILE_SIZE);
}

/* Two CPUs that this process may use; twice the same if there is one. */
static void find_cpus(int found[2])
{
	cpu_set_t cpus;
	int count = 0;

	CHECK(!sched_getaffinity(0, sizeof(cpus), &cpus));
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET((size_t)cpu, &cpus))
			found[count++] = cpu;
	if (count == 1)
		found[1] = found[0];
}

/* Occupy a CPU, so that nothing else runs on it. */
struct busy {
	int cpu, other;		/* equal if there is one CPU */
	uint32_t state;		/* atomic; 1: busy, 2: stop */
};

static void *keep_busy(void *arg)
{
	struct sched_param first = { .sched_priority = 1 };
	struct busy *busy = arg;

	set_cpu(0, busy->cpu);
	/* Without the right to do that, the CPU is only slowed down. */
	if (busy->cpu != busy->other)
		(void)sched_setscheduler(0, SCHED_FIFO, &first);
	at_store_release(&busy->state, 1);
	while (at_load_acquire(&busy->state) == 1)
		;
	return NULL;
}

static pid_t keeper_of(const struct nm_slot *slot)
{
	return (pid_t)(at_load_relaxed(&slot->alive[0].word) & INT32_MAX);
}

/*
 * The first two die.  Their helpers, which sleep on the holder's words, end
 * later than their keepers, because their CPU is busy.  The third participant
 * takes over a role in the meantime, and then the holder dies.
 */
static void former_helpers(const int cpus[2])
{
	enum { OTHERS = WEIR_WATCH_MAX_, ALL = OTHERS + 1 };
	const char *name = fresh_name();
	weir_named *others[OTHERS];
	struct nm_header *head;
	struct nm_slot *slots;
	struct puppet dying[3], last, *holder = &dying[2];
	struct busy busy = { .cpu = cpus[0], .other = cpus[1] };
	check_thread thread;
	siginfo_t gone;
	int64_t from;

	/* Slots 0 to 3: the holder, the first two, the last; others follow. */
	*holder = puppet_at(name, ALL);
	CHECK_EQ(puppet_do(holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	for (int i = 0; i < 2; i++) {
		dying[i] = puppet_start();
		set_cpu(dying[i].pid, cpus[0]);
		puppet_open(&dying[i], name, ALL);
	}
	last = puppet_at(name, ALL);
	head = look_into(name);
	slots = (struct nm_slot *)(head + 1);
	for (int i = 0; i < OTHERS; i++) {
		others[i] = open_named(name, ALL);
		CHECK_OK(weir_named_acquire(others[i], 1, NULL));
	}
	for (uint32_t i = 0; i < 2; i++) {
		join_queue(&dying[i], others[0], i + 1);
		AWAIT(at_load_relaxed(&head->armed_by[i]) == i + 2);
	}
	join_queue(&last, others[0], 3);
	AWAIT(at_load_relaxed(&slots[3].armed_pred) == 3);
	for (int i = 0; i < 2; i++)
		set_cpu(keeper_of(&slots[1 + i]), cpus[1]);
	thread = start(keep_busy, &busy);
	AWAIT(at_load_acquire(&busy.state));
	kill_hard(dying[0].pid);
	kill_hard(dying[1].pid);
	AWAIT(at_load_relaxed(&head->armed_by[0]) == 4 ||
	      at_load_relaxed(&head->armed_by[1]) == 4);
	/* Let its helper go to sleep; being too early is no error. */
	from = weir_now_ns();
	while (weir_now_ns() - from < 2000000)
		sched_yield();
	kill_hard(holder->pid);
	CHECK(!waitid(P_PID, (id_t)holder->pid, &gone, WEXITED | WNOWAIT));
	at_store_release(&busy.state, 2);
	finish(thread);
	CHECK_EQ(puppet_hear(&last), WEIR_OK);
	reap(dying, 3);
	for (int i = 0; i < OTHERS; i++)
		close_named(others[i]);
	puppet_end(&last);
	munmap(head, NM_FILE_SIZE);
}

NAMESPACE_TEST(c37_former_watchers_die_with_the_holder)
{
	set_cpu(0, sched_getcpu());
	for (int i = 0; i < ROUNDS; i++)
		former_first_two();
}

NAMESPACE_TEST(c37_a_former_third_dies_with_the_second)
{
	set_cpu(0, sched_getcpu());
	for (int i = 0; i < ROUNDS; i++)
		former_third();
}

/*
 * A waiter is killed.  Its thread, which sleeps on the word of its record,
 * cannot end because its CPU is busy.  Another waiter reuses that record.
 */
static void former_sleeper(const int cpus[2])
{
	const char *name = fresh_name();
	struct puppet dying = puppet_start(), last;
	struct busy busy = { .cpu = cpus[0], .other = cpus[1] };
	weir_named *sem;
	check_thread thread;

	/* The keeper of the dying process stays on our CPU. */
	puppet_open(&dying, name, 1);
	sem = open_named(name, 1);
	last = puppet_at(name, 1);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	set_cpu(dying.pid, cpus[0]);
	join_queue(&dying, sem, 1);
	thread = start(keep_busy, &busy);
	AWAIT(at_load_acquire(&busy.state));
	kill_hard(dying.pid);
	AWAIT(look_at(sem).waiters == 0);
	join_queue(&last, sem, 1);
	weir_named_release(sem, 1);
	AWAIT(look_at(sem).granted || look_at(sem).held);
	at_store_release(&busy.state, 2);
	finish(thread);
	CHECK_EQ(puppet_hear(&last), WEIR_OK);
	reap(&dying, 1);
	puppet_end(&last);
	close_named(sem);
}

NAMESPACE_TEST(c38_a_record_is_reused_while_its_sleeper_dies)
{
	int cpus[2];

	find_cpus(cpus);
	set_cpu(0, cpus[1]);
	for (int i = 0; i < ROUNDS / 10; i++)
		former_sleeper(cpus);
}

NAMESPACE_TEST(c37_helpers_that_outlive_their_keeper)
{
	int cpus[2];

	find_cpus(cpus);
	set_cpu(0, cpus[1]);
	for (int i = 0; i < ROUNDS / 10; i++)
		former_helpers(cpus);
}
