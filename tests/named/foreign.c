/* SPDX-License-Identifier: MIT */
/*
 * C38, C39: files that other processes lock, truncate or leave from another
 * boot, and borrowers of a lent descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "named/lock.h"
#include "puppet.h"
#include "weir/ctx.h"

static ino_t inode_of(const struct file *file)
{
	struct stat info;

	CHECK(!stat(file->path, &info));
	return info.st_ino;
}

/* A slot that seems to be in use; no process has its byte locked. */
static struct nm_slot *forge_slot(struct file *file, int64_t held)
{
	struct nm_slot *slot = &file->slots[file->head->slots_high];

	*slot = (struct nm_slot){ .state = 4 * ++file->head->generations +
					   NM_SLOT_LIVE, .held = held,
				  .pid = 4711 };
	slot->alive.word = weir_alive_value_();
	file->head->slots_high++;
	file->head->value -= held;
	return slot;
}

/* Take the lock as if the owner of this slot had taken it. */
static void lock_as(struct file *file, const struct nm_slot *slot)
{
	uint32_t ref = (uint32_t)(slot - file->slots) + 1;
	uint64_t seen;

	do
		AWAIT(!(uint32_t)(seen = at_load_acquire(&file->head->lock)));
	while (!at_cas_weak_acquire(&file->head->lock, &seen,
				    seen | nm_lock_id(ref, slot->state)));
}

static weir_named *open_observer(const char *name)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	weir_named *sem;

	CHECK_OK(weir_named_open(name, &opts, &sem));
	return sem;
}

TEST(c39_an_observer_survives_a_truncation)
{
	const char *name = fresh_name();
	weir_named *sem, *observer;
	weir_named_info info;
	struct file file;

	sem = open_named(name, 2);
	file = map_file(name);
	observer = open_observer(name);
	CHECK_EQ(look_at(observer).free, 2);
	close_named(sem);
	for (off_t size = NM_FILE_SIZE - 1; size >= 0;
	     size = size ? size / 2 : -1) {
		CHECK(!ftruncate(file.fd, size));
		if (weir_named_stat(observer, &info, NULL, 0))
			CHECK_EQ(errno, EBADMSG);
		(void)weir_named_available(observer);
		(void)weir_named_capacity(observer);
		(void)weir_named_is_closed(observer);
	}
	CHECK_EQ(weir_named_capacity(observer), -1);
	CHECK(!weir_named_is_closed(observer));
	CHECK_ERR(weir_named_stat(observer, &info, NULL, 0), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	close_named(observer);
	unmap_file(&file);
}

NAMESPACE_TEST(c38_another_boot_id_does_not_replace_a_semaphore_in_use)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 2);
	weir_named *sem, *observer;
	struct file file;
	ino_t before;

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	file = map_file(name);
	before = inode_of(&file);
	memset(file.head->boot, 7, sizeof(file.head->boot));
	observer = open_observer(name);
	CHECK_EQ(look_at(observer).held, 1);
	sem = open_named(name, 2);
	CHECK_EQ(inode_of(&file), before);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_ERR(weir_named_try_acquire(sem, 2), WEIR_EAGAIN);
	CHECK_EQ(puppet_do(&holder, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	close_named(sem);
	close_named(observer);
	puppet_kill(&holder);
	unmap_file(&file);
}

TEST(c38_participants_of_another_boot_are_dead)
{
	const char *name = fresh_name();
	weir_named *sem, *observer;
	struct file file;

	close_named(open_named(name, 3));
	file = map_file(name);
	memset(file.head->boot, 7, sizeof(file.head->boot));
	/* The first participant has no slot any more: forge that one, too. */
	file.head->slots_high = 0;
	/* The machine was switched off while a process was inside the lock. */
	lock_as(&file, forge_slot(&file, 2));
	(void)forge_slot(&file, 1);
	observer = open_observer(name);
	CHECK_EQ(look_at(observer).free, 3);
	sem = open_named(name, 3);
	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	CHECK_EQ(look_at(sem).held, 3);
	CHECK_EQ(look_at(sem).participants, 1);
	close_named(sem);
	close_named(observer);
	unmap_file(&file);
}

TEST(c39_a_lock_owner_that_is_no_process)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 3);
	struct file file = map_file(name);

	lock_as(&file, forge_slot(&file, 1));
	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	CHECK_EQ(look_at(sem).held, 3);
	close_named(sem);
	unmap_file(&file);
}

static void set_lock(int fd, int type, int64_t from, int64_t length)
{
	struct flock lock = { .l_type = (short)type, .l_whence = SEEK_SET,
			      .l_start = (off_t)from,
			      .l_len = (off_t)length };

	CHECK(!fcntl(fd, F_OFD_SETLK, &lock));
}

/* Returns the lock that another description has on this byte. */
static struct flock lock_on(const struct file *file, int64_t byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)byte, .l_len = 1 };

	CHECK(!fcntl(file->fd, F_OFD_GETLK, &lock));
	return lock;
}

static void check_single(const struct file *file, uint32_t index)
{
	struct flock lock = lock_on(file, NM_BYTE_ALIVE(index));

	CHECK_EQ(lock.l_type, F_WRLCK);
	CHECK_EQ(lock.l_start, NM_BYTE_ALIVE(index));
	CHECK_EQ(lock.l_len, 1);
}

TEST(c37_each_participant_locks_a_single_byte)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1), *other = open_named(name, 1);
	struct file file = map_file(name);

	check_single(&file, 0);
	check_single(&file, 1);
	CHECK_EQ(lock_on(&file, NM_BYTE_ALIVE(2)).l_type, F_UNLCK);
	CHECK_EQ(lock_on(&file, NM_BYTE_JOIN).l_type, F_UNLCK);
	close_named(sem);
	CHECK_EQ(lock_on(&file, NM_BYTE_ALIVE(0)).l_type, F_UNLCK);
	check_single(&file, 1);
	close_named(other);
	unmap_file(&file);
}

/* The query of a byte leaves it unlocked, and the bytes of others locked. */
TEST(c39_a_slot_of_no_process_is_queried)
{
	const char *name = fresh_name();
	weir_named *first = open_named(name, 2), *sem = open_named(name, 2);
	struct file file = map_file(name);

	close_named(first);
	/* The forged owner has the lower slot. */
	file.slots[0] = (struct nm_slot){ .state = 4 * ++file.head->generations +
						   NM_SLOT_LIVE, .pid = 4711 };
	file.slots[0].alive.word = weir_alive_value_();
	lock_as(&file, &file.slots[0]);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_EQ(lock_on(&file, NM_BYTE_ALIVE(0)).l_type, F_UNLCK);
	check_single(&file, 1);
	close_named(sem);
	unmap_file(&file);
}

/*
 * A lock on the next byte does not keep the permits of a dead process held.  A
 * slot that another process is claiming is passed over, also if the next byte
 * has a lock that no participant takes.
 */
NAMESPACE_TEST(c37_c39_a_lock_beside_the_byte_of_a_slot)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_start();
	struct file file, hostile;
	weir_named *sem, *other;

	puppet_open_as(&holder, name, 1, WEIR_NAMED_STRICT);
	file = map_file(name);
	hostile = map_file(name);
	set_lock(hostile.fd, F_WRLCK, NM_BYTE_ALIVE(0) + 1, 1);
	sem = open_named(name, 1);
	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	puppet_kill(&holder);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	set_lock(hostile.fd, F_RDLCK, NM_BYTE_ALIVE(0) + 1, 1);
	set_lock(file.fd, F_WRLCK, NM_BYTE_ALIVE(0), 1);
	other = open_named(name, 1);
	check_single(&file, 2);
	close_named(other);
	close_named(sem);
	unmap_file(&hostile);
	unmap_file(&file);
}

TEST(c39_a_lock_owner_without_a_slot)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2);
	struct file file = map_file(name);

	at_store_relaxed(&file.head->lock, NM_LOCK_SLOT_MASK);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	close_named(sem);
	unmap_file(&file);
}

TEST(c39_a_file_that_a_foreign_lock_covers)
{
	static const int types[] = { F_WRLCK, F_RDLCK };
	const char *name = fresh_name();
	weir_named *sem, *other;
	struct file file;

	close_named(open_named(name, 1));
	file = map_file(name);
	for (int i = 0; i < 2; i++) {
		char why[200] = "";
		weir_named_opts opts = { .why = why, .why_size = sizeof(why) };

		set_lock(file.fd, types[i], 0, 0);
		CHECK_ERR(weir_named_open(name, &opts, &sem), WEIR_ESYSTEM);
		CHECK_EQ(errno, EBADMSG);
		CHECK(strstr(why, "locked by another process"));
		other = open_observer(name);
		CHECK_EQ(look_at(other).free, 1);
		close_named(other);
		set_lock(file.fd, F_UNLCK, 0, 0);
		sem = open_named(name, 1);
		close_named(sem);
	}
	unmap_file(&file);
}

/* A hostile process keeps the name locked: the call gives up. */
TEST(c39_unlink_handle_does_not_wait_for_ever)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct file file = map_file(name);

	set_lock(file.fd, F_WRLCK, NM_BYTE_JOIN, 1);
	CHECK_ERR(weir_named_unlink_handle(sem), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBUSY);
	CHECK(!access(file.path, F_OK));
	set_lock(file.fd, F_UNLCK, NM_BYTE_JOIN, 1);
	CHECK_OK(weir_named_unlink_handle(sem));
	CHECK(access(file.path, F_OK));
	close_named(sem);
	unmap_file(&file);
}

/* Stat shows the process that is inside the lock, and since when. */
NAMESPACE_TEST(a_lock_owner_that_does_not_leave)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 2);
	weir_named *sem, *observer;
	weir_named_entry entry;
	weir_named_info info;
	struct file file;

	sem = open_named(name, 2);
	observer = open_observer(name);
	file = map_file(name);
	/* The puppet was the first to open it. */
	lock_as(&file, &file.slots[0]);
	CHECK_OK(weir_named_stat(observer, &info, &entry, 1));
	CHECK(info.inconsistent);
	CHECK_EQ(info.free, 2);
	CHECK_EQ(entry.role, WEIR_NAMED_LOCKS);
	CHECK_EQ(entry.id, file.slots[0].id);
	CHECK_EQ(entry.since_ns, 0);
	/*
	 * A call that waits for the lock notes the time.  If the deadline
	 * passed before it could wait, retry with more time.
	 */
	for (int64_t ns = 10000000; !entry.since_ns; ns *= 2) {
		CHECK(ns < INT64_C(16000000000));
		CHECK_ERR(weir_named_acquire_for(sem, 1, ns), WEIR_ETIMEDOUT);
		CHECK_OK(weir_named_stat(observer, &info, &entry, 1));
	}
	CHECK(entry.since_ns > 0 && entry.since_ns <= weir_now_ns());
	/* There is no room for the entry. */
	CHECK_EQ(look_at(observer).free, 2);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	/* It dies there. */
	puppet_kill(&owner);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_OK(weir_named_stat(observer, &info, &entry, 1));
	CHECK(!info.inconsistent);
	CHECK_EQ(entry.role, WEIR_NAMED_HOLDS);
	close_named(observer);
	close_named(sem);
	unmap_file(&file);
}

/* A call on a thread. */
struct call {
	weir_named *sem;
	weir_ctx *ctx;
	weir_err err;
	uint32_t done;
};

static void *acquire(void *arg)
{
	struct call *call = arg;

	call->err = weir_named_acquire(call->sem, 1, call->ctx);
	at_store_release(&call->done, 1);
	return NULL;
}

static void nothing(int number)
{
	(void)number;
}

NAMESPACE_TEST(c18_c42_a_signal_ends_a_wait_for_the_lock_if_interruptible)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_INTERRUPTIBLE };
	struct sigaction action = { .sa_handler = nothing };
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2), *other;
	struct file file = map_file(name);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call ends = { 0 }, waits[2] = { { .sem = sem },
					       { .sem = sem, .ctx = &ctx } };
	check_thread thread, threads[2];

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(weir_named_open(name, &opts, &other));
	lock_as(&file, &file.slots[0]);
	ends.sem = other;
	thread = start(acquire, &ends);
	while (!at_load_acquire(&ends.done))
		CHECK(!pthread_kill(thread.id, SIGUSR1));
	finish(thread);
	CHECK_ERR(ends.err, WEIR_EINTR);

	/* The same with a context. */
	ends = (struct call){ .sem = other, .ctx = &ctx };
	thread = start(acquire, &ends);
	while (!at_load_acquire(&ends.done))
		CHECK(!pthread_kill(thread.id, SIGUSR1));
	finish(thread);
	CHECK_ERR(ends.err, WEIR_EINTR);

	/* Without a signal it waits on, also after it has examined the owner. */
	ends = (struct call){ .sem = other };
	at_store_relaxed(&file.head->stuck, 0);
	thread = start(acquire, &ends);
	AWAIT(at_load_relaxed(&file.head->stuck) ||
	      at_load_acquire(&ends.done));
	CHECK(!at_load_acquire(&ends.done));
	while (!at_load_acquire(&ends.done))
		CHECK(!pthread_kill(thread.id, SIGUSR1));
	finish(thread);
	CHECK_ERR(ends.err, WEIR_EINTR);

	for (int i = 0; i < 2; i++) {
		at_store_relaxed(&file.head->awaited, 0);
		threads[i] = start(acquire, &waits[i]);
		AWAIT(at_load_relaxed(&file.head->awaited));
	}
	for (int i = 0; i < 2000; i++)
		CHECK(!pthread_kill(threads[i % 2].id, SIGUSR1));
	CHECK(!at_load_acquire(&waits[0].done));
	CHECK(!at_load_acquire(&waits[1].done));
	puppet_kill(&owner);
	for (int i = 0; i < 2; i++) {
		finish(threads[i]);
		CHECK_OK(waits[i].err);
	}
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(other);
	close_named(sem);
	unmap_file(&file);
}

/* The keeper waits for the lock, because a call has left without it. */
NAMESPACE_TEST(c42_close_handle_ends_a_keeper_that_waits_for_the_lock)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1);
	struct file file = map_file(name);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call call = { .sem = sem, .ctx = &ctx };
	check_thread thread;

	CHECK_EQ(puppet_do(&owner, PUPPET_ACQUIRE, 1), WEIR_OK);
	thread = start(acquire, &call);
	AWAIT(look_at(sem).waiters == 1);
	lock_as(&file, &file.slots[0]);
	weir_ctx_cancel(&ctx);
	finish(thread);
	CHECK_ERR(call.err, WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	at_store_relaxed(&file.head->awaited, 0);
	AWAIT(at_load_relaxed(&file.head->awaited));
	close_named(sem);
	puppet_kill(&owner);
	unmap_file(&file);
}

/*
 * A handle is closed while another process has the lock: it cannot release its
 * permits.  A waiting process is woken, and buries the slot.
 */
NAMESPACE_TEST(c37_c42_a_handle_that_is_closed_without_the_lock)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 1), waiter = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1), *observer = open_observer(name);
	struct file file = map_file(name);

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(observer).waiters == 1);
	lock_as(&file, &file.slots[0]);
	close_named(sem);
	CHECK(!weir_is_alive_(at_load_relaxed(&file.slots[2].alive.word)));
	at_store_release(&file.head->lock,
			 (at_load_relaxed(&file.head->lock) | UINT32_MAX) + 1);
	weir_shared_wake_all_(&file.head->awaited);
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	puppet_end(&waiter);
	puppet_end(&owner);
	close_named(observer);
	unmap_file(&file);
}

static uint32_t frozen, thaw;

static void freeze(int number)
{
	(void)number;
	at_store_release(&frozen, 1);
	while (!at_load_acquire(&thaw))
		sched_yield();
}

/* Stop a waiting thread until `thaw` is set.  It must not have the lock then. */
static void freeze_thread(weir_named *sem, check_thread thread)
{
	struct sigaction action = { .sa_handler = freeze };

	at_store_release(&frozen, 0);
	at_store_release(&thaw, 0);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(nm_lock(sem, NULL));
	/*
	 * ThreadSanitizer runs a handler late: if the thread begins to sleep
	 * just then, the handler runs at the next signal.
	 */
	AWAIT(!pthread_kill(thread.id, SIGUSR1) && at_load_acquire(&frozen));
	nm_unlock(sem);
}

/*
 * A call is granted, and is cancelled before its thread runs and while another
 * process, that of the first slot, has the lock.  The semaphore has 2 permits.
 * `next`, if not null, waits behind the call.
 */
static void cancel_without_lock(weir_named *sem, struct file *file,
				struct puppet *next)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call call = { .sem = sem, .ctx = &ctx };
	check_thread thread;

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	thread = start(acquire, &call);
	AWAIT(look_at(sem).waiters == 1);
	if (next) {
		puppet_tell(next, PUPPET_ACQUIRE, 1, 0, NULL);
		AWAIT(look_at(sem).waiters == 2);
	}
	freeze_thread(sem, thread);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).granted, 1);
	lock_as(file, &file->slots[0]);
	weir_ctx_cancel(&ctx);
	at_store_release(&thaw, 1);
	finish(thread);
	CHECK_ERR(call.err, WEIR_ECANCELED);
	CHECK_EQ(look_at(sem).free, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void finish_cancelled(struct call *call, check_thread thread)
{
	at_store_release(&thaw, 1);
	finish(thread);
	CHECK_ERR(call->err, WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(call->ctx));
}

/* The cancelled thread does not run, so it does not help. */
TEST(c13_a_cancel_is_complete_when_it_returns)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2), *other = open_named(name, 2);
	weir_ctx queued = WEIR_CTX_INIT, granted = WEIR_CTX_INIT;
	struct call call = { .sem = sem, .ctx = &queued };
	struct call head = { .sem = other };
	struct file file = map_file(name);
	check_thread thread, first;

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	first = start(acquire, &head);
	AWAIT(look_at(sem).waiters == 1);
	thread = start(acquire, &call);
	AWAIT(look_at(sem).waiters == 2);
	freeze_thread(sem, thread);
	CHECK_EQ(file.head->in_use, 2);
	weir_ctx_cancel(&queued);
	CHECK_EQ(file.head->in_use, 1);
	finish_cancelled(&call, thread);
	weir_named_release(sem, 1);
	finish(first);
	CHECK_OK(head.err);
	/* It is cancelled after its grant. */
	call.ctx = &granted;
	thread = start(acquire, &call);
	AWAIT(look_at(sem).waiters == 1);
	freeze_thread(sem, thread);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).granted, 1);
	weir_ctx_cancel(&granted);
	CHECK_EQ(look_at(sem).free, 1);
	finish_cancelled(&call, thread);
	CHECK_EQ(look_at(sem).free, 1);
	close_named(other);
	close_named(sem);
	unmap_file(&file);
}

/* As a call does that was cancelled after it had taken its permits. */
TEST(c13_permits_go_back_at_once)
{
	weir_named *sem = open_named(fresh_name(), 2);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	weir_nm_give_back_(sem, 1);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK(!look_at(sem).inconsistent);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	close_named(sem);
}

/* The keeper gives the permit back. */
NAMESPACE_TEST(c13_c42_a_cancel_takes_a_grant_back_without_the_lock)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);
	struct file file = map_file(name);

	cancel_without_lock(sem, &file, NULL);
	nm_unlock(sem);
	AWAIT(look_at(sem).free == 1);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	puppet_end(&owner);
	close_named(sem);
	unmap_file(&file);
}

/* If a call has the lock before the keeper, the call grants to the next waiter. */
NAMESPACE_TEST(c7_a_revoked_grant_goes_to_the_next_waiter)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 2), next = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);
	struct file file = map_file(name);

	cancel_without_lock(sem, &file, &next);
	CHECK_EQ(look_at(sem).waiters, 1);
	weir_nm_fold_(sem);
	CHECK_EQ(look_at(sem).waiters, 0);
	nm_unlock(sem);
	CHECK_EQ(puppet_hear(&next), WEIR_OK);
	puppet_end(&next);
	puppet_end(&owner);
	close_named(sem);
	unmap_file(&file);
}

/*
 * Two calls have finished.  The record of the last one gets another owner before
 * the handle counts the permits: only those of the other call are its own.
 */
TEST(c39_a_finished_record_that_is_not_ours)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2), *other = open_named(name, 2);
	struct call calls[2] = { { .sem = sem }, { .sem = sem } };
	struct file file = map_file(name);
	struct nm_record *records = (struct nm_record *)(void *)(file.slots +
								 NM_SLOTS);
	check_thread threads[2];

	CHECK_OK(weir_named_acquire(other, 2, NULL));
	for (uint32_t i = 0; i < 2; i++) {
		threads[i] = start(acquire, &calls[i]);
		AWAIT(look_at(sem).waiters == i + 1);
	}
	for (int i = 0; i < 2; i++) {
		weir_named_release(other, 1);
		finish(threads[i]);
		CHECK_OK(calls[i].err);
	}
	CHECK(sem->finished);
	at_store_relaxed(&records[sem->finished - 1].owner, 0);
	CHECK_ERR(weir_named_try_release(sem, 2), WEIR_EOVERFLOW);
	CHECK_OK(weir_named_try_release(sem, 1));
	close_named(other);
	close_named(sem);
	unmap_file(&file);
}

/* A process that counts as dead, and whose files stay open. */
NAMESPACE_TEST(c37_the_grace_for_a_dead_lock_owner_ends)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);
	struct file file = map_file(name);

	lock_as(&file, &file.slots[0]);
	at_store_relaxed(&file.slots[0].alive.word, WEIR_DIED_);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	puppet_kill(&owner);
	close_named(sem);
	unmap_file(&file);
}

/* A dead process that waits is not granted: it would hold the permits. */
NAMESPACE_TEST(c7_a_release_passes_over_a_dead_head)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct puppet dead = puppet_at(name, 1), next = puppet_at(name, 1);
	struct file file = map_file(name);

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	puppet_tell(&dead, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&next, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	/* It was the second to open; no keeper is woken. */
	at_store_relaxed(&file.slots[1].alive.word, WEIR_DIED_);
	CHECK_EQ(look_at(sem).waiters, 1);
	weir_named_release(sem, 1);
	CHECK_EQ(puppet_hear(&next), WEIR_OK);
	puppet_kill(&dead);
	puppet_end(&next);
	close_named(sem);
	unmap_file(&file);
}

/* Stat shows no owner that is none: no slot, a dead one, or a former one. */
NAMESPACE_TEST(c39_stat_with_a_lock_owner_that_is_no_participant)
{
	const char *name = fresh_name();
	struct puppet owner = puppet_at(name, 2);
	struct file file = map_file(name);
	weir_named *observer = open_observer(name);
	uint32_t id = nm_lock_id(1, file.slots[0].state);
	uint32_t other = nm_lock_id(1, file.slots[0].state + 4);
	uint64_t free = at_load_acquire(&file.head->lock);

	at_store_relaxed(&file.head->lock, free | id);
	CHECK_EQ(look_at(observer).entries, 1);
	at_store_relaxed(&file.head->lock, free | other);
	CHECK_EQ(look_at(observer).entries, 0);
	at_store_relaxed(&file.head->lock, free | NM_LOCK_SLOT_MASK);
	CHECK_EQ(look_at(observer).entries, 0);
	at_store_relaxed(&file.head->lock, free | id);
	at_store_relaxed(&file.slots[0].alive.word, WEIR_DIED_);
	CHECK_EQ(look_at(observer).entries, 0);
	puppet_kill(&owner);
	close_named(observer);
	unmap_file(&file);
}

/* A label that fills its field in the file is terminated in the copy. */
TEST(c39_a_label_without_an_end)
{
	const char *name = fresh_name();
	weir_named *dead = open_named(name, 3), *sem = open_named(name, 3);
	struct file file = map_file(name);
	weir_named *observer = open_observer(name);
	weir_named_entry entry[2];
	weir_named_info info;
	uint32_t alive = at_load_relaxed(&file.slots[0].alive.word);

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	memset(file.slots[1].label, 'x', sizeof(file.slots[1].label));
	memset(entry, 0xff, sizeof(entry));
	/* A dead participant before it in the table does not count. */
	at_store_relaxed(&file.slots[0].alive.word, WEIR_DIED_);
	CHECK_OK(weir_named_stat(observer, &info, entry, 1));
	at_store_relaxed(&file.slots[0].alive.word, alive);
	CHECK_EQ(info.participants, 1);
	CHECK_EQ(info.held, 2);
	CHECK_EQ(strlen(entry[0].label), WEIR_NAMED_LABEL_MAX);
	CHECK_EQ(entry[0].weight, 2);
	CHECK_EQ(entry[0].pid, getpid());
	/* The entry behind it is not touched. */
	CHECK_EQ(((const unsigned char *)&entry[1])[0], 0xff);
	close_named(observer);
	close_named(dead);
	close_named(sem);
	unmap_file(&file);
}

/* No keeper has been woken, and the call may not wait. */
NAMESPACE_TEST(c37_a_call_that_may_not_wait_finds_the_permits_of_the_dead)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 1);
	weir_named *sem = open_named(name, 1);
	struct file file = map_file(name);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	CHECK_EQ(weir_named_available(sem), 0);
	at_store_relaxed(&file.slots[0].alive.word, WEIR_DIED_);
	CHECK_EQ(weir_named_available(sem), 1);
	CHECK_OK(weir_named_acquire_until(sem, 1, 0));
	puppet_kill(&holder);
	close_named(sem);
	unmap_file(&file);
}

/*
 * The holder counts as dead, and no keeper has been woken: a pause grants its
 * permit before it takes effect, and a resize does not count it as held.
 */
NAMESPACE_TEST(c37_a_pause_and_a_resize_bury_the_dead_first)
{
	const char *name = fresh_name();
	struct puppet holder = puppet_at(name, 2), waiter = puppet_at(name, 2);
	weir_named *sem = open_named(name, 2);
	struct file file = map_file(name);
	int64_t debt = -1;

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	at_store_relaxed(&file.slots[0].alive.word, WEIR_DIED_);
	CHECK_OK(weir_named_resize(sem, 1, &debt));
	CHECK_EQ(debt, 0);
	CHECK_OK(weir_named_resize(sem, 2, NULL));
	puppet_kill(&holder);

	holder = puppet_at(name, 2);
	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 2), WEIR_OK);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	at_store_relaxed(&file.slots[0].alive.word, WEIR_DIED_);
	CHECK_OK(weir_named_pause(sem));
	CHECK_EQ(look_at(sem).waiters, 0);
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	puppet_kill(&holder);
	puppet_end(&waiter);
	close_named(sem);
	unmap_file(&file);
}

/* Otherwise every later unlock would make a system call. */
TEST(an_unlock_clears_the_mark_of_sleepers)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct file file = map_file(name);

	at_store_relaxed(&file.head->awaited, 1);
	CHECK_OK(weir_named_try_acquire(sem, 1));
	CHECK_EQ(at_load_relaxed(&file.head->awaited), 0);
	close_named(sem);
	unmap_file(&file);
}

static weir_named *open_strict(const char *name)
{
	weir_named_opts opts = { .capacity = 2, .flags = WEIR_NAMED_CREATE,
				 .policy = WEIR_NAMED_STRICT };
	weir_named *sem;

	CHECK_OK(weir_named_open(name, &opts, &sem));
	return sem;
}

TEST(c37_a_borrower_can_do_nothing_to_the_semaphore)
{
	const char *name = fresh_name();
	weir_named *sem = open_strict(name), *other;
	struct stat info;
	int fd, again;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_lend(sem, &fd));
	CHECK_EQ(count_lent(), 1);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK(!fstat(fd, &info));
	CHECK_EQ(info.st_size, 0);
	CHECK_EQ(info.st_mode & 0777, 0400);
	CHECK(ftruncate(fd, 1 << 20));
	CHECK(write(fd, "", 1) < 0);
	set_lock(fd, F_RDLCK, 0, 0);
	/* Others can open it and acquire. */
	other = open_strict(name);
	CHECK_OK(weir_named_acquire(other, 1, NULL));
	/* A second descriptor belongs to the same file. */
	CHECK_OK(weir_named_lend(sem, &again));
	CHECK_EQ(count_lent(), 1);
	close(again);
	close_named(other);
	/* The file is gone with the handle; the descriptor stays harmless. */
	CHECK_OK(weir_named_close_handle(sem));
	CHECK_EQ(count_lent(), 0);
	sem = open_strict(name);
	CHECK_EQ(look_at(sem).free, 2);
	close(fd);
	close_named(sem);
}
