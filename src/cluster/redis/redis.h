/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_REDIS_REDIS_H
#define WEIR_CLUSTER_REDIS_REDIS_H

/* The state of the Redis engine. */
#include "cluster/redis/conn.h"

#define REDIS_KEYS 6
#define KEY_SIZE 192

struct engine {
	struct session session;
	struct conn lanes[LANES];	/* each used by one thread at a time */
	struct conn wake;	/* in BLPOP; used by the handle's thread */
	bool armed;		/* a BLPOP has been sent on wake */
	char keys[REDIS_KEYS][KEY_SIZE];
	char list[KEY_SIZE];	/* key of the list of wake-ups */
	/*
	 * The end of an entry as the script stores it; [1]: with ASK_OUTSIDE.
	 */
	char tail[2][200];
	char sha[LANES][41];	/* of the script; empty: not loaded yet */
};

/* The text of the files in lua/, without comments and indentation. */
extern const char weir_cl_redis_script_[];

/* Arguments of one call of the script. */
struct script_call {
	struct command command;
	char numbers[8][24];
	int used;
};

void weir_cl_script_begin_(struct engine *e, enum lane lane,
			   struct script_call *call, const char *op);
void weir_cl_script_text_(struct script_call *call, const char *text);
/* Requires: number >= 0. */
void weir_cl_script_number_(struct script_call *call, int64_t number);
/*
 * Call the script; load it first if the server does not have it.  If
 * `confirm` is true and the session requires replicas, then the replicas must
 * confirm the write, otherwise the result is RES_UNKNOWN.  An error reply is a
 * failure and is not stored in *reply.
 */
enum result weir_cl_script_run_(struct engine *e, enum lane lane,
				struct script_call *call, bool confirm,
				struct reply **reply, int64_t deadline,
				struct fault *fault);

/* wake.c, list.c, doctor.c */
enum result weir_cl_redis_arm_(struct engine *e, int *fd, int64_t deadline,
			       struct fault *fault);
enum result weir_cl_redis_read_(struct engine *e, wake_fn *fn, void *user,
				struct fault *fault);
enum result weir_cl_redis_list_(struct engine *e, struct names *names,
				int64_t deadline, struct fault *fault);
enum result weir_cl_redis_doctor_(struct engine *e, weir_cluster_finding_fn *fn,
				  void *user, int64_t deadline,
				  struct fault *fault);

#endif /* WEIR_CLUSTER_REDIS_REDIS_H */
