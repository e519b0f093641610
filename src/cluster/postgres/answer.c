/* SPDX-License-Identifier: MIT */
/* The meaning of the answers of the functions in sql/. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/postgres/answer.h"
#include "cluster/text.h"

#define NUMBER_MAX (INT64_C(1) << 53)

/*
 * Read count numbers, each after a space.  Returns the rest of the text, or null
 * if a number is missing or not in 0 .. NUMBER_MAX.
 */
static const char *numbers(const char *text, int64_t *out, int count)
{
	for (int i = 0; i < count; i++) {
		int64_t value = 0;

		if (*text++ != ' ' || !isdigit((unsigned char)*text))
			return NULL;
		while (isdigit((unsigned char)*text) && value <= NUMBER_MAX)
			value = value * 10 + (*text++ - '0');
		if (value > NUMBER_MAX)
			return NULL;
		out[i] = value;
	}
	return text;
}

/* Translate the letter of a state that has no numbers. */
static bool state_of(char letter, enum state *state)
{
	static const char letters[] = "LRCTBI";
	static const enum state states[] = { S_GONE, S_RELEASED, S_CLOSED,
					     S_TOOBIG, S_BUSY, S_IDLE };
	const char *found = letter ? strchr(letters, letter) : NULL;

	if (found)
		*state = states[found - letters];
	return found;
}

bool weir_cl_pg_answer_(const char *text, struct answer *answer)
{
	int64_t n[3];
	const char *rest;

	memset(answer, 0, sizeof(*answer));
	if (*text != 'H' && *text != 'W')
		return state_of(*text, &answer->state) && !text[1];
	rest = numbers(text + 1, n, 3);
	if (!rest || *rest)
		return false;
	if (*text == 'H') {
		answer->state = S_HELD;
		answer->weight = n[0];
		answer->fence = (uint64_t)n[1];
		answer->ticket = (uint64_t)n[2];
		return !n[0] || n[1];
	}
	answer->state = S_WAITS;
	answer->place = (uint32_t)(n[0] > UINT32_MAX ? UINT32_MAX : n[0]);
	answer->ticket = (uint64_t)n[1];
	answer->next_us = n[2];
	return true;
}

bool weir_cl_pg_wake_(const char *text, char id[ID_SIZE],
		      struct answer *answer)
{
	const char *space = strchr(text, ' ');

	if (!space || (size_t)(space - text) >= ID_SIZE)
		return false;
	memcpy(id, text, (size_t)(space - text));
	id[space - text] = 0;
	return weir_cl_pg_answer_(space + 1, answer) &&
	       answer->state != S_WAITS;
}

bool weir_cl_pg_info_(const char *text, weir_cluster_info *info,
		      const char **rest)
{
	/* capacity used closed paused fence now */
	int64_t n[6];

	memset(info, 0, sizeof(*info));
	if (strncmp(text, "OK ", 3))
		return false;
	*rest = numbers(text + 2, n, 6);
	if (!*rest)
		return false;
	info->capacity = n[0];
	info->held = n[1];
	info->debt = n[1] > n[0] ? n[1] - n[0] : 0;
	info->free = n[1] < n[0] ? n[0] - n[1] : 0;
	info->closed = n[2] != 0;
	info->paused = n[3] != 0;
	info->fence = (uint64_t)n[4];
	info->now_ms = n[5] / 1000;
	return true;
}

bool weir_cl_pg_stat_(const char *text, weir_cluster_info *info)
{
	/* waiters outside waiting_permits entries */
	int64_t n[4];
	const char *rest;

	if (!weir_cl_pg_info_(text, info, &rest))
		return false;
	rest = numbers(rest, n, 4);
	if (!rest || *rest || n[0] > UINT32_MAX || n[1] > UINT32_MAX ||
	    n[3] > UINT32_MAX)
		return false;
	info->waiters = (uint32_t)n[0];
	info->oversized = (uint32_t)n[1];
	info->waiting_permits = n[2];
	info->entries = (uint32_t)n[3];
	return true;
}

bool weir_cl_pg_entry_(const char *text, const char *session, int64_t now_ms,
		       weir_cluster_entry *entry)
{
	static const char roles[] = "HWOI";
	const char *role = *text ? strchr(roles, *text) : NULL;
	const char *rest, *space;
	char id[ID_SIZE];
	/* weight least fence since ends */
	int64_t n[5];

	memset(entry, 0, sizeof(*entry));
	rest = role ? numbers(text + 1, n, 5) : NULL;
	if (!rest || *rest++ != ' ')
		return false;
	space = strchr(rest, ' ');
	if (!space || (size_t)(space - rest) >= sizeof(id))
		return false;
	memcpy(id, rest, (size_t)(space - rest));
	id[space - rest] = 0;
	entry->role = (weir_cluster_role)(role - roles);
	entry->weight = entry->role == WEIR_CLUSTER_HOLDS ? n[0] : n[1];
	entry->fence = (uint64_t)n[2];
	entry->since_ms = n[3] / 1000;
	entry->lease_ms = n[4] / 1000 > now_ms ? n[4] / 1000 - now_ms : 0;
	entry->mine = !strncmp(id, session, strlen(session));
	weir_cl_text_copy_(entry->id, sizeof(entry->id), id);
	weir_cl_text_describe_(space + 1, entry);
	return true;
}
