/* SPDX-License-Identifier: MIT */
/*
 * C37, C40: which slot a new participant takes, and what it stores there
 * (private.h).  The keeper that a join starts is the only other thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "named/keeper.h"
#include "named/lock.h"
#include "private.h"

#define NUMBER 0xabcu

/* Every slot is in use by a live participant. */
static void fill_slots(void)
{
	for (uint32_t i = 0; i < NM_SLOTS; i++)
		join(i);
	alone.head->generations = NM_SLOTS;
	alone.can_wait_any = weir_shared_can_wait_any_();
	memcpy(alone.label, "a test", sizeof("a test"));
}

static uint64_t pid_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
}

static void check_joined(uint32_t index, uint32_t generation)
{
	const struct nm_slot *slot = &alone.slots[index];

	CHECK(alone.mine == slot);
	CHECK_EQ(alone.me, index + 1);
	CHECK_EQ(alone.state, LIVE(generation));
	CHECK_EQ(slot->state, LIVE(generation));
	CHECK_EQ(alone.head->generations, generation);
	CHECK_EQ(alone.lock_id, nm_lock_id(index + 1, LIVE(generation)));
	CHECK_EQ(slot->held, 0);
	CHECK_EQ(slot->since_ticks, 0);
	CHECK_EQ(slot->lingers, 0);
	CHECK_EQ(slot->lent, 0);
	CHECK_EQ(slot->pid, getpid());
	CHECK_EQ(slot->pid_namespace, pid_namespace());
	CHECK_EQ(slot->id, (uint64_t)generation << 16 | index);
	CHECK(!strcmp(slot->label, "a test"));
	CHECK_EQ(alone.calls, 0);
	CHECK_EQ(alone.owed, 0);
	CHECK_EQ(alone.has_fences, weir_fence_ask_());
	CHECK(weir_nm_byte_is_locked_(other_fd, NM_BYTE_ALIVE(index)));
}

static void leave(void)
{
	struct nm_slot *slot = alone.mine;
	uint32_t freed = alone.state - NM_SLOT_LIVE + NM_SLOT_FREE;

	weir_nm_leave_(&alone);
	CHECK_EQ(slot->state, freed);
	CHECK_EQ(slot->held, 0);
	tear_down();
}

/* Damage what the next owner of a slot must store. */
static void litter(struct nm_slot *slot)
{
	slot->since_ticks = 77;
	slot->lingers = 1;
	slot->lent = NUMBER;
	slot->id = 77;
	alone.calls = 7;
	alone.owed = 7;
	alone.finished = 0;
}

TEST(c37_a_join_takes_over_the_slot_of_a_dead_participant)
{
	int fd;

	set_up(9);
	fill_slots();
	/* Lent; a thread of the dead process runs; the third one is free. */
	(void)join_dead(3);
	alone.slots[3].lent = NUMBER;
	fd = weir_nm_lent_open_(&alone, NUMBER, true);
	CHECK(fd >= 0);
	(void)join_dead(5);
	CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(5)));
	hold(join_dead(8), 3);
	litter(&alone.slots[8]);
	alone.slots[8].lent = 0;
	alone.strict = true;
	alone.slots[3].held = alone.slots[5].held = 1;
	CHECK_OK(weir_nm_join_(&alone, NULL));
	/* One generation for the claim, one for the participant. */
	check_joined(8, NM_SLOTS + 2);
	/* The repair counts the permits of the dead participants that linger. */
	CHECK_EQ(alone.head->repairs, 1);
	CHECK_EQ(alone.head->stale, 0);
	CHECK_EQ(alone.head->value, 7);
	CHECK_EQ(alone.slots[3].state, LIVE(4));
	CHECK(!weir_nm_byte_is_locked_(other_fd, NM_BYTE_ALIVE(3)));
	close(fd);
	weir_nm_lent_remove_(&alone, NUMBER);
	leave();
}

TEST(c37_a_join_takes_the_first_free_slot)
{
	set_up(9);
	fill_slots();
	(void)join_dead(4);
	alone.slots[6].state = FREED(7);
	litter(&alone.slots[6]);
	hold(&alone.slots[4], 2);
	CHECK_OK(weir_nm_join_(&alone, NULL));
	check_joined(6, NM_SLOTS + 1);
	/* The dead are buried. */
	CHECK_EQ(alone.slots[4].state, FREED(5));
	CHECK_EQ(alone.head->value, 9);
	CHECK_EQ(alone.head->repairs, 0);
	leave();
}

/* The first slot is a slot as any other. */
TEST(c37_a_join_takes_the_first_slot)
{
	set_up(9);
	fill_slots();
	alone.slots[0].state = FREED(1);
	CHECK_OK(weir_nm_join_(&alone, NULL));
	check_joined(0, NM_SLOTS + 1);
	leave();
	set_up(9);
	fill_slots();
	hold(join_dead(0), 3);
	CHECK_OK(weir_nm_join_(&alone, NULL));
	check_joined(0, NM_SLOTS + 2);
	CHECK_EQ(alone.head->value, 9);
	leave();
}

/* The dead participant has lent, and no process has the descriptor any more. */
TEST(c37_a_join_removes_the_lent_file_of_a_dead_participant)
{
	int before = count_lent(), fd;

	set_up(9);
	fill_slots();
	(void)join_dead(6);
	alone.slots[6].lent = NUMBER;
	fd = weir_nm_lent_open_(&alone, NUMBER, true);
	CHECK(fd >= 0);
	close(fd);
	CHECK_EQ(count_lent(), before + 1);
	CHECK_OK(weir_nm_join_(&alone, NULL));
	check_joined(6, NM_SLOTS + 2);
	CHECK_EQ(count_lent(), before);
	leave();
}

/* C16: a message, and no effect. */
TEST(c16_a_join_without_a_free_slot)
{
	char why[200] = "";
	weir_named_opts opts = { .why = why, .why_size = sizeof(why) };

	set_up(9);
	fill_slots();
	errno = EINTR;
	CHECK_ERR(weir_nm_join_(&alone, &opts), WEIR_EBUSY);
	CHECK(strstr(why, "is open in"));
	CHECK_EQ(alone.head->generations, NM_SLOTS);
	CHECK_EQ(alone.head->stale, 0);
	/* C39: another process has locked the byte of a free slot. */
	alone.slots[7].state = FREED(8);
	CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(7)));
	CHECK(weir_nm_byte_lock_(other_fd, NM_BYTE_ALIVE(7) + 1));
	CHECK_ERR(weir_nm_join_(&alone, &opts), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK(strstr(why, "is locked by another process"));
	tear_down();
}

TEST(c39_a_join_extends_the_table)
{
	struct stat info;

	set_up(9);
	alone.head->generations = 1;
	alone.can_wait_any = weir_shared_can_wait_any_();
	memcpy(alone.label, "a test", sizeof("a test"));
	CHECK_OK(weir_nm_join_(&alone, NULL));
	check_joined(1, 2);
	CHECK_EQ(alone.head->slots_high, 2);
	CHECK(!fstat(alone.fd, &info));
	CHECK_EQ(info.st_size, (char *)&alone.slots[2] - (char *)alone.head);
	leave();
}

/* C16: the file cannot be extended. */
TEST(c16_a_join_without_storage)
{
	char why[200] = "";
	weir_named_opts opts = { .why = why, .why_size = sizeof(why) };

	set_up(9);
	close(alone.fd);
	alone.fd = open(alone.path, O_RDONLY | O_CLOEXEC);
	CHECK_ERR(weir_nm_join_(&alone, &opts), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADF);
	CHECK(strstr(why, "cannot extend"));
	CHECK_EQ(alone.head->slots_high, 1);
	tear_down();
}

/* The permits of a finished call, whose record is not folded yet. */
TEST(c37_a_leaving_participant_gives_back_its_permits)
{
	struct nm_record *taken;

	set_up(9);
	alone.can_wait_any = weir_shared_can_wait_any_();
	CHECK_OK(weir_nm_join_(&alone, NULL));
	taken = decided(alone.mine, 2, NM_REC_TAKEN);
	weir_nm_finish_(&alone, taken);
	hold(alone.mine, 3);
	CHECK_EQ(alone.head->value, 4);
	weir_nm_leave_(&alone);
	CHECK_EQ(alone.head->value, 9);
	CHECK(is_free(taken));
	tear_down();
}
