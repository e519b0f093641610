/* SPDX-License-Identifier: MIT */
/*
 * A record of a registry as it was at one instant (reading.h).  A record begins
 * with a sequence number, which its writer changes.  A copy is of one instant if
 * the number is even, and the same after the copy.
 */
#include "diag/reading.h"

#include <string.h>

/* How often a record is read if its writer is changing it. */
#define TRIES 8

int64_t weir_diag_since_(const struct dg_reading *r, uint64_t ticks)
{
	return weir_diag_age_(r->header, r->source->now_ns, ticks);
}

/*
 * Read a record that begins with its sequence number.  Returns false if it is
 * not in use, or is being changed all the time.
 */
static bool read_record(struct dg_reading *r, uint64_t at, void *record,
			size_t size)
{
	for (int i = 0; i < TRIES && !r->failed; i++) {
		uint32_t seq, after, state;

		if (!r->source->read(r->source->user, at, record, size) ||
		    !r->source->read(r->source->user, at, &after,
				     sizeof(after))) {
			r->failed = true;
			return false;
		}
		memcpy(&seq, record, sizeof(seq));
		memcpy(&state, (char *)record + sizeof(seq), sizeof(state));
		if (state != RG_LIVE && state != RG_ENDED)
			return false;
		if (!(seq & 1) && seq == after)
			return true;
	}
	r->model->incomplete = true;
	return false;
}

bool weir_diag_read_object_(struct dg_reading *r, uint32_t i,
			    struct rg_object *raw)
{
	return read_record(r, RG_OBJECTS_AT + i * sizeof(*raw), raw,
			   sizeof(*raw));
}

bool weir_diag_read_context_(struct dg_reading *r, uint32_t i,
			     struct rg_context *raw)
{
	return read_record(r, RG_CONTEXTS_AT + i * sizeof(*raw), raw,
			   sizeof(*raw));
}

bool weir_diag_read_wait_(struct dg_reading *r, uint32_t i,
			  struct rg_wait *raw)
{
	return read_record(r, RG_WAITS_AT + i * sizeof(*raw), raw,
			   sizeof(*raw));
}

int64_t weir_diag_permits_(struct dg_model *model, int64_t n)
{
	if (n >= 0 && n <= DG_PERMITS_MAX)
		return n;
	model->incomplete = true;
	return n < 0 ? 0 : DG_PERMITS_MAX;
}

uint32_t weir_diag_find_object_(const struct dg_model *model, uint64_t id)
{
	uint32_t i = (uint32_t)(id & 0xffff);

	if (!id || i >= model->max.objects || model->object_of[i] == DG_NONE ||
	    model->objects[model->object_of[i]].id != id)
		return DG_NONE;
	return model->object_of[i];
}

uint32_t weir_diag_find_context_(const struct dg_model *model, uint64_t id)
{
	uint32_t i = (uint32_t)(id & 0xffff);

	if (i >= model->max.contexts || model->context_of[i] >= DG_FURTHER ||
	    model->contexts[model->context_of[i]].id != id)
		return DG_NONE;
	return model->context_of[i];
}
