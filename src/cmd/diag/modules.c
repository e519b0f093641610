/* SPDX-License-Identifier: MIT */
/* The executable segments of a process, and build IDs. */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/diag/io.h"
#include "cmd/diag/modules.h"
#include "cmd/lib/memory.h"

struct module *modules_add(struct modules *modules, uint64_t start,
			   uint64_t end, uint64_t offset, const char *path)
{
	struct module *module;

	if (modules->count >= MODULES_MAX || end <= start)
		return NULL;
	modules->list = memory_realloc(modules->list, (modules->count + 1) *
				       sizeof(*modules->list));
	module = &modules->list[modules->count++];
	memset(module, 0, sizeof(*module));
	module->start = start;
	module->end = end;
	module->offset = offset;
	(void)snprintf(module->path, sizeof(module->path), "%s", path);
	return module;
}

/* Find the build ID in the notes of an ELF file. */
static void find_id(int fd, const Elf64_Phdr *segment, char id[MODULE_ID])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char notes[4096];
	size_t size = segment->p_filesz < sizeof(notes) ? segment->p_filesz :
							  sizeof(notes);
	size_t at = 0;

	if (!diag_pread(fd, notes, size, segment->p_offset))
		return;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, data;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		data = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || data > size - at - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + at, "GNU", 4)) {
			size_t n = note.n_descsz;

			if (n > MODULE_ID / 2 - 1)
				n = MODULE_ID / 2 - 1;

			for (size_t i = 0; i < n; i++) {
				unsigned byte = notes[at + name + i];

				id[2 * i] = digits[byte >> 4];
				id[2 * i + 1] = digits[byte & 15];
			}
			id[2 * n] = '\0';
			return;
		}
		at += name + data;
	}
}

void modules_build_id(const char *path, char id[MODULE_ID])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr head;

	id[0] = '\0';
	if (fd < 0)
		return;
	if (diag_pread(fd, &head, sizeof(head), 0) &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
	    head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_phentsize == sizeof(Elf64_Phdr))
		for (unsigned i = 0; i < head.e_phnum && i < 64 && !id[0];
		     i++) {
			Elf64_Phdr segment;

			if (!diag_pread(fd, &segment, sizeof(segment),
					head.e_phoff + i * sizeof(segment)))
				break;
			if (segment.p_type == PT_NOTE)
				find_id(fd, &segment, id);
		}
	(void)close(fd);
}

void modules_of_process(struct modules *modules, pid_t pid)
{
	char path[48], line[4096 + 256];
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;
		char rights[8] = "";
		int name = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64
			   " %*s %*s %n", &start, &end, rights, &offset,
			   &name) < 4 || !name || rights[2] != 'x' ||
		    line[name] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		(void)modules_add(modules, start, end, offset, line + name);
	}
	(void)fclose(maps);
}

const struct module *modules_find(const struct modules *modules, uint64_t pc)
{
	for (uint32_t i = 0; i < modules->count; i++)
		if (pc >= modules->list[i].start && pc < modules->list[i].end)
			return &modules->list[i];
	return NULL;
}

bool modules_offset(const struct modules *modules, uint64_t pc, char *to,
		    size_t size)
{
	const struct module *module = modules_find(modules, pc);
	char offset[sizeof("+0x0123456789abcdef")];
	const char *slash;

	if (!module)
		return false;
	slash = strrchr(module->path, '/');
	(void)snprintf(offset, sizeof(offset), "+0x%" PRIx64,
		       pc - module->start + module->offset);
	/* A cut offset would be the offset of another call: cut the name. */
	(void)snprintf(to, size, "%.*s%s", (int)(size - sizeof(offset)),
		       slash ? slash + 1 : module->path, offset);
	return true;
}

void modules_free(struct modules *modules)
{
	free(modules->list);
	modules->list = NULL;
	modules->count = 0;
}
