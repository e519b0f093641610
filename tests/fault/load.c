/* SPDX-License-Identifier: MIT */
/*
 * What the library asks for when it is loaded, refused.  meson.build runs this
 * once for each, and WEIR_FAULT_AT_LOAD names it.  Everything works all the
 * same, a fork with waiters is noticed (C29), and nobody spins for a CPU that
 * may not be there.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "work.h"

const int fault_cpus;

TEST(c29_everything_works)
{
	const char *refused = getenv("WEIR_FAULT_AT_LOAD");

	CHECK(refused);
	if (!strcmp(refused, "sched_getaffinity"))
		CHECK(!weir_cpu_has_others_());
	for (size_t i = 0; i < work_count; i++) {
		fault_begin(NULL, false, 0, works[i].name);
		works[i].run();
	}
	printf("evidence: works without %s at load | %zu of %zu\n", refused,
	       work_count, work_count);
}
