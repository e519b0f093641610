/* SPDX-License-Identifier: MIT */
/* The steps of a change, on a model and a transaction. */
#include <string.h>

#include "cluster/etcd/model.h"

static void put_entry(const char *name, const struct entry *e,
		      struct txn *txn)
{
	char key[ETCD_KEY];

	weir_cl_model_key_(key, name, "g/", e->id);
	weir_cl_txn_put_(txn, key, weir_cl_entry_format_(e), e->lease);
}

void weir_cl_model_hold_(struct model *m, const char *name, struct entry *e,
			 struct txn *txn)
{
	int64_t room = m->cap - m->used;

	e->weight = e->max < room ? e->max : room;
	e->role = 'G';
	e->fence = ++m->fence;
	m->used += e->weight;
	put_entry(name, e, txn);
}

void weir_cl_model_outcome_(const char *name, struct entry *e, char role,
			    struct txn *txn)
{
	e->role = role;
	e->weight = 0;
	put_entry(name, e, txn);
}

void weir_cl_model_wait_(struct model *m, const char *name, struct entry *e,
			 char kind, struct txn *txn)
{
	char key[ETCD_KEY];

	e->role = kind == 'q' ? 'W' : e->max ? 'O' : 'I';
	e->ticket = (uint64_t)++m->tick;
	weir_cl_model_ticket_key_(key, name, kind, e->ticket);
	weir_cl_txn_put_(txn, key, weir_cl_entry_format_(e), e->lease);
	weir_cl_model_key_(key, name, "w/", e->id);
	weir_cl_txn_put_(txn, key, json_pack("{s:I,s:i}", "t",
					     (json_int_t)e->ticket, "out",
					     kind == 'o' ? 1 : 0), e->lease);
	if (kind == 'q')
		m->nq++;
	else
		m->no++;
}

/*
 * Remove the keys of a request that waits.  If the request `stays`, in or
 * outside the queue, then the caller writes w/ID again.  So do not delete that
 * key: a transaction must not change a key twice.
 */
static void remove_keys(const char *name, const char *id, char kind,
			uint64_t ticket, bool stays, struct txn *txn)
{
	char key[ETCD_KEY];

	weir_cl_model_ticket_key_(key, name, kind, ticket);
	/*
	 * If the handle of the request dies meanwhile, the transaction fails.
	 */
	weir_cl_txn_if_exists_(txn, key);
	weir_cl_txn_delete_(txn, key);
	if (stays)
		return;
	weir_cl_model_key_(key, name, "w/", id);
	weir_cl_txn_delete_(txn, key);
}

void weir_cl_model_leave_(struct model *m, const char *name, const char *id,
			  struct txn *txn)
{
	remove_keys(name, id, m->waits_outside ? 'o' : 'q', (uint64_t)m->waits,
		    false, txn);
	for (int i = 0; i < m->head_count; i++)
		if (!strcmp(m->heads[i].id, id)) {
			memmove(&m->heads[i], &m->heads[i + 1],
				sizeof(m->heads[0]) *
				(size_t)(m->head_count - i - 1));
			m->head_count--;
			break;
		}
	for (int i = 0; i < m->outside_count; i++)
		if (!strcmp(m->outside[i].id, id))
			m->outside[i].role = 0;
	if (m->waits_outside && m->no > 0)
		m->no--;
	else if (!m->waits_outside && m->nq > 0)
		m->nq--;
}

/* Decide the head.  Returns false if it has to wait. */
static bool decide_head(struct model *m, const char *name, struct entry *head,
			struct txn *txn)
{
	bool fits = m->cap > m->used && m->cap - m->used >= head->min;

	if (m->closed != 1 && !fits && !m->closed && head->min <= m->cap)
		return false;
	remove_keys(name, head->id, 'q', head->ticket,
		    !m->closed && !fits && head->outside, txn);
	if (m->nq > 0)
		m->nq--;
	if (m->closed == 1)
		weir_cl_model_outcome_(name, head, 'C', txn);
	else if (fits)
		weir_cl_model_hold_(m, name, head, txn);
	else if (m->closed)
		weir_cl_model_outcome_(name, head, 'C', txn);
	else if (head->outside)
		weir_cl_model_wait_(m, name, head, 'o', txn);
	else
		weir_cl_model_outcome_(name, head, 'T', txn);
	return true;
}

/*
 * Decide requests outside the queue: idle, closed, or not oversized now.  If
 * there are more of them, then the next read finds those.
 */
static void decide_outside(struct model *m, const char *name, struct txn *txn)
{
	bool more = m->outside_count == VIEW_HEADS;

	for (int i = 0; i < m->outside_count; i++) {
		struct entry *e = &m->outside[i];
		bool idle = e->role == 'I';
		bool closed = e->role == 'O' && m->closed;

		if (!weir_cl_model_ripe_(m, e))
			continue;
		m->more = m->more || more;
		remove_keys(name, e->id, 'o', e->ticket, !idle && !closed, txn);
		if (m->no > 0)
			m->no--;
		if (idle)
			weir_cl_model_outcome_(name, e, 'I', txn);
		else if (closed)
			weir_cl_model_outcome_(name, e, 'C', txn);
		else
			weir_cl_model_wait_(m, name, e, 'q', txn);
		e->role = 0;
	}
}

void weir_cl_model_grant_(struct model *m, const char *name, struct txn *txn)
{
	int done = 0;

	if (!m->paused || m->closed)
		while (done < m->head_count &&
		       decide_head(m, name, &m->heads[done], txn))
			done++;
	m->more = done > 0 && done == m->head_count;
	memmove(m->heads, m->heads + done,
		sizeof(m->heads[0]) * (size_t)(m->head_count - done));
	m->head_count -= done;
	decide_outside(m, name, txn);
}
