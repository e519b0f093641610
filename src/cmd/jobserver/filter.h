/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_FILTER_H
#define WEIR_CMD_JOBSERVER_FILTER_H

/* The seccomp filter of the command. */
#include <stdint.h>

/* A system call: struct seccomp_data of linux/seccomp.h. */
struct filter_data {
	int32_t nr;
	uint32_t arch;
	uint64_t instruction;
	uint64_t args[6];
};

/*
 * Install a filter that stops reads and writes of one byte.  If the descriptors
 * are not negative, only reads of `reads` and writes of `writes` are stopped.
 * Returns the listener, whose owner answers the calls; -1: errno is set.
 */
int filter_install(int reads, int writes);

#endif /* WEIR_CMD_JOBSERVER_FILTER_H */
