/* SPDX-License-Identifier: MIT */
/*
 * The orders in which the members of a deadlock have acquired: there is one from
 * A to B if a member holds permits of A and waits for permits of B.
 */
#include "diag/phrase.h"

/* The most orders of a report. */
#define ORDERS_MAX 8u

struct order {
	uint32_t from, to;	/* objects */
	uint64_t site;		/* of the wait */
};

struct orders {
	struct order list[ORDERS_MAX];
	uint32_t used;
	bool more;		/* than there is room for */
};

/* Returns true if a member of the group waits for the object. */
static bool is_awaited(const struct dg_model *model, uint32_t group,
		       uint32_t object)
{
	for (uint32_t w = model->objects[object].first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object)
		if (model->contexts[model->waits[w].context].group == group)
			return true;
	return false;
}

static void add(struct orders *orders, const struct order *order)
{
	for (uint32_t i = 0; i < orders->used; i++)
		if (orders->list[i].from == order->from &&
		    orders->list[i].to == order->to &&
		    orders->list[i].site == order->site)
			return;
	if (orders->used == ORDERS_MAX)
		orders->more = true;
	else
		orders->list[orders->used++] = *order;
}

/* Add the orders of one context, from each object that its group awaits. */
static void add_orders_of(struct orders *orders, const struct dg_model *model,
			  const struct dg_context *c)
{
	for (uint32_t h = c->first_hold; h != DG_NONE && !orders->more;
	     h = model->holds[h].next_of_context) {
		const struct dg_hold *hold = &model->holds[h];

		if (!hold->weight || !is_awaited(model, c->group, hold->object))
			continue;
		for (uint32_t w = c->first_wait; w != DG_NONE;
		     w = model->waits[w].next_of_context)
			add(orders, &(struct order){ hold->object,
						     model->waits[w].object,
						     model->waits[w].site });
	}
}

void weir_diag_put_orders_(struct dg_text *text, const struct dg_model *model,
			   uint32_t group)
{
	struct orders orders = { .used = 0 };

	for (uint32_t i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].group == group &&
		    !model->contexts[i].behind)
			add_orders_of(&orders, model, &model->contexts[i]);
	for (uint32_t i = 0; i < orders.used; i++) {
		const struct order *order = &orders.list[i];

		weir_diag_put_(text, i ? ";  " : "  order   ");
		weir_diag_put_object_(text, &model->objects[order->from]);
		weir_diag_put_(text, " -> ");
		weir_diag_put_object_(text, &model->objects[order->to]);
		if (!order->site)
			continue;
		weir_diag_put_(text, " at ");
		weir_diag_put_site_(text, order->site);
	}
	if (orders.used)
		weir_diag_put_(text, orders.more ? ";  ...\n" : "\n");
}
