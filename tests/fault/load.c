/* SPDX-License-Identifier: MIT */
/*
 * A call that the library makes when it is loaded fails. meson.build runs this
 * program once for each such call; WEIR_FAULT_AT_LOAD names it.  Everything
 * still works, a fork with waiters is detected (C29), and no thread spins,
 * because there may be no other CPU.
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
