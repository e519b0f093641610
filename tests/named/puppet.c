/* SPDX-License-Identifier: MIT */
/* Processes for tests; see puppet.h. */
#include "puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "weir/ctx.h"

struct order {
	int64_t n, m;
	enum puppet_verb verb;
	char name[140];
};

/* --- the folder of the semaphores, in WEIR_TEST_SHM or /dev/shm --- */

static char folder[200];
static pid_t folder_owner;

static void remove_folder(void)
{
	char command[sizeof(folder) + 10];

	if (getpid() != folder_owner)
		return;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		fprintf(stderr, "%s stays\n", folder);
}

__attribute__((constructor)) static void make_folder(void)
{
	const char *parent = getenv("WEIR_TEST_SHM");

	(void)snprintf(folder, sizeof(folder), "%s/weir-test-XXXXXX",
		       parent ? parent : "/dev/shm");
	if (!mkdtemp(folder) || setenv("WEIR_DIR", folder, 1))
		abort();
	folder_owner = getpid();
	atexit(remove_folder);
}

const char *fresh_name(void)
{
	static char name[40];

	/* PIDs repeat in different namespaces, so add the time. */
	(void)snprintf(name, sizeof(name), "t%d-%lld", (int)getpid(),
		       (long long)weir_now_ns());
	return name;
}

weir_named *open_named(const char *name, int64_t capacity)
{
	weir_named_opts opts = { .capacity = capacity,
				 .flags = WEIR_NAMED_CREATE,
				 .label = "test" };
	char why[200] = "";
	weir_named *sem = NULL;
	weir_err err;

	opts.why = why;
	opts.why_size = sizeof(why);
	err = weir_named_open(name, &opts, &sem);
	if (err)
		check_fail(__FILE__, __LINE__, "%s: %s, %s: %s", name,
			   weir_err_name(err), strerror(errno), why);
	return sem;
}

void close_named(weir_named *sem)
{
	CHECK_OK(weir_named_close_handle(sem));
}

weir_named_info look_at(weir_named *sem)
{
	weir_named_info info;

	CHECK_OK(weir_named_stat(sem, &info, NULL, 0));
	return info;
}

void check_named(const char *file, int line, weir_named *sem)
{
	weir_named_info info = look_at(sem);

	if (info.capacity != info.free + info.held + info.granted - info.debt ||
	    info.free < 0 || info.held < 0 || info.granted < 0 || info.debt < 0)
		check_fail(file, line,
			   "capacity %lld, free %lld, held %lld, granted %lld, "
			   "debt %lld",
			   (long long)info.capacity, (long long)info.free,
			   (long long)info.held, (long long)info.granted,
			   (long long)info.debt);
}

/* --- the puppet's side --- */

static void *acquire_thread(void *arg)
{
	weir_named **sem = arg;

	return weir_named_acquire(*sem, 1, NULL) ? arg : NULL;
}

static int64_t obey(const struct order *order, weir_named **sem)
{
	weir_named_opts opts = { .capacity = order->n,
				 .policy = (weir_named_policy)order->m,
				 .flags = WEIR_NAMED_CREATE,
				 .label = "puppet" };
	weir_ctx ctx = WEIR_CTX_INIT;
	check_thread thread;
	char *memory;
	pid_t child;

	switch (order->verb) {
	case PUPPET_OPEN:
		return weir_named_open(order->name, &opts, sem);
	case PUPPET_ACQUIRE:
		return weir_named_acquire(*sem, order->n, NULL);
	case PUPPET_ACQUIRE_CTX:
		return weir_named_acquire(*sem, order->n, &ctx);
	case PUPPET_TRY:
		return weir_named_try_acquire(*sem, order->n);
	case PUPPET_UNTIL:
		return weir_named_acquire_until(*sem, order->n, order->m);
	case PUPPET_RELEASE:
		return weir_named_try_release(*sem, order->n);
	case PUPPET_IDLE:
		return weir_named_wait_idle(*sem, NULL);
	case PUPPET_RESIZE:
		return weir_named_resize(*sem, order->n, NULL);
	case PUPPET_CLOSE:
		weir_named_close(*sem, (weir_close)order->n);
		return 0;
	case PUPPET_CLOSE_HANDLE:
		return weir_named_close_handle(*sem);
	case PUPPET_EAT:
		memory = malloc((size_t)order->n);
		if (!memory)
			return WEIR_ENOMEM;
		memset(memory, 1, (size_t)order->n);
		__asm__ volatile("" : : "r"(memory) : "memory");
		return 0;
	case PUPPET_THREAD:
		thread = start(acquire_thread, sem);
		return finish(thread) ? WEIR_EINVAL : 0;
	case PUPPET_FORK:
		child = fork();
		if (!child)
			for (;;)
				pause();
		return child;
	case PUPPET_EXEC:
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		return WEIR_ESYSTEM;
	}
	return WEIR_EINVAL;
}

static void play(int fd)
{
	weir_named *sem = NULL;
	struct order order;
	int64_t result;

	while (read(fd, &order, sizeof(order)) == (ssize_t)sizeof(order)) {
		result = obey(&order, &sem);
		if (write(fd, &result, sizeof(result)) < 0)
			break;
	}
	_exit(0);
}

/* --- the test's side --- */

static struct puppet start_with(int apart)
{
	struct puppet puppet;
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	/* After unshare(2) the first child is PID 1 of the new namespace. */
	if (apart) {
		pid_t between = fork();

		CHECK(between >= 0);
		if (!between) {
			int64_t first;

			if (unshare(CLONE_NEWPID))
				_exit(2);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			first = fork();
			if (!first) {
				close(ends[0]);
				play(ends[1]);
			}
			if (write(ends[1], &first, sizeof(first)) < 0)
				_exit(2);
			close(ends[0]);
			close(ends[1]);
			waitpid((pid_t)first, NULL, 0);
			_exit(0);
		}
		close(ends[1]);
		puppet.fd = ends[0];
		puppet.child = between;
		puppet.pid = (pid_t)puppet_hear(&puppet);
		return puppet;
	}
	puppet.pid = fork();
	CHECK(puppet.pid >= 0);
	if (!puppet.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		play(ends[1]);
	}
	close(ends[1]);
	puppet.fd = ends[0];
	puppet.child = puppet.pid;
	return puppet;
}

struct puppet puppet_start(void)
{
	return start_with(0);
}

struct puppet puppet_start_apart(void)
{
	return start_with(1);
}

void puppet_tell(struct puppet *puppet, enum puppet_verb verb, int64_t n,
		 int64_t m, const char *name)
{
	struct order order = { .verb = verb, .n = n, .m = m };

	if (name)
		(void)snprintf(order.name, sizeof(order.name), "%s", name);
	CHECK_EQ(write(puppet->fd, &order, sizeof(order)), sizeof(order));
}

int64_t puppet_hear(struct puppet *puppet)
{
	int64_t result;

	CHECK_EQ(read(puppet->fd, &result, sizeof(result)), sizeof(result));
	return result;
}

int64_t puppet_do(struct puppet *puppet, enum puppet_verb verb, int64_t n)
{
	puppet_tell(puppet, verb, n, 0, NULL);
	return puppet_hear(puppet);
}

void puppet_open_as(struct puppet *puppet, const char *name, int64_t capacity,
		    weir_named_policy policy)
{
	puppet_tell(puppet, PUPPET_OPEN, capacity, (int64_t)policy, name);
	CHECK_EQ(puppet_hear(puppet), 0);
}

void puppet_open(struct puppet *puppet, const char *name, int64_t capacity)
{
	puppet_open_as(puppet, name, capacity, WEIR_NAMED_FAST);
}

struct puppet puppet_at(const char *name, int64_t capacity)
{
	struct puppet puppet = puppet_start();

	puppet_open(&puppet, name, capacity);
	return puppet;
}

void kill_hard(pid_t pid)
{
	CHECK(pid > 1);
	CHECK(process_signal(pid, SIGKILL));
}

void puppet_kill(struct puppet *puppet)
{
	kill_hard(puppet->pid);
	CHECK_EQ(waitpid(puppet->child, NULL, 0), puppet->child);
	close(puppet->fd);
}

void puppet_end(struct puppet *puppet)
{
	/* Puppets that were started later have copies of the descriptor. */
	shutdown(puppet->fd, SHUT_RDWR);
	close(puppet->fd);
	CHECK_EQ(waitpid(puppet->child, NULL, 0), puppet->child);
}

void in_namespace(void (*fn)(void))
{
	int status = run_contained(fn);

	if (status == CHECK_SKIPPED)
		check_note_skip();
	else
		CHECK_EQ(status, 0);
}
