/* SPDX-License-Identifier: MIT */
/* The phrases of reports: phrase.h. */
#include "diag/phrase.h"

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
}

void weir_diag_put_count_(struct dg_text *text, int64_t n, const char *what)
{
	put_int(text, n);
	put(text, " ");
	put(text, what);
	if (n != 1)
		put(text, "s");
}

void weir_diag_put_origin_(struct dg_text *text, uint64_t site, int64_t age_ns)
{
	if (!site && age_ns == DG_UNKNOWN)
		return;
	put(text, " (");
	weir_diag_put_site_(text, site);
	if (age_ns != DG_UNKNOWN) {
		put(text, site ? ", " : "");
		weir_diag_put_time_(text, age_ns);
	}
	put(text, ")");
}

void weir_diag_put_columns_(struct dg_text *text, uint64_t site, int64_t age_ns)
{
	if (age_ns != DG_UNKNOWN) {
		put(text, "  ");
		weir_diag_put_time_(text, age_ns);
	}
	if (site) {
		put(text, "  ");
		weir_diag_put_site_(text, site);
	}
}

/*
 * Returns true if the weight is that of the writer of the lock.  A reader that
 * has become the writer has one permit as a reader, and the others as the writer.
 */
static bool is_writer(const struct dg_object *object, int64_t weight)
{
	return weight > 1 && weir_diag_add_(weight, 1) >= object->capacity;
}

bool weir_diag_put_permits_(struct dg_text *text,
			    const struct dg_object *object, int64_t n)
{
	bool writer = object->type == RG_RWLOCK && is_writer(object, n);

	weir_diag_put_count_(text, writer ? 1 : n,
			     writer ? "writer" :
			     object->type == RG_RWLOCK ? "reader" : "permit");
	return writer || n == 1;
}

static void put_inside(struct dg_text *text, const struct dg_object *object)
{
	int64_t inside = weir_diag_add_(object->held, object->unowned);

	if (inside <= 0) {
		put(text, "free");
		return;
	}
	(void)weir_diag_put_permits_(text, object, inside);
	put(text, " inside");
}

void weir_diag_put_free_(struct dg_text *text, const struct dg_object *object)
{
	if (object->type == RG_RWLOCK) {
		put_inside(text, object);
		return;
	}
	if (object->type == RG_RATE) {
		put(text, object->holders ? "a call waits for tokens" :
					    "no call waits for tokens");
		return;
	}
	if (object->flags & RG_UNBOUNDED) {
		put(text, "unbounded");
		return;
	}
	put_int(text, object->free < 0 ? 0 : object->free);
	put(text, " of ");
	put_int(text, object->capacity);
	put(text, " free");
	if (object->free < 0) {
		put(text, ", debt ");
		put_int(text, -object->free);
	}
}

void weir_diag_put_weight_(struct dg_text *text, const struct dg_object *object,
			   int64_t weight)
{
	if (object->type == RG_RATE)
		put(text, "      ");
	else if (object->type == RG_RWLOCK && is_writer(object, weight))
		put(text, "writer");
	else if (object->type == RG_RWLOCK && weight == 1)
		put(text, "reader");
	else
		weir_diag_put_right_(text, weight, 6);
}

void weir_diag_put_share_(struct dg_text *text, const struct dg_object *object,
			  int64_t weight)
{
	if (object->type == RG_RATE)
		return;
	if (object->type != RG_RWLOCK) {
		put(text, " ");
		put_int(text, weight);
	} else if (is_writer(object, weight)) {
		put(text, " as the writer");
	} else if (weight == 1) {
		put(text, " as a reader");
	} else {
		put(text, " as ");
		weir_diag_put_count_(text, weight, "reader");
	}
}

/* " 2", " 2 to 5", " to be idle", " to have room" */
static void put_request(struct dg_text *text, const struct dg_object *object,
			const struct dg_wait *wait)
{
	if (wait->flags & (RG_IDLE | RG_ROOM)) {
		put(text, wait->flags & RG_IDLE ? " to be idle" :
						  " to have room");
		return;
	}
	weir_diag_put_share_(text, object, wait->min);
	if (wait->max > wait->min) {
		put(text, " to ");
		put_int(text, wait->max);
	}
}

void weir_diag_put_wanted_(struct dg_text *text, const struct dg_object *object,
		       const struct dg_wait *wait)
{
	if (object->type == RG_CHAN)
		put(text, wait->flags & RG_RECEIVES ? "an item of " :
						      "a slot of ");
	weir_diag_put_object_(text, object);
	if (object->type == RG_CHAN)
		return;
	put_request(text, object, wait);
}

void weir_diag_put_joint_(struct dg_text *text, const struct dg_wait *wait,
			  uint32_t n, const char *before)
{
	bool any = wait->flags & RG_ANY_OF;

	if (n) {
		put(text, any ? " or " : " and ");
		return;
	}
	put(text, before);
	if (any && wait->next_of_context != DG_NONE)
		put(text, "one of ");
}

void weir_diag_put_deadline_(struct dg_text *text, const struct dg_wait *wait)
{
	if (wait->left_ns != DG_NO_DEADLINE) {
		put(text, ", times out in ");
		weir_diag_put_time_(text, wait->left_ns);
	}
	if (wait->flags & RG_HAS_CTX)
		put(text, ", can be cancelled");
}

void weir_diag_put_loss_(struct dg_text *text, const struct dg_object *object)
{
	bool one;

	if (object->leaked <= 0)
		return;
	put(text, "; ");
	one = weir_diag_put_permits_(text, object, object->leaked);
	put(text, one ? " is" : " are");
	put(text, object->type == RG_RWLOCK ? " inside for good" :
					      " lost for good");
}

static bool is_plain(const char *name)
{
	if (!*name || *name == '-')
		return false;
	for (; *name; name++)
		if (!(*name >= 'a' && *name <= 'z') &&
		    !(*name >= 'A' && *name <= 'Z') &&
		    !(*name >= '0' && *name <= '9') && *name != '_' &&
		    *name != '-' && *name != '.' && *name != '/')
			return false;
	return true;
}

void weir_diag_put_more_(struct dg_text *text, const struct dg_model *model,
			 const struct dg_object *object)
{
	put(text, "  more  weir explain ");
	put_int(text, model->pid);
	if (object && is_plain(object->name)) {
		put(text, " ");
		put(text, object->name);
	}
	put(text, "   weir dump ");
	put_int(text, model->pid);
	put(text, " > hang.weir\n");
}
