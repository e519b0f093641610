/* SPDX-License-Identifier: MIT */
/*
 * The life of the registry and of its records: threads that end, forks, full
 * tables, the words of WEIR_DIAG, and system calls that fail.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "check.h"
#include "look.h"
#include "record/words.h"
#include "weir/async.h"
#include "weir/diag.h"

static weir_sem a;

TEST(words_of_weir_diag)
{
	struct weir_diag_words_ words = weir_diag_parse_(NULL);

	CHECK(!words.off && !words.all && !words.watchdog_ms && !words.order);
	CHECK(!words.hold_ms && !words.bad);
	CHECK_EQ(words.report, 0);
	words = weir_diag_parse_("off");
	CHECK(words.off && !words.all);
	words = weir_diag_parse_("all,report,,unknown,watchdog");
	CHECK(words.all && !words.off && !words.order && !words.hold_ms);
	CHECK_EQ(words.watchdog_ms, 5000);
	CHECK_EQ(words.report, 6);
	CHECK(words.bad && !strncmp(words.bad, "unknown,", 8));
	CHECK_EQ(words.bad_length, 7);
	CHECK_EQ(weir_diag_parse_("report=20,order").report, 20);
	CHECK(weir_diag_parse_("report=20,order").order);
	CHECK_EQ(weir_diag_parse_("report=0").report, 0);
	CHECK_EQ(weir_diag_parse_("report=").report, 6);
	CHECK_EQ(weir_diag_parse_("report=1x").report, 6);
	CHECK_EQ(weir_diag_parse_("report=99999999999999999999").report, 6000);
	CHECK(!weir_diag_parse_("offset,al,alloff").off);
	CHECK(!weir_diag_parse_("all,report=20,order,watchdog=1,hold=2").bad);
}

static uint32_t period(const char *text, bool good)
{
	struct weir_diag_words_ words = weir_diag_parse_(text);

	CHECK(good == !words.bad);
	return words.watchdog_ms;
}

TEST(times_of_weir_diag)
{
	struct weir_diag_words_ words;

	CHECK_EQ(period("watchdog=2", true), 2000);
	CHECK_EQ(period("watchdog=0.25", true), 250);
	CHECK_EQ(period("watchdog=1.0305", true), 1030);
	CHECK_EQ(period("watchdog=0.001", true), 10);
	CHECK_EQ(period("watchdog=99999999999", true), 86400000);
	CHECK_EQ(period("watchdog=", false), 5000);
	CHECK_EQ(period("watchdog=0", false), 5000);
	CHECK_EQ(period("watchdog=1s", false), 5000);
	CHECK_EQ(period("watchdog=1.x", false), 5000);
	CHECK_EQ(period("watchdogs=1", false), 0);
	words = weir_diag_parse_("hold=60");
	CHECK_EQ(words.hold_ms, 60000);
	CHECK_EQ(words.watchdog_ms, 5000);
	words = weir_diag_parse_("watchdog=1,hold=0.5");
	CHECK_EQ(words.hold_ms, 500);
	CHECK_EQ(words.watchdog_ms, 1000);
	words = weir_diag_parse_("hold=x,report=1x");
	CHECK(!words.hold_ms && !words.watchdog_ms);
	CHECK(words.bad && !strncmp(words.bad, "hold=x", 6));
}

TEST(c47_only_semaphores_with_a_name_are_watched)
{
	weir_sem_opts unwatched = { .permits = 1, .name = "quiet",
				    .flags = WEIR_SEM_UNWATCHED };
	weir_sem_opts asked = { .permits = 1, .flags = WEIR_SEM_TRACKED };
	weir_sem_info info;

	watch(&a, 1, "a");
	CHECK(weir_record_of_(&a));
	CHECK_OK(weir_sem_stat(&a, &info));
	CHECK(!strcmp(info.name, "a"));
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_init(&a, 1));
	CHECK_EQ(weir_record_of_(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_init_opts(&a, &unwatched));
	CHECK_EQ(weir_record_of_(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_init_opts(&a, &asked));
	CHECK(weir_record_of_(&a));
	CHECK_OK(weir_sem_stat(&a, &info));
	CHECK(!info.name);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(a_long_name_is_cut_and_the_callers_name_is_kept)
{
	static const char name[] = "a name that is longer than the forty-eight "
				   "bytes of the registry";
	weir_sem_info info;

	watch(&a, 1, name);
	CHECK_EQ(strlen(object_of(&a)->name), RG_NAME - 1);
	CHECK(!strncmp(object_of(&a)->name, name, RG_NAME - 1));
	CHECK_OK(weir_sem_stat(&a, &info));
	CHECK(info.name == name);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(an_id_is_never_used_again)
{
	uint64_t last = 0;

	for (int i = 0; i < 200; i++) {
		watch(&a, 1, "a");
		CHECK(weir_record_of_(&a) > last);
		last = weir_record_of_(&a);
		CHECK_OK(weir_sem_destroy(&a));
	}
	/* Records are used again. */
	CHECK(header()->objects_high < 100);
}

static void *end_with_a_permit(void *arg)
{
	*(uint32_t *)arg = weir_thread_id_();
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	return NULL;
}

static void *use_and_end(void *unused)
{
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	weir_sem_release(&a, 1);
	return unused;
}

TEST(c48_a_thread_that_ends_with_permits_remains_as_their_holder)
{
	uint32_t tid = 0;
	struct rg_context *context = NULL;

	watch(&a, 3, "a");
	finish(start(use_and_end, NULL));
	CHECK_EQ(contexts_in(RG_ENDED), 0);
	finish(start(end_with_a_permit, &tid));
	CHECK_EQ(contexts_in(RG_ENDED), 1);
	for (uint32_t i = 0; i < header()->contexts_high; i++) {
		context = weir_rg_context_(weir_registry_->base, i);
		if (context->state == RG_ENDED)
			break;
	}
	CHECK(context);
	CHECK_EQ(context->tid, tid);
	CHECK(context->ended >= context->since);
	CHECK_EQ(held_by(&a, tid), 2);
	CHECK_ADDS_UP(&a);
	/* Another thread returns the permits: the record is given back. */
	weir_sem_release(&a, 2);
	CHECK_EQ(recorded(&a), 0);
	for (int i = 0; i < 20; i++)
		finish(start(use_and_end, NULL));
	CHECK_EQ(contexts_in(RG_ENDED), 0);
	CHECK_EQ(sum_of_slots(&a), 0);
	CHECK_EQ(recorded(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(contexts_of_ended_threads_are_used_again)
{
	uint32_t high;

	watch(&a, 1, "a");
	finish(start(use_and_end, NULL));
	high = header()->contexts_high;
	for (int i = 0; i < 100; i++)
		finish(start(use_and_end, NULL));
	CHECK(header()->contexts_high <= high + 1);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(full_tables_are_counted_and_holders_still_add_up)
{
	static weir_sem many[RG_OBJECTS + 10];
	uint32_t lost = header()->lost, unwatched = 0;
	uint32_t contexts = header()->contexts_high;

	for (unsigned i = 0; i < RG_OBJECTS + 10; i++) {
		watch(&many[i], 1, "many");
		unwatched += !weir_record_of_(&many[i]);
	}
	CHECK_EQ(unwatched, 10);
	CHECK_EQ(header()->lost, lost + 10);
	/* A semaphore that is not in the table works. */
	CHECK_OK(weir_sem_acquire(&many[RG_OBJECTS + 9], 1, NULL));
	weir_sem_release(&many[RG_OBJECTS + 9], 1);
	/* More slots than the table of contexts has. */
	header()->contexts_high = RG_CONTEXTS;
	for (unsigned i = 0; i < RG_CONTEXTS; i++)
		weir_rg_context_(weir_registry_->base, i)->state |= 0x100;
	for (unsigned i = 0; i < 40; i++) {
		CHECK_OK(weir_sem_acquire(&many[i], 1, NULL));
		CHECK_EQ(recorded(&many[i]), 1);
	}
	for (unsigned i = 0; i < 40; i++) {
		weir_sem_release(&many[i], 1);
		CHECK_EQ(recorded(&many[i]), 0);
	}
	CHECK(header()->lost > lost + 10);
	for (unsigned i = 0; i < RG_CONTEXTS; i++)
		weir_rg_context_(weir_registry_->base, i)->state &= 0xff;
	header()->contexts_high = contexts;
	for (unsigned i = 0; i < RG_OBJECTS + 10; i++)
		CHECK_OK(weir_sem_destroy(&many[i]));
}

/* Forks. */

static unsigned registry_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64];
	unsigned count = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target,
					    sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		count += !strncmp(target, "/memfd:" RG_FILE_NAME,
				  strlen("/memfd:" RG_FILE_NAME));
	}
	closedir(dir);
	return count;
}

/* The child writes nothing that its parent's registry contains. */
static void use_in_child(void)
{
	weir_sem own;

	CHECK(!weir_registry_->base);
	CHECK_EQ(weir_record_of_(&a), 0);
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK_ERR(weir_sem_try_acquire(&a, 5), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire_for(&a, 5, 1), WEIR_ETIMEDOUT);
	weir_sem_release(&a, 1);
	weir_sem_release(&a, 1);
	CHECK_OK(weir_sem_destroy(&a));
	watch(&own, 2, "own");
	CHECK(weir_record_of_(&own));
	CHECK_EQ(header()->pid, getpid());
	CHECK_EQ(header()->objects_high, 1);
	CHECK_OK(weir_sem_acquire(&own, 2, NULL));
	CHECK_EQ(sum_of_slots(&own), 2);
	weir_sem_release(&own, 2);
	CHECK_EQ(recorded(&own), 0);
	CHECK_OK(weir_sem_destroy(&own));
}

static void check_fork(bool raw)
{
	uint64_t events;
	int status = 0;
	pid_t child;

	watch(&a, 5, "a");
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	events = header()->next_event;
	child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	CHECK(child >= 0);
	if (!child) {
		use_in_child();
		/* A raw clone runs no handlers: the old one stays open. */
		CHECK_EQ(registry_descriptors(), raw ? 2 : 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(header()->next_event, events);
	CHECK_EQ(sum_of_slots(&a), 2);
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 2);
	CHECK_EQ(recorded(&a), 0);
	CHECK_EQ(registry_descriptors(), 1);
	CHECK_OK(weir_sem_destroy(&a));
}

TEST(c29_a_child_does_not_write_its_parents_registry)
{
	check_fork(false);
}

TEST(c29_nor_does_the_child_of_a_raw_clone)
{
	check_fork(true);
}

/* Run a function in a child, which must exit with 0. */
static void run_in_child(void (*fn)(void))
{
	int status = 0;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		fn();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static weir_op op;

/* The thread has the context that the operation had in the parent. */
static void use_op_again(void)
{
	weir_sem own;

	watch(&own, 2, "own");
	CHECK_OK(weir_sem_acquire(&own, 1, NULL));
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_OK(weir_op_submit(&op, &own, 1, NULL));
	CHECK_EQ(held_by(&own, weir_thread_id_()), 2);
	weir_sem_release(&own, 2);
	CHECK_EQ(recorded(&own), 0);
	CHECK_OK(weir_sem_destroy(&own));
}

/* A new registry: the operation has its first context. */
static void wait_and_fork(void)
{
	weir_sem_opts opts = { .capacity = 1, .name = "none free" };
	struct rg_wait wait;
	weir_sem own;

	CHECK_OK(weir_sem_init_opts(&own, &opts));
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&op, &own, 1, NULL), WEIR_EQUEUED);
	CHECK_EQ(waits_on(&own, &wait), 1);
	CHECK_EQ(wait.context & 0xffff, 0);
	run_in_child(use_op_again);
	CHECK_OK(weir_op_cancel(&op));
	CHECK_OK(weir_sem_destroy(&own));
}

/*
 * The table of waiting operations is inherited.  The child uses the memory of an
 * operation of its parent again, for one that does not wait.
 */
TEST(c29_an_operation_of_the_parent_ends_no_context_of_the_child)
{
	run_in_child(wait_and_fork);
}

TEST(the_file_is_sealed_and_closed_at_exec)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64];
	int fd = -1;

	watch(&a, 1, "a");
	CHECK(dir);
	while ((entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, target,
					    sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		if (!strncmp(target, "/memfd:" RG_FILE_NAME, 16))
			fd = atoi(entry->d_name);
	}
	closedir(dir);
	CHECK(fd > 100);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW),
		 F_SEAL_SHRINK | F_SEAL_GROW);
	CHECK_EQ(ftruncate(fd, 0), -1);
	CHECK_OK(weir_sem_destroy(&a));
}

/* weir_diag_each and the event hook. */

static unsigned objects_seen;

static void look_at(const weir_diag_object *object, void *user)
{
	weir_diag_object *found = user;

	objects_seen++;
	if (object->address == &a) {
		*found = *object;
		CHECK(!strcmp(object->name, "a"));
	}
}

TEST(each_walks_the_watched_objects)
{
	weir_diag_object found = { 0 };
	weir_sem other;

	watch(&a, 5, "a");
	watch(&other, 1, "other");
	CHECK_OK(weir_sem_acquire(&a, 2, NULL));
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	weir_sem_release(&a, 1);
	CHECK_ERR(weir_sem_acquire_for(&a, 4, 1), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_diag_each(NULL, NULL), WEIR_EINVAL);
	/* The clock of the record may have ticks of some milliseconds. */
	do {
		objects_seen = 0;
		CHECK_OK(weir_diag_each(look_at, &found));
	} while (!found.oldest_hold_ns);
	CHECK_EQ(objects_seen, 2);
	CHECK_EQ(found.type, WEIR_DIAG_SEM);
	CHECK_EQ(found.capacity, 5);
	CHECK_EQ(found.held, 2);
	CHECK_EQ(found.free, 3);
	CHECK_EQ(found.waiters, 0);
	CHECK_EQ(found.immediate, 2);
	CHECK_EQ(found.timed_out, 1);
	CHECK_EQ(found.releases, 1);
	CHECK_EQ(found.holders, 1);
	CHECK_EQ(found.oldest_wait_ns, 0);
	CHECK(!found.closed && !found.unbounded && !found.handed_over);
	weir_sem_release(&a, 2);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&other));
	objects_seen = 0;
	CHECK_OK(weir_diag_each(look_at, &found));
	CHECK_EQ(objects_seen, 0);
}

static weir_diag_event last_event;

static void note_event(const weir_diag_event *event)
{
	last_event = *event;
	if (event->name)
		CHECK(!strcmp(event->name, "a"));
}

TEST(the_event_hook_and_the_ring_get_slow_events)
{
	const struct rg_event *ring;
	uint64_t number;

	watch(&a, 1, "a");
	CHECK(!weir_diag_set_hook(note_event));
	CHECK_ERR(weir_sem_acquire_for(&a, 2, 1), WEIR_ETOOBIG);
	CHECK_EQ(last_event.kind, WEIR_DIAG_LEFT);
	CHECK_ERR(last_event.err, WEIR_ETOOBIG);
	CHECK(last_event.object == &a && last_event.n == 2 && last_event.name);
	number = header()->next_event;
	ring = (const struct rg_event *)(const void *)
		(weir_registry_->base + RG_EVENTS_AT) + (number - 1) % RG_EVENTS;
	CHECK_EQ(ring->number, number);
	CHECK_EQ(ring->object, weir_record_of_(&a));
	CHECK_EQ(ring->n, 2);
	CHECK_EQ((int32_t)ring->err, WEIR_ETOOBIG);
	CHECK(weir_diag_set_hook(NULL) == note_event);
	weir_sem_close(&a, WEIR_CLOSE_NOW);
	CHECK_EQ(last_event.kind, WEIR_DIAG_LEFT);
	CHECK_EQ(header()->next_event, number + 1);
	CHECK_OK(weir_sem_destroy(&a));
}

/* A semaphore whose memory is used again without a destroy is forgotten. */
TEST(an_abandoned_semaphore_is_replaced)
{
	weir_diag_object found = { 0 };

	for (int i = 0; i < 3; i++)
		watch(&a, 2, "a");
	objects_seen = 0;
	CHECK_OK(weir_diag_each(look_at, &found));
	CHECK_EQ(objects_seen, 1);
	CHECK_OK(weir_sem_destroy(&a));
}
