/* SPDX-License-Identifier: MIT */
/*
 * Acquire, try, release and stat, in one process or between two live ones: C1
 * to C6, C8, C10, C12, C16.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/format.h"
#include "puppet.h"
#include "weir/ctx.h"

TEST(c2_c6_acquire_takes_and_release_gives_back)
{
	weir_named *sem = open_named(fresh_name(), 3);
	weir_named_info info;

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	info = look_at(sem);
	CHECK_EQ(info.free, 1);
	CHECK_EQ(info.held, 2);
	CHECK_EQ(weir_named_available(sem), 1);
	CHECK_NAMED(sem);
	weir_named_release(sem, 2);
	CHECK_EQ(look_at(sem).free, 3);
	close_named(sem);
}

TEST(c1_counts_out_of_range_change_nothing)
{
	weir_named *sem = open_named(fresh_name(), 3);
	int64_t got;

	CHECK_ERR(weir_named_acquire(sem, -5, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_acquire(sem, -1), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_acquire(sem, WEIR_SEM_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_release(sem, -1), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire_upto(sem, 2, 1, NULL, &got), WEIR_EINVAL);
	CHECK_ERR(weir_named_resize(sem, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_forget(sem, -1), WEIR_EINVAL);
	CHECK_EQ(look_at(sem).free, 3);
	close_named(sem);
}

TEST(c21_the_capacity_follows_a_resize_and_a_forget)
{
	weir_named *sem = open_named(fresh_name(), 3);

	CHECK_EQ(weir_named_capacity(sem), 3);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_EQ(weir_named_capacity(sem), 3);
	CHECK_OK(weir_named_resize(sem, 5, NULL));
	CHECK_EQ(weir_named_capacity(sem), 5);
	CHECK_OK(weir_named_forget(sem, 1));
	CHECK_EQ(weir_named_capacity(sem), 4);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	CHECK_EQ(weir_named_capacity(sem), 4);
	weir_named_release(sem, 1);
	close_named(sem);
}

TEST(c1_large_counts_are_exact)
{
	weir_named *sem = open_named(fresh_name(), WEIR_SEM_MAX);

	CHECK_OK(weir_named_acquire(sem, WEIR_SEM_MAX, NULL));
	CHECK_EQ(look_at(sem).free, 0);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	weir_named_release(sem, WEIR_SEM_MAX);
	CHECK_EQ(look_at(sem).free, WEIR_SEM_MAX);
	CHECK_OK(weir_named_resize(sem, 1, NULL));
	CHECK_OK(weir_named_resize(sem, WEIR_SEM_MAX, NULL));
	CHECK_ERR(weir_named_resize(sem, WEIR_SEM_MAX + 1, NULL), WEIR_EINVAL);
	CHECK_EQ(weir_named_capacity(sem), WEIR_SEM_MAX);
	CHECK_OK(weir_named_acquire(sem, WEIR_SEM_MAX, NULL));
	CHECK_ERR(weir_named_forget(sem, WEIR_SEM_MAX + 1), WEIR_EINVAL);
	CHECK_OK(weir_named_forget(sem, WEIR_SEM_MAX));
	CHECK_EQ(weir_named_capacity(sem), 0);
	CHECK_NAMED(sem);
	close_named(sem);
}

TEST(c21_forget_takes_what_the_handle_holds)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 5), *other = open_named(name, 5);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_OK(weir_named_acquire(other, 1, NULL));
	CHECK_OK(weir_named_forget(sem, 0));
	CHECK_EQ(weir_named_capacity(sem), 5);
	CHECK_ERR(weir_named_forget(sem, 3), WEIR_EOVERFLOW);
	CHECK_EQ(look_at(sem).held, 3);
	CHECK_OK(weir_named_forget(sem, 2));
	CHECK_EQ(weir_named_capacity(sem), 3);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_OK(weir_named_try_acquire(sem, 2));
	close_named(other);
	close_named(sem);
}

/* Forgotten permits pay the debt of a resize first; only the rest is lost. */
TEST(c21_forget_pays_debt)
{
	weir_named *sem = open_named(fresh_name(), 6);
	int64_t debt;

	CHECK_OK(weir_named_acquire(sem, 6, NULL));
	CHECK_OK(weir_named_resize(sem, 2, &debt));
	CHECK_EQ(debt, 4);
	/* Less than the debt, up to the debt, and more than it. */
	CHECK_OK(weir_named_forget(sem, 1));
	CHECK_EQ(weir_named_capacity(sem), 2);
	CHECK_EQ(look_at(sem).debt, 3);
	CHECK_OK(weir_named_forget(sem, 2));
	CHECK_EQ(weir_named_capacity(sem), 2);
	CHECK_EQ(look_at(sem).debt, 1);
	CHECK_OK(weir_named_forget(sem, 2));
	CHECK_EQ(weir_named_capacity(sem), 1);
	CHECK_EQ(look_at(sem).debt, 0);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_NAMED(sem);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	weir_named_release(sem, 1);
	CHECK_OK(weir_named_resize(sem, 1, &debt));
	CHECK_EQ(debt, 0);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close_named(sem);
}

/* The capacity falls below the weight of a waiter without a context. */
TEST(c21_forget_ends_waits_that_do_not_fit_any_more)
{
	const char *name = fresh_name();
	struct puppet waiter = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	puppet_tell(&waiter, PUPPET_ACQUIRE, 2, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	CHECK_OK(weir_named_forget(sem, 1));
	CHECK_EQ(look_at(sem).waiters, 0);
	CHECK_EQ(look_at(sem).oversized, 0);
	CHECK_EQ(puppet_hear(&waiter), WEIR_ETOOBIG);
	puppet_end(&waiter);
	close_named(sem);
}

TEST(c2_zero_succeeds_at_once_and_changes_nothing)
{
	weir_named *sem = open_named(fresh_name(), 0);

	CHECK_OK(weir_named_acquire(sem, 0, NULL));
	CHECK_OK(weir_named_try_acquire(sem, 0));
	weir_named_release(sem, 0);
	CHECK_EQ(look_at(sem).held, 0);
	close_named(sem);
}

TEST(c5_try_is_exact)
{
	weir_named *sem = open_named(fresh_name(), 2);

	CHECK_ERR(weir_named_try_acquire(sem, 3), WEIR_EAGAIN);
	CHECK_OK(weir_named_try_acquire(sem, 2));
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	weir_named_release(sem, 1);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close_named(sem);
}

TEST(c8_a_release_too_many_is_noticed_and_has_no_effect)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 3);
	weir_named *other = open_named(name, 3);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_ERR(weir_named_try_release(sem, 3), WEIR_EOVERFLOW);
	CHECK_PANICS("3 permits released, 2 held by this handle (capacity 3, "
		     "free 1)", weir_named_release(sem, 3));
	/* Another handle holds none of them. */
	CHECK_ERR(weir_named_try_release(other, 1), WEIR_EOVERFLOW);
	CHECK_EQ(look_at(sem).held, 2);
	close_named(other);
	close_named(sem);
}

TEST(misuse_is_an_error_or_a_panic)
{
	weir_named_info info;
	weir_named *sem;
	int64_t got;

	CHECK_ERR(weir_named_open(NULL, NULL, &sem), WEIR_EINVAL);
	CHECK_ERR(weir_named_open("x", NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire(NULL, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_acquire(NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_drain(NULL, &got), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_release(NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_resize(NULL, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_wait_idle(NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_close_handle(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_unlink(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_unlink_handle(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire_until(NULL, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire_for(NULL, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire_upto(NULL, 1, 1, NULL, &got), WEIR_EINVAL);
	CHECK_ERR(weir_named_forget(NULL, 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_pause(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_resume(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_stat(NULL, &info, NULL, 0), WEIR_EINVAL);
	CHECK_PANICS("not a semaphore", weir_named_release(NULL, 1));
	CHECK_PANICS("not a semaphore", weir_named_close(NULL, WEIR_CLOSE_NOW));
	CHECK_PANICS("not a semaphore",
		     CHECK_EQ(weir_named_available(NULL), 0));
	CHECK_PANICS("not a semaphore",
		     CHECK_EQ(weir_named_capacity(NULL), -1));
	CHECK_PANICS("not a semaphore", CHECK(weir_named_is_closed(NULL)));
}

TEST(c1_c8_misuse_of_a_semaphore)
{
	weir_named *sem = open_named(fresh_name(), 3);
	weir_named_entry entry;
	int64_t got = -1;

	CHECK_ERR(weir_named_acquire_upto(sem, 1, 1, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire_upto(sem, -1, 1, NULL, &got), WEIR_EINVAL);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_named_acquire_upto(sem, 1, WEIR_SEM_MAX + 1, NULL, &got),
		  WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire_until(sem, -1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_release(sem, WEIR_SEM_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_drain(sem, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_stat(sem, NULL, &entry, 1), WEIR_EINVAL);
	CHECK_PANICS("invalid count -1", weir_named_release(sem, -1));
	CHECK_PANICS("invalid count", weir_named_release(sem, WEIR_SEM_MAX + 1));
	CHECK_PANICS("1 permits released, 0 held by this handle (capacity 3, "
		     "free 3)", weir_named_release(sem, 1));
	/* With debt no permit is free. */
	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	CHECK_OK(weir_named_resize(sem, 1, NULL));
	CHECK_PANICS("4 permits released, 3 held by this handle (capacity 1, "
		     "free 0)", weir_named_release(sem, 4));
	CHECK_EQ(weir_named_available(sem), 0);
	CHECK_OK(weir_named_acquire_upto(sem, 0, WEIR_SEM_MAX, NULL, &got));
	CHECK_EQ(got, 0);
	CHECK_OK(weir_named_drain(sem, &got));
	CHECK_EQ(got, 0);
	CHECK_EQ(look_at(sem).held, 3);
	CHECK_NAMED(sem);
	close_named(sem);
}

TEST(c19_an_invalid_close_mode_is_a_panic)
{
	weir_named *sem = open_named(fresh_name(), 1);

	CHECK_PANICS("invalid close mode 7",
		     weir_named_close(sem, (weir_close)7));
	CHECK(!weir_named_is_closed(sem));
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close_named(sem);
}

/* A handle that is no participant. */
TEST(an_observer_only_looks)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 3), *observer;
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t got = -1;
	int fd;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_open(name, &opts, &observer));
	CHECK_EQ(look_at(observer).participants, 1);
	CHECK_EQ(look_at(observer).held, 1);
	CHECK_EQ(look_at(observer).free, 2);
	CHECK_EQ(weir_named_available(observer), 2);
	CHECK_EQ(weir_named_capacity(observer), 3);
	CHECK(!weir_named_is_closed(observer));
	CHECK_ERR(weir_named_acquire(observer, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_acquire(observer, 1, &ctx), WEIR_EINVAL);
	CHECK_ERR(weir_named_try_acquire(observer, 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_drain(observer, &got), WEIR_EINVAL);
	CHECK_EQ(got, 0);
	CHECK_ERR(weir_named_try_release(observer, 1), WEIR_EINVAL);
	CHECK_ERR(weir_named_resize(observer, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_forget(observer, 0), WEIR_EINVAL);
	CHECK_ERR(weir_named_pause(observer), WEIR_EINVAL);
	CHECK_ERR(weir_named_wait_idle(observer, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_lend(observer, &fd), WEIR_EINVAL);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_PANICS("observer", weir_named_release(observer, 1));
	CHECK_PANICS("observer", weir_named_close(observer, WEIR_CLOSE_NOW));
	/* The lock is free: the participant can go on. */
	weir_named_release(sem, 1);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	CHECK(weir_named_is_closed(observer));
	CHECK_OK(weir_named_close_handle(observer));
	opts.flags |= WEIR_NAMED_CREATE;
	CHECK_ERR(weir_named_open(name, &opts, &observer), WEIR_EINVAL);
	close_named(sem);
}

TEST(c39_the_permissions_of_a_new_file)
{
	static const uint32_t modes[] = { 0, 0600, 0640, 0666 };
	mode_t before = umask(077);

	for (int i = 0; i < 4; i++) {
		weir_named_opts opts = { .flags = WEIR_NAMED_CREATE,
					 .mode = modes[i] };
		const char *name = fresh_name();
		struct stat info;
		char path[300];
		weir_named *sem;

		CHECK_OK(weir_named_open(name, &opts, &sem));
		CHECK_OK(weir_named_path(name, path, sizeof(path)));
		CHECK(!stat(path, &info));
		CHECK_EQ(info.st_mode & 07777, modes[i] ? modes[i] : 0600);
		close_named(sem);
	}
	umask(before);
}

/* A larger file would raise SIGXFSZ. */
TEST(c16_a_limit_on_the_size_of_files)
{
	char why[300] = "";
	weir_named_opts opts = { .flags = WEIR_NAMED_CREATE, .why = why,
				 .why_size = sizeof(why) };
	struct rlimit before, limit;
	weir_named *sem;

	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	if (before.rlim_max < NM_FILE_SIZE) {
		check_skip("needs larger files");
		return;
	}
	limit = before;
	limit.rlim_cur = NM_FILE_SIZE - 1;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_ERR(weir_named_open(fresh_name(), &opts, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, EFBIG);
	CHECK(strstr(why, "ulimit -f"));
	limit.rlim_cur = NM_FILE_SIZE;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	close_named(open_named(fresh_name(), 1));
	CHECK(!setrlimit(RLIMIT_FSIZE, &before));
}

/* The files of the library may get the descriptor 0. */
TEST(c16_a_process_without_standard_input)
{
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3);
	weir_named *before = open_named(fresh_name(), 1), *sem, *other;
	const char *name = fresh_name();

	if (input >= 0) {
		CHECK(!close(0));
		CHECK_OK(weir_named_unlink_handle(before));
		CHECK(fcntl(0, F_GETFD) < 0);
	}
	close_named(before);
	sem = open_named(name, 2);
	other = open_named(name, 2);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_acquire(other, 1, NULL));
	CHECK_ERR(weir_named_acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	CHECK_EQ(look_at(sem).held, 2);
	CHECK_OK(weir_named_unlink_handle(sem));
	close_named(sem);
	CHECK_EQ(look_at(other).held, 1);
	close_named(other);
	CHECK(input < 0 || (dup2(input, 0) == 0 && !close(input)));
}

/* Returns the signals that the thread blocks. */
static uint64_t blocked_by(const char *thread)
{
	char path[300], line[200];
	unsigned long long blocked = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	file = fopen(path, "re");
	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "SigBlk:", 7))
			blocked = strtoull(line + 7, NULL, 16);
	CHECK(!fclose(file));
	return blocked;
}

/*
 * No handler of the program runs on the keeper, but that of SIGBUS: a process
 * may have truncated the file.
 */
TEST(c18_the_keeper_blocks_signals)
{
	const uint64_t never = UINT64_C(1) << (SIGKILL - 1) |
			       UINT64_C(1) << (SIGSTOP - 1) |
			       UINT64_C(1) << (SIGBUS - 1);
	const uint64_t standard = (UINT64_C(1) << 31) - 1;
	weir_named *sem = open_named(fresh_name(), 1);
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *entry;
	int keepers = 0;

	CHECK(threads);
	while ((entry = readdir(threads)))
		keepers += entry->d_name[0] != '.' &&
			   (blocked_by(entry->d_name) & standard) ==
				   (standard & ~never);
	closedir(threads);
	CHECK_EQ(keepers, 1);
	close_named(sem);
}

/*
 * A relative path is resolved when the handle is opened, so chdir(2) does not
 * matter.
 */
TEST(a_relative_path_survives_chdir)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE };
	char folder[] = "/tmp/weir-named-XXXXXX";
	weir_named *sem;

	CHECK(mkdtemp(folder));
	CHECK(!chdir(folder));
	CHECK_OK(weir_named_open("./sem", &opts, &sem));
	CHECK(!chdir("/"));
	CHECK(!look_at(sem).renamed);
	CHECK_OK(weir_named_unlink_handle(sem));
	CHECK(look_at(sem).renamed);
	CHECK_OK(weir_named_close_handle(sem));
	CHECK(!rmdir(folder));
}

TEST(c12_upto_and_drain_take_what_is_free)
{
	weir_named *sem = open_named(fresh_name(), 5);
	int64_t got;

	CHECK_OK(weir_named_acquire_upto(sem, 1, 3, NULL, &got));
	CHECK_EQ(got, 3);
	CHECK_OK(weir_named_acquire_upto(sem, 1, 9, NULL, &got));
	CHECK_EQ(got, 2);
	CHECK_OK(weir_named_acquire_upto(sem, 0, 9, NULL, &got));
	CHECK_EQ(got, 0);
	weir_named_release(sem, 4);
	CHECK_OK(weir_named_drain(sem, &got));
	CHECK_EQ(got, 4);
	CHECK_OK(weir_named_drain(sem, &got));
	CHECK_EQ(got, 0);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	got = -1;
	CHECK_ERR(weir_named_drain(sem, &got), WEIR_ECLOSED);
	CHECK_EQ(got, 0);
	close_named(sem);
}

TEST(closing_a_handle_gives_back_what_it_holds)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 3), *other = open_named(name, 3);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_ERR(weir_named_try_acquire(other, 2), WEIR_EAGAIN);
	close_named(sem);
	CHECK_OK(weir_named_try_acquire(other, 3));
	CHECK_EQ(look_at(other).participants, 1);
	close_named(other);
}

TEST(c37_two_processes_share_a_name)
{
	const char *name = fresh_name();
	struct puppet puppet = puppet_at(name, 3);
	weir_named *sem = open_named(name, 7);

	/* The process that creates the semaphore sets its capacity. */
	CHECK_EQ(look_at(sem).capacity, 3);
	CHECK_EQ(puppet_do(&puppet, PUPPET_ACQUIRE, 2), WEIR_OK);
	CHECK_ERR(weir_named_try_acquire(sem, 2), WEIR_EAGAIN);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	CHECK_EQ(puppet_do(&puppet, PUPPET_TRY, 1), WEIR_EAGAIN);
	weir_named_release(sem, 1);
	CHECK_EQ(puppet_do(&puppet, PUPPET_RELEASE, 2), WEIR_OK);
	CHECK_OK(weir_named_try_acquire(sem, 3));
	puppet_end(&puppet);
	close_named(sem);
}

TEST(stat_lists_holders_and_waiters)
{
	const char *name = fresh_name();
	struct puppet first = puppet_at(name, 3), second = puppet_at(name, 3);
	weir_named *sem = open_named(name, 3);
	weir_named_entry entries[8];
	weir_named_info info;
	int64_t before = weir_now_ns();

	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	puppet_tell(&first, PUPPET_ACQUIRE, 2, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	memset(entries, 0xff, sizeof(entries));
	CHECK_OK(weir_named_stat(sem, &info, entries, 8));
	CHECK_EQ(info.entries, 3);
	CHECK_EQ(info.waiting_permits, 3);
	CHECK_EQ(info.participants, 3);
	CHECK(!info.renamed);
	CHECK_EQ(entries[0].role, WEIR_NAMED_HOLDS);
	CHECK_EQ(entries[0].weight, 3);
	CHECK(entries[0].mine);
	CHECK_EQ(entries[0].place, 0);
	CHECK(entries[0].since_ns > 0);
	CHECK(!strcmp(entries[0].label, "test"));
	CHECK_EQ(entries[1].role, WEIR_NAMED_WAITS);
	CHECK_EQ(entries[1].pid, first.pid);
	CHECK_EQ(entries[1].weight, 2);
	CHECK_EQ(entries[1].place, 1);
	CHECK(!strcmp(entries[1].label, "puppet"));
	CHECK(entries[1].since_ns > 0);
	CHECK(entries[1].since_ns <= weir_now_ns());
	CHECK_EQ(entries[2].place, 2);
	CHECK(entries[1].id != entries[2].id);
	CHECK(entries[0].pid_namespace == entries[1].pid_namespace);
	/* With room for one entry, all three are still counted. */
	CHECK_OK(weir_named_stat(sem, &info, entries, 1));
	CHECK_EQ(info.entries, 3);
	weir_named_release(sem, 3);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	/* This call folds the record of the call that has waited. */
	CHECK_EQ(puppet_do(&first, PUPPET_TRY, 3), WEIR_EAGAIN);
	CHECK_OK(weir_named_stat(sem, &info, entries, 8));
	CHECK_EQ(info.entries, 2);
	CHECK_EQ(entries[0].pid, first.pid);
	CHECK_EQ(entries[0].role, WEIR_NAMED_HOLDS);
	CHECK_EQ(entries[0].weight, 2);
	CHECK(entries[0].since_ns > before - 1000000000);
	puppet_end(&first);
	puppet_end(&second);
	close_named(sem);
}

TEST(stat_lists_calls_that_are_not_in_the_queue)
{
	const char *name = fresh_name();
	struct puppet big = puppet_at(name, 2), idler = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);
	weir_named_entry entries[4];
	weir_named_info info;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	puppet_tell(&big, PUPPET_ACQUIRE_CTX, 5, 0, NULL);
	AWAIT(look_at(sem).oversized == 1);
	puppet_tell(&idler, PUPPET_IDLE, 0, 0, NULL);
	AWAIT(look_at(sem).oversized == 2);
	memset(entries, 0xff, sizeof(entries));
	CHECK_OK(weir_named_stat(sem, &info, entries, 4));
	CHECK_EQ(info.entries, 3);
	CHECK_EQ(entries[1].role, WEIR_NAMED_OVERSIZED);
	CHECK_EQ(entries[1].pid, big.pid);
	CHECK_EQ(entries[1].weight, 5);
	CHECK_EQ(entries[1].place, 0);
	CHECK_EQ(entries[2].role, WEIR_NAMED_IDLE);
	CHECK_EQ(entries[2].pid, idler.pid);
	weir_named_release(sem, 1);
	CHECK_EQ(puppet_hear(&idler), WEIR_OK);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	CHECK_EQ(puppet_hear(&big), WEIR_ECLOSED);
	puppet_end(&big);
	puppet_end(&idler);
	close_named(sem);
}

struct cancelled {
	weir_named *sem;
	weir_ctx ctx;
};

static void *wait_for_the_cancel(void *arg)
{
	struct cancelled *call = arg;

	CHECK_ERR(weir_named_acquire(call->sem, 1, &call->ctx), WEIR_ECANCELED);
	return NULL;
}

/* The second process of the queue reuses the record of a call that has left. */
TEST(c3_stat_sorts_the_queue_by_arrival)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct cancelled call = { .sem = sem, .ctx = WEIR_CTX_INIT };
	struct puppet first = puppet_at(name, 1), second = puppet_at(name, 1);
	weir_named_entry entries[4];
	weir_named_info info;
	check_thread thread;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	thread = start(wait_for_the_cancel, &call);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&first, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	weir_ctx_cancel(&call.ctx);
	finish(thread);
	CHECK_OK(weir_ctx_destroy(&call.ctx));
	/* This call frees the record. */
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	puppet_tell(&second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	CHECK_OK(weir_named_stat(sem, &info, entries, 4));
	CHECK_EQ(entries[1].pid, first.pid);
	CHECK_EQ(entries[1].place, 1);
	CHECK_EQ(entries[2].pid, second.pid);
	CHECK_EQ(entries[2].place, 2);
	weir_named_release(sem, 1);
	CHECK_EQ(puppet_hear(&first), WEIR_OK);
	CHECK_EQ(puppet_do(&first, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_EQ(puppet_hear(&second), WEIR_OK);
	puppet_end(&first);
	puppet_end(&second);
	close_named(sem);
}

/* Larger than the keeper's stack would be without room for it. */
static _Thread_local volatile char large[200000];

TEST(a_program_with_large_thread_local_variables)
{
	weir_named *sem = open_named(fresh_name(), 1);

	large[0] = 1;
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	/* This makes the keeper wake and watch. */
	CHECK_ERR(weir_named_acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	CHECK_EQ(large[0], 1);
	close_named(sem);
}
