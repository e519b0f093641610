/* SPDX-License-Identifier: MIT */
/*
 * Fuzz the reader of the diagnostics: bytes are interpreted as damage to a core
 * file or a dump file with a registry, or are such a file.  The reader may
 * return an error.  A crash, a call that does not return, or a control
 * character in the report is a failure.
 *
 * The first byte selects the scenario (tests/diag/fake.h) and the kind of file.
 * Then follow steps of STEP bytes, each of which changes a word:
 *
 *     what   place (2)   value (4)
 *
 * If the first byte is RAW, then the other bytes are the file.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../diag/fake.h"
#include "../sequence.h"
#include "check.h"
#include "cmd/diag/source.h"
#include "diag/text.h"

#define STEP 7
#define STEPS_MAX 48
#define RAW 0xff
#define HEAD 4096u	/* of a core file, before its registry */
#define REGIONS_MAX (DIAG_EXTENTS_MAX + 1)

static const char *const scenarios[] = {
	"deadlock", "leaked", "nested", "unsatisfiable", "signal", "handed",
	"slow", "empty"
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

/* A file in memory, and the parts that are worth changing. */
struct image {
	int fd;
	char *bytes;
	size_t size;
	char path[64];
	uint32_t regions;
	struct { size_t at, size; } region[REGIONS_MAX];
};

static struct image images[2][SCENARIOS], raw;
static int64_t steps;

int64_t sequence_steps(void)
{
	return steps;
}

/* Named semaphores are another source: tests/fuzz/named. */
bool diag_named_read(struct diag *diag)
{
	return diag_fail(diag, 1, "no named semaphores");
}

/* Their messages need the other parts of the command. */
bool diag_no_process(struct diag *diag)
{
	return diag_fail(diag, 1, "no such process");
}

bool diag_missing(struct diag *diag)
{
	return diag_fail(diag, 1, "no such file");
}

bool diag_unknown(struct diag *diag)
{
	return diag_fail(diag, 1, "unknown format");
}

static void image_make(struct image *image, size_t size)
{
	image->fd = memfd_create("fuzz", MFD_CLOEXEC);
	CHECK(image->fd >= 0);
	CHECK_EQ(ftruncate(image->fd, (off_t)size), 0);
	image->size = size;
	image->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    image->fd, 0);
	CHECK(image->bytes != MAP_FAILED);
	snprintf(image->path, sizeof(image->path), "/proc/self/fd/%d",
		 image->fd);
}

static void add_region(struct image *image, size_t at, size_t size)
{
	/* An unused table has no records that are read. */
	if (size < 8 || image->regions == REGIONS_MAX)
		return;
	image->region[image->regions].at = at;
	image->region[image->regions++].size = size;
}

/* A note that names one mapping: NT_FILE of a core file. */
static size_t put_note(char *to)
{
	const uint64_t file[] = { 1, 4096, 0x400000, 0x500000, 0 };
	const Elf64_Nhdr note = { 5, sizeof(file) + 8, NT_FILE };

	memcpy(to, &note, sizeof(note));
	memcpy(to + sizeof(note), "CORE\0\0\0", 8);
	memcpy(to + sizeof(note) + 8, file, sizeof(file));
	memcpy(to + sizeof(note) + 8 + sizeof(file), "/bin/sv", 8);
	return sizeof(note) + 16 + sizeof(file);
}

static void put_head(char *to)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)to;
	Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(to + sizeof(*head));
	size_t notes = sizeof(*head) + 3 * sizeof(*segments);

	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_type = ET_CORE;
	head->e_phoff = sizeof(*head);
	head->e_phentsize = sizeof(*segments);
	head->e_phnum = 3;
	segments[0].p_type = PT_NOTE;
	segments[0].p_offset = notes;
	segments[0].p_filesz = put_note(to + notes);
	segments[1].p_type = PT_LOAD;
	segments[1].p_flags = PF_X;
	segments[1].p_vaddr = 0x400000;
	segments[1].p_memsz = 0x100000;
	segments[2].p_type = PT_LOAD;
	segments[2].p_vaddr = 0x700000;
	segments[2].p_offset = HEAD;
	segments[2].p_filesz = segments[2].p_memsz = RG_SIZE;
}

/* Copy a part of the registry behind the head. */
static void copy_table(struct image *core, const char *base, size_t at,
		       size_t size)
{
	memcpy(core->bytes + HEAD + at, base + at, size);
	add_region(core, HEAD + at, size);
}

static void make_core(struct image *core, const char *scenario)
{
	char *base = fake_registry(0);
	const struct rg_header *head = fake_header(base);

	CHECK(fake_scenario(base, scenario));
	image_make(core, HEAD + RG_SIZE);
	put_head(core->bytes);
	add_region(core, 0, 512);
	copy_table(core, base, 0, sizeof(*head));
	copy_table(core, base, RG_OBJECTS_AT,
		   head->objects_high * sizeof(struct rg_object));
	copy_table(core, base, RG_CONTEXTS_AT,
		   head->contexts_high * sizeof(struct rg_context));
	copy_table(core, base, RG_WAITS_AT,
		   head->waits_high * sizeof(struct rg_wait));
	fake_free(base);
}

/* The dump that `weir dump` writes of the core file. */
static void make_dump(struct image *dump, const struct image *core)
{
	static struct diag diag;
	int out = dup(1), fd = memfd_create("dump", MFD_CLOEXEC);
	off_t size;

	CHECK(out >= 0 && fd >= 0 && !fflush(stdout) && dup2(fd, 1) == 1);
	CHECK(diag_try(&diag, core->path) && diag_try_read(&diag));
	diag_dump_write(&diag);
	diag_close(&diag);
	CHECK(!fflush(stdout) && dup2(out, 1) == 1);
	close(out);
	size = lseek(fd, 0, SEEK_END);
	CHECK(size > 0);
	image_make(dump, (size_t)size);
	CHECK(diag_pread(fd, dump->bytes, (size_t)size, 0));
	close(fd);
	CHECK(diag_try(&diag, dump->path));
	add_region(dump, 0, 512);
	for (uint32_t i = 0; i < diag.extents; i++)
		add_region(dump, diag.extent[i].offset, diag.extent[i].size);
	diag_close(&diag);
}

void sequence_start(int64_t patience_ns)
{
	(void)patience_ns;
	for (size_t i = 0; i < SCENARIOS; i++) {
		make_core(&images[0][i], scenarios[i]);
		make_dump(&images[1][i], &images[0][i]);
	}
	image_make(&raw, HEAD);
}

void sequence_stop(void)
{
	for (size_t i = 0; i < 2 * SCENARIOS; i++) {
		struct image *image = &images[i / SCENARIOS][i % SCENARIOS];

		munmap(image->bytes, image->size);
		close(image->fd);
	}
	munmap(raw.bytes, HEAD);
	close(raw.fd);
}

static void check_text(struct dg_text *text)
{
	for (size_t i = 0; i < text->used; i++) {
		unsigned char c = (unsigned char)text->to[i];

		CHECK((c >= ' ' && c != 0x7f) || c == '\n');
	}
	text->used = 0;
}

/* Read the file as `weir explain` does. */
static void explain(const char *path)
{
	static struct diag diag;
	static char room[1 << 16];
	struct dg_text text = { .to = room, .size = sizeof(room),
				.flush = check_text, .exact = true };

	if (diag_try(&diag, path) && diag_try_read(&diag)) {
		weir_diag_report_(&text, &diag.model, NULL);
		check_text(&text);
	} else {
		CHECK(diag.status && diag.why[0]);
	}
	diag_close(&diag);
}

/* Change one word; *old is set to its value.  Returns its place. */
static char *damage(struct image *image, const uint8_t *step, uint64_t *old)
{
	uint32_t region = step[0] % image->regions;
	size_t place, size = image->region[region].size;
	uint32_t value;
	int64_t wide;
	char *at;

	place = (size_t)(step[1] | step[2] << 8) * 4 % (size - 7);
	memcpy(&value, step + 3, sizeof(value));
	at = image->bytes + image->region[region].at + place;
	memcpy(old, at, sizeof(*old));
	if (step[0] & 0x80) {
		wide = (int32_t)value;
		/* Large numbers of both signs. */
		if (step[0] & 0x40)
			wide = (int64_t)((uint64_t)wide << 32);
		memcpy(at, &wide, sizeof(wide));
	} else {
		memcpy(at, &value, step[0] & 0x40 ? 1 : sizeof(value));
	}
	return at;
}

static void run_raw(const uint8_t *bytes, size_t size)
{
	if (size > HEAD)
		size = HEAD;
	CHECK_EQ(ftruncate(raw.fd, (off_t)size), 0);
	if (size)
		memcpy(raw.bytes, bytes, size);
	explain(raw.path);
	steps++;
}

void sequence_run(const uint8_t *bytes, size_t size)
{
	struct { char *at; uint64_t old; } undo[STEPS_MAX];
	struct image *image;
	size_t n = 0;

	if (!size)
		return;
	if (bytes[0] == RAW) {
		run_raw(bytes + 1, size - 1);
		return;
	}
	image = &images[bytes[0] & 1][(bytes[0] >> 1) % SCENARIOS];
	for (; n < STEPS_MAX && 1 + (n + 1) * STEP <= size; n++)
		undo[n].at = damage(image, bytes + 1 + n * STEP, &undo[n].old);
	explain(image->path);
	steps += (int64_t)n + 1;
	/* In reverse: two steps may change the same word. */
	while (n-- > 0)
		memcpy(undo[n].at, &undo[n].old, sizeof(undo[n].old));
}
