/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_TEXT_H
#define WEIR_CLUSTER_TEXT_H

/* The description of a client: host, pid and label in one line. */
#include <stddef.h>

#include "weir/cluster.h"

/* Copy and truncate; control characters become '?'. */
void weir_cl_text_copy_(char *out, size_t size, const char *text);
/* Write "host pid label" for this process. */
void weir_cl_text_self_(char *out, size_t size, const char *label);
/* Set host, pid and label of *entry from such a text. */
void weir_cl_text_describe_(const char *text, weir_cluster_entry *entry);

#endif /* WEIR_CLUSTER_TEXT_H */
