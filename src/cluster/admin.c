/* SPDX-License-Identifier: MIT */
/* Administration, stat and doctor: single requests, repeated if necessary. */
#include <errno.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

struct request {
	enum { DO_ADMIN, DO_STAT, DO_DOCTOR } verb;
	enum admin what;
	int64_t value;
	weir_cluster_info *info;
	weir_cluster_entry *entries;
	uint32_t max;
	weir_cluster_finding_fn *fn;
	void *user;
	weir_err err;
};

static enum result call_engine(weir_cluster *c, struct request *r,
			       int64_t until, struct fault *fault)
{
	switch (r->verb) {
	case DO_ADMIN:
		return c->ops->admin(c->engine, r->what, r->value, r->info,
				     &r->err, until, fault);
	case DO_STAT:
		return c->ops->stat(c->engine, r->info, r->entries, r->max,
				    until, fault);
	default:
		return c->ops->doctor(c->engine, r->fn, r->user, until, fault);
	}
}

/* Repeat the request until the time has passed: it is idempotent. */
static weir_err run(weir_cluster *c, struct request *r)
{
	int64_t until = boot_now() + c->session.timeout_ns;
	bool unknown = false;
	struct fault fault;
	enum result result;

	r->err = WEIR_OK;
	for (int attempt = 0;; attempt++) {
		result = weir_cl_call_begin_(c, NULL, &fault);
		if (!result) {
			if (!attempt)
				until = boot_now() + c->session.timeout_ns;
			result = call_engine(c, r, until, &fault);
			weir_cl_call_end_(c, result);
		}
		if (!result)
			return r->err;
		unknown = unknown || result == RES_UNKNOWN;
		if (result == RES_REFUSED ||
		    !weir_cl_call_pause_(attempt, NULL, until))
			break;
	}
	if (result != RES_REFUSED && r->verb != DO_ADMIN)
		result = RES_UNSENT;
	else if (result == RES_UNSENT && unknown)
		result = RES_UNKNOWN;
	return weir_cl_call_failed_(c, result, &fault);
}

static weir_err admin(weir_cluster *c, enum admin what, int64_t value,
		      weir_cluster_info *info)
{
	struct request r = { .verb = DO_ADMIN, .what = what, .value = value,
			     .info = info };

	return run(c, &r);
}

weir_err weir_cluster_resize(weir_cluster *c, int64_t n, int64_t *debt)
{
	weir_cluster_info info;
	weir_err err;

	if (n < 0 || n > WEIR_CLUSTER_MAX)
		return WEIR_EINVAL;
	err = admin(c, ADMIN_RESIZE, n, &info);
	if (!err && debt)
		*debt = info.debt;
	return err;
}

weir_err weir_cluster_close(weir_cluster *c, weir_close how)
{
	weir_cluster_info info;

	if (how != WEIR_CLOSE_NOW && how != WEIR_CLOSE_DRAIN)
		return WEIR_EINVAL;
	return admin(c, ADMIN_CLOSE, how, &info);
}

weir_err weir_cluster_pause(weir_cluster *c)
{
	weir_cluster_info info;

	return admin(c, ADMIN_PAUSE, 1, &info);
}

weir_err weir_cluster_resume(weir_cluster *c)
{
	weir_cluster_info info;

	return admin(c, ADMIN_PAUSE, 0, &info);
}

weir_err weir_cluster_unlink(weir_cluster *c)
{
	weir_cluster_info info;

	return admin(c, ADMIN_UNLINK, 0, &info);
}

weir_err weir_cluster_stat(weir_cluster *c, weir_cluster_info *info,
			   weir_cluster_entry *entries, uint32_t max)
{
	struct request r = { .verb = DO_STAT, .info = info,
			     .entries = entries };

	r.max = max < WEIR_CLUSTER_ENTRIES_MAX ? max : WEIR_CLUSTER_ENTRIES_MAX;
	if (!entries)
		r.max = 0;
	return run(c, &r);
}

weir_err weir_cluster_doctor(weir_cluster *c, weir_cluster_finding_fn *fn,
			     void *user)
{
	struct request r = { .verb = DO_DOCTOR, .fn = fn, .user = user };

	return run(c, &r);
}
