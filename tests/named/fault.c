/* SPDX-License-Identifier: MIT */
/*
 * C16: failing system calls.  Creating, opening and using a named semaphore
 * makes calls to libc.  Each such call that can fail is made to fail at its
 * first occurrence, its second, and so on, once each.  The library must then
 * report the error, leak no descriptor, thread or memory, and work the next
 * time.
 *
 * The linker wraps the calls in their 64-bit forms, which are the ones that
 * glibc uses.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "file.h"
#include "named/keeper.h"
#include "named/lock.h"
#include "puppet.h"
#include "weir/ctx.h"

static const char *plan;	/* the call that fails */
static int plan_errno;
static int64_t countdown;	/* at which occurrence; 0: has failed */
static bool on;			/* only inside the library */
static int no_tmpfile;		/* errno of an open with O_TMPFILE; 0: it works */
static bool no_proc;		/* /proc/self/fd has no entries */
static int no_boot;		/* errno of an open of the boot id; 0: it works */
static bool short_write;	/* pwrite writes nothing */
static bool short_read;		/* pread reads less than requested */
static bool exclusive;		/* the file must be a new one */
static int removals;		/* the next opened files that are removed at once */
static const char *victim;	/* their path */
static const char *replacement;	/* replaces the next opened file */
static bool frees_stdin;	/* descriptor 0 becomes free at the same time */
static bool guarded;		/* private memory ends before a guard page */
static struct nm_slot *joined;	/* another process joins here and dies */
static bool loses_temp;		/* another process removes the temporary name */
static int unlocks_fail;	/* the next unlocks that fail */
static struct puppet *rival;	/* creates the same semaphore at the same time */
static const char *rival_name;

/* Calls that the library has made. */
static int unnamed, boots, unlocks;
static int64_t unlocked;	/* the last byte that was unlocked */
static int copies;		/* of the header, for stat */
static struct nm_header *busy;	/* the lock is taken again before each read */
static int threads;		/* atomic; created and not joined */
static int sizes;		/* of thread-local storage */
static int leaves;		/* atomic; robust lists that were emptied */
static char temp[300];		/* the last temporary name */

static bool fails(const char *call)
{
	if (!on || !plan || strcmp(call, plan) || countdown <= 0)
		return false;
	if (--countdown)
		return false;
	errno = plan_errno;
	return true;
}

#define WRAP(type, name, parameters, arguments, failure)                       \
	type __real_##name parameters;                                         \
	type __wrap_##name parameters;                                         \
	type __wrap_##name parameters                                          \
	{                                                                      \
		return fails(#name) ? (failure) : __real_##name arguments;     \
	}

/* These return the error, and leave errno undefined. */
#define WRAP_NUMBER(name, parameters, arguments)                               \
	int __real_##name parameters;                                          \
	int __wrap_##name parameters;                                          \
	int __wrap_##name parameters                                           \
	{                                                                      \
		if (!fails(#name))                                             \
			return __real_##name arguments;                        \
		errno = EXDEV;                                                 \
		return plan_errno;                                             \
	}

WRAP(int, ftruncate64, (int fd, off_t size), (fd, size), -1)
WRAP_NUMBER(posix_fallocate64, (int fd, off_t from, off_t size),
	    (fd, from, size))
WRAP(int, access, (const char *path, int mode), (path, mode), -1)
WRAP(ssize_t, getrandom, (void *to, size_t size, unsigned flags),
     (to, size, flags), -1)
WRAP(int, linkat, (int from, const char *a, int to, const char *b, int flags),
     (from, a, to, b, flags), -1)
WRAP_NUMBER(pthread_attr_init, (pthread_attr_t *attr), (attr))
WRAP_NUMBER(posix_memalign, (void **to, size_t align, size_t size),
	    (to, align, size))
WRAP(int, lstat64, (const char *path, struct stat *info), (path, info), -1)

int __real_fstat64(int fd, struct stat *info);
int __wrap_fstat64(int fd, struct stat *info);
int __wrap_fstat64(int fd, struct stat *info)
{
	int failed;

	if (on && removals > 0) {
		removals--;
		(void)unlink(victim);
	}
	failed = fails("fstat64") ? -1 : __real_fstat64(fd, info);
	if (on && replacement) {
		CHECK(!rename(replacement, victim));
		replacement = NULL;
		if (frees_stdin)
			CHECK(!close(STDIN_FILENO));
	}
	return failed;
}

void *__real_mmap64(void *at, size_t size, int prot, int flags, int fd,
		    off_t from);
void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd,
		    off_t from);
void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd,
		    off_t from)
{
	char *memory;

	if (fails("mmap64"))
		return MAP_FAILED;
	if (!on || !guarded || !(flags & MAP_ANONYMOUS))
		return __real_mmap64(at, size, prot, flags, fd, from);
	memory = __real_mmap64(NULL, 2 * size, PROT_NONE, flags, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK(!mprotect(memory, size, prot));
	return memory;
}

/* A descriptor that is closed twice may belong to another thread by then. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int failed = __real_close(fd);

	CHECK(!on || !failed);
	return failed;
}

ssize_t __real_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at)
{
	if (on && short_read)
		size--;
	if (on && size == sizeof(struct nm_header))
		copies++;
	if (on && busy)
		at_add_relaxed(&busy->lock, UINT64_C(1) << 32);
	return fails("pread64") ? -1 : __real_pread64(fd, to, size, at);
}

ssize_t __real_pwrite64(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t at)
{
	if (on && short_write)
		size = 0;
	return fails("pwrite64") ? -1 : __real_pwrite64(fd, from, size, at);
}

WRAP(off_t, lseek64, (int fd, off_t at, int whence), (fd, at, whence), -1)

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
	if (on && loses_temp)
		CHECK(!unlink(temp));
	return fails("fchmod") ? -1 : __real_fchmod(fd, mode);
}

/* The system has no robust lists. */
bool __real_weir_robust_enter_(struct weir_robust_ *robust,
			       struct weir_alive_word_ *words, unsigned count,
			       uint32_t *obituary);
bool __wrap_weir_robust_enter_(struct weir_robust_ *robust,
			       struct weir_alive_word_ *words, unsigned count,
			       uint32_t *obituary);
bool __wrap_weir_robust_enter_(struct weir_robust_ *robust,
			       struct weir_alive_word_ *words, unsigned count,
			       uint32_t *obituary)
{
	return !fails("weir_robust_enter_") &&
	       __real_weir_robust_enter_(robust, words, count, obituary);
}

/* A robust list is emptied when its word is already that of a dead thread. */
void __real_weir_robust_leave_(struct weir_robust_ *robust);
void __wrap_weir_robust_leave_(struct weir_robust_ *robust);
void __wrap_weir_robust_leave_(struct weir_robust_ *robust)
{
	const uint32_t *word = (const uint32_t *)((uintptr_t)robust->nodes +
						  (uintptr_t)robust->distance);

	CHECK_EQ(at_load_relaxed(word), WEIR_DIED_);
	at_add_relaxed(&leaves, 1);
	__real_weir_robust_leave_(robust);
}

size_t __real_weir_thread_local_size_(void);
size_t __wrap_weir_thread_local_size_(void);
size_t __wrap_weir_thread_local_size_(void)
{
	sizes++;
	return __real_weir_thread_local_size_();
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	int failed = plan_errno;

	if (!fails("pthread_create"))
		failed = __real_pthread_create(thread, attr, fn, arg);
	if (!failed)
		at_add_relaxed(&threads, 1);
	errno = EXDEV;
	return failed;
}

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result)
{
	at_sub_relaxed(&threads, 1);
	return __real_pthread_join(thread, result);
}

int __real_pthread_tryjoin_np(pthread_t thread, void **result);
int __wrap_pthread_tryjoin_np(pthread_t thread, void **result);
int __wrap_pthread_tryjoin_np(pthread_t thread, void **result)
{
	int failed = __real_pthread_tryjoin_np(thread, result);

	if (!failed)
		at_sub_relaxed(&threads, 1);
	return failed;
}

/*
 * A hostile process restores the kick word between the keeper's load of it and
 * the keeper's sleep, after a wake-up that reached no sleeper.
 */
static struct {
	uint32_t *word;		/* atomic; null: do nothing */
	int loaded, kicked;	/* atomic */
} restored;

static void restore_kick(const uint32_t *word, uint32_t value)
{
	/* relaxed: `loaded` and `kicked` order the test. */
	if (word != at_load_relaxed(&restored.word) ||
	    at_load_relaxed(&restored.loaded))
		return;
	at_store_release(&restored.loaded, 1);
	AWAIT(at_load_acquire(&restored.kicked));
	at_store_relaxed(restored.word, value);
}

/* The last sleep for the lock, and the wake-ups of threads that sleep for it. */
static struct {
	const uint32_t *awaited;	/* null: note nothing */
	struct weir_watch_ watches[2];
	int wakes;
	weir_ctx *cancels;		/* at the last sleep before its deadline; ... */
	uint64_t *frees;		/* or at the next one, with this lock */
	uint64_t *changes;		/* the lock, at each heavy fence */
	int64_t fences, sleeps;		/* since `changes` was set */
	int64_t woken;			/* sleeps that end at once */
} for_lock;

/* The lock is taken again while a contender announces that it will sleep. */
bool __real_weir_fence_heavy_(void);
bool __wrap_weir_fence_heavy_(void);
bool __wrap_weir_fence_heavy_(void)
{
	if (for_lock.changes) {
		at_add_relaxed(for_lock.changes, UINT64_C(1) << 32);
		for_lock.fences++;
	}
	return __real_weir_fence_heavy_();
}

/* Returns true if the sleep ends at once. */
static bool sleep_for_lock(const uint32_t *word, int64_t deadline_ns)
{
	uint64_t *lock = for_lock.frees;

	if (word == for_lock.awaited && for_lock.changes) {
		for_lock.sleeps++;
		return for_lock.woken-- > 0;
	}
	if (word != for_lock.awaited || !for_lock.cancels ||
	    (!lock && deadline_ns < weir_ctx_deadline(for_lock.cancels)))
		return false;
	weir_ctx_cancel(for_lock.cancels);
	for_lock.cancels = NULL;
	if (lock)
		/* relaxed: the other handle does not use its lock. */
		at_store_release(lock, at_load_relaxed(lock) >> 32 << 32);
	return false;
}

enum weir_woke_ __real_weir_shared_wait_(uint32_t *word, uint32_t value,
					 int64_t deadline_ns);
enum weir_woke_ __wrap_weir_shared_wait_(uint32_t *word, uint32_t value,
					 int64_t deadline_ns);
enum weir_woke_ __wrap_weir_shared_wait_(uint32_t *word, uint32_t value,
					 int64_t deadline_ns)
{
	restore_kick(word, value);
	if (sleep_for_lock(word, deadline_ns))
		return WEIR_WOKEN_;
	return __real_weir_shared_wait_(word, value, deadline_ns);
}

enum weir_woke_ __real_weir_shared_wait_any_(const struct weir_watch_ *watches,
					     unsigned count,
					     int64_t deadline_ns);
enum weir_woke_ __wrap_weir_shared_wait_any_(const struct weir_watch_ *watches,
					     unsigned count,
					     int64_t deadline_ns);
enum weir_woke_ __wrap_weir_shared_wait_any_(const struct weir_watch_ *watches,
					     unsigned count,
					     int64_t deadline_ns)
{
	if (count > 1)
		restore_kick(watches[1].word, watches[1].value);
	if (sleep_for_lock(watches[0].word, deadline_ns))
		return WEIR_WOKEN_;
	if (watches[0].word == for_lock.awaited) {
		memset(for_lock.watches, 0, sizeof(for_lock.watches));
		memcpy(for_lock.watches, watches, count * sizeof(*watches));
	}
	return __real_weir_shared_wait_any_(watches, count, deadline_ns);
}

void __real_weir_shared_wake_(uint32_t *word);
void __wrap_weir_shared_wake_(uint32_t *word);
void __wrap_weir_shared_wake_(uint32_t *word)
{
	__real_weir_shared_wake_(word);
	if (word == for_lock.awaited)
		for_lock.wakes++;
	if (word == at_load_relaxed(&restored.word) &&
	    at_load_acquire(&restored.loaded))
		at_store_release(&restored.kicked, 1);
}

/* A boot id with all hexadecimal digits. */
static const uint8_t boot_id[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
				     0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98,
				     0x76, 0x54, 0x32, 0x10 };

static int open_boot_id(void)
{
	static const char text[] = "01234567-89ab-cdef-fedc-ba9876543210\n";
	int fd;

	boots++;
	errno = no_boot;
	if (no_boot)
		return -1;
	fd = memfd_create("boot_id", MFD_CLOEXEC);
	CHECK_EQ(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Check how the library opens its files. */
static void note_open(const char *path, int flags, mode_t mode)
{
	struct puppet *other = rival;

	/* A program that another thread executes must not inherit it. */
	CHECK(flags & O_CLOEXEC);
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		CHECK_EQ(flags & O_ACCMODE, O_RDWR);
		CHECK_EQ(mode, 0600);
		unnamed++;
	}
	/* A link, a FIFO or a lease of a hostile user must have no effect. */
	if (strstr(path, ".weir") && !(flags & O_CREAT)) {
		CHECK(flags & O_NOFOLLOW);
		CHECK(flags & O_NONBLOCK || exclusive);
	}
	if (!strstr(path, NM_NEW_PREFIX))
		return;
	/* The name is visible before fchmod sets the permissions. */
	CHECK(flags & O_EXCL);
	CHECK(flags & O_NOFOLLOW);
	CHECK_EQ(mode, 0600);
	(void)snprintf(temp, sizeof(temp), "%s", path);
	rival = NULL;
	if (other)
		puppet_open(other, rival_name, 3);
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
	if (on)
		note_open(path, flags, mode);
	if (on && no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = no_tmpfile;
		return -1;
	}
	if (on && no_proc && !strncmp(path, "/proc/self/fd/", 14)) {
		errno = ENOENT;
		return -1;
	}
	if (fails("open64"))
		return -1;
	return strcmp(path, "/proc/sys/kernel/random/boot_id") ?
		       __real_open64(path, flags, mode) : open_boot_id();
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
	if (on && joined && command == F_OFD_SETLK) {
		joined->alive.word = WEIR_DIED_;
		at_store_release(&joined->state, 4 * 77 + NM_SLOT_LIVE);
		joined = NULL;
	}
	if (on && command == F_OFD_SETLK &&
	    ((const struct flock *)arg)->l_type == F_UNLCK) {
		unlocks++;
		unlocked = ((const struct flock *)arg)->l_start;
		if (unlocks_fail > 0) {
			unlocks_fail--;
			errno = ENOLCK;
			return -1;
		}
	}
	return fails("fcntl64") ? -1 : __real_fcntl64(fd, command, arg);
}

/* --- A new file --- */

/* Fail the next occurrence of this call. */
static void refuse_next(const char *call, int number)
{
	plan = call;
	plan_errno = number;
	countdown = 1;
}

static char why[300];

static weir_err create(const char *name, weir_named **sem)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE,
				 .why = why, .why_size = sizeof(why) };
	weir_err err;

	if (exclusive)
		opts.flags |= WEIR_NAMED_EXCLUSIVE;
	*why = *temp = 0;
	unnamed = unlocks = 0;
	*sem = NULL;
	errno = 0;
	on = true;
	err = weir_named_open(name, &opts, sem);
	on = false;
	return err;
}

static void check_created(const char *name)
{
	weir_named *sem;

	CHECK_OK(create(name, &sem));
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close_named(sem);
}

/* The creation fails with this errno, and leaves no file. */
static void check_refused(const char *name, int number, const char *words)
{
	char path[300];
	weir_named *sem;

	CHECK_ERR(create(name, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, number);
	CHECK(!sem);
	CHECK(strstr(why, words));
	CHECK_OK(weir_named_path(name, path, sizeof(path)));
	CHECK(access(path, F_OK));
}

static void check_no_temp(void)
{
	DIR *folder = opendir(getenv("WEIR_DIR"));
	struct dirent *entry;

	CHECK(folder);
	while ((entry = readdir(folder)))
		CHECK(strncmp(entry->d_name, NM_NEW_PREFIX,
			      strlen(NM_NEW_PREFIX)));
	closedir(folder);
}

static void check_boot_id(const char *name, const uint8_t id[16])
{
	struct file file;

	check_created(name);
	file = map_file(name);
	CHECK(!memcmp(file.head->boot, id, 16));
	unmap_file(&file);
}

/* The first test: the library reads the boot id once. */
TEST(c38_a_new_file_has_the_boot_id_of_the_machine)
{
	static const uint8_t unknown[16];
	int before;

	if (!boots) {
		const char *name = fresh_name();
		struct file file;

		no_boot = EMFILE;
		check_boot_id(name, unknown);
		/* The owner of this slot may be of another boot, and is. */
		file = map_file(name);
		file.slots[0].state = 4 * ++file.head->generations +
				      NM_SLOT_LIVE;
		file.slots[0].alive.word = weir_alive_value_();
		file.slots[0].held = 1;
		file.head->value = 0;
		check_created(name);
		unmap_file(&file);
		no_boot = 0;
	}
	check_boot_id(fresh_name(), boot_id);
	before = boots;
	check_boot_id(fresh_name(), boot_id);
	CHECK_EQ(boots, before);
}

TEST(c16_a_creation_that_fails_reports_the_reason)
{
	static const struct {
		const char *call;
		int number;
	} plans[] = {
		{ "ftruncate64", EFBIG }, { "posix_fallocate64", ENOSPC },
		{ "pwrite64", EIO },	  { "fchmod", EPERM },
		{ "linkat", EACCES },
	};

	for (size_t i = 0; i < 2 * sizeof(plans) / sizeof(plans[0]); i++) {
		no_tmpfile = i % 2 ? EOPNOTSUPP : 0;
		/* A temporary name is not linked but renamed. */
		if (no_tmpfile && !strcmp(plans[i / 2].call, "linkat"))
			continue;
		refuse_next(plans[i / 2].call, plans[i / 2].number);
		check_refused(fresh_name(), plans[i / 2].number,
			      "cannot create /");
	}
	no_tmpfile = 0;
	short_write = true;
	check_refused(fresh_name(), ENOSPC, "cannot create /");
	short_write = false;
	check_no_temp();
}

TEST(c38_a_temporary_name_only_if_there_are_no_unnamed_files)
{
	static const int without[] = { EOPNOTSUPP, EISDIR, EINVAL };
	static const int other[] = { EACCES, ENOSPC, EROFS };

	check_created(fresh_name());
	CHECK_EQ(unnamed, 1);
	CHECK(!*temp);
	for (int i = 0; i < 3; i++) {
		no_tmpfile = without[i];
		check_created(fresh_name());
		CHECK(*temp);
		no_tmpfile = other[i];
		check_refused(fresh_name(), other[i],
			      "cannot create a file in /");
		CHECK(!*temp);
	}
	/* The folder of this path is the root. */
	check_refused("/weir-test-never-created", EROFS,
		      "cannot create a file in /");
	CHECK(!strcmp(why, "cannot create a file in /"));
	no_tmpfile = EOPNOTSUPP;
	refuse_next("getrandom", ENOSYS);
	check_refused(fresh_name(), ENOSYS, "cannot create a file in /");
	no_tmpfile = 0;
	/* Without /proc an unnamed file could not get a name. */
	refuse_next("access", EACCES);
	check_created(fresh_name());
	CHECK_EQ(unnamed, 0);
	CHECK(*temp);
	check_no_temp();
}

/* The temporary name is not needed any more, or is gone already. */
TEST(c38_a_creation_with_a_temporary_name_that_fails)
{
	struct puppet puppet = puppet_start();
	weir_named *sem;

	no_tmpfile = EOPNOTSUPP;
	rival = &puppet;
	rival_name = fresh_name();
	CHECK_OK(create(rival_name, &sem));
	CHECK_EQ(look_at(sem).capacity, 3);
	CHECK_EQ(look_at(sem).participants, 2);
	check_no_temp();
	close_named(sem);
	puppet_end(&puppet);
	refuse_next("fchmod", EPERM);
	loses_temp = true;
	check_refused(fresh_name(), EPERM, "cannot create /");
	loses_temp = false;
	no_tmpfile = 0;
}

/* A slot that was claimed is given up: its byte is unlocked. */
TEST(c16_an_unlock_is_repeated_until_it_succeeds)
{
	weir_named *sem;

	for (int failures = 0; failures < 3; failures++) {
		unlocks_fail = failures;
		refuse_next("pthread_create", EAGAIN);
		CHECK(create(fresh_name(), &sem));
		CHECK_EQ(unlocks, failures + 1);
		CHECK_EQ(unlocked, NM_BYTE_ALIVE(0));
		/* The reason of the failure, not that of the unlock. */
		CHECK_EQ(errno, EAGAIN);
	}
	/* It may never succeed. */
	unlocks_fail = 1000000;
	refuse_next("pthread_create", EAGAIN);
	CHECK(create(fresh_name(), &sem));
	CHECK(unlocks > 3);
	unlocks_fail = 0;
}

/* The slot is free again, and no thread is left. */
TEST(c16_a_keeper_that_cannot_start)
{
	static const struct {
		const char *call;
		int number;
		const char *words;
	} plans[] = {
		{ "pthread_create", EAGAIN, "cannot start a thread" },
		{ "pthread_attr_init", ENOMEM, "cannot start a thread" },
		{ "weir_robust_enter_", ENOSYS, "no robust lists" },
	};
	const char *name = fresh_name();
	weir_named *sem;

	check_created(name);
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		refuse_next(plans[i].call, plans[i].number);
		CHECK_ERR(create(name, &sem), WEIR_ESYSTEM);
		CHECK_EQ(errno, plans[i].number);
		CHECK(strstr(why, plans[i].words));
		CHECK_EQ(threads, 0);
	}
	CHECK_OK(create(name, &sem));
	CHECK_EQ(look_at(sem).participants, 1);
	CHECK_EQ(sem->me, 1);
	CHECK_EQ(threads, 1);
	close_named(sem);
	CHECK_EQ(threads, 0);
}

/*
 * A keeper empties its robust list before it ends: the kernel must not mark the
 * word of the slot's next owner.  The size of its stack is computed once, because
 * that takes the lock of the loader.
 */
TEST(c29_c37_the_end_of_a_keeper)
{
	const char *name = fresh_name();

	check_created(name);
	leaves = sizes = 0;
	check_created(name);
	CHECK_EQ(leaves, 1);
	CHECK_EQ(sizes, 0);
}

TEST(c39_close_handle_kicks_the_keeper_again)
{
	weir_named *sem;

	CHECK_OK(create(fresh_name(), &sem));
	at_store_relaxed(&restored.word, &sem->mine->kick);
	weir_nm_kick_(sem);
	AWAIT(at_load_acquire(&restored.loaded));
	close_named(sem);
	CHECK(restored.kicked);
	restored.word = NULL;
	restored.loaded = restored.kicked = 0;
}

/* Check the last sleep of `sem` for the lock of `owner`. */
static void check_sleep(const weir_named *sem, const weir_named *owner)
{
	const struct nm_slot *slot = &sem->slots[owner->me - 1];

	if (!sem->can_wait_any)
		return;
	CHECK_EQ(for_lock.watches[0].value, 1);
	CHECK(for_lock.watches[1].word == &slot->alive.word);
	CHECK_EQ(for_lock.watches[1].value, owner->alive);
}

/* The other handle has the lock and does not leave; then it dies. */
TEST(c37_c42_waits_for_the_lock)
{
	const char *name = fresh_name();
	weir_named *sem, *owner;
	weir_ctx ctx = WEIR_CTX_INIT;
	struct nm_limit brief = { .brief = true };
	struct nm_limit late = { .deadline_ns = 1 };
	struct nm_limit cancelled = { .deadline_ns = WEIR_FOREVER,
				      .ctx = &ctx };
	int64_t begun;
	uint64_t free;

	CHECK_OK(create(name, &sem));
	CHECK_OK(create(name, &owner));
	free = at_load_relaxed(&sem->head->lock);
	at_store_relaxed(&sem->head->lock, free | owner->lock_id);
	for_lock.awaited = &sem->head->awaited;
	for_lock.wakes = 0;
	CHECK_ERR(nm_lock(sem, &brief), WEIR_EAGAIN);
	check_sleep(sem, owner);
	/* The thread may have used up the wake-up of another one. */
	CHECK_EQ(for_lock.wakes, 1);
	/* C14: a deadline of the past limits the wait for permits only. */
	begun = weir_now_ns();
	CHECK_ERR(nm_lock(sem, &late), WEIR_ETIMEDOUT);
	CHECK(weir_now_ns() - begun >= 10000000);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(nm_lock(sem, &cancelled), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	for_lock.awaited = NULL;
	/* Its byte is still locked: its other threads may not have ended. */
	at_store_relaxed(&sem->slots[owner->me - 1].alive.word, WEIR_DIED_);
	begun = weir_now_ns();
	CHECK_OK(nm_lock(sem, NULL));
	CHECK(weir_now_ns() - begun >= 2000000);
	CHECK_EQ(at_load_relaxed(&sem->head->lock), free + sem->lock_id);
	nm_unlock(sem);
	close_named(owner);
	close_named(sem);
}

/* C39: a process that damages the file changes the lock word all the time. */
TEST(c39_c42_waits_for_a_lock_that_changes_at_each_attempt)
{
	const char *name = fresh_name();
	weir_named *sem, *owner;
	weir_ctx ctx = WEIR_CTX_INIT;
	struct nm_limit brief = { .brief = true };
	struct nm_limit late = { .deadline_ns = 1 };
	struct nm_limit cancelled = { .deadline_ns = WEIR_FOREVER,
				      .ctx = &ctx };
	uint64_t free;

	CHECK_OK(create(name, &sem));
	CHECK_OK(create(name, &owner));
	free = at_load_relaxed(&sem->head->lock);
	at_store_relaxed(&sem->head->lock, free | owner->lock_id);
	for_lock.changes = &sem->head->lock;
	CHECK_ERR(nm_lock(sem, &brief), WEIR_EAGAIN);
	CHECK_ERR(nm_lock(sem, &late), WEIR_ETIMEDOUT);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(nm_lock(sem, &cancelled), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	for_lock.changes = NULL;
	at_store_relaxed(&sem->head->lock, free);
	close_named(owner);
	close_named(sem);
}

/*
 * C39: the same, and each sleep ends at once.  When the thread has begun to sleep, it
 * sleeps at every attempt: the number of attempts without a sleep does not depend on
 * the number of sleeps.
 */
static int64_t attempts_without_sleep(weir_named *sem, int64_t woken)
{
	struct nm_limit brief = { .brief = true };

	for_lock.fences = for_lock.sleeps = 0;
	for_lock.woken = woken;
	CHECK_ERR(nm_lock(sem, &brief), WEIR_EAGAIN);
	CHECK(for_lock.sleeps > woken);
	/* The lock may be free: try again before the first sleep. */
	CHECK(for_lock.fences > for_lock.sleeps);
	return for_lock.fences - for_lock.sleeps;
}

TEST(c39_c42_a_lock_that_changes_for_long)
{
	const char *name = fresh_name();
	weir_named *sem, *owner;
	uint64_t free;

	CHECK_OK(create(name, &sem));
	CHECK_OK(create(name, &owner));
	free = at_load_relaxed(&sem->head->lock);
	at_store_relaxed(&sem->head->lock, free | owner->lock_id);
	for_lock.awaited = &sem->head->awaited;
	for_lock.changes = &sem->head->lock;
	CHECK_EQ(attempts_without_sleep(sem, 1000),
		 attempts_without_sleep(sem, 0));
	for_lock.awaited = NULL;
	for_lock.changes = NULL;
	at_store_relaxed(&sem->head->lock, free);
	close_named(owner);
	close_named(sem);
}

/* Returns the outcome of an acquire in a context that begins now. */
static weir_err acquire_within(weir_named *sem, int64_t ns, uint64_t *frees,
			       int64_t *got)
{
	weir_ctx ctx;
	weir_err err;

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(ns)));
	for_lock.cancels = &ctx;
	for_lock.frees = frees;
	*got = -1;
	err = weir_named_acquire_upto(sem, 1, 2, &ctx, got);
	for_lock.cancels = NULL;
	CHECK_OK(weir_ctx_destroy(&ctx));
	return err;
}

/*
 * C13: the context is cancelled while the call waits for the lock, which the
 * other handle has.  C16: the call has no effect.
 */
TEST(c13_c16_a_cancel_during_the_wait_for_the_lock)
{
	const char *name = fresh_name();
	weir_named *sem, *owner;
	weir_err err = WEIR_ETIMEDOUT;
	weir_ctx late;
	uint64_t taken;
	int64_t got;

	CHECK_OK(create(name, &sem));
	CHECK_OK(create(name, &owner));
	CHECK_OK(weir_named_resize(sem, 3, NULL));
	taken = at_load_relaxed(&sem->head->lock) | owner->lock_id;
	at_store_relaxed(&sem->head->lock, taken);
	for_lock.awaited = &sem->head->awaited;
	/* C2: a context that has ended is found without the lock. */
	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	for_lock.wakes = 0;
	CHECK_ERR(weir_named_acquire(sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK_EQ(for_lock.wakes, 0);
	CHECK_OK(weir_ctx_destroy(&late));
	/*
	 * The deadline passes before the lock is free, and after the cancel.  If it
	 * passes before the call sleeps, retry with more time.
	 */
	for (int64_t ns = 20000000; err == WEIR_ETIMEDOUT; ns *= 4) {
		CHECK(ns < INT64_C(16000000000));
		err = acquire_within(sem, ns, NULL, &got);
	}
	CHECK_ERR(err, WEIR_ECANCELED);
	CHECK_EQ(got, 0);
	CHECK_EQ(at_load_relaxed(&sem->head->lock), taken);
	/* The call gets the lock and the permits. */
	CHECK_ERR(acquire_within(sem, INT64_MAX, &sem->head->lock, &got),
		  WEIR_ECANCELED);
	for_lock.awaited = NULL;
	CHECK_EQ(got, 0);
	CHECK_EQ(sem->owed, 0);
	CHECK_EQ(look_at(sem).held, 0);
	CHECK_EQ(look_at(sem).free, 3);
	close_named(owner);
	close_named(sem);
}

/*
 * Permits that a call owes are given back by the next call that has the lock, and
 * not by one that does not get it.
 */
TEST(c5_c16_calls_that_do_not_get_the_lock)
{
	const char *name = fresh_name();
	weir_named *sem, *owner;
	uint64_t free;
	int64_t got = -1;

	CHECK_OK(create(name, &sem));
	CHECK_OK(create(name, &owner));
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	free = at_load_relaxed(&sem->head->lock);
	at_store_relaxed(&sem->head->lock, free | owner->lock_id);
	at_store_relaxed(&sem->owed, 1);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_named_drain(sem, &got), WEIR_EAGAIN);
	CHECK_EQ(got, 0);
	CHECK_EQ(at_load_relaxed(&sem->owed), 1);
	CHECK_EQ(sem->mine->held, 1);
	at_store_relaxed(&sem->head->lock, free);
	CHECK_OK(weir_named_try_release(sem, 0));
	CHECK_EQ(at_load_relaxed(&sem->owed), 0);
	CHECK_EQ(sem->mine->held, 0);
	CHECK_EQ(look_at(sem).free, 1);
	close_named(owner);
	close_named(sem);
}

static void check_lost(weir_named *sem)
{
	errno = 0;
	CHECK_ERR(weir_named_resize(sem, 1, NULL), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK_EQ((uint32_t)at_load_relaxed(&sem->head->lock), 0);
}

/* The slot of the handle is not its own any more: it must not keep the lock. */
TEST(c39_a_lock_that_is_taken_without_a_slot)
{
	weir_named *sem;
	uint64_t lock;

	CHECK_OK(create(fresh_name(), &sem));
	at_store_relaxed(&sem->mine->state, 0);
	check_lost(sem);
	/* The same for the lock of an owner that is gone. */
	lock = at_load_relaxed(&sem->head->lock);
	at_store_relaxed(&sem->head->lock, lock + nm_lock_id(2, 4));
	check_lost(sem);
	at_store_relaxed(&sem->mine->state, sem->state);
	/* Without asymmetric fences an unlock changes no other word either. */
	sem->has_fences = false;
	at_store_relaxed(&sem->head->awaited, 0);
	CHECK_OK(weir_named_resize(sem, 1, NULL));
	CHECK_EQ(at_load_relaxed(&sem->head->awaited), 0);
	close_named(sem);
}

TEST(c37_the_next_owner_of_a_slot_has_another_lock_id)
{
	const char *name = fresh_name();
	uint32_t before = 0;

	for (int i = 0; i < 8; i++) {
		weir_named *sem;

		CHECK_OK(create(name, &sem));
		CHECK_EQ(sem->me, 1);
		CHECK(sem->lock_id != before);
		before = sem->lock_id;
		close_named(sem);
	}
}

/* A file is opened as descriptor 0 if the program has closed its standard input. */
TEST(c16_descriptor_0_is_a_descriptor)
{
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	const char *name = fresh_name();
	weir_named_opts opts = { .flags = WEIR_NAMED_CREATE };
	struct file file;
	weir_named *sem;
	weir_err err;

	check_created(name);
	file = map_file(name);
	CHECK(!close(STDIN_FILENO));
	/* An errno of the past does not matter: the file exists. */
	unnamed = 0;
	errno = ENOENT;
	on = true;
	err = weir_named_open(name, &opts, &sem);
	on = false;
	CHECK_OK(err);
	CHECK_EQ(unnamed, 0);
	CHECK_EQ(sem->fd, 0);
	close_named(sem);
	/* The first file is removed: the descriptor is closed, and used again. */
	victim = file.path;
	removals = 1;
	CHECK_OK(create(name, &sem));
	CHECK_EQ(removals, 0);
	CHECK_EQ(sem->fd, 0);
	close_named(sem);
	unmap_file(&file);
	if (saved >= 0) {
		CHECK_EQ(dup2(saved, STDIN_FILENO), STDIN_FILENO);
		close(saved);
	}
}

/* Another process was claiming the slot, and has given it up since. */
TEST(c39_a_byte_that_was_locked_for_a_moment)
{
	const char *name = fresh_name();

	refuse_next("fcntl64", EAGAIN);
	check_created(name);
	CHECK_EQ(countdown, 0);
}

/* Another process has joined and died since the slot was found free. */
TEST(c37_a_slot_that_was_taken_before_its_byte_was_locked)
{
	const char *name = fresh_name();
	struct file file;
	weir_named *sem;

	check_created(name);
	file = map_file(name);
	joined = &file.slots[0];
	CHECK_OK(create(name, &sem));
	CHECK(!joined);
	CHECK_EQ(sem->me, 2);
	CHECK(weir_nm_byte_is_locked_(file.fd, NM_BYTE_ALIVE(1)));
	CHECK(!weir_nm_byte_is_locked_(file.fd, NM_BYTE_ALIVE(0)));
	close_named(sem);
	unmap_file(&file);
}

static void check_unlink(weir_named *sem, int number)
{
	weir_err err;

	on = true;
	err = weir_named_unlink_handle(sem);
	on = false;
	CHECK_ERR(err, number ? WEIR_ESYSTEM : WEIR_OK);
	CHECK(!number || errno == number);
}

/* Without /proc the file is opened again by its name, if that still leads to it. */
TEST(c38_a_file_is_opened_again_without_proc)
{
	const char *name = fresh_name();
	weir_named *sem, *other;

	no_proc = true;
	check_created(name);
	CHECK_OK(create(name, &sem));
	CHECK_OK(weir_named_unlink(name));
	check_unlink(sem, ESTALE);
	CHECK_OK(create(name, &other));
	check_unlink(sem, ESTALE);
	refuse_next("open64", EMFILE);
	check_unlink(other, EMFILE);
	refuse_next("fstat64", EIO);
	check_unlink(other, ESTALE);
	check_unlink(other, 0);
	check_unlink(other, ESTALE);
	no_proc = false;
	close_named(other);
	close_named(sem);
}

/* A process may have the name locked for a moment. */
TEST(c39_unlink_handle_retries_only_if_the_name_is_locked)
{
	const char *name = fresh_name();
	weir_named *sem;

	CHECK_OK(create(name, &sem));
	refuse_next("fcntl64", ENOLCK);
	check_unlink(sem, ENOLCK);
	refuse_next("fcntl64", EAGAIN);
	check_unlink(sem, 0);
	close_named(sem);
	CHECK_OK(create(name, &sem));
	refuse_next("fcntl64", EACCES);
	check_unlink(sem, 0);
	close_named(sem);
}

/* The existing file cannot be opened: each call fails at an occurrence. */
TEST(c16_an_open_that_fails_reports_the_reason)
{
	const char *name = fresh_name();
	weir_named *sem;

	check_created(name);
	refuse_next("fstat64", EIO);
	CHECK_ERR(create(name, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, EIO);
	/* The first mapping is private memory. */
	refuse_next("mmap64", ENOMEM);
	countdown = 2;
	CHECK_ERR(create(name, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, ENOMEM);
	CHECK(strstr(why, "cannot map /"));
	short_read = true;
	CHECK_ERR(create(name, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK(strstr(why, "is not a semaphore"));
	short_read = false;
	check_created(name);
	exclusive = true;
	check_created(fresh_name());
	exclusive = false;
}

/* A read that a signal interrupts is repeated; another error is reported. */
TEST(c16_c18_stat_if_a_read_fails)
{
	weir_named *sem;
	weir_named_info info;
	weir_err err;

	CHECK_OK(create(fresh_name(), &sem));
	refuse_next("pread64", EINTR);
	on = true;
	err = weir_named_stat(sem, &info, NULL, 0);
	on = false;
	CHECK_OK(err);
	CHECK_EQ(countdown, 0);
	CHECK_EQ(info.free, 1);
	refuse_next("pread64", EIO);
	on = true;
	err = weir_named_stat(sem, &info, NULL, 0);
	on = false;
	CHECK_ERR(err, WEIR_ESYSTEM);
	CHECK_EQ(errno, EIO);
	/* An errno of the past does not matter. */
	errno = EINTR;
	CHECK_OK(weir_named_stat(sem, &info, NULL, 0));
	/* The file system cannot tell where the file has storage. */
	refuse_next("lseek64", EINVAL);
	on = true;
	err = weir_named_stat(sem, &info, NULL, 0);
	on = false;
	CHECK_OK(err);
	CHECK_EQ(countdown, 0);
	CHECK_EQ(info.participants, 1);
	close_named(sem);
}

TEST(c16_stat_without_memory)
{
	weir_named *sem;
	weir_named_info info;
	weir_err err;

	CHECK_OK(create(fresh_name(), &sem));
	refuse_next("mmap64", ENOMEM);
	on = true;
	err = weir_named_stat(sem, &info, NULL, 0);
	on = false;
	CHECK_ERR(err, WEIR_ENOMEM);
	CHECK_EQ(countdown, 0);
	close_named(sem);
}

/* The memory of a copy is not accessed beyond its end. */
TEST(c39_stat_of_a_file_with_full_tables)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	const char *name = fresh_name();
	struct nm_record *records;
	weir_named *observer;
	weir_named_info info;
	struct file file;

	check_created(name);
	file = map_file(name);
	CHECK_OK(weir_named_open(name, &opts, &observer));
	records = (struct nm_record *)(void *)(file.slots + NM_SLOTS);
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		records[i].state = NM_REC_ENDED;
	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		file.slots[i].state = 4 + NM_SLOT_LIVE;
		file.slots[i].alive.word = weir_alive_value_();
	}
	file.head->slots_high = NM_SLOTS;
	file.head->records_high = NM_RECORDS;
	on = guarded = true;
	CHECK_OK(weir_named_stat(observer, &info, NULL, 0));
	on = guarded = false;
	CHECK_EQ(info.participants, NM_SLOTS);
	CHECK_EQ(info.waiters, 0);
	close_named(observer);
	unmap_file(&file);
}

/*
 * The name of the file is removed and there is no /proc: the child of a fork
 * cannot open it again.
 */
TEST(c29_a_child_that_cannot_open_the_file)
{
	const char *name = fresh_name();
	weir_named_info info;
	weir_named *sem;
	pid_t child;
	int status;

	CHECK_OK(create(name, &sem));
	CHECK_OK(weir_named_unlink(name));
	on = no_proc = true;
	child = fork();
	on = no_proc = false;
	CHECK(child >= 0);
	if (!child) {
		CHECK_EQ(sem->fd, -1);
		errno = 0;
		CHECK_ERR(weir_named_stat(sem, &info, NULL, 0), WEIR_ESYSTEM);
		CHECK_EQ(errno, ESTALE);
		errno = 0;
		CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_ESYSTEM);
		CHECK_EQ(errno, ESTALE);
		errno = 0;
		CHECK_ERR(weir_named_unlink_handle(sem), WEIR_ESYSTEM);
		CHECK_EQ(errno, ESTALE);
		CHECK_OK(weir_named_close_handle(sem));
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	close_named(sem);
}

/* Returns the number of copies that stat makes. */
static int copies_of(weir_named *observer)
{
	weir_named_info info;

	copies = 0;
	on = true;
	CHECK_OK(weir_named_stat(observer, &info, NULL, 0));
	on = false;
	return copies;
}

/* A copy is made again while the lock is held, but not if it is large. */
TEST(c39_c42_stat_limits_the_number_of_copies)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	const char *name = fresh_name();
	weir_named *observer;
	weir_named_info info;
	struct file file;

	check_created(name);
	file = map_file(name);
	CHECK_OK(weir_named_open(name, &opts, &observer));
	CHECK_EQ(copies_of(observer), 1);
	/* A single copy that contradicts itself does not prove a damage. */
	file.head->value--;
	copies = 0;
	on = true;
	CHECK_ERR(weir_named_stat(observer, &info, NULL, 0), WEIR_ESYSTEM);
	on = false;
	CHECK_EQ(copies, 2);
	file.head->value++;
	at_store_relaxed(&file.head->lock, 1);
	CHECK(copies_of(observer) > 2);
	file.head->slots_high = NM_SLOTS;
	CHECK_EQ(copies_of(observer), 1);
	file.head->slots_high = 1;
	file.head->records_high = NM_RECORDS;
	CHECK_EQ(copies_of(observer), 1);
	/* A quarter of a megabyte in all, and no more. */
	file.head->records_high = 1000;
	CHECK_EQ(copies_of(observer), 2);
	file.head->slots_high = 500;
	file.head->records_high = 0;
	CHECK_EQ(copies_of(observer), 2);
	close_named(observer);
	unmap_file(&file);
}

/* Stat shows a lock owner only if it has had the lock all the time. */
TEST(c42_stat_while_the_lock_is_taken_again_and_again)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	const char *name = fresh_name();
	weir_named *sem, *observer;
	weir_named_info info;
	struct file file;
	uint64_t free;

	CHECK_OK(create(name, &sem));
	CHECK_OK(weir_named_open(name, &opts, &observer));
	file = map_file(name);
	free = at_load_relaxed(&file.head->lock);
	at_store_relaxed(&file.head->lock, free | sem->lock_id);
	CHECK_OK(weir_named_stat(observer, &info, NULL, 0));
	CHECK_EQ(info.entries, 1);
	busy = file.head;
	on = true;
	CHECK_OK(weir_named_stat(observer, &info, NULL, 0));
	on = false;
	busy = NULL;
	CHECK(info.inconsistent);
	CHECK_EQ(info.entries, 0);
	at_store_relaxed(&file.head->lock, free);
	close_named(observer);
	close_named(sem);
	unmap_file(&file);
}

/* The same if the second open of the file returns descriptor 0. */
static void check_free_stdin(const char *name, const char *other_name)
{
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	struct file other;
	weir_named *sem;

	if (saved < 0)
		return;
	check_created(other_name);
	other = map_file(other_name);
	replacement = other.path;
	no_proc = frees_stdin = true;
	CHECK_OK(create(name, &sem));
	no_proc = frees_stdin = false;
	CHECK(!replacement);
	CHECK(!look_at(sem).renamed);
	close_named(sem);
	unmap_file(&other);
	CHECK_EQ(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
}

/* Other processes remove or replace the file while it is being opened. */
TEST(c38_a_file_that_is_replaced_during_an_open)
{
	char name[64], other_name[64];
	struct file file, other;
	weir_named *sem;

	(void)snprintf(name, sizeof(name), "%s", fresh_name());
	(void)snprintf(other_name, sizeof(other_name), "%s", fresh_name());
	check_created(name);
	file = map_file(name);
	victim = file.path;
	removals = 1;
	CHECK_OK(create(name, &sem));
	CHECK(!look_at(sem).renamed);
	close_named(sem);
	removals = 1000000;
	CHECK_ERR(create(name, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, EAGAIN);
	CHECK(strstr(why, "repeatedly created and removed"));
	CHECK(removals > 0);
	removals = 0;
	/* The second open of the file cannot be compared with the first. */
	check_created(name);
	refuse_next("fstat64", EIO);
	countdown = 2;
	check_created(name);
	CHECK_EQ(countdown, 0);
	/* Without /proc, it leads to the replacement. */
	check_created(other_name);
	other = map_file(other_name);
	replacement = other.path;
	no_proc = true;
	CHECK_OK(create(name, &sem));
	no_proc = false;
	CHECK(!replacement);
	CHECK(!look_at(sem).renamed);
	close_named(sem);
	unmap_file(&other);
	check_free_stdin(name, other_name);
	unmap_file(&file);
}

/* --- Everything --- */

static void *wait_a_moment(void *arg)
{
	weir_err err = weir_named_acquire_for(arg, 1, 1000000);

	CHECK(err == WEIR_ETIMEDOUT || err == WEIR_ESYSTEM);
	return NULL;
}

/* Use everything once.  Returns true if every call succeeded. */
static bool work(const char *name)
{
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE };
	weir_named *sem = NULL, *other = NULL;
	weir_named_info info;
	check_thread thread;
	weir_err err;
	bool well;

	on = true;
	err = weir_named_open(name, &opts, &sem);
	on = false;
	if (err) {
		CHECK(!sem);
		return false;
	}
	on = true;
	err = weir_named_open(name, &opts, &other);
	on = false;
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	thread = start(wait_a_moment, sem);
	finish(thread);
	on = true;
	/* The first call that waits reserves storage for a record. */
	well = weir_named_acquire_for(sem, 1, 1000000) == WEIR_ETIMEDOUT &&
	       !err;
	if (weir_named_stat(sem, &info, NULL, 0))
		well = false;
	on = false;
	CHECK_OK(weir_named_stat(sem, &info, NULL, 0));
	CHECK_EQ(info.held, 1);
	CHECK_EQ(info.waiters, 0);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).free, 1);
	if (other)
		close_named(other);
	close_named(sem);
	CHECK_OK(weir_named_unlink(name));
	return well;
}

static int64_t points;

/* Fail `call` at each of its occurrences. */
static void refuse(const char *call, int number)
{
	for (int64_t k = 1;; k++) {
		const char *name = fresh_name();

		plan = call;
		plan_errno = number;
		countdown = k;
		(void)work(name);
		plan = NULL;
		if (countdown)
			return;
		points++;
		/* After the failure the same work must succeed. */
		(void)!weir_named_unlink(name);
		CHECK(work(name));
	}
}

TEST(c16_every_libc_call_fails_once)
{
	static const struct {
		const char *call;
		int number;
	} plans[] = {
		{ "open64", EMFILE },	    { "open64", EACCES },
		{ "fstat64", EIO },	    { "ftruncate64", EFBIG },
		{ "posix_fallocate64", ENOSPC },
		{ "pread64", EIO },	    { "pwrite64", ENOSPC },
		{ "fchmod", EPERM },	    { "linkat", EACCES },
		{ "mmap64", ENOMEM },	    { "pthread_create", EAGAIN },
		{ "pthread_attr_init", ENOMEM }, { "posix_memalign", ENOMEM },
		{ "fcntl64", ENOLCK },	    { "lstat64", EACCES },
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		refuse(plans[i].call, plans[i].number);
	CHECK(points >= 15);
	printf("evidence: refusals of the system, named semaphores | %" PRId64
	       "\n", points);
}

TEST(c16_a_wait_without_storage_for_its_record)
{
	weir_named *sem;
	weir_err err;

	CHECK_OK(create(fresh_name(), &sem));
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	refuse_next("posix_fallocate64", ENOSPC);
	on = true;
	err = weir_named_acquire_for(sem, 1, 1000000);
	on = false;
	CHECK_ERR(err, WEIR_ESYSTEM);
	CHECK_EQ(errno, ENOSPC);
	CHECK_ERR(weir_named_acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	close_named(sem);
}

/* Open reserves storage in the file, and so does the first call that waits. */
TEST(c18_a_signal_while_storage_is_reserved)
{
	int64_t k;

	for (k = 1;; k++) {
		plan = "posix_fallocate64";
		plan_errno = EINTR;
		countdown = k;
		CHECK(work(fresh_name()));
		plan = NULL;
		if (countdown)
			break;
	}
	CHECK(k > 2);
}

/* The file has a temporary name then, also if its creation fails. */
TEST(c38_a_file_system_without_unnamed_files)
{
	no_tmpfile = EOPNOTSUPP;
	CHECK(work(fresh_name()));
	refuse("open64", EACCES);
	refuse("fchmod", EPERM);
	refuse("pwrite64", ENOSPC);
	no_tmpfile = 0;
	check_no_temp();
}
