/* SPDX-License-Identifier: MIT */
/*
 * From a call site to function, file and line, with libdw (dw.h).
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/dw.h"
#include "cmd/diag/modules.h"
#include "cmd/lib/memory.h"

/*
 * The names that were found last.  A look-up takes 100 microseconds, and a
 * process may have thousands of holds and waits of a few call sites.
 */
#define NAMES 4096

/*
 * The most look-ups of one report.  A process can fill its registry with a quarter
 * of a million call sites, and must not keep the reader busy for half a minute.
 */
#define LOOK_UPS 4096u

struct symbols {
	Dwfl *dwfl;		/* null: libdw is not installed */
	uint32_t look_ups;	/* of this report */
	struct named_site {
		uint64_t site;
		char text[120];	/* "": unused */
	} names[NAMES];
};

/*
 * Returns the innermost function at an address, even if it was inlined into
 * another one; null if there is no debug information.
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
		symbols->dwfl = dw_begin(modules);
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
	/* The two low bits may always be 0: instructions may have 4 bytes. */
	named = &symbols->names[site / 4 % NAMES];
	if (*named->text && named->site == site) {
		(void)snprintf(to, size, "%s", named->text);
		return true;
	}
	if (symbols->look_ups == LOOK_UPS)
		return modules_offset(modules, site, to, size);
	symbols->look_ups++;
	if (!look_up(modules, symbols->dwfl, site, to, size))
		return false;
	/* Keep the text for the next call, unless it may have been truncated. */
	if (strlen(to) + 1 < size && strlen(to) < sizeof(named->text)) {
		named->site = site;
		memcpy(named->text, to, strlen(to) + 1);
	}
	return true;
}

/* Returns the module whose file has this name; null: none. */
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

void symbols_begin(struct modules *modules)
{
	struct symbols *symbols = modules->symbols;

	if (symbols)
		symbols->look_ups = 0;
}

void symbols_free(struct modules *modules)
{
	struct symbols *symbols = modules->symbols;

	if (symbols && symbols->dwfl)
		dw.dwfl_end(symbols->dwfl);
	free(symbols);
	modules->symbols = NULL;
}
