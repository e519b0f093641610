/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_POSTGRES_ANSWER_H
#define WEIR_CLUSTER_POSTGRES_ANSWER_H

/*
 * The answers of the functions in sql/: words and numbers, separated by a
 * space.  The server is not trusted.
 */
#include "cluster/engine.h"

/* Each returns false if the functions do not give such a text. */
bool weir_cl_pg_answer_(const char *text, struct answer *answer);
bool weir_cl_pg_wake_(const char *text, char id[ID_SIZE],
		      struct answer *answer);
/* *rest: the end of the text after the numbers that all answers have. */
bool weir_cl_pg_info_(const char *text, weir_cluster_info *info,
		      const char **rest);
/* Parse the first row of stat. */
bool weir_cl_pg_stat_(const char *text, weir_cluster_info *info);
bool weir_cl_pg_entry_(const char *text, const char *session, int64_t now_ms,
		       weir_cluster_entry *entry);

#endif /* WEIR_CLUSTER_POSTGRES_ANSWER_H */
