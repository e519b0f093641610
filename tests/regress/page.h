/* SPDX-License-Identifier: MIT */
/*
 * A page that holds one semaphore and nothing else.  The test takes the page
 * away while another thread may still be inside a call, so that a late access
 * faults or is found.
 *
 *     weir_sem *sem = page_new();
 *     ...
 *     page_take_away(sem, how);       from here on an access faults or,
 *     ...                             if the page is poisoned, leaves a trace
 *     page_done(sem, how);            all calls have returned: check the page
 */
#ifndef TESTS_REGRESS_PAGE_H
#define TESTS_REGRESS_PAGE_H

#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum page_end {
	PAGE_UNMAP,	/* as a caller would: faults unless mapped again */
	PAGE_PROTECT,	/* always faults */
	PAGE_POISON,	/* reads return garbage, writes are found later */
	PAGE_ENDS
};

#define PAGE_POISON_BYTE 0xa5

__attribute__((unused)) static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

__attribute__((unused)) static void *page_new(void)
{
	void *page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	return page;
}

__attribute__((unused)) static void page_take_away(void *page,
						   enum page_end how)
{
	if (how == PAGE_UNMAP)
		CHECK_EQ(munmap(page, page_size()), 0);
	else if (how == PAGE_PROTECT)
		CHECK_EQ(mprotect(page, page_size(), PROT_NONE), 0);
	else
		memset(page, PAGE_POISON_BYTE, page_size());
}

__attribute__((unused)) static void page_done(void *page, enum page_end how)
{
	const unsigned char *byte = page;

	if (how == PAGE_UNMAP)
		return;
	if (how == PAGE_POISON)
		for (size_t i = 0; i < page_size(); i++)
			if (byte[i] != PAGE_POISON_BYTE)
				check_fail(__FILE__, __LINE__,
					   "byte %zu was written too late", i);
	CHECK_EQ(munmap(page, page_size()), 0);
}

#endif /* TESTS_REGRESS_PAGE_H */
