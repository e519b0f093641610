/* SPDX-License-Identifier: MIT */
/*
 * Recognise known states, and restore the initial memory.
 *
 * The rest of a run depends on the static variables of the program, the stacks
 * of its threads, the status of each thread, and which thread is running.  If
 * the same state was reached before with at least as much budget left, the rest
 * has been explored and the run is abandoned.  So the search takes each edge of
 * the graph of states once instead of each path through it.
 *
 * A state is identified by 61 bits of a hash.  With ten million states the
 * probability that two of them have the same hash is about one in forty
 * thousand.  The memory below a stack pointer is not part of the state.  A dead
 * slot inside a live frame is part of it, which adds states but hides none.
 *
 * The program headers locate the static variables: the writable segment without
 * the part that is read-only after relocation.  The engine keeps its own memory
 * behind a pointer; libc's is in another object.
 *
 * A scenario writes to few of their pages.  Before a scenario, all pages are
 * made read-only.  The first write to a page faults; the page is marked as used,
 * and is writable from then on.  A page that is not used has its initial
 * content, so it is neither restored nor compared.
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine.h"

#define STATIC_MAX ((size_t)(EX_PROCESSES ? 256 : 64) * 1024)
#define PAGES_MAX (STATIC_MAX / 4096 + 2)
#define BLOCK ((size_t)256)
#define KNOWN ((size_t)1 << 23)		/* a power of two */
#define PROBES 8
#define BUDGET_BITS 7u

static struct {
	char *start;
	size_t size;
	char *copy;
	struct page {
		size_t from, to;	/* offsets from start */
		bool whole;		/* a part of a page is always used */
		bool used;
	} pages[PAGES_MAX];
	size_t page_count;
	uint64_t *known;
	uint64_t generation, used;
} *memory;

/*
 * The static variables of the program.
 */
static int find_static(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t start = 0, end = 0, sealed = 0;

	(void)size, (void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && h->p_flags & PF_W) {
			start = at;
			end = at + h->p_memsz;
		} else if (h->p_type == PT_GNU_RELRO) {
			sealed = at + h->p_memsz;
		}
	}
	if (sealed > start)
		start = sealed;
	memory->start = (char *)((start + 7) & ~(uintptr_t)7);
	memory->size = (size_t)(end - (uintptr_t)memory->start) & ~(size_t)7;
	return 1;	/* stop: the first object is the program */
}

static void find_pages(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE), at = 0;

	while (at < memory->size) {
		struct page *page = &memory->pages[memory->page_count++];
		size_t rest = size - ((uintptr_t)memory->start + at) % size;

		page->from = at;
		at = memory->size - at < rest ? memory->size : at + rest;
		page->to = at;
		page->whole = page->to - page->from == size;
		page->used = true;
	}
}

void ex_state_begin(void)
{
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		abort();
	dl_iterate_phdr(find_static, NULL);
	if (memory->size > STATIC_MAX) {
		fprintf(stderr, "model: %zu bytes of static variables: is libc "
			"linked statically?\n", memory->size);
		exit(2);
	}
	memory->copy = malloc(memory->size);
	memory->known = calloc(KNOWN, sizeof(*memory->known));
	if (!memory->copy || !memory->known)
		abort();
	memcpy(memory->copy, memory->start, memory->size);
	find_pages();
}

/* Copy the used pages of the static variables from `from`. */
static void load_used(const char *from)
{
	for (size_t i = 0; i < memory->page_count; i++) {
		const struct page *page = &memory->pages[i];

		if (page->used)
			memcpy(memory->start + page->from, from + page->from,
			       page->to - page->from);
	}
}

void ex_state_restore(void)
{
	load_used(memory->copy);
}

void ex_state_new_scenario(void)
{
	ex_state_restore();
	for (size_t i = 0; i < memory->page_count; i++) {
		struct page *page = &memory->pages[i];

		page->used = !page->whole ||
			     mprotect(memory->start + page->from,
				      page->to - page->from, PROT_READ);
	}
}

bool ex_state_fault(const void *address)
{
	size_t at = (size_t)((const char *)address - memory->start);

	for (size_t i = 0; i < memory->page_count; i++) {
		struct page *page = &memory->pages[i];

		if (at < page->from || at >= page->to || page->used)
			continue;
		page->used = true;
		return !mprotect(memory->start + page->from,
				 page->to - page->from, PROT_READ | PROT_WRITE);
	}
	return false;
}

#if EX_PROCESSES
size_t ex_state_size(void)
{
	return memory->size;
}

void ex_state_save(char *to)
{
	memcpy(to, memory->start, memory->size);
}

void ex_state_load(const char *from)
{
	load_used(from);
}
#endif

/*
 * The hash has four lanes, so that the multiplications overlap.  The lanes
 * differ in their seeds and in how they are combined: otherwise two states that
 * differ by an exchange would have the same hash.
 */
static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static uint64_t turn(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static uint64_t hash_memory(uint64_t seed, const char *p, size_t size)
{
	uint64_t lanes[4] = {
		seed,
		seed ^ UINT64_C(0x243f6a8885a308d3),
		seed ^ UINT64_C(0x13198a2e03707344),
		seed ^ UINT64_C(0xa4093822299f31d0),
	}, v[4];

	for (; size >= sizeof(v); p += sizeof(v), size -= sizeof(v)) {
		memcpy(v, p, sizeof(v));
		for (int i = 0; i < 4; i++)
			lanes[i] = mix(lanes[i], v[i]);
	}
	for (; size >= 8; p += 8, size -= 8) {
		memcpy(v, p, 8);
		lanes[0] = mix(lanes[0], v[0]);
	}
	for (int i = 1; i < 4; i++)
		lanes[0] = mix(turn(lanes[0], 13), lanes[i]);
	return lanes[0];
}

/*
 * Hash only the blocks of static variables that differ from the initial memory:
 * the program has many scenarios, and each uses few variables.
 */
static uint64_t hash_page(uint64_t h, const struct page *page)
{
	size_t size;

	for (size_t at = page->from; at < page->to; at += size) {
		size = page->to - at < BLOCK ? page->to - at : BLOCK;
		if (memcmp(memory->start + at, memory->copy + at, size))
			h = hash_memory(mix(h, at), memory->start + at, size);
	}
	return h;
}

static uint64_t hash_static(uint64_t h)
{
	for (size_t i = 0; i < memory->page_count; i++)
		if (memory->pages[i].used)
			h = hash_page(h, &memory->pages[i]);
	return h;
}

/* The number of threads that sleep on the same futex for longer. */
static uint64_t rank(const struct ex_thread *t)
{
	uint64_t n = 0;

	for (int i = 0; i < ex->thread_count; i++)
		n += ex->threads[i].status == EX_BLOCKED &&
		     ex->threads[i].futex == t->futex &&
		     ex->threads[i].slept_at < t->slept_at;
	return n;
}

static uint64_t hash_thread(uint64_t h, const struct ex_thread *t)
{
	const char *sp = t->fiber.sp;

	h = mix(h, (uint64_t)t->status << 8 | (uint64_t)t->rechecks << 3 |
			   (uint64_t)ex_others_wrote(t) << 2 |
			   (uint64_t)ex_can_go(t) << 1 | (t->handler != NULL));
	if (t->status == EX_DONE)
		return h;
	if (t->status == EX_BLOCKED)
		h = mix(mix(mix(h, (uintptr_t)t->futex), (uint64_t)t->deadline),
			rank(t));
	for (int i = 0; i < t->delayed_count; i++)
		h = mix(mix(h, (uintptr_t)t->delayed[i].p), t->delayed[i].value);
	return hash_memory(h, sp,
			   (size_t)(t->fiber.stack + FIBER_STACK - sp));
}

uint64_t ex_state_hash(void)
{
	uint64_t h = mix((uint64_t)ex->now_ns, (uint64_t)ex->self);

	h = mix(h, memory->generation << 8 | (uint64_t)ex->freed_count);
	for (int i = 0; i < ex->thread_count; i++)
		h = hash_thread(h, &ex->threads[i]);
	return hash_static(h) | 1;
}

/*
 * The table of known states; the low bits hold the budget.  If there is no free
 * slot, an old state is overwritten, which costs only time.
 */
void ex_state_forget(void)
{
	memory->generation++;
	if (memory->used < KNOWN / 4)
		return;
	memset(memory->known, 0, KNOWN * sizeof(*memory->known));
	memory->used = 0;
}

bool ex_state_is_known(uint64_t state, int budget)
{
	uint64_t key = state & ~(uint64_t)BUDGET_BITS;
	size_t first = (size_t)(state >> 40), at;

	for (size_t i = 0; i < PROBES; i++) {
		uint64_t *slot = &memory->known[(first + i) & (KNOWN - 1)];

		if ((*slot & ~(uint64_t)BUDGET_BITS) == key && *slot) {
			if ((int)(*slot & BUDGET_BITS) >= budget)
				return true;
			*slot = key | (uint64_t)budget;
			return false;
		}
		if (!*slot) {
			*slot = key | (uint64_t)budget;
			memory->used++;
			return false;
		}
	}
	at = (first + (ex->runs & (PROBES - 1))) & (KNOWN - 1);
	memory->known[at] = key | (uint64_t)budget;
	return false;
}
