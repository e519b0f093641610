/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_POSTGRES_POSTGRES_H
#define WEIR_CLUSTER_POSTGRES_POSTGRES_H

/* The state of the PostgreSQL engine. */
#include <pthread.h>

#include "cluster/postgres/answer.h"
#include "cluster/postgres/conn.h"

struct engine {
	struct session session;
	struct conn lanes[LANES];	/* each used by one thread at a time */
	char channel[32];	/* of notifications */
	pthread_mutex_t lock;	/* protects the fields marked l */
	bool enlisting;		/* l: a thread opens life or guard */
	bool alive;		/* l: life is open */
	bool guarded;		/* l: guard is open */
	int64_t enlist_at;	/* l: no attempt before, after a failure */
	struct conn guard;	/* used by the thread that has set enlisting */
	/* Used by the thread that set enlisting, then by the handle's thread. */
	struct conn life;	/* idle; receives notifications */
	struct conn late;	/* a former life, until life is open again */
	/* Used by the handle's thread alone. */
	bool listens;
	int64_t quiet_since;	/* since when no request waits; 0: unset */
	char *missed;		/* wake-ups that came before LISTEN; lines */
	int epoll_fd;		/* polls life and nudge_fd */
	int nudge_fd;		/* eventfd: missed is not empty, or life failed */
};

/* The text of the files in sql/; the versions of its tables and functions. */
extern const char weir_cl_postgres_schema_[];
#define SCHEMA_VERSION 1
#define SCHEMA_CODE 3

/* life.c */
/*
 * Open life and the guard, if they are not open.  A failure is not reported.
 * always: try also shortly after a failure.
 */
void weir_cl_postgres_enlist_(struct engine *e, bool always, int64_t deadline);
/* For the handle's thread: close life and the guard if they have failed. */
void weir_cl_postgres_inspect_(struct engine *e);
/*
 * For the handle's thread: stop using life.  Close it if it has ended; keep it
 * until the next life is open if it is only late.
 */
void weir_cl_postgres_end_life_(struct engine *e);
/* Returns true if life is open. */
bool weir_cl_postgres_is_alive_(struct engine *e);
/* Returns false if the connection has ended. */
bool weir_cl_pg_works_(const struct conn *conn);

/* wake.c */
enum result weir_cl_postgres_arm_(struct engine *e, int *fd, int64_t deadline,
				  struct fault *fault);
enum result weir_cl_postgres_read_(struct engine *e, wake_fn *fn, void *user,
				   struct fault *fault);
bool weir_cl_postgres_rest_(struct engine *e);

/* schema.c, doctor.c */
enum result weir_cl_postgres_prepare_(struct engine *e, int64_t capacity,
				      bool *made, int64_t deadline,
				      struct fault *fault);
enum result weir_cl_postgres_doctor_(struct engine *e,
				     weir_cluster_finding_fn *fn, void *user,
				     int64_t deadline, struct fault *fault);

#endif /* WEIR_CLUSTER_POSTGRES_POSTGRES_H */
