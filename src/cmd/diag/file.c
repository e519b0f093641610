/* SPDX-License-Identifier: MIT */
/*
 * Dump files.
 *
 *     struct dump_head | extents | modules | bytes of the registry
 *
 * The parts of the registry that are in use are in the file twice, in the order
 * of src/diag/snapshot.h, so that a reader of the file can find the records
 * that changed while the dump was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"

#define DUMP_MAGIC "weirdump"
#define DUMP_VERSION 1u

struct dump_head {
	char magic[8];
	uint32_t version, order;
	uint32_t extents, modules;
	uint32_t extent_size, module_size;
	int64_t now_ns;
	uint64_t reserved[4];
};

static bool has_room(const struct diag *diag, uint64_t file_size)
{
	for (uint32_t i = 0; i < diag->extents; i++) {
		const struct diag_extent *extent = &diag->extent[i];

		if (extent->offset > file_size ||
		    extent->size > file_size - extent->offset)
			return false;
	}
	return true;
}

static void read_modules(struct diag *diag, uint32_t count, uint64_t at)
{
	struct module module;

	for (uint32_t i = 0; i < count && i < MODULES_MAX; i++) {
		struct module *added;

		if (!diag_pread(diag->fd, &module, sizeof(module),
				at + i * sizeof(module)))
			return;
		module.path[MODULE_PATH - 1] = '\0';
		module.build_id[MODULE_ID - 1] = '\0';
		added = modules_add(&diag->modules, module.start, module.end,
				    module.offset, module.path);
		if (added)
			memcpy(added->build_id, module.build_id, MODULE_ID);
	}
}

bool diag_dump_open(struct diag *diag)
{
	struct dump_head head;
	struct stat info;
	size_t size;

	if (!diag_pread(diag->fd, &head, sizeof(head), 0) ||
	    fstat(diag->fd, &info))
		return diag_fail(diag, EXIT_DAMAGED, "%s: the dump is truncated",
				 diag->name);
	if (head.version != DUMP_VERSION || head.order != RG_ORDER ||
	    head.extent_size != sizeof(struct diag_extent) ||
	    head.module_size != sizeof(struct module))
		return diag_fail(diag, EXIT_DAMAGED, "%s: the dump has another "
				 "version, or is from another kind of machine",
				 diag->name);
	if (!head.extents || head.extents > DIAG_EXTENTS_MAX ||
	    head.modules > MODULES_MAX)
		return diag_fail(diag, EXIT_DAMAGED, "%s: the dump is damaged",
				 diag->name);
	size = head.extents * sizeof(struct diag_extent);
	diag->extents = head.extents;
	if (!diag_pread(diag->fd, diag->extent, size, sizeof(head)) ||
	    !has_room(diag, (uint64_t)info.st_size))
		return diag_fail(diag, EXIT_DAMAGED, "%s: the dump is truncated",
				 diag->name);
	diag->source.now_ns = head.now_ns;
	read_modules(diag, head.modules, sizeof(head) + size);
	return true;
}

/* A table of the registry: where it is, and how much of it is in use. */
struct table {
	uint64_t at;
	size_t record_size;
	uint32_t count;
	bool has_seq;
};

/*
 * Copy the records of a table.  A record that its writer keeps changing gets an
 * odd sequence number, as if its writer were still busy.
 */
static void copy_table(struct diag *diag, const struct table *table, char *to)
{
	static const uint32_t torn = 1;	/* an odd seq */

	for (uint32_t i = 0; i < table->count; i++) {
		uint64_t at = table->at + i * table->record_size;
		char *record = to + i * table->record_size;
		uint32_t before = 1, after = 0;

		for (int k = 0; k < 8 && (before & 1 || before != after);
		     k++) {
			if (!diag_read_bytes(diag, at, record,
					     table->record_size) ||
			    !diag_read_bytes(diag, at, &after, sizeof(after)))
				cmd_die(EXIT_DAMAGED, "%s: its registry is "
					"truncated", diag->name);
			if (!table->has_seq)
				break;
			memcpy(&before, record, sizeof(before));
		}
		if (table->has_seq && before != after)
			memcpy(record, &torn, sizeof(torn));
	}
}

static void write_all(const void *bytes, size_t size)
{
	if (size && fwrite(bytes, size, 1, stdout) != 1)
		cmd_die(EXIT_WEIR, "dump: cannot write to standard output");
}

void diag_dump_write(struct diag *diag)
{
	const struct rg_header *h = &diag->header;
	const struct table header = { 0, sizeof(*h), 1, false };
	const struct table waits = { RG_WAITS_AT, sizeof(struct rg_wait),
				     h->waits_high, true };
	const struct table objects = { RG_OBJECTS_AT, sizeof(struct rg_object),
				       h->objects_high, true };
	const struct table contexts = { RG_CONTEXTS_AT,
					sizeof(struct rg_context),
					h->contexts_high, true };
	const struct table events = { RG_EVENTS_AT, sizeof(struct rg_event),
				      RG_EVENTS, false };
	const struct table orders = { RG_ORDERS_AT, sizeof(struct rg_order),
				      h->orders_high, false };
	const struct table tables[] = { header, waits, objects, contexts,
					events, orders, contexts, waits,
					objects };
	enum { TABLES = sizeof(tables) / sizeof(tables[0]), SECOND = 6 };
	struct diag_extent extents[TABLES];
	char *copies[TABLES];
	struct dump_head head = {
		DUMP_MAGIC, DUMP_VERSION, RG_ORDER, TABLES,
		diag->modules.count, sizeof(struct diag_extent),
		sizeof(struct module), 0, { 0 }
	};
	uint64_t offset = sizeof(head) + sizeof(extents) +
			  diag->modules.count * sizeof(struct module);

	for (int i = 0; i < TABLES; i++) {
		size_t size = tables[i].count * tables[i].record_size;

		if (!tables[i].at && !diag->is_file)
			diag->source.now_ns = weir_now_ns();
		if (i == SECOND && diag->extents)
			diag->copy = 1;
		copies[i] = memory_realloc(NULL, size + 1);
		copy_table(diag, &tables[i], copies[i]);
		extents[i] = (struct diag_extent){ tables[i].at, size, offset,
						   i >= SECOND, 0 };
		offset += size;
	}
	/* The header must have the counts of the tables that were copied. */
	memcpy(copies[0], h, sizeof(*h));
	head.now_ns = diag->source.now_ns;
	write_all(&head, sizeof(head));
	write_all(extents, sizeof(extents));
	write_all(diag->modules.list,
		  diag->modules.count * sizeof(struct module));
	for (int i = 0; i < TABLES; i++) {
		write_all(copies[i], extents[i].size);
		free(copies[i]);
	}
}
