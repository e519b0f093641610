/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_ROWS_H
#define WEIR_CMD_DIAG_ROWS_H

/* The table of weir top: one row for each watched object of each process. */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/diag/source.h"

enum rows_sort {
	ROWS_VERDICT, ROWS_WAITING, ROWS_WAIT, ROWS_HOLD, ROWS_RATE, ROWS_NAME,
	ROWS_SORTS
};

struct row {
	uint32_t pid;
	uint64_t id;		/* of the object */
	char name[RG_NAME * 3];
	uint32_t type, flags, waiting;
	int64_t capacity, free, held;
	int64_t oldest_wait_ns, oldest_hold_ns;	/* DG_UNKNOWN: none */
	uint64_t acquires;
	double rate;		/* acquires per second */
	enum dg_verdict verdict;
};

struct rows {
	const char *what;	/* a process or a file; null: all processes */
	enum rows_sort sort;
	struct row *list;
	uint32_t count;
	/* The sample before, for the rates. */
	struct row *before;
	uint32_t before_count;
	int64_t sampled_ns, before_ns;
	uint32_t processes;
};

/*
 * Take a sample.  Returns false if `what` cannot be read any more, with the
 * reason in *why and the exit status in *status.
 */
bool rows_sample(struct rows *rows, char why[DIAG_WHY], int *status);
void rows_order(struct rows *rows);
const char *rows_sort_name(enum rows_sort sort);
/* Shown instead of a table without rows. */
#define ROWS_NONE "no process that this user may read has watched semaphores: " \
		  "they need a name"
/* Write one line of the table, without a line end; a null row: the heading. */
#define ROWS_LINE 320
void rows_line(const struct row *row, char line[ROWS_LINE]);
/*
 * Write the report on one object, as weir explain prints it.  Returns false if
 * it does not exist any more.
 */
bool rows_detail(const struct rows *rows, uint32_t pid, uint64_t id,
		 char *text, size_t size);

#endif /* WEIR_CMD_DIAG_ROWS_H */
