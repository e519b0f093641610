/* SPDX-License-Identifier: MIT */
/* Pages: made from the sources, kept for a moment, shared and counted. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/export/page.h"
#include "cmd/export/sources.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "weir/base.h"

/* The most bytes of pages in memory before another page is made. */
#define BYTES_MAX (64 << 20)

static size_t bytes;

/* The last page of each format. */
static struct {
	struct page *page;
	int64_t until_ns;	/* it may be used until then */
} last[FORMAT_OPENMETRICS + 1];

void page_done(struct page *page)
{
	if (--page->users)
		return;
	bytes -= page->size;
	free(page->text);
	free(page);
}

static struct page *make(enum format format)
{
	struct page *page = memory_realloc(NULL, sizeof(*page));
	struct metrics *m = metrics_new();
	FILE *out;

	*page = (struct page){ .users = 1 };
	if (!source_all(m)) {
		int errnum = errno;

		metrics_free(m);
		page_done(page);
		errno = errnum;
		return NULL;
	}
	metrics_merge(m);
	out = open_memstream(&page->text, &page->size);
	if (out)
		format_write(out, m, format);
	if (!out || fclose(out))
		cmd_die(EXIT_WEIR, "out of memory");
	metrics_free(m);
	bytes += page->size;
	return page;
}

struct page *page_metrics(enum format format)
{
	int64_t begin = weir_now_ns();

	if (last[format].page && begin > last[format].until_ns) {
		page_done(last[format].page);
		last[format].page = NULL;
	}
	if (!last[format].page) {
		int64_t end;

		if (bytes > BYTES_MAX) {
			errno = ENOBUFS;
			return NULL;
		}
		last[format].page = make(format);
		if (!last[format].page)
			return NULL;
		end = weir_now_ns();
		last[format].until_ns = end + (end - begin);
	}
	last[format].page->users++;
	return last[format].page;
}
