/* SPDX-License-Identifier: MIT */
/*
 * C39: names, the folder for them, and their paths.  The folders that the library
 * finds without WEIR_DIR are simulated: the linker wraps the calls in their
 * 64-bit forms, which are the ones that glibc uses.
 *
 * The memory that the library allocates here ends before a guard page, and its
 * mappings are counted.  Calls that free memory change errno, as they do in some
 * C libraries.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "puppet.h"

static bool on;			/* only inside the library */
static mode_t run_mode;		/* of /run/weir; 0: it does not exist */
static struct stat own_folder;	/* this user's; st_mode is 0: it does not exist */
static int mkdir_errno, mkdirs;	/* of the next mkdir; their number */
static int countdown;		/* the allocation that fails; 0: none */
static int blocks;		/* memory that the library has allocated */
static int maps;		/* memory that the library has mapped */

static bool is_own_folder(const char *path)
{
	char own[40];

	(void)snprintf(own, sizeof(own), "/dev/shm/weir-%lu",
		       (unsigned long)geteuid());
	return on && !strcmp(path, own);
}

int __real_lstat64(const char *path, struct stat *info);
int __wrap_lstat64(const char *path, struct stat *info);
int __wrap_lstat64(const char *path, struct stat *info)
{
	if (!is_own_folder(path))
		return __real_lstat64(path, info);
	*info = own_folder;
	errno = ENOENT;
	return own_folder.st_mode ? 0 : -1;
}

int __real_stat64(const char *path, struct stat *info);
int __wrap_stat64(const char *path, struct stat *info);
int __wrap_stat64(const char *path, struct stat *info)
{
	if (!on || strcmp(path, "/run/weir"))
		return __real_stat64(path, info);
	*info = (struct stat){ .st_mode = run_mode };
	errno = ENOENT;
	return run_mode ? 0 : -1;
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	if (!is_own_folder(path))
		return __real_mkdir(path, mode);
	CHECK_EQ(mode, 0700);
	mkdirs++;
	errno = mkdir_errno;
	return mkdir_errno ? -1 : 0;
}

void *__real_mmap64(void *at, size_t size, int prot, int flags, int fd,
		    off_t from);
void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd,
		    off_t from);
void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd,
		    off_t from)
{
	maps += on;
	return __real_mmap64(at, size, prot, flags, fd, from);
}

int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
	int failed = __real_munmap(at, size);

	CHECK(!failed);
	maps -= on;
	if (on)
		errno = EXDEV;
	return failed;
}

/* Memory that ends before a guard page. */
static struct guarded {
	char *block, *pages;
	size_t size;		/* of the pages */
} guarded[16];

static struct guarded *guarded_at(const char *block)
{
	for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++)
		if (guarded[i].block == block)
			return &guarded[i];
	return NULL;
}

int __real_posix_memalign(void **to, size_t align, size_t size);
int __wrap_posix_memalign(void **to, size_t align, size_t size);
int __wrap_posix_memalign(void **to, size_t align, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (size + page - 1) / page * page;
	struct guarded *new;

	if (!on)
		return __real_posix_memalign(to, align, size);
	if (countdown > 0 && !--countdown)
		return ENOMEM;
	new = guarded_at(NULL);
	CHECK(new && size % align == 0);
	new->size = room + page;
	new->pages = __real_mmap64(NULL, new->size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(new->pages != MAP_FAILED);
	CHECK(!mprotect(new->pages + room, page, PROT_NONE));
	new->block = new->pages + room - size;
	*to = new->block;
	blocks++;
	return 0;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
	struct guarded *old = block ? guarded_at(block) : NULL;

	if (!old) {
		__real_free(block);
		return;
	}
	CHECK(!__real_munmap(old->pages, old->size));
	old->block = NULL;
	blocks--;
	errno = EXDEV;
}

static void check_nothing_left(void)
{
	CHECK_EQ(blocks, 0);
	CHECK_EQ(maps, 0);
}

static weir_err find(const char *name, char *path, size_t size)
{
	weir_err err;

	errno = 0;
	on = true;
	err = weir_named_path(name, path, size);
	on = false;
	check_nothing_left();
	return err;
}

static void check_found(const char *name, const char *want)
{
	char path[5000];

	CHECK_OK(find(name, path, sizeof(path)));
	if (strcmp(path, want))
		check_fail(__FILE__, __LINE__, "%s, not %s", path, want);
}

static char why[300];

static weir_err open_it(const char *name, uint32_t flags, weir_named **sem)
{
	weir_named_opts opts = { .flags = flags, .why = why,
				 .why_size = sizeof(why) };
	weir_err err;

	*why = 0;
	errno = 0;
	on = true;
	err = weir_named_open(name, &opts, sem);
	on = false;
	if (err)
		check_nothing_left();
	return err;
}

static void close_it(weir_named *sem)
{
	on = true;
	close_named(sem);
	on = false;
	check_nothing_left();
}

/* There is no file of this name to remove. */
static void check_unlink(const char *name, int number)
{
	weir_err err;

	errno = 0;
	on = true;
	err = weir_named_unlink(name);
	on = false;
	CHECK_ERR(err, WEIR_ESYSTEM);
	CHECK_EQ(errno, number);
	check_nothing_left();
}

/* An open fails with this errno and message. */
static void check_refused(uint32_t flags, int number, const char *words)
{
	weir_named *sem = NULL;
	char path[100];

	CHECK_ERR(open_it("x", flags, &sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, number);
	if (!strstr(why, words))
		check_fail(__FILE__, __LINE__, "%s, not %s", why, words);
	if (flags & WEIR_NAMED_CREATE)
		return;
	CHECK_ERR(find(NULL, path, sizeof(path)), WEIR_ESYSTEM);
	CHECK_ERR(find("x", path, sizeof(path)), WEIR_ESYSTEM);
}

/* Returns the value of WEIR_DIR; restore_names sets it again. */
static char *forget_names(void)
{
	char *before = strdup(getenv("WEIR_DIR"));

	CHECK(before && !unsetenv("WEIR_DIR"));
	return before;
}

static void restore_names(char *before)
{
	CHECK(!setenv("WEIR_DIR", before, 1));
	free(before);
}

TEST(c39_the_folder_of_names)
{
	char *before = forget_names(), own[40], path[60];

	(void)snprintf(own, sizeof(own), "/dev/shm/weir-%lu",
		       (unsigned long)geteuid());
	(void)snprintf(path, sizeof(path), "%s/a.weir", own);
	own_folder.st_mode = S_IFDIR | 0755;
	own_folder.st_uid = geteuid();
	run_mode = S_IFDIR | 0755;
	check_found(NULL, "/run/weir");
	check_found("a", "/run/weir/a.weir");
	run_mode = S_IFREG | 0644;
	check_found(NULL, own);
	run_mode = 0;
	check_found(NULL, own);
	check_found("a", path);
	/* An empty variable counts as none. */
	CHECK(!setenv("WEIR_DIR", "", 1));
	check_found(NULL, own);
	CHECK(!setenv("WEIR_DIR", "/there", 1));
	check_found(NULL, "/there");
	check_found("a", "/there/a.weir");
	CHECK_EQ(mkdirs, 0);
	restore_names(before);
}

TEST(c39_a_folder_that_other_users_may_use)
{
	char *before = forget_names();

	own_folder.st_uid = geteuid();
	own_folder.st_mode = 0;
	check_refused(0, ENOENT, "cannot use the folder /dev/shm/weir-");
	own_folder.st_mode = S_IFLNK | 0700;
	check_refused(0, EPERM, "is not a folder");
	own_folder.st_mode = S_IFDIR | 0720;
	check_refused(0, EPERM, "(mode 720); use chmod 700");
	own_folder.st_mode = S_IFDIR | 01703;
	check_refused(0, EPERM, "(mode 1703); use chmod 700");
	own_folder.st_mode = S_IFDIR | 0700;
	check_unlink("weir-test-never-created", ENOENT);
	own_folder.st_uid = geteuid() + 1;
	check_refused(0, EPERM, "belongs to user");
	check_unlink("weir-test-never-created", EPERM);
	CHECK_EQ(mkdirs, 0);
	/* It is created if the semaphore is; it may exist. */
	mkdir_errno = EEXIST;
	check_refused(WEIR_NAMED_CREATE, EPERM, "belongs to user");
	mkdir_errno = 0;
	check_refused(WEIR_NAMED_CREATE, EPERM, "belongs to user");
	mkdir_errno = EACCES;
	check_refused(WEIR_NAMED_CREATE, EACCES,
		      "cannot create the folder /dev/shm/weir-");
	CHECK_EQ(mkdirs, 3);
	mkdir_errno = mkdirs = 0;
	restore_names(before);
}

TEST(c39_the_lengths_of_folders_and_paths)
{
	char *before = forget_names(), text[4200], path[5000];

	/* 4096 bytes with the NUL are the most. */
	memset(text, 'x', sizeof(text));
	text[0] = '/';
	text[4095] = '\0';
	CHECK(!setenv("WEIR_DIR", text, 1));
	check_found(NULL, text);
	check_found(text, text);
	text[4095] = 'x';
	text[4096] = '\0';
	CHECK(!setenv("WEIR_DIR", text, 1));
	check_refused(0, ENAMETOOLONG, "WEIR_DIR");
	CHECK_ERR(find(text, path, sizeof(path)), WEIR_EINVAL);
	/* The result must fit, with its NUL. */
	CHECK(!setenv("WEIR_DIR", "/there", 1));
	CHECK_OK(find("abc", path, sizeof("/there/abc.weir")));
	CHECK(!strcmp(path, "/there/abc.weir"));
	CHECK_ERR(find("abc", path, sizeof("/there/abc.weir") - 1),
		  WEIR_EINVAL);
	CHECK_OK(find(NULL, path, sizeof("/there")));
	CHECK_ERR(find(NULL, path, sizeof("/there") - 1), WEIR_EINVAL);
	CHECK_ERR(find("abc", path, 0), WEIR_EINVAL);
	restore_names(before);
}

TEST(c39_the_characters_of_names)
{
	static const char *const wrong[] = { "a b", "a\tb", "a\n", "\x1f",
					     "a\x7f" };
	char text[600], path[600];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERR(find(wrong[i], path, sizeof(path)), WEIR_EINVAL);
	(void)snprintf(text, sizeof(text), "%s/!~.\x80\xff.weir",
		       getenv("WEIR_DIR"));
	check_found("!~.\x80\xff", text);
}

/* There is no memory for the path, or for the absolute one. */
TEST(c16_no_memory_for_a_path)
{
	char name[300], path[300];
	weir_named *sem;

	(void)snprintf(name, sizeof(name), "%s/%s", getenv("WEIR_DIR"),
		       fresh_name());
	countdown = 1;
	CHECK_ERR(find(name, path, sizeof(path)), WEIR_ENOMEM);
	countdown = 1;
	CHECK_ERR(find("x", path, sizeof(path)), WEIR_ENOMEM);
	CHECK(!chdir(getenv("WEIR_DIR")));
	/* After the memory for the handle and for the path. */
	countdown = 3;
	CHECK_OK(open_it("./here", WEIR_NAMED_CREATE, &sem));
	CHECK_EQ(countdown, 0);
	CHECK(!look_at(sem).renamed);
	CHECK(!chdir("/"));
	/* The handle has the relative path. */
	CHECK(look_at(sem).renamed);
	close_it(sem);
}

/*
 * Open "./sem" with more slashes, so that the path has this length.  The handle
 * has the name as it was given.
 */
static weir_named *open_here(size_t length)
{
	weir_named *sem;
	char name[4200], text[4300];

	memset(name, '/', length);
	name[0] = '.';
	memcpy(name + length - 3, "sem", 4);
	CHECK(!chdir(getenv("WEIR_DIR")));
	CHECK_OK(open_it(name, WEIR_NAMED_CREATE, &sem));
	CHECK(!access("sem", F_OK));
	CHECK(!look_at(sem).renamed);
	CHECK(!chdir("/"));
	(void)snprintf(text, sizeof(text), "\"%.100s%s", name,
		       length < 100 ? "\": 1 permits released" : "");
	CHECK_PANICS(text, weir_named_release(sem, 1));
	return sem;
}

/* A relative path is made absolute if the result has at most 4095 bytes. */
TEST(c38_the_length_of_a_relative_path)
{
	const size_t most = 4095 - strlen(getenv("WEIR_DIR")) - 1;
	weir_named *sem;

	for (size_t length = 5; length < 5 + 64; length++) {
		sem = open_here(length);
		CHECK_OK(weir_named_unlink_handle(sem));
		close_it(sem);
	}
	sem = open_here(most);
	CHECK_OK(weir_named_unlink_handle(sem));
	close_it(sem);
	sem = open_here(most + 1);
	CHECK(look_at(sem).renamed);
	close_it(sem);
}

/* A message that is longer than the array is cut; errno stays. */
TEST(c16_a_message_has_the_size_of_the_array)
{
	char text[4] = "xyz";
	weir_named_opts opts = { .flags = 1u << 31, .why = text,
				 .why_size = 3 };
	weir_named *sem;

	errno = EXDEV;
	CHECK_ERR(weir_named_open("x", &opts, &sem), WEIR_EINVAL);
	CHECK_EQ(errno, EXDEV);
	CHECK(!memcmp(text, "in\0", 4));
	memcpy(text, "xyz", 4);
	opts.why_size = 0;
	CHECK_ERR(weir_named_open("x", &opts, &sem), WEIR_EINVAL);
	CHECK(!strcmp(text, "xyz"));
	opts.why = NULL;
	opts.why_size = 3;
	CHECK_ERR(weir_named_open("x", &opts, &sem), WEIR_EINVAL);
}
