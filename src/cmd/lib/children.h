/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_CHILDREN_H
#define WEIR_CMD_LIB_CHILDREN_H

/* The children of this process, including zombies. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct children {
	pid_t *pids;
	size_t count, room;
};

/* Returns true if this process has a child; a zombie is one, too. */
bool children_exist(void);
/*
 * Call found for each child, as soon as it is found.  If there are children, and
 * /proc is not usable, all pids are tried, which takes a second or more, and
 * false is returned.
 */
bool children_each(void (*found)(pid_t pid, void *arg), void *arg);
/* Add a pid to the struct children at arg. */
void children_add(pid_t pid, void *arg);
/* Fill the list.  It may be incomplete if memory is short. */
void children_find(struct children *list);
/* Returns true if pid is a child of this process. */
bool children_has(pid_t pid);

#endif /* WEIR_CMD_LIB_CHILDREN_H */
