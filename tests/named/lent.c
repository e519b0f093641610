/* SPDX-License-Identifier: MIT */
/*
 * C37: lent files, with calls to libc that fail.  The linker wraps the calls in
 * their 64-bit forms, which are the ones that glibc uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "file.h"
#include "named/handle.h"
#include "private.h"

static const char *plan, *then;	/* the call that fails once, and the next one */
static int plan_errno;
static int64_t random_result;	/* of getrandom, with the number 0; 0: it works */
static struct stat *owner;	/* what lstat reports; null: the truth */
static struct nm_slot *claimed;	/* another process takes over this slot ... */
static bool damages;		/* or damages the file when it is opened */

/* Calls that the library has made. */
static int chowns, chmods, opens, open_flags;
static uid_t chown_uid;
static gid_t chown_gid;
static mode_t open_mode, chmod_mode;

static bool fails(const char *call)
{
	if (!plan || strcmp(plan, call))
		return false;
	plan = then;
	then = NULL;
	errno = plan_errno;
	return true;
}

static void refuse_next(const char *call, int number)
{
	plan = call;
	plan_errno = number;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode = 0;

	va_start(args, flags);
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (strstr(path, NM_LENT_PREFIX)) {
		opens++;
		open_flags = flags;
		open_mode = mode;
		if (claimed)
			claimed->state += NM_SLOT_CLAIMED - NM_SLOT_LIVE;
		if (damages)
			alone.head->value = alone.head->capacity + 1;
		if (fails("open"))
			return -1;
	}
	return __real_open64(path, flags, mode);
}

int __real_fstat64(int fd, struct stat *info);
int __wrap_fstat64(int fd, struct stat *info);
int __wrap_fstat64(int fd, struct stat *info)
{
	return fails("fstat") ? -1 : __real_fstat64(fd, info);
}

int __real_lstat64(const char *path, struct stat *info);
int __wrap_lstat64(const char *path, struct stat *info);
int __wrap_lstat64(const char *path, struct stat *info)
{
	int failed = fails("lstat") ? -1 : __real_lstat64(path, info);

	if (owner && strstr(path, NM_LENT_PREFIX))
		*info = *owner;
	return failed;
}

/* Only root could change the owner. */
int __wrap_fchown(int fd, uid_t uid, gid_t gid);
int __wrap_fchown(int fd, uid_t uid, gid_t gid)
{
	(void)fd;
	chowns++;
	chown_uid = uid;
	chown_gid = gid;
	return fails("fchown") ? -1 : 0;
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
	return fails("fchmod") ? -1 : __real_fchmod(fd, mode);
}

int __real_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode)
{
	chmods++;
	chmod_mode = mode;
	return fails("chmod") ? -1 : __real_chmod(path, mode);
}

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return fails("fcntl") ? -1 : __real_fcntl64(fd, command, arg);
}

ssize_t __real_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
	if (!random_result)
		return __real_getrandom(to, size, flags);
	memset(to, 0, size);
	errno = ENOSYS;
	return (ssize_t)random_result;
}

#define NUMBER 0xabcu

static weir_named *open_with(mode_t mode)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE,
				 .mode = mode };
	weir_named *sem;

	CHECK_OK(weir_named_open(fresh_name(), &opts, &sem));
	chowns = chmods = opens = 0;
	return sem;
}

static weir_named *open_strict(void)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE,
				 .policy = WEIR_NAMED_STRICT };
	weir_named *sem;

	CHECK_OK(weir_named_open(fresh_name(), &opts, &sem));
	return sem;
}

static const char *lent_path(void)
{
	static char path[300];

	(void)snprintf(path, sizeof(path), "%s/.weir-lent-%016x",
		       getenv("WEIR_DIR"), NUMBER);
	return path;
}

TEST(c37_a_lent_file_has_the_readers_of_the_semaphore)
{
	static const mode_t modes[][2] = { { 0600, 0400 }, { 0640, 0440 },
					   { 0666, 0444 } };

	for (int i = 0; i < 3; i++) {
		weir_named *sem = open_with(modes[i][0]);
		struct stat info;
		int fd = weir_nm_lent_open_(sem, NUMBER, true);

		CHECK(fd >= 0);
		CHECK_EQ(open_flags & (O_ACCMODE | O_CLOEXEC | O_CREAT | O_EXCL),
			 O_RDONLY | O_CLOEXEC | O_CREAT | O_EXCL);
		CHECK_EQ(open_mode, 0400);
		CHECK(!stat(lent_path(), &info));
		CHECK_EQ(info.st_mode & 07777, modes[i][1]);
		CHECK_EQ(chowns, 1);
		CHECK_EQ(chown_uid, info.st_uid);
		CHECK_EQ(chown_gid, info.st_gid);
		CHECK(weir_nm_is_lent_(sem, NUMBER));
		close(fd);
		CHECK(!weir_nm_is_lent_(sem, NUMBER));
		errno = EXDEV;
		weir_nm_lent_remove_(sem, NUMBER);
		CHECK_EQ(errno, EXDEV);
		CHECK(access(lent_path(), F_OK));
		weir_nm_lent_remove_(sem, NUMBER);
		CHECK(!weir_nm_is_lent_(sem, NUMBER));
		close_named(sem);
	}
}

/* The file belongs to another user: the group is enough. */
TEST(c37_a_lent_file_without_the_owner_of_the_semaphore)
{
	weir_named *sem = open_with(0);
	int fd;

	refuse_next("fchown", EPERM);
	fd = weir_nm_lent_open_(sem, NUMBER, true);
	CHECK(fd >= 0);
	CHECK_EQ(chowns, 2);
	CHECK_EQ(chown_uid, (uid_t)-1);
	CHECK_EQ(chown_gid, getegid());
	close(fd);
	weir_nm_lent_remove_(sem, NUMBER);
	refuse_next("fchown", EIO);
	fd = weir_nm_lent_open_(sem, NUMBER, true);
	CHECK(fd >= 0);
	CHECK_EQ(chowns, 3);
	close(fd);
	weir_nm_lent_remove_(sem, NUMBER);
	close_named(sem);
}

TEST(c16_a_lent_file_that_cannot_be_opened)
{
	static const char *const calls[] = { "open", "fstat", "fchmod",
					     "fcntl" };
	weir_named *sem = open_with(0);
	int fd;

	for (int i = 0; i < 4; i++) {
		errno = 0;
		refuse_next(calls[i], ENOLCK);
		CHECK_EQ(weir_nm_lent_open_(sem, NUMBER, true), -1);
		CHECK_EQ(errno, ENOLCK);
		CHECK(!plan);
		weir_nm_lent_remove_(sem, NUMBER);
	}
	CHECK_EQ(weir_nm_lent_open_(sem, NUMBER, false), -1);
	CHECK_EQ(errno, ENOENT);
	fd = weir_nm_lent_open_(sem, NUMBER, true);
	CHECK(fd >= 0);
	CHECK_EQ(weir_nm_lent_open_(sem, NUMBER, true), -1);
	CHECK_EQ(errno, EEXIST);
	close(fd);
	/* A second descriptor changes neither owner nor permissions. */
	chowns = 0;
	fd = weir_nm_lent_open_(sem, NUMBER, false);
	CHECK(fd >= 0);
	CHECK_EQ(open_flags & (O_ACCMODE | O_CLOEXEC | O_CREAT | O_NOFOLLOW),
		 O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CHECK_EQ(chowns, 0);
	CHECK(weir_nm_is_lent_(sem, NUMBER));
	close(fd);
	weir_nm_lent_remove_(sem, NUMBER);
	close_named(sem);
}

TEST(c37_the_number_of_a_lent_file)
{
	CHECK(weir_nm_lent_number_() != weir_nm_lent_number_());
	/* 0 means none. */
	random_result = 8;
	CHECK_EQ(weir_nm_lent_number_(), 1);
	random_result = -1;
	CHECK_EQ(weir_nm_lent_number_(), 0);
	CHECK_EQ(errno, ENOSYS);
	random_result = 7;
	CHECK_EQ(weir_nm_lent_number_(), 0);
	random_result = 0;
}

/* Only some errors show that the file does not exist. */
TEST(c37_a_lent_file_that_cannot_be_examined)
{
	static const struct {
		int number;
		bool lent;
	} plans[] = { { ENOENT, false }, { ENOTDIR, false }, { ELOOP, false },
		      { EMFILE, true },	 { EAGAIN, true } };
	weir_named *sem = open_with(0);
	int fd = weir_nm_lent_open_(sem, NUMBER, true);

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		refuse_next("open", plans[i].number);
		errno = EXDEV;
		CHECK_EQ(weir_nm_is_lent_(sem, NUMBER), plans[i].lent);
		CHECK_EQ(errno, EXDEV);
	}
	/* A lease of a borrower must not delay the open. */
	CHECK_EQ(open_flags & (O_ACCMODE | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
		 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	CHECK_EQ(chmods, 0);
	close(fd);
	refuse_next("fcntl", ENOLCK);
	CHECK(!weir_nm_is_lent_(sem, NUMBER));
	errno = EXDEV;
	CHECK(!weir_nm_is_lent_(sem, NUMBER));
	CHECK_EQ(errno, EXDEV);
	weir_nm_lent_remove_(sem, NUMBER);
	close_named(sem);
}

/* The open of the lent file is denied; then its permissions are restored. */
static bool is_lent_denied(weir_named *sem)
{
	opens = chmods = 0;
	refuse_next("open", EACCES);
	return weir_nm_is_lent_(sem, NUMBER);
}

TEST(c37_the_permissions_of_a_lent_file_are_restored)
{
	struct stat other = { .st_mode = S_IFREG, .st_uid = geteuid() };
	weir_named *sem = open_with(0640);
	int fd = weir_nm_lent_open_(sem, NUMBER, true);

	CHECK(!chmod(lent_path(), 0));
	CHECK(is_lent_denied(sem));
	CHECK_EQ(opens, 2);
	CHECK_EQ(chmods, 1);
	CHECK_EQ(chmod_mode, 0440);
	close(fd);
	CHECK(!is_lent_denied(sem));
	CHECK_EQ(opens, 2);
	/* Not if it is another user's file, or no regular one. */
	owner = &other;
	CHECK(!is_lent_denied(sem));
	other.st_uid++;
	CHECK(is_lent_denied(sem));
	CHECK_EQ(chmods, 0);
	CHECK_EQ(opens, 1);
	other = (struct stat){ .st_mode = S_IFLNK, .st_uid = geteuid() };
	CHECK(is_lent_denied(sem));
	CHECK_EQ(chmods, 0);
	owner = NULL;
	/* Not if a call fails. */
	for (int i = 0; i < 3; i++) {
		then = (const char *[]){ "fstat", "lstat", "chmod" }[i];
		CHECK(is_lent_denied(sem));
		CHECK(!plan);
		CHECK_EQ(chmods, i == 2);
		CHECK_EQ(opens, 1);
	}
	weir_nm_lent_remove_(sem, NUMBER);
	CHECK(!is_lent_denied(sem));
	CHECK_EQ(chmods, 0);
	close_named(sem);
}

/* The lent file may get the descriptor 0. */
TEST(c16_a_lent_file_without_standard_input)
{
	weir_named *sem = open_with(0), *strict = open_strict();
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3), fd;

	CHECK(input < 0 || !close(0));
	fd = weir_nm_lent_open_(sem, NUMBER, true);
	CHECK(fd == 0 || input < 0);
	CHECK(!close(fd));
	errno = EACCES;
	CHECK(!weir_nm_is_lent_(sem, NUMBER));
	refuse_next("fcntl", ENOLCK);
	CHECK_EQ(weir_nm_lent_open_(sem, NUMBER, false), -1);
	CHECK(fcntl(fd, F_GETFD) < 0);
	weir_nm_lent_remove_(sem, NUMBER);
	CHECK_OK(weir_named_lend(strict, &fd));
	CHECK(fd == 0 || input < 0);
	CHECK(!close(fd));
	close_named(strict);
	CHECK(input < 0 || (dup2(input, 0) == 0 && !close(input)));
	close_named(sem);
}

/* A failed call leaves no file, and the next one lends. */
TEST(c16_c37_a_permit_that_cannot_be_lent)
{
	weir_named *sem = open_strict();
	int fd = -1, again = -1;

	CHECK_ERR(weir_named_lend(sem, NULL), WEIR_EINVAL);
	random_result = -1;
	CHECK_ERR(weir_named_lend(sem, &fd), WEIR_ESYSTEM);
	CHECK_EQ(errno, ENOSYS);
	random_result = 0;
	/* Then there is no file to remove; errno is that of the open. */
	refuse_next("open", EMFILE);
	CHECK_ERR(weir_named_lend(sem, &fd), WEIR_ESYSTEM);
	CHECK_EQ(errno, EMFILE);
	refuse_next("fcntl", ENOLCK);
	CHECK_ERR(weir_named_lend(sem, &fd), WEIR_ESYSTEM);
	CHECK_EQ(errno, ENOLCK);
	CHECK_EQ(count_lent(), 0);
	CHECK_EQ(at_load_relaxed(&sem->mine->lent), 0);
	CHECK_OK(weir_named_lend(sem, &fd));
	CHECK_EQ(count_lent(), 1);
	/* The file of the first descriptor stays if a second one fails. */
	refuse_next("fcntl", ENOLCK);
	CHECK_ERR(weir_named_lend(sem, &again), WEIR_ESYSTEM);
	CHECK_EQ(count_lent(), 1);
	close(fd);
	close_named(sem);
	CHECK_EQ(count_lent(), 0);
}

/* The number in the slot is that of the next owner. */
TEST(c37_the_lent_file_of_another_owner_stays)
{
	weir_named *sem = open_strict();
	struct nm_slot slot = { .state = 4 + NM_SLOT_LIVE, .lent = NUMBER };
	int fd = weir_nm_lent_open_(sem, NUMBER, true);

	weir_nm_remove_lent_(sem, &slot, slot.state + 4);
	CHECK(!access(lent_path(), F_OK));
	weir_nm_remove_lent_(sem, &slot, slot.state);
	CHECK(access(lent_path(), F_OK));
	close(fd);
	close_named(sem);
}

/*
 * Repair a file in which a dead participant lends its permits.  The open of the
 * lent file is the moment at which another process acts.
 */
static void repair_with(uint32_t taken_over)
{
	struct nm_slot *dead;
	int fd;

	set_up(2);
	alone.strict = true;
	dead = join_dead(1);
	hold(dead, 1);
	dead->lent = NUMBER;
	/* Our slot is not the first one, and the last one is not in use. */
	alone.mine = join(2);
	alone.me = 3;
	join(3);
	alone.head->slots_high = 3;
	hold(alone.mine, 1);
	(void)enqueue(alone.mine, 1);
	fd = weir_nm_lent_open_(&alone, NUMBER, true);
	CHECK(fd >= 0);
	claimed = taken_over < NM_SLOTS ? &alone.slots[taken_over] : NULL;
	weir_nm_repair_(&alone);
	claimed = NULL;
	CHECK_EQ(alone.head->repairs, 1);
	CHECK_EQ(dead->lingers, 1);
	close(fd);
	weir_nm_lent_remove_(&alone, NUMBER);
}

/* C38: the permits of the slot may have been counted before. */
TEST(c38_an_open_takes_over_a_slot_during_a_repair)
{
	repair_with(NM_SLOTS);
	CHECK_EQ(alone.head->stale, 0);
	tear_down();
	repair_with(0);
	CHECK_EQ(alone.head->stale, 1);
	tear_down();
	repair_with(3);
	CHECK_EQ(alone.head->stale, 0);
	tear_down();
}

/* C39: the repair does not begin again, and ends. */
TEST(c39_a_process_damages_the_file_during_a_repair)
{
	damages = true;
	repair_with(NM_SLOTS);
	damages = false;
	tear_down();
}
