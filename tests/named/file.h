/* SPDX-License-Identifier: MIT */
#ifndef TESTS_NAMED_FILE_H
#define TESTS_NAMED_FILE_H

#include "named/format.h"

/* The file of a semaphore, mapped by a process that may write it. */
struct file {
	char path[300];
	int fd;
	struct nm_header *head;
	struct nm_slot *slots;
};

struct file map_file(const char *name);
void unmap_file(struct file *file);

/* The number of lent files in the folder of the semaphores. */
int count_lent(void);

#endif /* TESTS_NAMED_FILE_H */
