/* SPDX-License-Identifier: MIT */
/*
 * The connections that show that the handle lives.
 *
 * `guard` is blocked in weir.guard inside the server, which returns the permits
 * of this handle when all its other connections have ended.  Without a guard
 * the permits of a dead client return after the TTL.
 *
 * A lane is closed if an answer is late.  If every connection were closed then,
 * a slow server would take a live handle for dead.  So a late `life` becomes
 * `late`, which is closed when the next life is open.
 */
#include <poll.h>
#include <sys/epoll.h>

#include "cluster/clock.h"
#include "cluster/postgres/postgres.h"

/*
 * Become the thread that opens life and guard.  Returns false if another thread
 * does that, or if both are open.  always: return true even if both are open,
 * or shortly after a failure.
 */
static bool begin(struct engine *e, bool always, bool *alive, bool *guarded)
{
	bool mine;

	pthread_mutex_lock(&e->lock);
	*alive = e->alive;
	*guarded = e->guarded;
	mine = !e->enlisting && (always || boot_now() >= e->enlist_at);
	if (*alive && *guarded && !always)
		mine = false;
	if (mine)
		e->enlisting = true;
	pthread_mutex_unlock(&e->lock);
	return mine;
}

/* Store the result of that.  again_at: the time of the next attempt. */
static void end(struct engine *e, bool alive, bool guarded, int64_t again_at)
{
	pthread_mutex_lock(&e->lock);
	e->alive = alive;
	e->guarded = guarded;
	e->enlist_at = again_at;
	e->enlisting = false;
	pthread_mutex_unlock(&e->lock);
}

static bool open_life(struct engine *e, int64_t deadline)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct fault fault;

	if (weir_cl_pg_open_(&e->life, deadline, &fault))
		return false;
	if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, PQsocket(e->life.pg),
		      &event)) {
		weir_cl_pg_close_(&e->life);
		return false;
	}
	weir_cl_pg_close_(&e->late);
	return true;
}

static bool open_guard(struct engine *e, int64_t deadline)
{
	struct query q;
	struct fault fault;

	if (weir_cl_pg_open_(&e->guard, deadline, &fault))
		return false;
	weir_cl_pg_query_(&q, DO_ONCE, "CALL weir.guard($1, $2)");
	weir_cl_pg_text_(&q, e->session.url.name);
	weir_cl_pg_text_(&q, e->session.id);
	return !weir_cl_pg_send_(&e->guard, &q, deadline, &fault);
}

void weir_cl_postgres_enlist_(struct engine *e, bool always, int64_t deadline)
{
	int64_t now;
	bool alive, guarded;

	if (!begin(e, always, &alive, &guarded))
		return;
	/* Leave most of the time to the request itself. */
	now = boot_now();
	deadline = now + (deadline - now) / 3;
	if (!alive)
		alive = open_life(e, deadline);
	if (alive && !guarded)
		guarded = open_guard(e, deadline);
	end(e, alive, guarded, alive && guarded ? 0 : boot_now() + SECOND_NS);
}

bool weir_cl_pg_works_(const struct conn *conn)
{
	struct pollfd socket = { .events = POLLIN };

	if (!conn->pg)
		return false;
	socket.fd = PQsocket(conn->pg);
	/* The end of the stream may follow a last message. */
	while (poll(&socket, 1, 0) > 0)
		if (!PQconsumeInput(conn->pg))
			return false;
	return PQstatus(conn->pg) == CONNECTION_OK;
}

/* Let the connection of life become that of late. */
static void retire(struct engine *e)
{
	(void)epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, PQsocket(e->life.pg), NULL);
	weir_cl_pg_close_(&e->late);
	e->late.pg = e->life.pg;
	e->life.pg = NULL;
}

void weir_cl_postgres_end_life_(struct engine *e)
{
	/* One connection is enough to show that the handle lives. */
	if (!weir_cl_pg_works_(&e->late) && weir_cl_pg_works_(&e->life))
		retire(e);
	weir_cl_pg_close_(&e->life);
	e->listens = false;
	pthread_mutex_lock(&e->lock);
	e->alive = false;
	pthread_mutex_unlock(&e->lock);
}

void weir_cl_postgres_inspect_(struct engine *e)
{
	bool alive, guarded;

	if (!begin(e, true, &alive, &guarded))
		return;
	/* A guard that has got an answer has ended. */
	if (guarded && (!weir_cl_pg_works_(&e->guard) ||
			!PQisBusy(e->guard.pg))) {
		weir_cl_pg_close_(&e->guard);
		guarded = false;
	}
	end(e, alive, guarded, 0);
	/* While the handle listens, its thread polls the connection. */
	if (alive && !e->listens && !weir_cl_pg_works_(&e->life))
		weir_cl_postgres_end_life_(e);
}

bool weir_cl_postgres_is_alive_(struct engine *e)
{
	bool result;

	pthread_mutex_lock(&e->lock);
	result = e->alive;
	pthread_mutex_unlock(&e->lock);
	return result;
}
