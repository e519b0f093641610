/* SPDX-License-Identifier: MIT */
/* Pages: made on request, kept for a moment, shared, with a count of users. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/http/page.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "weir/base.h"

/* The most bytes of pages in memory before another page is made. */
#define BYTES_MAX (64 << 20)

static size_t bytes;

void page_done(struct page *page)
{
	if (--page->users)
		return;
	bytes -= page->size;
	free(page->text);
	free(page);
}

static struct page *make(const struct page_source *source)
{
	struct page *page = memory_realloc(NULL, sizeof(*page));
	FILE *out;
	int errnum = 0;

	*page = (struct page){ .users = 1 };
	out = open_memstream(&page->text, &page->size);
	if (out && !source->write(out, source->user))
		errnum = errno ? errno : EIO;
	if (!out || fclose(out))
		cmd_die(EXIT_WEIR, "out of memory");
	bytes += page->size;
	if (!errnum)
		return page;
	page_done(page);
	errno = errnum;
	return NULL;
}

struct page *page_get(struct page_source *source)
{
	int64_t begin = weir_now_ns();

	if (source->last && begin > source->until_ns) {
		page_done(source->last);
		source->last = NULL;
	}
	if (!source->last) {
		int64_t end;

		if (bytes > BYTES_MAX) {
			errno = ENOBUFS;
			return NULL;
		}
		source->last = make(source);
		if (!source->last)
			return NULL;
		end = weir_now_ns();
		source->until_ns = end + (end - begin);
	}
	source->last->users++;
	return source->last;
}
