/* SPDX-License-Identifier: MIT */
/*
 * The files of a process, opened with libdw.
 *
 * The files are those that the process maps, so their content is untrusted if
 * another user owns them.  Only files of root and of the calling user are
 * parsed; for the others the module and the offset are printed.
 *
 * Debug information may be in a file beside that of the program.  A process can
 * map a file of root's in a folder of its own (a bind mount), and put a file
 * beside it.  So root uses the debug information below /usr/lib/debug only.
 */
#include "cmd/diag/dw.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/diag/io.h"
#include "cmd/diag/modules.h"

struct dw dw;

/* Load libdw once.  Returns false if it is not installed. */
static bool load(void)
{
	static bool tried, loaded;
	void *library;

	if (tried)
		return loaded;
	tried = true;
	library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
#define LOAD(name)                                                             \
	*(void **)&dw.name = dlsym(library, #name);                            \
	if (!dw.name)                                                          \
		return false;
	DW_FUNCTIONS(LOAD)
	loaded = true;
	return true;
}

/* Write the path of a module's file as this process sees it. */
static void path_of(const struct modules *modules, const struct module *module,
		    char path[MODULE_PATH + 64])
{
	(void)snprintf(path, MODULE_PATH + 64, "%s%s", modules->root,
		       module->path);
	if (*modules->root && access(path, R_OK))
		(void)snprintf(path, MODULE_PATH + 64, "%s", module->path);
}

static bool is_trusted(int fd)
{
	struct stat info;

	return !fstat(fd, &info) && S_ISREG(info.st_mode) &&
	       (!info.st_uid || info.st_uid == geteuid());
}

/*
 * Find the difference between the addresses in the process and in the file.
 * Returns false if the file has no such segment.
 */
static bool find_bias(int fd, const struct module *module, uint64_t *bias)
{
	Elf64_Ehdr head;

	if (!diag_pread(fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < head.e_phnum && i < 64; i++) {
		Elf64_Phdr segment;

		if (!diag_pread(fd, &segment, sizeof(segment),
				head.e_phoff + i * sizeof(segment)))
			return false;
		/* The mapping begins at the start of a page. */
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    segment.p_offset + segment.p_filesz <= module->offset ||
		    segment.p_offset >=
			    module->offset + (module->end - module->start))
			continue;
		*bias = module->start - (segment.p_vaddr + module->offset -
					 segment.p_offset);
		return true;
	}
	return false;
}

static void report(Dwfl *dwfl, const struct modules *modules,
		   const struct module *module)
{
	char path[MODULE_PATH + 64], id[MODULE_ID];
	uint64_t bias;
	int fd;

	path_of(modules, module, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	modules_build_id(path, id);
	if (!is_trusted(fd) || !find_bias(fd, module, &bias) ||
	    (*module->build_id && strcmp(id, module->build_id) != 0) ||
	    !dw.dwfl_report_elf(dwfl, module->path, path, fd, bias, true))
		(void)close(fd);
}

Dwfl *dw_begin(const struct modules *modules)
{
	static char installed[] = "/usr/lib/debug", *folders = installed;
	static Dwfl_Callbacks callbacks;
	Dwfl *dwfl;

	if (!load())
		return NULL;
	callbacks.find_elf = dw.dwfl_build_id_find_elf;
	callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
	if (!geteuid())
		callbacks.debuginfo_path = &folders;
	/* Do not let libdw fetch debug information from servers. */
	(void)unsetenv("DEBUGINFOD_URLS");
	dwfl = dw.dwfl_begin(&callbacks);
	if (!dwfl)
		return NULL;
	dw.dwfl_report_begin(dwfl);
	for (uint32_t i = 0; i < modules->count; i++)
		report(dwfl, modules, &modules->list[i]);
	(void)dw.dwfl_report_end(dwfl, NULL, NULL);
	return dwfl;
}
