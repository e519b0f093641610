/* SPDX-License-Identifier: MIT */
/*
 * Wake-ups: a connection that is blocked in BLPOP on the handle's own list.  A
 * wake-up stays in the list until it is read, so none is lost while the
 * connection is down, and no other client is woken.
 */
#include <errno.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/redis/redis.h"

/* The reply to BLPOP is a list of the key and the element. */
#define ELEMENT 1

static enum result block(struct engine *e, int64_t deadline,
			 struct fault *fault)
{
	struct command command = { .args = { "BLPOP", e->list, "0" },
				   .count = 3 };
	enum result result = weir_cl_conn_send_(&e->wake, &command, 1, deadline,
						fault);

	e->armed = !result;
	return result;
}

enum result weir_cl_redis_arm_(struct engine *e, int *fd, int64_t deadline,
			       struct fault *fault)
{
	enum result result;

	/* Begin with the host that answers the thread: others may be down. */
	if (!e->wake.reader) {
		e->armed = false;
		e->wake.host = e->lanes[LANE_THREAD].host;
	}
	result = weir_cl_conn_open_(&e->wake, deadline, fault);
	if (!result && !e->armed)
		result = block(e, deadline, fault);
	*fd = e->wake.net.fd;
	return result;
}

static enum result handle(struct engine *e, const struct reply *reply,
			  wake_fn *fn, void *user, struct fault *fault)
{
	const char *text = weir_cl_reply_text_(reply, ELEMENT);
	char id[ID_SIZE];
	struct answer answer;
	bool reload;

	if (reply->type == REPLY_ERROR)
		return weir_cl_conn_error_(&e->wake, reply->text, &reload,
					   fault);
	if (!text || !weir_cl_reply_wake_(text, id, &answer)) {
		weir_cl_conn_close_(&e->wake);
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "a wake-up is not understood");
	}
	fn(user, id, &answer);
	return RES_OK;
}

enum result weir_cl_redis_read_(struct engine *e, wake_fn *fn, void *user,
				struct fault *fault)
{
	struct reply *reply;
	enum result result;

	if (!e->wake.reader)
		return weir_cl_fault_(fault, RES_UNSENT, ENOTCONN,
				      "not connected");
	/*
	 * A readable socket need not have a reply: TLS 1.3 sends session
	 * tickets.  To wait for the reply would delay the renewals.
	 */
	result = weir_cl_conn_arrived_(&e->wake, &reply, fault);
	if (result || !reply)
		return result;
	e->armed = false;
	/* Wake the waiter first: it runs while this thread sends BLPOP. */
	result = handle(e, reply, fn, user, fault);
	if (!result)
		result = block(e, boot_now() + e->session.timeout_ns, fault);
	weir_cl_reply_free_(reply);
	return result;
}
