/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HTTP_PAGE_H
#define WEIR_CMD_HTTP_PAGE_H

/* The text of an answer, shared by the connections that are sent it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct page {
	unsigned users;
	size_t size;
	char *text;
};

/* A page that is made on request. */
struct page_source {
	/* Write the text.  Returns false with errno if there is none. */
	bool (*write)(FILE *out, void *user);
	void *user;
	struct page *last;	/* the last page; null: none */
	int64_t until_ns;	/* it may be used until then */
};

/*
 * Returns the page; the caller calls page_done.  The last page is used again
 * for as long as it took to make it; after that, a new page is made.  So
 * clients that send requests all the time cost at most half of one CPU.
 *
 * Returns null with errno: ENOBUFS if the pages that slow clients have not read
 * need too much memory; otherwise that of write().
 */
struct page *page_get(struct page_source *source);
void page_done(struct page *page);

#endif /* WEIR_CMD_HTTP_PAGE_H */
