/* SPDX-License-Identifier: MIT */
/* The meaning of the script's replies. */
#include <stdlib.h>
#include <string.h>

#include "cluster/redis/reply.h"
#include "cluster/text.h"

#define NUMBER_MAX (INT64_C(1) << 53)

int64_t weir_cl_reply_number_(const struct reply *list, size_t i)
{
	const struct reply *item;

	if (list->type != REPLY_LIST || i >= list->count)
		return -1;
	item = list->items[i];
	if (item->type != REPLY_NUMBER || item->number < 0 ||
	    item->number > NUMBER_MAX)
		return -1;
	return item->number;
}

const char *weir_cl_reply_text_(const struct reply *list, size_t i)
{
	if (list->type != REPLY_LIST || i >= list->count ||
	    list->items[i]->type != REPLY_TEXT)
		return NULL;
	return list->items[i]->text;
}

static bool held(const struct reply *reply, struct answer *answer)
{
	int64_t fence = weir_cl_reply_number_(reply, 2);
	int64_t ticket = weir_cl_reply_number_(reply, 3);

	answer->state = S_HELD;
	answer->weight = weir_cl_reply_number_(reply, 1);
	answer->fence = (uint64_t)fence;
	answer->ticket = (uint64_t)ticket;
	/* A lease of weight 0 needs no fencing token. */
	return answer->weight >= 0 && fence >= !!answer->weight && ticket >= 0;
}

static bool waits(const struct reply *reply, struct answer *answer)
{
	int64_t place = weir_cl_reply_number_(reply, 1);
	int64_t ticket = weir_cl_reply_number_(reply, 2);

	answer->state = S_WAITS;
	answer->place = (uint32_t)(place > UINT32_MAX ? UINT32_MAX : place);
	answer->ticket = (uint64_t)ticket;
	answer->next_us = weir_cl_reply_number_(reply, 3);
	return place >= 0 && ticket >= 0 && answer->next_us >= 0;
}

/* Returns true if the word is a state without numbers. */
static bool state_of(const char *word, enum state *state)
{
	static const struct {
		const char *word;
		enum state state;
	} words[] = {
		{ "L", S_GONE }, { "R", S_RELEASED }, { "C", S_CLOSED },
		{ "T", S_TOOBIG }, { "B", S_BUSY }, { "I", S_IDLE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word)) {
			*state = words[i].state;
			return true;
		}
	return false;
}

/* "weight fence ticket" */
static bool parse_grant(const char *text, struct answer *answer)
{
	char *end;

	answer->state = S_HELD;
	answer->weight = strtoll(text, &end, 10);
	answer->fence = strtoull(end, &end, 10);
	answer->ticket = strtoull(end, &end, 10);
	return !*end && answer->weight > 0 && answer->weight <= NUMBER_MAX &&
	       answer->fence > 0 && answer->fence <= NUMBER_MAX;
}

bool weir_cl_reply_answer_(const struct reply *reply, struct answer *answer)
{
	const char *word = weir_cl_reply_text_(reply, 0);

	memset(answer, 0, sizeof(*answer));
	/* The fast path of the script answers with a text. */
	if (reply->type == REPLY_TEXT)
		return !strncmp(reply->text, "H ", 2) ?
		       parse_grant(reply->text + 2, answer) :
		       state_of(reply->text, &answer->state);
	if (!word)
		return false;
	if (!strcmp(word, "H"))
		return held(reply, answer);
	if (!strcmp(word, "W"))
		return waits(reply, answer);
	return state_of(word, &answer->state);
}

bool weir_cl_reply_renewals_(const struct reply *reply, struct renewal *list,
			     int count)
{
	if (reply->type != REPLY_LIST || reply->count != (size_t)count)
		return false;
	for (int i = 0; i < count; i++)
		if (!weir_cl_reply_answer_(reply->items[i], &list[i].answer))
			return false;
	return true;
}

bool weir_cl_reply_info_(const struct reply *reply, weir_cluster_info *info)
{
	const char *word = weir_cl_reply_text_(reply, 0);
	int64_t used = weir_cl_reply_number_(reply, 2);
	int64_t fence = weir_cl_reply_number_(reply, 5);
	int64_t now = weir_cl_reply_number_(reply, 6);

	memset(info, 0, sizeof(*info));
	info->capacity = weir_cl_reply_number_(reply, 1);
	if (!word || strcmp(word, "OK") || info->capacity < 0 || used < 0 ||
	    fence < 0 || now < 0)
		return false;
	info->held = used;
	info->debt = used > info->capacity ? used - info->capacity : 0;
	info->free = used < info->capacity ? info->capacity - used : 0;
	info->closed = weir_cl_reply_number_(reply, 3) != 0;
	info->paused = weir_cl_reply_number_(reply, 4) != 0;
	info->fence = (uint64_t)fence;
	info->now_ms = now / 1000;
	return true;
}

static bool role_of(const char *word, weir_cluster_role *role)
{
	static const char roles[] = "HWOI";
	const char *found = word && word[0] && !word[1] ?
			    strchr(roles, word[0]) : NULL;

	if (!found)
		return false;
	*role = (weir_cluster_role)(found - roles);
	return true;
}

/* role id weight min fence ticket since ends text */
static bool entry_of(const struct reply *list, const char *session,
		     int64_t now_us, weir_cluster_entry *entry)
{
	const char *id = weir_cl_reply_text_(list, 1);
	const char *text = weir_cl_reply_text_(list, 8);
	int64_t fence = weir_cl_reply_number_(list, 4);
	int64_t since = weir_cl_reply_number_(list, 6);
	int64_t ends = weir_cl_reply_number_(list, 7);

	memset(entry, 0, sizeof(*entry));
	if (!role_of(weir_cl_reply_text_(list, 0), &entry->role) || !id ||
	    !text || fence < 0 || since < 0 || ends < 0)
		return false;
	entry->weight = weir_cl_reply_number_(list,
			entry->role == WEIR_CLUSTER_HOLDS ? 2 : 3);
	if (entry->weight < 0)
		return false;
	entry->fence = (uint64_t)fence;
	entry->since_ms = since / 1000;
	entry->lease_ms = ends > now_us ? (ends - now_us) / 1000 : 0;
	entry->mine = !strncmp(id, session, strlen(session));
	weir_cl_text_copy_(entry->id, sizeof(entry->id), id);
	weir_cl_text_describe_(text, entry);
	return true;
}

bool weir_cl_reply_stat_(const struct reply *reply, const char *session,
			 weir_cluster_info *info, weir_cluster_entry *entries,
			 uint32_t max)
{
	int64_t waiters = weir_cl_reply_number_(reply, 7);
	int64_t oversized = weir_cl_reply_number_(reply, 8);
	int64_t count = weir_cl_reply_number_(reply, 10);
	uint32_t place = 0;

	if (!weir_cl_reply_info_(reply, info) || waiters < 0 || oversized < 0 ||
	    count < 0 || count > UINT32_MAX)
		return false;
	info->waiters = (uint32_t)waiters;
	info->oversized = (uint32_t)oversized;
	info->waiting_permits = weir_cl_reply_number_(reply, 9);
	info->entries = (uint32_t)count;
	if (max > info->entries)
		max = info->entries;
	if (reply->count - 11 < max)
		return false;
	for (uint32_t i = 0; i < max; i++) {
		if (!entry_of(reply->items[i + 11], session,
			      weir_cl_reply_number_(reply, 6), &entries[i]))
			return false;
		if (entries[i].role == WEIR_CLUSTER_WAITS)
			entries[i].place = ++place;
	}
	return info->waiting_permits >= 0;
}

bool weir_cl_reply_wake_(const char *text, char id[ID_SIZE],
			 struct answer *answer)
{
	const char *space = strchr(text, ' ');

	memset(answer, 0, sizeof(*answer));
	if (!space || (size_t)(space - text) >= ID_SIZE)
		return false;
	memcpy(id, text, (size_t)(space - text));
	id[space - text] = 0;
	if (space[1] != 'G')
		return state_of(space + 1, &answer->state);
	return parse_grant(space + 2, answer);
}
