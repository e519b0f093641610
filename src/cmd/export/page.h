/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_PAGE_H
#define WEIR_CMD_EXPORT_PAGE_H

/* The text of an answer, shared by the connections that are sent it. */
#include <stddef.h>

#include "cmd/export/format.h"

struct page {
	unsigned users;
	size_t size;
	char *text;
};

/*
 * Returns the metrics in this format; the caller calls page_done.  The page is
 * new, except within the time that it took to make the last one.  So clients
 * that ask all the time cost at most half of one CPU.
 *
 * Returns null with errno: ENOBUFS if the pages that slow clients have not read
 * need too much memory; otherwise the folder of names cannot be read.
 */
struct page *page_metrics(enum format format);
void page_done(struct page *page);

#endif /* WEIR_CMD_EXPORT_PAGE_H */
