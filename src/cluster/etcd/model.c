/* SPDX-License-Identifier: MIT */
/* The state and the entries of a semaphore in etcd, as values of keys. */
#include <stdio.h>
#include <string.h>

#include "cluster/etcd/model.h"
#include "cluster/text.h"

#define VERSION 1
#define NUMBER_MAX (INT64_C(1) << 53)

void weir_cl_model_key_(char key[ETCD_KEY], const char *name, const char *sub,
			const char *id)
{
	(void)snprintf(key, ETCD_KEY, "weir/%s/%s%s", name, sub, id);
}

void weir_cl_model_ticket_key_(char key[ETCD_KEY], const char *name, char kind,
			       uint64_t ticket)
{
	/* Fixed width: the order of the keys is that of the tickets. */
	(void)snprintf(key, ETCD_KEY, "weir/%s/%c/%016llx", name, kind,
		       (unsigned long long)ticket);
}

/* Returns the field as a number in 0 .. 2^53, or -1. */
static int64_t number(const json_t *value, const char *field)
{
	const json_t *item = json_object_get(value, field);
	json_int_t n = json_integer_value(item);

	return !json_is_integer(item) || n < 0 || n > NUMBER_MAX ? -1 : n;
}

bool weir_cl_model_parse_(const json_t *value, struct model *m)
{
	int64_t closed = number(value, "closed");
	int64_t paused = number(value, "paused");
	int64_t fence = number(value, "fence");

	m->cap = number(value, "cap");
	m->used = number(value, "used");
	m->tick = number(value, "tick");
	m->nq = number(value, "nq");
	m->no = number(value, "no");
	m->fence = (uint64_t)fence;
	m->closed = (int)closed;
	m->paused = paused == 1;
	return number(value, "v") == VERSION && m->cap >= 0 && m->used >= 0 &&
	       m->tick >= 0 && m->nq >= 0 && m->no >= 0 && fence >= 0 &&
	       closed >= 0 && closed <= 2 && paused >= 0;
}

json_t *weir_cl_model_format_(const struct model *m)
{
	return json_pack("{s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:i}", "v", VERSION,
			 "cap", (json_int_t)m->cap, "used", (json_int_t)m->used,
			 "tick", (json_int_t)m->tick, "nq", (json_int_t)m->nq,
			 "no", (json_int_t)m->no, "fence",
			 (json_int_t)m->fence, "closed", m->closed, "paused",
			 m->paused ? 1 : 0);
}

bool weir_cl_entry_parse_(const json_t *value, struct entry *e)
{
	const char *role = json_string_value(json_object_get(value, "s"));
	const char *id = json_string_value(json_object_get(value, "id"));
	const char *text = json_string_value(json_object_get(value, "text"));
	int64_t fence = number(value, "f"), ticket = number(value, "t");

	memset(e, 0, sizeof(*e));
	e->min = number(value, "min");
	e->max = number(value, "max");
	e->weight = number(value, "w");
	e->since_ms = number(value, "since");
	e->lease = weir_cl_etcd_number_(value, "l");
	e->outside = number(value, "out") == 1;
	e->fence = (uint64_t)fence;
	e->ticket = (uint64_t)ticket;
	if (!role || !role[0] || role[1] || !strchr("WOIGCT", role[0]) || !id ||
	    strlen(id) >= sizeof(e->id) || !text)
		return false;
	e->role = role[0];
	memcpy(e->id, id, strlen(id) + 1);
	weir_cl_text_copy_(e->text, sizeof(e->text), text);
	return e->min >= 0 && e->max >= 0 && e->weight >= 0 && fence >= 0 &&
	       ticket >= 0 && e->since_ms >= 0 && e->lease > 0;
}

json_t *weir_cl_entry_format_(const struct entry *e)
{
	char role[2] = { e->role, 0 };

	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:s}", "s",
			 role, "id", e->id, "min", (json_int_t)e->min, "max",
			 (json_int_t)e->max, "w", (json_int_t)e->weight, "f",
			 (json_int_t)e->fence, "t", (json_int_t)e->ticket,
			 "since", (json_int_t)e->since_ms, "l",
			 (json_int_t)e->lease, "out", e->outside ? 1 : 0,
			 "text", e->text);
}

void weir_cl_model_read_(struct txn *txn, const char *name, const char *id)
{
	char key[ETCD_KEY];

	weir_cl_model_key_(key, name, "s", "");
	weir_cl_txn_range_(txn, key, false, 0);
	weir_cl_model_key_(key, name, "q/", "");
	weir_cl_txn_range_(txn, key, true, VIEW_HEADS);
	weir_cl_model_key_(key, name, "g/", "");
	weir_cl_txn_range_(txn, key, true, 0);
	weir_cl_model_key_(key, name, "o/", "");
	weir_cl_txn_range_(txn, key, true, 0);
	if (!id)
		return;
	weir_cl_model_key_(key, name, "g/", id);
	weir_cl_txn_range_(txn, key, false, 0);
	weir_cl_model_key_(key, name, "w/", id);
	weir_cl_txn_range_(txn, key, false, 0);
}

bool weir_cl_entry_read_(const json_t *item, struct entry *e)
{
	struct kv kv;
	bool good = weir_cl_etcd_kv_(item, &kv) &&
		    weir_cl_entry_parse_(kv.value, e);

	json_decref(kv.value);
	return good;
}

/*
 * Parse at most max entries of one range.  Returns -1 if an entry is damaged.
 */
static int entries(const json_t *kvs, struct entry *list, int max)
{
	int count = (int)json_array_size(kvs);

	if (count > max)
		return -1;
	for (int i = 0; i < count; i++)
		if (!weir_cl_entry_read_(json_array_get(kvs, (size_t)i),
					 &list[i]))
			return -1;
	return count;
}

bool weir_cl_model_ripe_(const struct model *m, const struct entry *e)
{
	if (e->role == 'I')
		return m->used == 0;
	return e->role == 'O' && (m->closed || e->min <= m->cap);
}

/*
 * Choose from the requests outside the queue: in order, first those that can be
 * decided, then others.  A request that can be decided must not be hidden by
 * requests before it that cannot, because they do not make room.  Returns the
 * number, or -1 if an entry is damaged.
 */
static int choose(const json_t *kvs, struct model *m)
{
	int count = 0;

	for (int ripe = 1; ripe >= 0; ripe--) {
		size_t i;
		json_t *item;

		json_array_foreach(kvs, i, item) {
			struct entry e;

			if (!weir_cl_entry_read_(item, &e))
				return -1;
			if (count < VIEW_HEADS &&
			    weir_cl_model_ripe_(m, &e) == (ripe == 1))
				m->outside[count++] = e;
		}
	}
	return count;
}

/* Returns the permits of all leases, or -1 if an entry is damaged. */
static int64_t sum(const json_t *kvs)
{
	int64_t total = 0;
	size_t i;
	json_t *item;

	json_array_foreach(kvs, i, item) {
		struct entry e;

		if (!weir_cl_entry_read_(item, &e))
			return -1;
		if (e.role == 'G')
			total += e.weight;
	}
	return total;
}

static bool parse_state(const json_t *kvs, struct model *m)
{
	struct kv kv;
	bool good;

	if (!json_array_size(kvs))
		return true;
	good = weir_cl_etcd_kv_(json_array_get(kvs, 0), &kv) &&
	       weir_cl_model_parse_(kv.value, m);
	m->mod = kv.mod;
	json_decref(kv.value);
	return good && m->mod > 0;
}

/* Read the ticket in w/ID. */
static bool parse_waits(const json_t *kvs, struct model *m)
{
	struct kv kv;
	bool good;

	if (!json_array_size(kvs))
		return true;
	good = weir_cl_etcd_kv_(json_array_get(kvs, 0), &kv);
	m->waits = number(kv.value, "t");
	m->waits_outside = number(kv.value, "out") == 1;
	json_decref(kv.value);
	return good && m->waits > 0;
}

bool weir_cl_model_view_(const json_t *answer, bool has_id, struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->revision = weir_cl_etcd_number_(json_object_get(answer, "header"),
					   "revision");
	if (!parse_state(weir_cl_etcd_kvs_(answer, 0), m))
		return false;
	m->head_count = entries(weir_cl_etcd_kvs_(answer, 1), m->heads,
				VIEW_HEADS);
	m->used = sum(weir_cl_etcd_kvs_(answer, 2));
	m->outside_count = choose(weir_cl_etcd_kvs_(answer, 3), m);
	m->more = m->head_count == VIEW_HEADS;
	/* The counts of the state may include requests of dead clients. */
	if (m->head_count < VIEW_HEADS)
		m->nq = m->head_count;
	m->no = (int64_t)json_array_size(weir_cl_etcd_kvs_(answer, 3));
	if (has_id && (entries(weir_cl_etcd_kvs_(answer, 4), &m->own, 1) < 0 ||
		       !parse_waits(weir_cl_etcd_kvs_(answer, 5), m)))
		return false;
	return m->head_count >= 0 && m->used >= 0 && m->outside_count >= 0;
}
