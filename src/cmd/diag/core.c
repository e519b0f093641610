/* SPDX-License-Identifier: MIT */
/*
 * The registry in a core file.  The kernel writes the mapping of the registry
 * into the core file as it does with anonymous shared memory; see core(5),
 * coredump_filter.
 *
 * The child of a fork maps the registry of its parent, too, which goes on changing
 * until the core file is written.  The header of a registry has the ID of the process
 * to which it belongs.  If none has that of the core file, then it may still be the
 * right one: gcore writes the ID in its own PID namespace.  That of the parent is not.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"

#define SEGMENTS_MAX 65536u
#define NOTES_MAX (8u << 20)
#define SECOND INT64_C(1000000000)

struct core {
	struct diag *diag;
	Elf64_Phdr *segments;
	uint32_t count;
	uint32_t pid, parent;	/* of the process; 0: not known */
	/* A registry that cannot be read: why, and its header. */
	enum dg_error error;
	struct rg_header header;
};

static bool read_segments(struct core *core)
{
	Elf64_Ehdr head;
	uint32_t count;

	if (!diag_pread(core->diag->fd, &head, sizeof(head), 0) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_type != ET_CORE || head.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	count = head.e_phnum;
	if (count == PN_XNUM) {
		Elf64_Shdr first;

		if (!diag_pread(core->diag->fd, &first, sizeof(first),
				head.e_shoff))
			return false;
		count = first.sh_info;
	}
	if (!count || count > SEGMENTS_MAX)
		return false;
	core->segments = memory_realloc(NULL, count * sizeof(Elf64_Phdr));
	core->count = count;
	return diag_pread(core->diag->fd, core->segments,
			  count * sizeof(Elf64_Phdr), head.e_phoff);
}

/*
 * Returns true if the memory at this address was executable, or if that is not
 * known: gcore leaves out the mappings of files that were not written to.
 */
static bool may_be_executable(const struct core *core, uint64_t address)
{
	for (uint32_t i = 0; i < core->count; i++) {
		const Elf64_Phdr *segment = &core->segments[i];

		if (segment->p_type == PT_LOAD &&
		    address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_memsz)
			return segment->p_flags & PF_X;
	}
	return true;
}

/*
 * NT_FILE is: count, page size, start, end and page offset of each; the names.
 */
static void read_files(struct core *core, const char *data, size_t size)
{
	uint64_t count, page, at[3];
	const char *name;

	if (size < 16)
		return;
	memcpy(&count, data, 8);
	memcpy(&page, data + 8, 8);
	if (count > (size - 16) / sizeof(at) || page > 1u << 20)
		return;
	name = data + 16 + count * sizeof(at);
	for (uint64_t i = 0; i < count; i++) {
		size_t left = size - (size_t)(name - data);
		size_t length = strnlen(name, left);

		if (length == left)
			return;
		memcpy(at, data + 16 + i * sizeof(at), sizeof(at));
		if (may_be_executable(core, at[0]))
			(void)modules_add(&core->diag->modules, at[0], at[1],
					  at[2] * page, name);
		name += length + 1;
	}
}

/* The offsets in NT_PRPSINFO, the same on all machines with 64 bits. */
#define PRPSINFO_PID 24
#define PRPSINFO_PARENT 28

static void read_process(struct core *core, const char *data, size_t size)
{
	if (size < PRPSINFO_PARENT + sizeof(core->parent))
		return;
	memcpy(&core->pid, data + PRPSINFO_PID, sizeof(core->pid));
	memcpy(&core->parent, data + PRPSINFO_PARENT, sizeof(core->parent));
}

static void read_notes(struct core *core, const Elf64_Phdr *segment)
{
	size_t size = segment->p_filesz, at = 0;
	char *notes;

	if (size > NOTES_MAX)
		return;
	notes = memory_realloc(NULL, size + 1);
	if (!diag_pread(core->diag->fd, notes, size, segment->p_offset))
		size = 0;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, data;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		data = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || data > size - at - name)
			break;
		if (note.n_type == NT_FILE)
			read_files(core, notes + at + name, note.n_descsz);
		if (note.n_type == NT_PRPSINFO)
			read_process(core, notes + at + name, note.n_descsz);
		at += name + data;
	}
	free(notes);
}

/* Returns true if the segment is a registry. */
static bool try_segment(struct core *core, const Elf64_Phdr *segment)
{
	struct diag *diag = core->diag;
	enum dg_error found;

	diag->extents = 2;
	for (uint32_t i = 0; i < 2; i++)
		diag->extent[i] = (struct diag_extent){
			0, segment->p_filesz, segment->p_offset, i, 0 };
	found = weir_diag_header_(&diag->source, &diag->header);
	if (found == DG_NOT_A_REGISTRY || found == DG_TRUNCATED)
		return false;
	if (!found && segment->p_filesz < diag->header.size)
		found = DG_TRUNCATED;
	if (found) {
		core->error = found;
		core->header = diag->header;
	}
	return !found;
}

/* Find the registry of the process; with several copies of the library, the first. */
static bool find_registry(struct core *core)
{
	const Elf64_Phdr *own = NULL, *other = NULL;

	for (uint32_t i = 0; i < core->count; i++) {
		const Elf64_Phdr *segment = &core->segments[i];

		if (segment->p_type != PT_LOAD || !try_segment(core, segment))
			continue;
		if (!core->pid)
			return true;
		if (core->diag->header.pid == core->pid &&
		    !core->diag->header.unloaded) {
			core->diag->others += own != NULL;
			own = own ? own : segment;
		}
		if (!other && core->diag->header.pid != core->parent)
			other = segment;
	}
	own = own ? own : other;
	return own && try_segment(core, own);
}

/*
 * Use the time stamp of the file as the time of the snapshot: the core file was
 * written when the process ended, and contains no clock.
 */
static void set_time(struct diag *diag)
{
	const struct rg_header *h = &diag->header;
	struct stat info;
	int64_t since;

	diag->source.now_ns = h->start_ns;
	if (fstat(diag->fd, &info) || info.st_mtim.tv_sec > INT32_MAX * 4LL ||
	    __builtin_sub_overflow(info.st_mtim.tv_sec * SECOND +
				   info.st_mtim.tv_nsec, h->start_realtime_ns,
				   &since) || since < 0)
		return;
	diag->source.now_ns = weir_diag_add_(h->start_ns, since);
}

/* Returns true if the end of the file is missing. */
static bool is_truncated(const struct core *core)
{
	struct stat info;

	if (fstat(core->diag->fd, &info))
		return false;
	for (uint32_t i = 0; i < core->count; i++) {
		const Elf64_Phdr *segment = &core->segments[i];
		uint64_t size = (uint64_t)info.st_size;

		if (segment->p_filesz && (segment->p_offset > size ||
		    segment->p_filesz > size - segment->p_offset))
			return true;
	}
	return false;
}

bool diag_core_open(struct diag *diag)
{
	struct core core = { .diag = diag };
	bool found, truncated;

	if (!read_segments(&core)) {
		free(core.segments);
		return diag_fail(diag, EXIT_DAMAGED, "%s: it is not a core "
				 "file that can be read", diag->name);
	}
	for (uint32_t i = 0; i < core.count; i++)
		if (core.segments[i].p_type == PT_NOTE)
			read_notes(&core, &core.segments[i]);
	found = find_registry(&core);
	truncated = is_truncated(&core);
	free(core.segments);
	if (found) {
		set_time(diag);
		return true;
	}
	if (core.error) {
		diag->header = core.header;
		return diag_fail_registry(diag, core.error);
	}
	if (truncated)
		return diag_fail(diag, EXIT_DAMAGED, "%s: the core file is "
				 "truncated, and has no registry; see ulimit "
				 "-c, and whether the disk was full",
				 diag->name);
	return diag_fail(diag, EXIT_CLOSED, "%s: the core file has no registry:"
			 " the process had no watched semaphores, or "
			 "coredump_filter left shared memory out", diag->name);
}
