/* SPDX-License-Identifier: MIT */
/*
 * From a call site to function, file and line, with libdw.  The library is
 * loaded when the first call site is named: loading it with the program would
 * cost every `weir run` time.
 *
 * The files are those that the process maps, so their content is untrusted if
 * another user owns them.  Only files of root and of the calling user are
 * parsed; for the others the module and the offset are printed.
 *
 * Debug information may be in a file beside that of the program.  A process can
 * map a file of root's in a folder of its own (a bind mount), and put a file
 * beside it.  So root uses the debug information below /usr/lib/debug only.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/diag/io.h"
#include "cmd/diag/modules.h"
#include "cmd/lib/memory.h"

/* The functions of libdw. */
#define FUNCTIONS(X)                                                           \
	X(dwarf_diename)                                                       \
	X(dwarf_getscopes)                                                     \
	X(dwarf_tag)                                                           \
	X(dwfl_addrmodule)                                                     \
	X(dwfl_begin)                                                          \
	X(dwfl_build_id_find_elf)                                              \
	X(dwfl_end)                                                            \
	X(dwfl_lineinfo)                                                       \
	X(dwfl_module_addrdie)                                                 \
	X(dwfl_module_addrinfo)                                                \
	X(dwfl_module_addrname)                                                \
	X(dwfl_module_getsrc)                                                  \
	X(dwfl_module_info)                                                    \
	X(dwfl_report_begin)                                                   \
	X(dwfl_report_elf)                                                     \
	X(dwfl_report_end)                                                     \
	X(dwfl_standard_find_debuginfo)

#define DECLARE(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(DECLARE)
} dw;

/*
 * The names that were found last.  A look-up takes 100 microseconds, and a
 * process may have thousands of holds and waits of a few call sites.
 */
#define NAMES 256

struct symbols {
	Dwfl *dwfl;		/* null: libdw is not installed */
	struct named_site {
		uint64_t site;
		char text[120];	/* "": unused */
	} names[NAMES];
};

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
	FUNCTIONS(LOAD)
	loaded = true;
	return true;
}

/* The path of a module's file as this process sees it. */
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

static Dwfl *begin(const struct modules *modules)
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
	/* Nothing is fetched from servers. */
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

/*
 * The innermost function at an address, also if it was inlined into another one;
 * null if there is no debug information.
 */
static const char *innermost(Dwfl_Module *module, uint64_t pc)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dw.dwfl_module_addrdie(module, pc, &bias);
	Dwarf_Die *scopes = NULL;
	const char *name = NULL;
	int count = unit ? dw.dwarf_getscopes(unit, pc - bias, &scopes) : 0;

	for (int i = 0; i < count && !name; i++) {
		int tag = dw.dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_inlined_subroutine ||
		    tag == DW_TAG_subprogram)
			name = dw.dwarf_diename(&scopes[i]);
	}
	free(scopes);
	return name;
}

static bool look_up(const struct modules *modules, Dwfl *dwfl, uint64_t site,
		    char *to, size_t size)
{
	const char *function, *file = NULL, *slash;
	Dwfl_Module *module;
	Dwfl_Line *line;
	int number = 0;

	/* A return address may belong to the next line. */
	site--;
	module = dwfl ? dw.dwfl_addrmodule(dwfl, site) : NULL;
	if (!module)
		return modules_offset(modules, site + 1, to, size);
	function = innermost(module, site);
	if (!function)
		function = dw.dwfl_module_addrname(module, site);
	line = dw.dwfl_module_getsrc(module, site);
	if (line)
		file = dw.dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (!file && !function)
		return modules_offset(modules, site + 1, to, size);
	slash = file ? strrchr(file, '/') : NULL;
	if (file)
		(void)snprintf(to, size, "%s:%d %s", slash ? slash + 1 : file,
			       number, function ? function : "");
	else
		(void)snprintf(to, size, "%s", function);
	return true;
}

/* Returns the symbols of the modules, which are read with the first call. */
static struct symbols *symbols_of(struct modules *modules)
{
	struct symbols *symbols = modules->symbols;

	if (!symbols) {
		symbols = memory_realloc(NULL, sizeof(*symbols));
		memset(symbols, 0, sizeof(*symbols));
		symbols->dwfl = begin(modules);
		modules->symbols = symbols;
	}
	return symbols;
}

bool symbols_name(void *user, uint64_t site, char *to, size_t size)
{
	struct modules *modules = user;
	struct named_site *named;
	struct symbols *symbols;

	if (!modules->count)
		return false;
	symbols = symbols_of(modules);
	/* Instructions may have 4 bytes. */
	named = &symbols->names[site / 4 % NAMES];
	if (*named->text && named->site == site) {
		(void)snprintf(to, size, "%s", named->text);
		return true;
	}
	if (!look_up(modules, symbols->dwfl, site, to, size))
		return false;
	/* Not if it may be cut. */
	if (strlen(to) + 1 < size && strlen(to) < sizeof(named->text)) {
		named->site = site;
		memcpy(named->text, to, strlen(to) + 1);
	}
	return true;
}

/* The module whose file has this name; null: none. */
static Dwfl_Module *module_of(const struct modules *modules, Dwfl *dwfl,
			      const char *file)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->list[i];
		const char *slash = strrchr(module->path, '/');

		if (!strcmp(slash ? slash + 1 : module->path, file))
			return dw.dwfl_addrmodule(dwfl, module->start);
	}
	return NULL;
}

bool symbols_variable(struct modules *modules, const char *file,
		      uint64_t offset, char *to, size_t size)
{
	Dwarf_Addr start = 0;
	Dwfl_Module *module;
	const char *name;
	GElf_Off inside = 0;
	GElf_Sym symbol;
	Dwfl *dwfl;

	if (!modules->count)
		return false;
	dwfl = symbols_of(modules)->dwfl;
	module = dwfl ? module_of(modules, dwfl, file) : NULL;
	if (!module)
		return false;
	(void)dw.dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL,
				  NULL);
	name = dw.dwfl_module_addrinfo(module, start + offset, &inside, &symbol,
				       NULL, NULL, NULL);
	if (!name || inside >= symbol.st_size)
		return false;
	if (inside)
		(void)snprintf(to, size, "%s+0x%" PRIx64, name, inside);
	else
		(void)snprintf(to, size, "%s", name);
	return true;
}

void symbols_free(struct modules *modules)
{
	struct symbols *symbols = modules->symbols;

	if (symbols && symbols->dwfl)
		dw.dwfl_end(symbols->dwfl);
	free(symbols);
	modules->symbols = NULL;
}
