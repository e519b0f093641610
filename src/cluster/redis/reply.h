/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_REDIS_REPLY_H
#define WEIR_CLUSTER_REDIS_REPLY_H

/*
 * Replies of a Redis server.  hiredis splits the stream into values; this file
 * keeps them as a tree of bounded size, because the server is not trusted.
 */
#include <stddef.h>
#include <stdint.h>

#include "cluster/engine.h"

enum reply_type { REPLY_TEXT, REPLY_NUMBER, REPLY_NIL, REPLY_ERROR, REPLY_LIST };

#define REPLY_ITEMS_MAX 65536
#define REPLY_BYTES_MAX (16 << 20)

struct reply {
	enum reply_type type;
	int64_t number;
	char *text;		/* NUL-terminated */
	size_t count;
	struct reply **items;	/* of a list; none is null when complete */
};

struct reader;

/* Returns null if memory is exhausted. */
struct reader *weir_cl_reader_new_(void);
void weir_cl_reader_free_(struct reader *reader);
/* Add bytes from the server.  Returns false if the stream is not valid. */
bool weir_cl_reader_feed_(struct reader *reader, const char *data, size_t size);
/*
 * Set *reply to the next complete reply, or to null if more bytes are needed.
 * Returns false if the stream is not valid.
 */
bool weir_cl_reader_next_(struct reader *reader, struct reply **reply);
void weir_cl_reply_free_(struct reply *reply);

/* Returns the item as a number in 0 .. 2^53, or -1. */
int64_t weir_cl_reply_number_(const struct reply *list, size_t i);
/* Returns the item as a text, or null. */
const char *weir_cl_reply_text_(const struct reply *list, size_t i);

/*
 * Interpret the replies of the script.  Returns false if the script does not
 * give such a reply.
 */
bool weir_cl_reply_answer_(const struct reply *reply, struct answer *answer);
bool weir_cl_reply_renewals_(const struct reply *reply, struct renewal *list,
			     int count);
bool weir_cl_reply_info_(const struct reply *reply, weir_cluster_info *info);
bool weir_cl_reply_stat_(const struct reply *reply, const char *session,
			 weir_cluster_info *info, weir_cluster_entry *entries,
			 uint32_t max);
/* Parse a wake-up: "id G weight fence ticket", "id C", "id T" or "id I". */
bool weir_cl_reply_wake_(const char *text, char id[ID_SIZE],
			 struct answer *answer);

#endif /* WEIR_CLUSTER_REDIS_REPLY_H */
