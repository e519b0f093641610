/* SPDX-License-Identifier: MIT */
/*
 * dladdr(3) takes the lock that dlopen(3) holds while it runs the constructors of
 * a library.  A constructor may wait for a thread that calls sem_init, so this
 * file uses dl_iterate_phdr(3), which does not take that lock, and reads the
 * dynamic symbols itself.
 */
#include "posix/name.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* An address, and its place as the dynamic linker knows it. */
struct place {
	uintptr_t at;
	const char *file;	/* null: no loaded file contains the address */
	uintptr_t file_at;	/* where the file is mapped */
	const char *symbol;	/* null: none contains the address */
	uintptr_t symbol_at;
};

/* The dynamic section of a file. */
struct dynamic {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *hash, *gnu_hash;
};

/* The dynamic linker has added the base to an address, unless it is read-only. */
static uintptr_t relocated(uintptr_t base, uintptr_t address)
{
	return address < base ? base + address : address;
}

static void read_dynamic(struct dynamic *d, uintptr_t base,
			 const ElfW(Dyn) *entry)
{
	for (; entry->d_tag != DT_NULL; entry++) {
		const void *at =
			(const void *)relocated(base, entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			d->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			d->strings = at;
		else if (entry->d_tag == DT_HASH)
			d->hash = at;
		else if (entry->d_tag == DT_GNU_HASH)
			d->gnu_hash = at;
	}
}

/*
 * Returns the number of symbols.  The section has no such number: it is the length
 * of DT_HASH, or follows the last symbol in the chains of DT_GNU_HASH.
 */
static uint32_t count_symbols(const struct dynamic *d)
{
	const uint32_t *hash = d->gnu_hash, *buckets, *chains;
	uint32_t last = 0;

	if (!hash)
		return d->hash ? d->hash[1] : 0;
	buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(*hash));
	chains = buckets + hash[0];
	for (uint32_t i = 0; i < hash[0]; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < hash[1])
		return hash[1];
	while (!(chains[last - hash[1]] & 1))
		last++;
	return last + 1;
}

static void find_symbol(struct place *place, uintptr_t base,
			const ElfW(Dyn) *section)
{
	struct dynamic d = { NULL, NULL, NULL, NULL };
	uint32_t count;

	read_dynamic(&d, base, section);
	count = d.symbols && d.strings ? count_symbols(&d) : 0;
	for (uint32_t i = 0; i < count; i++) {
		const ElfW(Sym) *symbol = &d.symbols[i];
		uintptr_t at = base + symbol->st_value;

		/* The type has the same bits in both classes. */
		if (symbol->st_shndx != SHN_UNDEF &&
		    ELF64_ST_TYPE(symbol->st_info) != STT_TLS &&
		    (place->at == at ||
		     (place->at > at && place->at - at < symbol->st_size)) &&
		    (!place->symbol || at > place->symbol_at)) {
			place->symbol = d.strings + symbol->st_name;
			place->symbol_at = at;
		}
	}
}

static int find_in_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	uintptr_t base = info->dlpi_addr, start = UINTPTR_MAX;
	const ElfW(Dyn) *section = NULL;
	bool contains = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = base + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			section = (const void *)at;
		if (segment->p_type != PT_LOAD)
			continue;
		if (at < start)
			start = at;
		if (place->at >= at && place->at - at < segment->p_memsz)
			contains = true;
	}
	if (!contains)
		return 0;
	/* The name of the program is empty. */
	place->file = *info->dlpi_name ? info->dlpi_name :
					 program_invocation_name;
	place->file_at = start;
	if (section)
		find_symbol(place, base, section);
	return 1;
}

static bool find(const void *at, struct place *place)
{
	*place = (struct place){ .at = (uintptr_t)at };
	return dl_iterate_phdr(find_in_file, place) && place->file;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Write "name" or "name+0x20". */
static void write_place(char *to, size_t size, const struct place *place)
{
	const char *name = place->symbol ? place->symbol :
					   base_name(place->file);
	uintptr_t offset = place->at - (place->symbol ? place->symbol_at :
							place->file_at);

	if (offset)
		snprintf(to, size, "%s+0x%zx", name, (size_t)offset);
	else
		snprintf(to, size, "%s", name);
}

void weir_posix_name_it_(const sem_t *s, const void *caller, char *name,
			 size_t size)
{
	struct place place;
	char at[32];

	if (find(s, &place)) {
		write_place(name, size, &place);
	} else if (find(caller, &place)) {
		write_place(at, sizeof(at), &place);
		snprintf(name, size, "%s@%p", at, (const void *)s);
	} else {
		snprintf(name, size, "%p", (const void *)s);
	}
}
