/* SPDX-License-Identifier: MIT */
/* Calling the script. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/redis/redis.h"

/* The attempts of one call, which follows redirections and loads the script. */
#define ATTEMPTS 5

void weir_cl_script_begin_(struct engine *e, enum lane lane,
			   struct script_call *call, const char *op)
{
	call->used = 0;
	call->command.count = 0;
	weir_cl_script_text_(call, "EVALSHA");
	weir_cl_script_text_(call, e->sha[lane]);
	weir_cl_script_number_(call, REDIS_KEYS);
	for (int i = 0; i < REDIS_KEYS; i++)
		weir_cl_script_text_(call, e->keys[i]);
	weir_cl_script_text_(call, op);
}

void weir_cl_script_text_(struct script_call *call, const char *text)
{
	call->command.args[call->command.count++] = text;
}

void weir_cl_script_number_(struct script_call *call, int64_t number)
{
	char *text = call->numbers[call->used++];

	*weir_cl_decimal_(text, (uint64_t)number) = 0;
	weir_cl_script_text_(call, text);
}

static enum result load(struct engine *e, enum lane lane, int64_t deadline,
			struct fault *fault)
{
	struct command command = {
		.args = { "SCRIPT", "LOAD", weir_cl_redis_script_ },
		.count = 3,
	};
	struct reply *reply;
	bool reload;
	enum result result = weir_cl_conn_call_(&e->lanes[lane], &command, 1,
						&reply, deadline, fault);

	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	if (reply->type == REPLY_ERROR)
		result = weir_cl_conn_error_(&e->lanes[lane], reply->text,
					     &reload, fault);
	else if (reply->type != REPLY_TEXT ||
		 strlen(reply->text) != sizeof(e->sha[0]) - 1)
		result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
					"the answer to SCRIPT LOAD is wrong");
	else
		memcpy(e->sha[lane], reply->text, sizeof(e->sha[0]));
	weir_cl_reply_free_(reply);
	return result;
}

/* Translate the replies that refuse any operation. */
static enum result refused(const struct reply *reply, struct fault *fault)
{
	const char *word = weir_cl_reply_text_(reply, 0);
	const char *what = weir_cl_reply_text_(reply, 1);

	if (!word)
		return RES_OK;
	if (!strcmp(word, "NONE"))
		return weir_cl_fault_(fault, RES_REFUSED, ENOENT,
				      "the semaphore does not exist");
	if (!strcmp(word, "BAD"))
		return weir_cl_fault_(fault, RES_REFUSED, EBADMSG,
				      "the data is damaged or foreign: %s",
				      what ? what : "");
	if (!strcmp(word, "VERSION"))
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "another version of weir made the data");
	return RES_OK;
}

/* Check the reply to WAIT. */
static enum result confirmed(const struct engine *e, const struct reply *wait,
			     struct fault *fault)
{
	if (wait->type == REPLY_NUMBER &&
	    wait->number >= (int64_t)e->session.replicas)
		return RES_OK;
	return weir_cl_fault_(fault, RES_UNKNOWN, ETIMEDOUT,
			      "too few replicas have confirmed the write");
}

/* Call the script once.  *reload: the script has to be loaded. */
static enum result attempt(struct engine *e, enum lane lane,
			   struct script_call *call, bool confirm,
			   struct reply **reply, bool *reload,
			   int64_t deadline, struct fault *fault)
{
	struct command commands[2] = { call->command };
	struct reply *replies[2] = { NULL, NULL };
	int count = confirm && e->session.replicas ? 2 : 1;
	/* commands[1] refers to these texts. */
	// cppcheck-suppress variableScope
	char replicas[16], limit[24];
	enum result result;

	*reload = false;
	if (count == 2) {
		int64_t left = (deadline - boot_now()) / 2000000;

		(void)snprintf(replicas, sizeof(replicas), "%u",
			       e->session.replicas);
		(void)snprintf(limit, sizeof(limit), "%lld",
			       (long long)(left > 1 ? left : 1));
		commands[1] = (struct command){
			.args = { "WAIT", replicas, limit }, .count = 3 };
	}
	result = weir_cl_conn_call_(&e->lanes[lane], commands, count, replies,
				    deadline, fault);
	if (result)
		return result;
	if (replies[0]->type == REPLY_ERROR)
		result = weir_cl_conn_error_(&e->lanes[lane], replies[0]->text,
					     reload, fault);
	else
		result = refused(replies[0], fault);
	if (!result && count == 2)
		result = confirmed(e, replies[1], fault);
	weir_cl_reply_free_(replies[1]);
	if (result)
		weir_cl_reply_free_(replies[0]);
	else
		*reply = replies[0];
	return result;
}

enum result weir_cl_script_run_(struct engine *e, enum lane lane,
				struct script_call *call, bool confirm,
				struct reply **reply, int64_t deadline,
				struct fault *fault)
{
	int others = e->session.url.host_count - 1, attempts = ATTEMPTS;
	bool reload = !e->sha[lane][0];
	enum result result = RES_UNSENT;
	int64_t now = boot_now();

	/* The rest is for a repetition, which goes to the next host. */
	if (others)
		deadline = now + (deadline - now) / 2;
	while (attempts-- > 0) {
		if (reload) {
			result = load(e, lane, deadline, fault);
			if (result)
				return result;
		}
		result = attempt(e, lane, call, confirm, reply, &reload,
				 deadline, fault);
		/* A replica has executed nothing: call the next host. */
		if (result == RES_UNSENT && fault->errnum == EROFS &&
		    others-- > 0) {
			attempts = ATTEMPTS;
			continue;
		}
		if (!reload && !e->lanes[lane].moved.name[0])
			break;
	}
	return result;
}
