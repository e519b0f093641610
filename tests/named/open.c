/* SPDX-License-Identifier: MIT */
/* C39: names and files that open accepts or refuses.  All tests are quick. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "named/handle.h"
#include "puppet.h"

static char path[300];

/* Create a valid file; its path is in `path`. */
static const char *make(int64_t capacity)
{
	const char *name = fresh_name();

	close_named(open_named(name, capacity));
	CHECK_OK(weir_named_path(name, path, sizeof(path)));
	return name;
}

/* Create a socket at `path`, which may be longer than its address can be. */
static void make_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s",
		       getenv("WEIR_DIR"));
	CHECK(fd >= 0);
	CHECK(!bind(fd, (struct sockaddr *)&address, sizeof(address)));
	CHECK(!rename(address.sun_path, path));
	close(fd);
}

/* Open must fail with WEIR_ESYSTEM and this errno, and write a message. */
static void refused(const char *name, uint32_t flags, int number)
{
	char why[200] = "";
	weir_named_opts opts = { .capacity = 1, .flags = flags, .why = why,
				 .why_size = sizeof(why) };
	weir_named *sem = (weir_named *)(void *)path;

	errno = 0;
	CHECK_ERR(weir_named_open(name, &opts, &sem), WEIR_ESYSTEM);
	if (errno != number)
		check_fail(__FILE__, __LINE__, "errno %d, not %d: %s", errno,
			   number, why);
	CHECK(strlen(why) > 10);
	CHECK(!sem);
}

TEST(c39_a_file_that_is_not_there)
{
	refused("never-created", 0, ENOENT);
	CHECK_ERR(weir_named_unlink("never-created"), WEIR_ESYSTEM);
	CHECK_EQ(errno, ENOENT);
}

TEST(c39_exclusive_requires_a_new_file)
{
	const char *name = make(1);

	refused(name, WEIR_NAMED_CREATE | WEIR_NAMED_EXCLUSIVE, EEXIST);
	CHECK_OK(weir_named_unlink(name));
	{
		weir_named_opts opts = { .capacity = 1, .flags =
			WEIR_NAMED_CREATE | WEIR_NAMED_EXCLUSIVE };
		weir_named *sem;

		CHECK_OK(weir_named_open(name, &opts, &sem));
		close_named(sem);
	}
}

TEST(c39_invalid_names)
{
	char longest[WEIR_NAMED_NAME_MAX + 2];
	char label[WEIR_NAMED_LABEL_MAX + 2];
	weir_named_opts opts = { .capacity = 1, .flags = WEIR_NAMED_CREATE };
	weir_named *sem;

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_ERR(weir_named_open(longest, &opts, &sem), WEIR_EINVAL);
	longest[WEIR_NAMED_NAME_MAX] = '\0';
	CHECK_OK(weir_named_open(longest, &opts, &sem));
	close_named(sem);
	CHECK_ERR(weir_named_open("", &opts, &sem), WEIR_EINVAL);
	CHECK_ERR(weir_named_open(".hidden", &opts, &sem), WEIR_EINVAL);
	CHECK_ERR(weir_named_open("a b", &opts, &sem), WEIR_EINVAL);
	memset(label, 'x', sizeof(label));
	label[sizeof(label) - 1] = '\0';
	opts.label = label;
	CHECK_ERR(weir_named_open("labelled", &opts, &sem), WEIR_EINVAL);
	label[WEIR_NAMED_LABEL_MAX] = '\0';
	CHECK_OK(weir_named_open("labelled", &opts, &sem));
	close_named(sem);
}

TEST(c39_invalid_sizes)
{
	const char *name = make(1);

	CHECK(!truncate(path, (off_t)NM_FILE_SIZE - 1));
	refused(name, WEIR_NAMED_CREATE, EBADMSG);
	CHECK(!truncate(path, 0));
	refused(name, WEIR_NAMED_CREATE, EBADMSG);
	CHECK(!truncate(path, (off_t)NM_FILE_SIZE + 4096));
	refused(name, WEIR_NAMED_CREATE, EBADMSG);
	/* All zero, with the right size. */
	CHECK(!truncate(path, 0));
	CHECK(!truncate(path, (off_t)NM_FILE_SIZE));
	refused(name, WEIR_NAMED_CREATE, EBADMSG);
}

TEST(c39_not_a_regular_file)
{
	char other[400];
	const char *name = make(1);

	(void)snprintf(other, sizeof(other), "%s.other", path);
	CHECK(!rename(path, other));
	CHECK(!symlink(other, path));
	refused(name, WEIR_NAMED_CREATE, ELOOP);
	CHECK(!unlink(path));
	CHECK(!link(other, path));
	refused(name, WEIR_NAMED_CREATE, EPERM);
	CHECK(!unlink(path));
	CHECK(!mkfifo(path, 0600));
	refused(name, WEIR_NAMED_CREATE, EPERM);
	CHECK(!unlink(path));
	CHECK(!mkdir(path, 0700));
	refused(name, WEIR_NAMED_CREATE, EISDIR);
	CHECK(!rmdir(path));
	make_socket();
	refused(name, WEIR_NAMED_CREATE, EPERM);
	CHECK(!unlink(path));
}

/* An open of a file with a lease would wait for its holder. */
TEST(c39_a_file_with_a_lease)
{
	const char *name = make(1);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	/* The kernel signals the holder of the lease. */
	CHECK(signal(SIGIO, SIG_IGN) != SIG_ERR);
	CHECK(fd >= 0);
	if (fcntl(fd, F_SETLEASE, F_WRLCK)) {
		close(fd);
		check_skip("needs leases");
		return;
	}
	refused(name, 0, EBADMSG);
	close(fd);
	close_named(open_named(name, 1));
}

TEST(c39_files_that_others_own_or_write)
{
	const char *name = make(1);
	static const mode_t bits[] = { 020, 002, 066 };
	weir_named_opts opts = { .capacity = 1 };
	struct stat info;
	weir_named *sem;

	CHECK(!stat(path, &info));
	CHECK_EQ(info.st_mode & 0777, 0600);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		CHECK(!chmod(path, 0600 | bits[i]));
		refused(name, 0, EPERM);
		opts.mode = 0644;
		opts.flags = 0;
		CHECK_ERR(weir_named_open(name, &opts, &sem), WEIR_ESYSTEM);
		opts.flags = WEIR_NAMED_SHARED;
		CHECK_OK(weir_named_open(name, &opts, &sem));
		close_named(sem);
		/* The process would have created it so. */
		opts.mode = 0600 | bits[i];
		opts.flags = 0;
		CHECK_OK(weir_named_open(name, &opts, &sem));
		close_named(sem);
	}
	/* Others may read. */
	CHECK(!chmod(path, 0645));
	close_named(open_named(name, 1));
	opts = (weir_named_opts){ .flags = WEIR_NAMED_SHARED };
	CHECK(!chmod(path, 0600));
	/* Only root can change the owner of a file. */
	if (!geteuid()) {
		CHECK(!chown(path, 12345, 12345));
		refused(name, 0, EPERM);
		CHECK_OK(weir_named_open(name, &opts, &sem));
		close_named(sem);
	}
}

/* A user may use the files of root, but not those of another user. */
TEST(c39_a_file_of_root)
{
	const char *name = make(1);
	int status;
	pid_t child;

	if (geteuid()) {
		check_skip("needs root");
		return;
	}
	CHECK(!chmod(getenv("WEIR_DIR"), 0711));
	CHECK(!chmod(path, 0644));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
		weir_named *sem;

		CHECK(!seteuid(12345));
		CHECK_OK(weir_named_open(name, &opts, &sem));
		close_named(sem);
		CHECK(!seteuid(0));
		CHECK(!chown(path, 12346, 12346));
		CHECK(!seteuid(12345));
		refused(name, WEIR_NAMED_OBSERVER, EPERM);
		CHECK(!seteuid(0));
		CHECK(!chown(path, 1, 1));
		CHECK(!seteuid(12345));
		refused(name, WEIR_NAMED_OBSERVER, EPERM);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(!chmod(getenv("WEIR_DIR"), 0700));
}

TEST(c39_other_versions_byte_orders_and_boots)
{
	const char *name = make(1);
	struct file file = map_file(name);
	struct nm_header *head = file.head;
	weir_named *sem;

	head->version = NM_VERSION + 1;
	refused(name, WEIR_NAMED_CREATE, EPROTO);
	head->version = NM_VERSION - 1;
	refused(name, WEIR_NAMED_CREATE, EPROTO);
	head->version = NM_VERSION;
	head->order = __builtin_bswap32(NM_ORDER);
	refused(name, WEIR_NAMED_CREATE, EPROTO);
	head->order = NM_ORDER;
	head->slot_size = 8;
	refused(name, WEIR_NAMED_CREATE, EBADMSG);
	head->slot_size = sizeof(struct nm_slot);
	head->magic[0] = 'W';
	refused(name, WEIR_NAMED_CREATE, EBADMSG);
	head->magic[0] = 'w';
	/* From before the last boot: it is used as it is. */
	head->boot[3] ^= 1;
	sem = open_named(name, 5);
	CHECK_EQ(look_at(sem).capacity, 1);
	close_named(sem);
	unmap_file(&file);
}

/* Change one constant at a time. */
#define CHECK_CONSTANT(field, number)                                          \
	do {                                                                   \
		struct nm_header changed = head;                               \
		changed.field++;                                               \
		errno = 0;                                                     \
		CHECK(weir_nm_check_constants_(&changed));                     \
		CHECK_EQ(errno, number);                                       \
	} while (0)

TEST(c39_each_constant_of_the_header)
{
	weir_named_opts opts = { .capacity = 7, .policy = WEIR_NAMED_STRICT };
	struct nm_header head;

	memset(&head, 0xff, sizeof(head));
	weir_nm_header_init_(&head, &opts);
	CHECK(!weir_nm_check_constants_(&head));
	CHECK_EQ(head.policy, WEIR_NAMED_STRICT);
	CHECK_EQ(head.capacity, 7);
	CHECK_EQ(head.value, 7);
	CHECK_EQ(head.lock, 0);
	CHECK_CONSTANT(magic[0], EBADMSG);
	CHECK_CONSTANT(magic[7], EBADMSG);
	CHECK_CONSTANT(order, EPROTO);
	CHECK_CONSTANT(version, EPROTO);
	CHECK_CONSTANT(header_size, EBADMSG);
	CHECK_CONSTANT(slot_size, EBADMSG);
	CHECK_CONSTANT(record_size, EBADMSG);
	CHECK_CONSTANT(slots, EBADMSG);
	CHECK_CONSTANT(records, EBADMSG);
	CHECK_CONSTANT(file_size, EBADMSG);
	CHECK_CONSTANT(policy, EBADMSG);
	head.policy = WEIR_NAMED_FAST;
	CHECK(!weir_nm_check_constants_(&head));
	/* The magic is checked first: another file has no version. */
	head.order = head.version = 0;
	CHECK_CONSTANT(magic[0], EBADMSG);
}

/* Options that open refuses leave no file. */
static void check_options(weir_named_opts opts, weir_err want)
{
	const char *name = fresh_name();
	weir_named *sem = (weir_named *)(void *)path;
	char text[100] = "";

	opts.why = text;
	opts.why_size = sizeof(text);
	CHECK_ERR(weir_named_open(name, &opts, &sem), want);
	CHECK_OK(weir_named_path(name, path, sizeof(path)));
	CHECK_EQ(access(path, F_OK), want ? -1 : 0);
	if (want) {
		CHECK(!strcmp(text, "invalid argument or option"));
		CHECK((void *)sem == (void *)path);
	} else {
		close_named(sem);
	}
}

TEST(c39_options_out_of_range)
{
	const weir_named_opts good = { .flags = WEIR_NAMED_CREATE };
	weir_named_opts opts = good;

	check_options(good, WEIR_OK);
	for (int i = 0; i < 4; i++) {
		opts = good;
		opts.reserved_[i] = 1;
		check_options(opts, WEIR_EINVAL);
	}
	opts = good;
	opts.capacity = WEIR_SEM_MAX;
	check_options(opts, WEIR_OK);
	opts.capacity++;
	check_options(opts, WEIR_EINVAL);
	opts.capacity = -1;
	check_options(opts, WEIR_EINVAL);
	opts = good;
	opts.policy = WEIR_NAMED_STRICT;
	check_options(opts, WEIR_OK);
	opts.policy = (weir_named_policy)2;
	check_options(opts, WEIR_EINVAL);
	opts = good;
	opts.mode = 0666;
	check_options(opts, WEIR_OK);
	opts.mode = 0667;
	check_options(opts, WEIR_EINVAL);
	opts = good;
	opts.flags |= WEIR_NAMED_EXCLUSIVE | WEIR_NAMED_SHARED |
		      WEIR_NAMED_INTERRUPTIBLE;
	check_options(opts, WEIR_OK);
	opts.flags = 1u << 31 | WEIR_NAMED_CREATE;
	check_options(opts, WEIR_EINVAL);
	opts.flags = WEIR_NAMED_EXCLUSIVE;
	check_options(opts, WEIR_EINVAL);
	opts.flags = WEIR_NAMED_OBSERVER | WEIR_NAMED_CREATE;
	check_options(opts, WEIR_EINVAL);
}

TEST(c16_an_open_without_a_name)
{
	char text[100] = "";
	weir_named_opts opts = { .why = text, .why_size = sizeof(text) };
	weir_named *sem = (weir_named *)(void *)path;

	CHECK_ERR(weir_named_open(NULL, &opts, &sem), WEIR_EINVAL);
	CHECK(!strcmp(text, "invalid argument or option"));
	CHECK((void *)sem == (void *)path);
	*text = '\0';
	CHECK_ERR(weir_named_open("x", &opts, NULL), WEIR_EINVAL);
	CHECK(!strcmp(text, "invalid argument or option"));
}

/* A handle can sleep on two words if the kernel has futex_waitv. */
TEST(c37_an_open_asks_for_futex_waitv)
{
	weir_named *sem = open_named(fresh_name(), 1);

	CHECK_EQ(sem->can_wait_any, weir_shared_can_wait_any_());
	close_named(sem);
}

/* No call is a cancellation point, and none changes the state of its thread. */
TEST(c18_the_cancel_state_of_a_thread_stays)
{
	static const int states[] = { PTHREAD_CANCEL_DISABLE,
				      PTHREAD_CANCEL_ENABLE };

	for (int i = 0; i < 2; i++) {
		weir_named *sem;
		int state;

		CHECK(!pthread_setcancelstate(states[i], NULL));
		sem = open_named(fresh_name(), 1);
		CHECK(!pthread_setcancelstate(states[i], &state));
		CHECK_EQ(state, states[i]);
		close_named(sem);
		CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state));
		CHECK_EQ(state, states[i]);
	}
}

TEST(a_recreated_name_is_noticed)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1), *other;

	CHECK(!look_at(sem).renamed);
	CHECK_OK(weir_named_unlink(name));
	CHECK(look_at(sem).renamed);
	CHECK_ERR(weir_named_unlink_handle(sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, ESTALE);
	other = open_named(name, 2);
	CHECK(look_at(sem).renamed);
	CHECK_ERR(weir_named_unlink_handle(sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, ESTALE);
	CHECK(!look_at(other).renamed);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_acquire(other, 2, NULL));
	close_named(sem);
	close_named(other);
}

/* The file gets the descriptor 0. */
TEST(c39_refusals_without_standard_input)
{
	int input = fcntl(0, F_DUPFD_CLOEXEC, 3);
	const char *name = make(1);

	(void)close(0);
	refused(name, WEIR_NAMED_CREATE | WEIR_NAMED_EXCLUSIVE, EEXIST);
	CHECK(fcntl(0, F_GETFD) < 0);
	CHECK(!truncate(path, 1));
	refused(name, 0, EBADMSG);
	CHECK(fcntl(0, F_GETFD) < 0);
	name = make(1);
	/* The library must not read an errno of the past. */
	errno = ENOENT;
	close_named(open_named(name, 1));
	CHECK(input < 0 || (dup2(input, 0) == 0 && !close(input)));
}
