/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_MODULES_H
#define WEIR_CMD_DIAG_MODULES_H

/* The executable segments of a process, to name the call sites. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MODULE_PATH 512
#define MODULE_ID 64
#define MODULES_MAX 1024u

/* An executable segment.  The form is part of the dump file. */
struct module {
	uint64_t start, end;
	uint64_t offset;	/* of the segment in the file */
	char path[MODULE_PATH];
	char build_id[MODULE_ID];	/* in hexadecimal; "": unknown */
};

struct modules {
	uint32_t count;
	struct module *list;
	char root[32];		/* prefix of the paths: "/proc/PID/root" */
	void *symbols;		/* of symbols.c */
};

/*
 * Add a segment.  The text is untrusted.  Returns the new module, valid until
 * the next call; null if the range is empty or the list is full.
 */
struct module *modules_add(struct modules *modules, uint64_t start,
			   uint64_t end, uint64_t offset, const char *path);
/* Read the segments of a process. */
void modules_of_process(struct modules *modules, pid_t pid);
const struct module *modules_find(const struct modules *modules, uint64_t pc);
/*
 * Write "server+0x1234"; false if no segment contains the address.  A name that is
 * too long is cut; `size` is at least 32.
 */
bool modules_offset(const struct modules *modules, uint64_t pc, char *to,
		    size_t size);
void modules_free(struct modules *modules);
/* Write the build ID of an ELF file in hexadecimal; "" if it has none. */
void modules_build_id(const char *path, char id[MODULE_ID]);

/*
 * Write the name of a return address, such as "mail.c:18 send".  A dg_site_fn;
 * `user` is the struct modules.  After some thousand look-ups, only names from
 * earlier look-ups are written; the name of any other address is
 * "server+0x1234", as if there were no symbols.  symbols_begin begins a new
 * report, with a new count of look-ups.
 */
bool symbols_name(void *user, uint64_t site, char *to, size_t size);
/*
 * Write the symbol of the variable at this offset in a file with this name, such
 * as "lock" or "locks+0x20".  Returns false if it is not known.
 */
bool symbols_variable(struct modules *modules, const char *file,
		      uint64_t offset, char *to, size_t size);
void symbols_begin(struct modules *modules);
void symbols_free(struct modules *modules);

#endif /* WEIR_CMD_DIAG_MODULES_H */
