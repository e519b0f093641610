/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DOCTOR_H
#define WEIR_CMD_DOCTOR_H

#include "cmd/job.h"

/* A line; what is in it may be anybody's, also names of files. */
void doctor_say(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* findings.c: what a semaphore that opens tells; the exit status. */
int doctor_look(const weir_named_info *info, const weir_named_entry *entries);
/* Take away sockets that nobody listens at, beside the semaphore `name`. */
void doctor_sockets(const char *name);

#endif /* WEIR_CMD_DOCTOR_H */
