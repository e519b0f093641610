/* SPDX-License-Identifier: MIT */
#include "base/vdso.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* The tables of the image that are needed to find a symbol. */
struct tables {
	const ElfW(Sym) *symbols;
	const char *names;
	/* The SysV hash table: its second word is the number of symbols. */
	const ElfW(Word) *hash;
};

/* The addresses in the image are relative to `bias`. */
static void read_dynamic(const ElfW(Dyn) *dynamic, uintptr_t bias,
			 struct tables *tables)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *at = (const void *)(bias + dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			tables->symbols = at;
		else if (dynamic->d_tag == DT_STRTAB)
			tables->names = at;
		else if (dynamic->d_tag == DT_HASH)
			tables->hash = at;
	}
}

uintptr_t weir_vdso_find_(const char *name)
{
	uintptr_t image = getauxval(AT_SYSINFO_EHDR), bias = 0;
	bool loads = false;
	const ElfW(Ehdr) *header = (const void *)image;
	const ElfW(Phdr) *segments = NULL;
	const ElfW(Dyn) *dynamic = NULL;
	struct tables tables = { NULL, NULL, NULL };

	if (!image)
		return 0;
	segments = (const void *)(image + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && !loads) {
			bias = image + segments[i].p_offset - segments[i].p_vaddr;
			loads = true;
		} else if (segments[i].p_type == PT_DYNAMIC) {
			dynamic = (const void *)(image + segments[i].p_offset);
		}
	}
	if (!loads || !dynamic)
		return 0;
	read_dynamic(dynamic, bias, &tables);
	if (!tables.symbols || !tables.names || !tables.hash)
		return 0;
	for (ElfW(Word) i = 0; i < tables.hash[1]; i++) {
		const ElfW(Sym) *symbol = &tables.symbols[i];

		if (symbol->st_shndx != SHN_UNDEF &&
		    !strcmp(tables.names + symbol->st_name, name))
			return bias + symbol->st_value;
	}
	return 0;
}
