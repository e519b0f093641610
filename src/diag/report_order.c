/* SPDX-License-Identifier: MIT */
/*
 * The orders in which the members of a deadlock have acquired: there is one from
 * A to B if a member holds permits of A and waits for permits of B.
 */
#include "diag/phrase.h"
#include "record/lockgraph.h"

/* The most orders of a report, and pairs of a hold and a wait that are examined. */
#define ORDERS_MAX 8u
#define PAIRS_MAX 100000u

/* A prediction within this time was made when the orders were seen. */
#define THEN_NS INT64_C(1000000000)

struct order {
	uint32_t from, to;	/* objects */
	uint64_t site;		/* of the wait */
};

struct orders {
	struct order list[ORDERS_MAX];
	uint32_t used;
	uint32_t pairs;		/* that were examined */
	bool more;		/* than there is room for */
};

/* Set awaited[i] of each object for which a member of the group waits. */
static void mark_awaited(const struct dg_model *model, uint32_t group,
			 uint8_t *awaited)
{
	for (uint32_t i = 0; i < model->used.objects; i++)
		awaited[i] = 0;
	for (uint32_t w = 0; w < model->used.waits; w++)
		if (model->contexts[model->waits[w].context].group == group)
			awaited[model->waits[w].object] = 1;
}

static void add(struct orders *orders, const struct order *order)
{
	if (++orders->pairs <= PAIRS_MAX)
		for (uint32_t i = 0; i < orders->used; i++)
			if (orders->list[i].from == order->from &&
			    orders->list[i].to == order->to &&
			    orders->list[i].site == order->site)
				return;
	if (orders->used == ORDERS_MAX || orders->pairs > PAIRS_MAX)
		orders->more = true;
	else
		orders->list[orders->used++] = *order;
}

/* Add the orders of one context, from each object that its group awaits. */
static void add_orders_of(struct orders *orders, const struct dg_model *model,
			  const struct dg_context *c, const uint8_t *awaited)
{
	for (uint32_t h = c->first_hold; h != DG_NONE && !orders->more;
	     h = model->holds[h].next_of_context) {
		const struct dg_hold *hold = &model->holds[h];

		if (!hold->weight || !awaited[hold->object])
			continue;
		for (uint32_t w = c->first_wait; w != DG_NONE && !orders->more;
		     w = model->waits[w].next_of_context)
			add(orders, &(struct order){ hold->object,
						     model->waits[w].object,
						     model->waits[w].site });
	}
}

/* Returns the time since the order of two classes was seen, or DG_UNKNOWN. */
static int64_t first_seen(const struct dg_model *model, uint64_t from,
			  uint64_t to)
{
	for (uint32_t i = 0; from && i < model->used.orders; i++)
		if (model->orders[i].from == from && model->orders[i].to == to)
			return model->orders[i].age_ns;
	return DG_UNKNOWN;
}

/* Returns true if an earlier element has the same two objects. */
static bool is_repeated(const struct orders *orders, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (orders->list[k].from == orders->list[i].from &&
		    orders->list[k].to == orders->list[i].to)
			return true;
	return false;
}

/*
 * "  (first seen 6h02m ago, predicted then)", if the process has seen all of the
 * orders before: WEIR_DIAG=order.
 */
static void put_first_seen(struct dg_text *text, const struct dg_model *model,
			   const struct orders *orders)
{
	int64_t last = DG_UNKNOWN, predicted;
	uint64_t key = 0;

	for (uint32_t i = 0; i < orders->used; i++) {
		uint64_t from = model->objects[orders->list[i].from].class_key;
		uint64_t to = model->objects[orders->list[i].to].class_key;
		int64_t seen = first_seen(model, from, to);

		if (seen == DG_UNKNOWN)
			return;
		if (last == DG_UNKNOWN || seen < last)
			last = seen;
		if (!is_repeated(orders, i))
			key += weir_graph_part_(from, to);
	}
	if (last == DG_UNKNOWN || orders->more)
		return;
	weir_diag_put_(text, "  (first seen ");
	weir_diag_put_time_(text, last);
	weir_diag_put_(text, " ago");
	predicted = first_seen(model, key, 0);
	if (predicted != DG_UNKNOWN && last - predicted < THEN_NS) {
		weir_diag_put_(text, ", predicted then");
	} else if (predicted != DG_UNKNOWN) {
		weir_diag_put_(text, ", predicted ");
		weir_diag_put_time_(text, predicted);
		weir_diag_put_(text, " ago");
	}
	weir_diag_put_(text, ")");
}

void weir_diag_put_orders_(struct dg_text *text, struct dg_model *model,
			   uint32_t group)
{
	struct orders orders = { .used = 0 };
	uint8_t *awaited = weir_diag_work_(model)->is_changed;

	mark_awaited(model, group, awaited);
	for (uint32_t i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].group == group &&
		    !model->contexts[i].behind)
			add_orders_of(&orders, model, &model->contexts[i],
				      awaited);
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
	if (!orders.used)
		return;
	weir_diag_put_(text, orders.more ? ";  ..." : "");
	put_first_seen(text, model, &orders);
	weir_diag_put_(text, "\n");
}
