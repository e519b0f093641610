/* SPDX-License-Identifier: MIT */
/*
 * Wake-ups.  The handle listens on `life` while a request waits.  A notification
 * is a hint to read the row of a request; the row decides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/postgres/postgres.h"

static void nudge(struct engine *e)
{
	static const uint64_t one = 1;

	(void)!write(e->nudge_fd, &one, sizeof(one));
}

/* Store the rows in e->missed, as lines. */
static bool keep(struct engine *e, const PGresult *table)
{
	size_t size = 1;
	char *text;

	for (int i = 0; i < PQntuples(table); i++)
		size += strlen(PQgetvalue(table, i, 0)) + 1;
	text = malloc(size);
	if (!text)
		return false;
	*text = 0;
	size = 0;
	for (int i = 0; i < PQntuples(table); i++) {
		const char *row = PQgetvalue(table, i, 0);

		size += (size_t)sprintf(text + size, "%s\n", row);
	}
	free(e->missed);
	e->missed = text;
	return true;
}

/* Read the outcomes of the requests in `ids`, an array of PostgreSQL. */
static enum result look(struct engine *e, const char *ids, PGresult **table,
			int64_t deadline, struct fault *fault)
{
	struct query q;

	weir_cl_pg_query_(&q, DO_LOOK, "SELECT weir.wake_(e) FROM weir.entry AS e "
			  "WHERE id = ANY($2::text[]) AND sem = $1 AND "
			  "role IN ('H', 'C', 'T', 'D')");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_text_(&q, ids);
	return weir_cl_pg_run_(&e->life, &q, table, deadline, fault);
}

/* Prepare and plan the query of look(), so that no wake-up waits for that. */
static enum result warm(struct engine *e, int64_t deadline, struct fault *fault)
{
	PGresult *none;
	enum result result;

	if (e->life.uses[DO_LOOK] == 2)
		return RES_OK;
	e->life.uses[DO_LOOK] = 1;
	result = look(e, "{}", &none, deadline, fault);
	if (!result)
		PQclear(none);
	return result;
}

/*
 * LISTEN has an effect when it is committed.  Outcomes of earlier transactions
 * are then visible to the next statement.
 */
static enum result listen(struct engine *e, int64_t deadline,
			  struct fault *fault)
{
	char sql[64];
	PGresult *table;
	struct query q;
	enum result result;

	(void)snprintf(sql, sizeof(sql), "LISTEN %s", e->channel);
	result = weir_cl_pg_script_(&e->life, sql, NULL, deadline, fault);
	if (!result)
		result = warm(e, deadline, fault);
	if (result)
		return result;
	weir_cl_pg_query_(&q, DO_ONCE, "SELECT weir.outcomes($1, $2)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_text_(&q, e->session.id);
	result = weir_cl_pg_run_(&e->life, &q, &table, deadline, fault);
	if (result)
		return result;
	e->listens = true;
	if (!keep(e, table))
		result = weir_cl_fault_(fault, RES_UNSENT, ENOMEM,
					"out of memory");
	PQclear(table);
	return result;
}

enum result weir_cl_postgres_arm_(struct engine *e, int *fd, int64_t deadline,
				  struct fault *fault)
{
	enum result result = RES_OK;

	if (!weir_cl_postgres_is_alive_(e))
		weir_cl_postgres_enlist_(e, true, deadline);
	if (!weir_cl_postgres_is_alive_(e))
		return weir_cl_fault_(fault, RES_UNSENT, ENOTCONN,
				      "no connection for notifications");
	if (!e->listens)
		result = listen(e, deadline, fault);
	if (result) {
		weir_cl_postgres_end_life_(e);
		return result;
	}
	/* Notifications may have been read already. */
	nudge(e);
	e->quiet_since = 0;
	*fd = e->epoll_fd;
	return RES_OK;
}

/* UNLISTEN after one TTL without waits: a NOTIFY wakes every listener. */
bool weir_cl_postgres_rest_(struct engine *e)
{
	int64_t now = boot_now();
	struct fault fault;

	if (!e->listens || !weir_cl_postgres_is_alive_(e))
		return false;
	if (!e->quiet_since)
		e->quiet_since = now;
	if (now - e->quiet_since < e->session.ttl_ns)
		return false;
	if (weir_cl_pg_script_(&e->life, "UNLISTEN *", NULL,
			       now + e->session.ttl_ns / 10, &fault))
		weir_cl_postgres_end_life_(e);
	e->listens = false;
	return true;
}

static void wake(const char *text, wake_fn *fn, void *user)
{
	char id[ID_SIZE];
	struct answer answer;

	if (weir_cl_pg_wake_(text, id, &answer))
		fn(user, id, &answer);
}

static void wake_missed(struct engine *e, wake_fn *fn, void *user)
{
	char *text = e->missed, *rest = text, *line;

	e->missed = NULL;
	while (rest && (line = strsep(&rest, "\n")))
		wake(line, fn, user);
	free(text);
}

/* The requests that notifications have named, as an array of PostgreSQL. */
struct hints {
	char ids[RENEW_MAX * ID_SIZE + 2];
	size_t used;
	int count;
};

/*
 * Add the request of a notification.  Payloads that are not understood, and ids
 * of other handles, are ignored: any user of the database may send them.
 */
static void add_hint(struct hints *hints, const struct engine *e,
		     const char *text)
{
	size_t session = strlen(e->session.id);
	char id[ID_SIZE];
	struct answer answer;

	if (!weir_cl_pg_wake_(text, id, &answer) ||
	    strncmp(id, e->session.id, session) || id[session] != '.' ||
	    id[session + 1 + strspn(id + session + 1, "0123456789abcdef")])
		return;
	hints->used += (size_t)snprintf(hints->ids + hints->used,
					sizeof(hints->ids) - hints->used,
					"%c%s", hints->count++ ? ',' : '{', id);
}

/*
 * Read the rows of the requests that notifications have named.  A notification
 * may be false, so it is never a grant; the row of the request has the outcome.
 */
static enum result follow(struct engine *e, struct hints *hints, wake_fn *fn,
			  void *user, struct fault *fault)
{
	int64_t limit = e->session.ttl_ns / 6;
	PGresult *table;
	enum result result;

	(void)snprintf(hints->ids + hints->used,
		       sizeof(hints->ids) - hints->used, "}");
	/* The time is limited, because renewals of leases wait meanwhile. */
	if (limit > e->session.timeout_ns)
		limit = e->session.timeout_ns;
	result = look(e, hints->ids, &table, boot_now() + limit, fault);
	if (result)
		return result;
	for (int i = 0; i < PQntuples(table); i++)
		wake(PQgetvalue(table, i, 0), fn, user);
	PQclear(table);
	return RES_OK;
}

/*
 * Handle notifications that libpq has read.  More may arrive during the query;
 * they are handled by the next call, so that a flood of false ones does not keep
 * the thread from its renewals.
 */
static enum result read_hints(struct engine *e, wake_fn *fn, void *user,
			      struct fault *fault)
{
	struct hints hints = { .count = 0 };
	PGnotify *notify;

	while (hints.count < RENEW_MAX && (notify = PQnotifies(e->life.pg))) {
		if (!strcmp(notify->relname, e->channel))
			add_hint(&hints, e, notify->extra);
		PQfreemem(notify);
	}
	if (!hints.count)
		return RES_OK;
	nudge(e);
	return follow(e, &hints, fn, user, fault);
}

enum result weir_cl_postgres_read_(struct engine *e, wake_fn *fn, void *user,
				   struct fault *fault)
{
	uint64_t count;

	(void)!read(e->nudge_fd, &count, sizeof(count));
	e->quiet_since = 0;
	wake_missed(e, fn, user);
	if (!weir_cl_postgres_is_alive_(e) || !e->life.pg)
		return weir_cl_fault_(fault, RES_UNSENT, ENOTCONN,
				      "not connected");
	if (weir_cl_pg_works_(&e->life) && !read_hints(e, fn, user, fault) &&
	    PQstatus(e->life.pg) == CONNECTION_OK)
		return RES_OK;
	weir_cl_postgres_end_life_(e);
	/* The thread arms again, which reads all outcomes, and renews. */
	return weir_cl_fault_(fault, RES_UNSENT, ECONNRESET,
			      "the connection for notifications was lost");
}
