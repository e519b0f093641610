/* SPDX-License-Identifier: MIT */
/* The engine for PostgreSQL: calls of the functions in sql/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/postgres/postgres.h"

static void postgres_close(struct engine *e)
{
	/* The guard ends by itself when the other connections have ended. */
	for (int i = 0; i < LANES; i++)
		weir_cl_pg_close_(&e->lanes[i]);
	weir_cl_pg_close_(&e->life);
	weir_cl_pg_close_(&e->late);
	weir_cl_pg_close_(&e->guard);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	if (e->nudge_fd >= 0)
		close(e->nudge_fd);
	free(e->missed);
	pthread_mutex_destroy(&e->lock);
	explicit_bzero(&e->session, sizeof(e->session));
	free(e);
}

static struct engine *postgres_open(const struct session *session)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->session = *session;
	for (int i = 0; i < LANES; i++)
		weir_cl_pg_init_(&e->lanes[i], &e->session, CONN_LANE);
	weir_cl_pg_init_(&e->life, &e->session, CONN_LIFE);
	weir_cl_pg_init_(&e->late, &e->session, CONN_LIFE);
	weir_cl_pg_init_(&e->guard, &e->session, CONN_GUARD);
	(void)snprintf(e->channel, sizeof(e->channel), "weir_%s", session->id);
	pthread_mutex_init(&e->lock, NULL);
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	e->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->epoll_fd < 0 || e->nudge_fd < 0 ||
	    epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->nudge_fd, &event)) {
		postgres_close(e);
		return NULL;
	}
	return e;
}

static enum result strange(struct fault *fault)
{
	return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
			      "the server's answer is not understood");
}

/* Returns row i of the table, or an empty text. */
static const char *row(const PGresult *table, int i)
{
	return i < PQntuples(table) ? PQgetvalue(table, i, 0) : "";
}

/* Run a query whose answer is about one request. */
static enum result answer_of(struct engine *e, enum lane lane, struct query *q,
			     struct answer *answer, int64_t deadline,
			     struct fault *fault)
{
	PGresult *table;
	enum result result = weir_cl_pg_run_(&e->lanes[lane], q, &table,
					     deadline, fault);

	if (result)
		return result;
	if (!weir_cl_pg_answer_(row(table, 0), answer))
		result = strange(fault);
	PQclear(table);
	return result;
}

static enum result postgres_acquire(struct engine *e, enum lane lane,
				    const struct ask *ask,
				    struct answer *answer, int64_t deadline,
				    struct fault *fault)
{
	struct query q;
	enum result result = weir_cl_pg_open_(&e->lanes[lane], deadline, fault);

	if (result)
		return result;
	weir_cl_postgres_enlist_(e, false, deadline);
	if (ask->flags & ASK_IDLE)
		weir_cl_pg_query_(&q, DO_ONCE,
				  "SELECT weir.idle($1, $2, $3, $4)");
	else
		weir_cl_pg_query_(&q, DO_ACQUIRE, "SELECT weir.acquire($1, $2, "
				  "$3, $4, $5, $6, $7, $8, $9)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_text_(&q, ask->id);
	if (!(ask->flags & ASK_IDLE)) {
		weir_cl_pg_text_(&q, ask->flags & ASK_FRESH ? "t" : "f");
		weir_cl_pg_number_(&q, ask->min);
		weir_cl_pg_number_(&q, ask->max);
	}
	weir_cl_pg_number_(&q, e->session.ttl_ns / 1000);
	if (!(ask->flags & ASK_IDLE)) {
		weir_cl_pg_text_(&q, ask->flags & ASK_TRY ? "t" : "f");
		weir_cl_pg_text_(&q, ask->flags & ASK_OUTSIDE ? "t" : "f");
	}
	weir_cl_pg_text_(&q, e->session.text);
	return answer_of(e, lane, &q, answer, deadline, fault);
}

static enum result postgres_release(struct engine *e, enum lane lane,
				    const char *id, int64_t weight,
				    int64_t keep, struct answer *answer,
				    int64_t deadline, struct fault *fault)
{
	struct query q;

	(void)weight;
	weir_cl_pg_query_(&q, DO_RELEASE, "SELECT weir.release($1, $2, $3)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_text_(&q, id);
	weir_cl_pg_number_(&q, keep);
	return answer_of(e, lane, &q, answer, deadline, fault);
}

static enum result postgres_cancel(struct engine *e, enum lane lane,
				   const char *id, struct answer *answer,
				   int64_t deadline, struct fault *fault)
{
	struct query q;

	weir_cl_pg_query_(&q, DO_ONCE, "SELECT weir.cancel($1, $2)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_text_(&q, id);
	return answer_of(e, lane, &q, answer, deadline, fault);
}

static enum result postgres_renew(struct engine *e, struct renewal *list,
				  int count, int64_t deadline,
				  struct fault *fault)
{
	char ids[RENEW_MAX * ID_SIZE + 2];
	PGresult *table;
	struct query q;
	size_t used = 0;
	enum result result;

	/* Ids consist of hexadecimal digits and a dot. */
	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(ids + used, sizeof(ids) - used, "%c%s",
					 i ? ',' : '{', list[i].id);
	(void)snprintf(ids + used, sizeof(ids) - used, "}");
	weir_cl_postgres_inspect_(e);
	weir_cl_postgres_enlist_(e, false, deadline);
	weir_cl_pg_query_(&q, DO_RENEW, "SELECT weir.renew($1, $2, $3)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_number_(&q, e->session.ttl_ns / 1000);
	weir_cl_pg_text_(&q, ids);
	result = weir_cl_pg_run_(&e->lanes[LANE_THREAD], &q, &table, deadline,
				 fault);
	if (result)
		return result;
	if (PQntuples(table) != count)
		result = strange(fault);
	for (int i = 0; i < count && !result; i++)
		if (!weir_cl_pg_answer_(row(table, i), &list[i].answer))
			result = strange(fault);
	PQclear(table);
	return result;
}

static enum result postgres_admin(struct engine *e, enum admin what,
				  int64_t value, weir_cluster_info *info,
				  weir_err *err, int64_t deadline,
				  struct fault *fault)
{
	static const char *const calls[] = {
		"SELECT weir.resize($1, $2)", "SELECT weir.close($1, $2)",
		"SELECT weir.pause($1, $2)", "SELECT weir.unlink($1, $2)",
	};
	struct answer answer;
	PGresult *table;
	struct query q;
	const char *rest;
	enum result result;

	if (what == ADMIN_CLOSE)
		value = value == WEIR_CLOSE_DRAIN ? 2 : 1;
	weir_cl_pg_query_(&q, DO_ONCE, calls[what]);
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_number_(&q, value);
	result = weir_cl_pg_run_(&e->lanes[LANE_CALL], &q, &table, deadline,
				 fault);
	if (result)
		return result;
	*err = WEIR_OK;
	if (!weir_cl_pg_info_(row(table, 0), info, &rest) || *rest) {
		if (!weir_cl_pg_answer_(row(table, 0), &answer))
			result = strange(fault);
		else
			*err = answer.state == S_CLOSED ? WEIR_ECLOSED :
			       WEIR_EBUSY;
	}
	PQclear(table);
	return result;
}

static enum result postgres_stat(struct engine *e, weir_cluster_info *info,
				 weir_cluster_entry *entries, uint32_t max,
				 int64_t deadline, struct fault *fault)
{
	PGresult *table;
	struct query q;
	uint32_t place = 0;
	enum result result;

	weir_cl_pg_query_(&q, DO_ONCE, "SELECT weir.stat($1, $2)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_number_(&q, max);
	result = weir_cl_pg_run_(&e->lanes[LANE_CALL], &q, &table, deadline,
				 fault);
	if (result)
		return result;
	if (!weir_cl_pg_stat_(row(table, 0), info))
		result = strange(fault);
	else if (max > info->entries)
		max = info->entries;
	if (!result && PQntuples(table) - 1 < (int64_t)max)
		result = strange(fault);
	for (uint32_t i = 0; !result && i < max; i++) {
		if (!weir_cl_pg_entry_(row(table, (int)i + 1), e->session.id,
				       info->now_ms, &entries[i]))
			result = strange(fault);
		else if (entries[i].role == WEIR_CLUSTER_WAITS)
			entries[i].place = ++place;
	}
	PQclear(table);
	return result;
}

static enum result postgres_list(struct engine *e, struct names *names,
				 int64_t deadline, struct fault *fault)
{
	PGresult *table;
	struct query q;
	enum result result = weir_cl_pg_open_(&e->lanes[LANE_CALL], deadline,
					      fault);

	if (result)
		return result;
	weir_cl_pg_query_(&q, DO_ONCE, "SELECT name FROM weir.sem");
	result = weir_cl_pg_run_(&e->lanes[LANE_CALL], &q, &table, deadline,
				 fault);
	/* There is no schema before the first semaphore. */
	if (result == RES_REFUSED && fault->errnum == ENOENT)
		return RES_OK;
	if (result)
		return result;
	for (int i = 0; i < PQntuples(table) && !result; i++)
		if (!weir_cl_names_add_(names, row(table, i)))
			result = weir_cl_fault_(fault, RES_REFUSED, ENOMEM,
						"out of memory");
	PQclear(table);
	return result;
}

const struct engine_ops weir_cl_postgres_ = {
	.open = postgres_open,
	.close = postgres_close,
	.prepare = weir_cl_postgres_prepare_,
	.acquire = postgres_acquire,
	.release = postgres_release,
	.cancel = postgres_cancel,
	.renew = postgres_renew,
	.admin = postgres_admin,
	.stat = postgres_stat,
	.list = postgres_list,
	.doctor = weir_cl_postgres_doctor_,
	.arm = weir_cl_postgres_arm_,
	.read = weir_cl_postgres_read_,
	.rest = weir_cl_postgres_rest_,
};
