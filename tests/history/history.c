/* SPDX-License-Identifier: MIT */
/* Functions that both checkers use: history.h. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[OP_KINDS] = {
	[OP_ACQUIRE] = "acquire", [OP_TRY] = "try",
	[OP_DRAIN] = "drain",	  [OP_RELEASE] = "release",
	[OP_RESIZE] = "resize",	  [OP_CLOSE] = "close",
	[OP_CANCEL] = "cancel",	  [OP_STAT] = "stat",
};

const char *op_kind_name(op_kind kind)
{
	return names[kind];
}

static void show_call(const op *o, char *text, size_t size)
{
	switch (o->kind) {
	case OP_ACQUIRE:
		if (o->min == o->max)
			snprintf(text, size, "acquire(%d", o->min);
		else
			snprintf(text, size, "acquire(%d..%d", o->min, o->max);
		break;
	case OP_CANCEL:
		if (o->ctx == NO_CTX)
			snprintf(text, size, "cancel(group %d", o->group);
		else
			snprintf(text, size, "cancel(ctx %d", o->ctx);
		break;
	case OP_CLOSE:
		snprintf(text, size, "close(%s",
			 o->how == WEIR_CLOSE_NOW ? "now" : "drain");
		break;
	case OP_STAT:
		snprintf(text, size, "stat(free %d, debt %d, capacity %d, "
			 "waiters %d, granted %d%s", o->free, o->debt,
			 o->capacity, o->waiters, o->granted,
			 o->closed ? ", closed" : "");
		break;
	case OP_DRAIN:
		snprintf(text, size, "drain(");
		break;
	default:
		snprintf(text, size, "%s(%d", names[o->kind], o->min);
	}
}

void op_show(const op *o, char *text, size_t size)
{
	char call[120], ctx[40] = "", queued[40] = "";

	show_call(o, call, sizeof(call));
	if (o->kind == OP_ACQUIRE && o->ctx >= 0)
		snprintf(ctx, sizeof(ctx), ", ctx %d of group %d", o->ctx,
			 o->group);
	if (o->queued)
		snprintf(queued, sizeof(queued), " queued by %" PRIu64,
			 o->queued);
	snprintf(text, size, "%6" PRIu64 " .. %-6" PRIu64 " thread %2d  "
		 "%s%s%s) = %s, %d%s", o->begun, o->ended, o->thread, call, ctx,
		 o->deadline ? ", deadline" : "", weir_err_name(o->err), o->got,
		 queued);
}

static void earlier(ctx_end *end, const op *cancel)
{
	if (cancel->begun < end->from)
		end->from = cancel->begun;
	if (cancel->ended < end->by)
		end->by = cancel->ended;
}

static bool reaches(const op *cancel, const op *o)
{
	if (o->kind != OP_ACQUIRE || o->ctx == NO_CTX)
		return false;
	if (cancel->ctx != NO_CTX)
		return cancel->ctx == o->ctx;
	return cancel->group == o->group;
}

void history_ctx_ends(const history *h, ctx_end *ends)
{
	for (int i = 0; i < h->count; i++)
		ends[i] = (ctx_end){ UINT64_MAX, UINT64_MAX };
	for (int c = 0; c < h->count; c++) {
		if (h->ops[c].kind != OP_CANCEL)
			continue;
		for (int i = 0; i < h->count; i++)
			if (reaches(&h->ops[c], &h->ops[i]))
				earlier(&ends[i], &h->ops[c]);
	}
}
