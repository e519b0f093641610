/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_VERDICT_H
#define WEIR_DIAG_VERDICT_H

/*
 * The verdict: which contexts can never proceed, why, and what would help.
 * docs/design/diag.md, "The verdict".
 *
 *     reduce.c    the reduction: which contexts are left
 *     verdict.c   the causes
 *     groups.c    the groups of contexts that block each other
 *     ways.c      the ways out of a group
 *
 * No function allocates, and the time of a reduction is linear in the size of
 * the model.
 */
#include "diag/model.h"

/*
 * Assumptions of a reduction.  All zero, with DG_NONE for the indexes: only the
 * known contexts release, each the permits that it holds.
 */
struct dg_assume {
	bool outside;		/* any number of permits of an open object may
				   be released from outside */
	bool locks;		/* ... but not of a sem_t that may be a lock,
				   and not by other threads of a process */
	bool ended;		/* contexts that have ended release, too */
	bool oversized;		/* a wait for more than the capacity ends */
	bool timed;		/* a wait with a deadline ends */
	uint32_t cancelled;	/* the waits of this context end */
	uint32_t raised;	/* the capacity of this object grows ... */
	int64_t by;		/* ... by this */
};
#define DG_ASSUME_NOTHING                                                      \
	{ false, false, false, false, false, DG_NONE, DG_NONE, 0 }

/* The arrays of a reduction; element i is of record i. */
struct dg_work {
	int64_t *free;		/* of objects */
	uint32_t *head;		/* of objects: the next wait to grant */
	uint32_t *changed;	/* a stack of objects to examine */
	uint8_t *is_changed;	/* of objects: it is on that stack */
	uint8_t *has_room;	/* of objects: waits for room are granted */
	uint32_t *needed;	/* of contexts: waits that block it */
	uint32_t *finishing;	/* a stack of contexts that run to their end */
	uint8_t *done;		/* of contexts: it is on that stack, or was */
	uint8_t *granted;	/* of waits: permits were taken for it */
	uint32_t *first;	/* of objects: the first wait to grant */
	uint32_t *next;		/* of waits: the order of granting */
	uint32_t *order;	/* room for sorting waits or holds */
	uint8_t *left;		/* of contexts: bit i for enum dg_step */
	uint32_t *parent;	/* of contexts: union-find */
	uint32_t changed_n, finishing_n;
	uint32_t raised;	/* the object whose capacity grows; DG_NONE */
	int64_t capacity;	/* of that object, after the growth */
};

/* Returns the arrays of the model. */
struct dg_work *weir_diag_work_(struct dg_model *model);

/*
 * Reduce the model.  Afterwards weir_diag_left_ returns true if a context is
 * left waiting.  Requires: weir_diag_finish_ was called.
 */
void weir_diag_reduce_(struct dg_model *model, const struct dg_assume *assume);
bool weir_diag_left_(const struct dg_model *model, uint32_t context);

/*
 * Returns true if permits of the object may come from outside the model.  This
 * holds for a sem_t until a thread that holds it has posted it: before that,
 * the sem_t may be a lock or a signal.
 */
bool weir_diag_open_(const struct dg_object *object);

/*
 * Returns true if the permits are lost because their thread has ended.  The
 * permits of an open sem_t are not lost: the thread that posts it may be
 * another than the thread that waits for it.
 */
bool weir_diag_leaked_(const struct dg_model *model,
		       const struct dg_hold *hold);

/*
 * The reductions of a verdict, each with more assumptions than the one before.
 * Bit i of dg_work.left is set if the context is left after step i.
 */
enum dg_step {
	DG_PLAIN,
	DG_OUTSIDE,
	DG_ENDED,
	DG_OVERSIZED,
	DG_LOCKS,
	DG_STEPS
};

/* Returns true if the context is left after the step. */
static inline bool weir_diag_left_under_(const struct dg_model *model,
					 uint32_t context, enum dg_step step)
{
	return model->work->left[context] & 1u << step;
}

/* Set verdict, group and behind of all contexts and objects. */
void weir_diag_judge_(struct dg_model *model);
/*
 * Parts of weir_diag_judge_.  weir_diag_number_groups_ sets the groups.
 * weir_diag_mark_behind_ sets `behind`; it requires that is_changed of an
 * object is set if a context that is left waits for the object.
 */
void weir_diag_number_groups_(struct dg_model *model);
void weir_diag_mark_behind_(struct dg_model *model);

/*
 * Return the gravest verdict of a group; of the objects with the name `only`,
 * or of the whole model if `only` is null.
 */
enum dg_verdict weir_diag_group_verdict_(const struct dg_model *model,
					 uint32_t group);
enum dg_verdict weir_diag_gravest_(const struct dg_model *model,
				   const char *only);

/* A change after which all contexts of a group can proceed. */
struct dg_way {
	uint32_t context;	/* cancel its waits; or DG_NONE: */
	uint32_t object;	/* raise its capacity ... */
	int64_t by;		/* ... by this */
};

/* Find up to max ways out of a group.  Returns their number. */
uint32_t weir_diag_ways_(struct dg_model *model, uint32_t group,
			 struct dg_way *ways, uint32_t max);
/*
 * Returns the time after which a group ends by itself, because waits time out;
 * DG_NO_DEADLINE if it does not.  *context is the context whose wait ends
 * then.
 */
int64_t weir_diag_ends_(struct dg_model *model, uint32_t group,
			uint32_t *context);

#endif /* WEIR_DIAG_VERDICT_H */
