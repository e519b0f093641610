/* SPDX-License-Identifier: MIT */
/*
 * weir_vdso_find_: the real vDSO, and images that lack a part.  weir_ticks_ without a
 * vDSO.
 *
 * This program is linked with --wrap=getauxval, so that it can present an image.
 */
#include "base/vdso.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/ticks.h"
#include "job.h"

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

static bool real = true;
static const void *image;	/* if not real; null: there is no vDSO */

unsigned long __wrap_getauxval(unsigned long type)
{
	if (real || type != AT_SYSINFO_EHDR)
		return __real_getauxval(type);
	if (!image)
		errno = ENOENT;
	return (unsigned long)image;
}

/* An image that was linked for the address LINKED. */
#define LINKED 0x10000
#define AT(field) (LINKED + offsetof(struct fake, field))

struct fake {
	ElfW(Ehdr) header;
	ElfW(Phdr) segments[3];
	ElfW(Dyn) dynamic[4];
	ElfW(Word) hash[2];
	ElfW(Sym) symbols[4];
	char names[32];
	char code[16];
};

static const char names[] = "\0absent\0present";

static struct fake fake;

static void make(void)
{
	fake = (struct fake){
		.header = { .e_phoff = offsetof(struct fake, segments),
			    .e_phnum = 3 },
		.segments = { { .p_type = PT_LOAD, .p_vaddr = LINKED },
			      { .p_type = PT_DYNAMIC,
				.p_offset = offsetof(struct fake, dynamic) },
			      /* A second one does not change the addresses. */
			      { .p_type = PT_LOAD, .p_vaddr = 1 } },
		.dynamic = { { DT_SYMTAB, { AT(symbols) } },
			     { DT_STRTAB, { AT(names) } },
			     { DT_HASH, { AT(hash) } },
			     { DT_NULL, { 0 } } },
		.hash = { 1, 3 },
		.symbols = { { .st_name = 0 },
			     { .st_name = 1, .st_shndx = SHN_UNDEF },
			     { .st_name = 8, .st_shndx = 1,
			       .st_value = AT(code) },
			     /* Behind the number of symbols. */
			     { .st_name = 1, .st_shndx = 1 } },
	};
	memcpy(fake.names, names, sizeof(names));
	image = &fake;
}

TEST(finds_a_function_that_is_defined)
{
	real = false;
	make();
	CHECK(weir_vdso_find_("present") == (uintptr_t)fake.code);
	CHECK(!weir_vdso_find_("absent"));
	CHECK(!weir_vdso_find_("presen"));
	CHECK(!weir_vdso_find_("presents"));
}

/* qemu relocates the image. */
TEST(finds_a_function_of_an_image_that_is_where_it_was_linked)
{
	real = false;
	make();
	fake.segments[0].p_vaddr = (uintptr_t)&fake;
	for (size_t i = 0; i < 3; i++)
		fake.dynamic[i].d_un.d_ptr += (uintptr_t)&fake - LINKED;
	fake.symbols[2].st_value += (uintptr_t)&fake - LINKED;
	CHECK(weir_vdso_find_("present") == (uintptr_t)fake.code);
}

TEST(finds_nothing_in_an_image_that_lacks_a_part)
{
	real = false;
	image = NULL;
	CHECK(!weir_vdso_find_("present"));
	for (size_t i = 0; i < 2; i++) {
		make();
		fake.segments[i].p_type = PT_NOTE;
		fake.header.e_phnum = 2;
		CHECK(!weir_vdso_find_("present"));
	}
	for (size_t i = 0; i < 3; i++) {
		make();
		fake.dynamic[i].d_tag = DT_DEBUG;
		CHECK(!weir_vdso_find_("present"));
	}
	make();
	CHECK(weir_vdso_find_("present"));
}

/* Returns the time of the coarse clock, read with libc. */
static int64_t coarse_ns(void)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC_COARSE, &now), 0);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * valgrind and some emulators hide the vDSO, and some kernels for aarch64, where the
 * library does not need it, give it another table of symbols.  On a 32-bit machine, its
 * timespec may differ from that of libc.
 */
TEST(the_clock_of_the_kernel_is_that_of_libc)
{
	typedef int reader(clockid_t clock, struct timespec *now);
#ifdef __aarch64__
	static const char name[] = "__kernel_clock_gettime";
#else
	static const char name[] = "__vdso_clock_gettime";
#endif
	reader *found;
	struct timespec now;
	int64_t before, ns, after;

	real = true;
	found = (reader *)weir_vdso_find_(name);
#ifdef __x86_64__
	CHECK(found || !getauxval(AT_SYSINFO_EHDR));
#endif
	if (!found || sizeof(long) != 8)
		return;
	before = coarse_ns();
	CHECK_EQ(found(CLOCK_MONOTONIC_COARSE, &now), 0);
	after = coarse_ns();
	ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	CHECK(before <= ns && ns <= after);
}

/* The first call decides how the clock is read. */
TEST(ticks_without_a_vdso)
{
	int64_t before = coarse_ns(), ticks;
	uint64_t words[2] = { 0, 0 };

	real = false;
	image = NULL;
	errno = 0;
	ticks = weir_ticks_();
	CHECK_EQ(errno, 0);
	real = true;
	CHECK(weir_ticks_() >= ticks);
#ifdef WEIR_TICKS_CALL_
	CHECK(before <= ticks && ticks <= coarse_ns());
	CHECK_EQ(weir_ticks_store_(words), 0);
	CHECK(words[1] < 1000000000);
	CHECK((uint64_t)ticks <= words[0] * 1000000000 + words[1]);
	CHECK(words[0] * 1000000000 + words[1] <= (uint64_t)coarse_ns());
#else
	(void)words;
	CHECK(before <= weir_ticks_ns_(ticks));
#endif
}
