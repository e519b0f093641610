/* SPDX-License-Identifier: MIT */
/* The engine for Redis and Valkey: one script, lua/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/redis/redis.h"

static struct engine *redis_open(const struct session *session)
{
	static const char *const keys[REDIS_KEYS] = { "e", "x", "q", "o",
						      "w:", "r" };
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->session = *session;
	for (int i = 0; i < LANES; i++)
		weir_cl_conn_init_(&e->lanes[i], &e->session);
	weir_cl_conn_init_(&e->wake, &e->session);
	/* The braces put all keys into one slot of a Redis Cluster. */
	for (int i = 0; i < REDIS_KEYS; i++)
		(void)snprintf(e->keys[i], KEY_SIZE, "weir:{%s}:%s",
			       session->url.name, keys[i]);
	(void)snprintf(e->list, KEY_SIZE, "weir:{%s}:w:%s", session->url.name,
		       session->id);
	for (int i = 0; i < 2; i++)
		(void)snprintf(e->tail[i], sizeof(e->tail[i]), "%d %s %s", i,
			       session->id, session->text);
	return e;
}

static void redis_close(struct engine *e)
{
	for (int i = 0; i < LANES; i++)
		weir_cl_conn_close_(&e->lanes[i]);
	weir_cl_conn_close_(&e->wake);
	explicit_bzero(&e->session, sizeof(e->session));
	free(e);
}

static enum result strange(struct fault *fault)
{
	return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
			      "the answer of the script is not understood");
}

static enum result redis_prepare(struct engine *e, int64_t capacity, bool *made,
				 int64_t deadline, struct fault *fault)
{
	struct script_call call;
	struct reply *reply;
	enum result result;
	const char *word;

	weir_cl_script_begin_(e, LANE_CALL, &call,
			      capacity < 0 ? "info" : "create");
	if (capacity >= 0)
		weir_cl_script_number_(&call, capacity);
	result = weir_cl_script_run_(e, LANE_CALL, &call, capacity >= 0, &reply,
				     deadline, fault);
	if (result)
		return result;
	word = weir_cl_reply_text_(reply, 0);
	*made = word && !strcmp(word, "MADE");
	if (!*made && (!word || strcmp(word, "OK")))
		result = strange(fault);
	weir_cl_reply_free_(reply);
	return result;
}

/* Run a call whose reply is an answer about one request. */
static enum result answer_of(struct engine *e, enum lane lane,
			     struct script_call *call, bool confirm,
			     struct answer *answer, int64_t deadline,
			     struct fault *fault)
{
	struct reply *reply;
	enum result result = weir_cl_script_run_(e, lane, call, confirm, &reply,
						 deadline, fault);

	if (result)
		return result;
	if (!weir_cl_reply_answer_(reply, answer))
		result = strange(fault);
	weir_cl_reply_free_(reply);
	return result;
}

static enum result redis_acquire(struct engine *e, enum lane lane,
				 const struct ask *ask, struct answer *answer,
				 int64_t deadline, struct fault *fault)
{
	int64_t ttl_us = e->session.ttl_ns / 1000;
	struct script_call call;

	weir_cl_script_begin_(e, lane, &call,
			      ask->flags & ASK_IDLE ? "idle" : "acquire");
	weir_cl_script_text_(&call, ask->id);
	if (ask->flags & ASK_IDLE) {
		weir_cl_script_number_(&call, ttl_us);
		weir_cl_script_text_(&call, e->session.id);
		weir_cl_script_text_(&call, e->session.text);
	} else {
		weir_cl_script_text_(&call, ask->flags & ASK_FRESH ? "1" : "0");
		weir_cl_script_number_(&call, ask->min);
		weir_cl_script_number_(&call, ask->max);
		weir_cl_script_number_(&call, ttl_us);
		weir_cl_script_text_(&call, ask->flags & ASK_TRY ? "1" : "0");
		weir_cl_script_text_(&call,
				     e->tail[!!(ask->flags & ASK_OUTSIDE)]);
	}
	return answer_of(e, lane, &call, true, answer, deadline, fault);
}

static enum result redis_release(struct engine *e, enum lane lane,
				 const char *id, int64_t weight, int64_t keep,
				 struct answer *answer, int64_t deadline,
				 struct fault *fault)
{
	struct script_call call;

	weir_cl_script_begin_(e, lane, &call, "release");
	weir_cl_script_text_(&call, id);
	weir_cl_script_number_(&call, keep);
	weir_cl_script_number_(&call, weight);
	return answer_of(e, lane, &call, false, answer, deadline, fault);
}

static enum result redis_cancel(struct engine *e, enum lane lane,
				const char *id, struct answer *answer,
				int64_t deadline, struct fault *fault)
{
	struct script_call call;

	weir_cl_script_begin_(e, lane, &call, "cancel");
	weir_cl_script_text_(&call, id);
	return answer_of(e, lane, &call, false, answer, deadline, fault);
}

static enum result redis_renew(struct engine *e, struct renewal *list,
			       int count, int64_t deadline,
			       struct fault *fault)
{
	struct script_call call;
	struct reply *reply;
	enum result result;

	weir_cl_script_begin_(e, LANE_THREAD, &call, "renew");
	weir_cl_script_number_(&call, e->session.ttl_ns / 1000);
	for (int i = 0; i < count; i++)
		weir_cl_script_text_(&call, list[i].id);
	result = weir_cl_script_run_(e, LANE_THREAD, &call, true, &reply,
				     deadline, fault);
	if (result)
		return result;
	if (!weir_cl_reply_renewals_(reply, list, count))
		result = strange(fault);
	weir_cl_reply_free_(reply);
	return result;
}

static enum result redis_admin(struct engine *e, enum admin what, int64_t value,
			       weir_cluster_info *info, weir_err *err,
			       int64_t deadline, struct fault *fault)
{
	static const char *const names[] = { "resize", "close", "pause",
					     "unlink" };
	struct script_call call;
	struct answer answer;
	struct reply *reply;
	enum result result;

	weir_cl_script_begin_(e, LANE_CALL, &call, names[what]);
	if (what == ADMIN_CLOSE)
		value = value == WEIR_CLOSE_DRAIN ? 2 : 1;
	weir_cl_script_number_(&call, value);
	result = weir_cl_script_run_(e, LANE_CALL, &call, true, &reply,
				     deadline, fault);
	if (result)
		return result;
	*err = WEIR_OK;
	if (!weir_cl_reply_info_(reply, info)) {
		if (!weir_cl_reply_answer_(reply, &answer))
			result = strange(fault);
		else
			*err = answer.state == S_CLOSED ? WEIR_ECLOSED :
			       WEIR_EBUSY;
	}
	weir_cl_reply_free_(reply);
	return result;
}

static enum result redis_stat(struct engine *e, weir_cluster_info *info,
			      weir_cluster_entry *entries, uint32_t max,
			      int64_t deadline, struct fault *fault)
{
	struct script_call call;
	struct reply *reply;
	enum result result;

	weir_cl_script_begin_(e, LANE_CALL, &call, "stat");
	/* WEIR_CLUSTER_ENTRIES_MAX: the stack of Lua limits the list. */
	weir_cl_script_number_(&call, max);
	result = weir_cl_script_run_(e, LANE_CALL, &call, false, &reply,
				     deadline, fault);
	if (result)
		return result;
	if (!weir_cl_reply_stat_(reply, e->session.id, info, entries, max))
		result = strange(fault);
	weir_cl_reply_free_(reply);
	return result;
}

const struct engine_ops weir_cl_redis_ = {
	.open = redis_open,
	.close = redis_close,
	.prepare = redis_prepare,
	.acquire = redis_acquire,
	.release = redis_release,
	.cancel = redis_cancel,
	.renew = redis_renew,
	.admin = redis_admin,
	.stat = redis_stat,
	.list = weir_cl_redis_list_,
	.doctor = weir_cl_redis_doctor_,
	.arm = weir_cl_redis_arm_,
	.read = weir_cl_redis_read_,
};
