/* SPDX-License-Identifier: MIT */
/*
 * The limits by name of weir/limits.h.
 *
 * Entries are only added, never removed, in an array that never moves: the
 * address of a semaphore stays valid.  A load parses the whole text into
 * specifications (limits_text.c) and checks them against the existing entries.
 * If there is no error, the load adds new entries and resizes old ones.
 */
#include "weir/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mem.h"
#include "core/sem_watched.h"
#include "pattern/limits.h"
#include "pattern/ready.h"

struct weir_limits_entry_ {
	weir_sem sem;
	struct weir_limits_spec_ spec;	/* spec.name is the name of sem */
};

/*
 * The check at the beginning of every call: ready.h.  Returns true if the call
 * must return.
 */
static bool is_unusable(weir_limits *limits, const char *call)
{
	struct weir_object_ o = { .kind = "weir_limits", .object = limits };

	if (weir_is_ready_(limits))
		return false;
	if (!weir_is_misaligned_(limits)) {
		o.ready = &limits->ready_;
		o.lock = &limits->lock_;
	}
	return weir_unready_(&o, call, WEIR_BY_ERROR_) != WEIR_OK;
}

/* Requires: lock_ is held. */
static struct weir_limits_entry_ *find(const weir_limits *limits,
				       const char *name)
{
	for (uint32_t i = 0; i < limits->count_; i++)
		if (!strcmp(limits->entries_[i].spec.name, name))
			return &limits->entries_[i];
	return NULL;
}

/* Returns true if the two specifications are equal except for the capacity. */
static bool is_same_kind(const struct weir_limits_spec_ *a,
			 const struct weir_limits_spec_ *b)
{
	return a->policy == b->policy && a->barge_us == b->barge_us &&
	       a->max_waiters == b->max_waiters;
}

/* Check that all limits can be added or resized.  Requires: lock_ is held. */
static weir_err check(const weir_limits *limits,
		      const struct weir_limits_specs_ *specs,
		      weir_limits_problem *problem)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < specs->count; i++) {
		const struct weir_limits_spec_ *spec = &specs->specs[i];
		const struct weir_limits_entry_ *e = find(limits, spec->name);

		if (e && !is_same_kind(&e->spec, spec))
			return weir_limits_wrong_(problem, spec->line,
				"only the capacity of a limit can change: ",
				spec->name);
		added += !e;
	}
	if (added <= limits->max_ - limits->count_)
		return WEIR_OK;
	(void)weir_limits_wrong_(problem, 0, "more limits than weir_limits_init "
					     "allowed", "");
	return WEIR_ETOOBIG;
}

static void add(weir_limits *limits, const struct weir_limits_spec_ *spec)
{
	struct weir_limits_entry_ *e = &limits->entries_[limits->count_];
	weir_sem_opts opts;

	e->spec = *spec;
	opts = (weir_sem_opts){
		.permits = spec->capacity,
		.name = e->spec.name,
		.policy = spec->policy,
		.max_waiters = (uint32_t)spec->max_waiters,
		.barge_us = (uint32_t)spec->barge_us,
		.flags = WEIR_SEM_UNWATCHED,
	};
	(void)!weir_sem_init_opts(&e->sem, &opts);
	weir_sem_watch_(&e->sem, RG_LIMITS);
	limits->count_++;
}

/*
 * A resize may run callbacks, so it is done without the lock.  Of two
 * concurrent loads, the later resize determines the capacity.
 */
static void resize(weir_limits *limits, const struct weir_limits_spec_ *spec)
{
	struct weir_limits_entry_ *e;

	weir_lock_(&limits->lock_);
	e = find(limits, spec->name);
	weir_unlock_(&limits->lock_);
	if (e)
		(void)!weir_sem_resize(&e->sem, spec->capacity, NULL);
}

weir_err weir_limits_load_text(weir_limits *limits, const char *text,
			       size_t length, weir_limits_problem *problem)
{
	weir_limits_problem ignored = { 0 };
	struct weir_limits_specs_ specs = { 0 };
	weir_err err;

	problem = problem ? problem : &ignored;
	*problem = (weir_limits_problem){ 0 };
	if (is_unusable(limits, __func__) || (!text && length))
		return weir_limits_wrong_(problem, 0, "not set up, or no text", "");
	if (length > WEIR_LIMITS_FILE_MAX) {
		(void)weir_limits_wrong_(problem, 0, "the text is too long", "");
		return WEIR_ETOOBIG;
	}
	specs.max = limits->max_;
	specs.specs = weir_mem_alloc_(specs.max * sizeof(*specs.specs));
	if (!specs.specs)
		return WEIR_ENOMEM;
	err = weir_limits_parse_(&specs, text, length, problem);
	weir_lock_(&limits->lock_);
	if (!err)
		err = check(limits, &specs, problem);
	for (uint32_t i = 0; !err && i < specs.count; i++)
		if (!find(limits, specs.specs[i].name))
			add(limits, &specs.specs[i]);
	weir_unlock_(&limits->lock_);
	for (uint32_t i = 0; !err && i < specs.count; i++)
		resize(limits, &specs.specs[i]);
	weir_mem_free_(specs.specs);
	return err;
}

/* Read a file.  Returns its length, at most size, or -1 with errno. */
static ssize_t read_all(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), kept;
	size_t got = 0;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && got < size) {
		n = read(fd, text + got, size - got);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			got += (size_t)n;
	}
	kept = errno;
	if (fd >= 0)
		close(fd);
	errno = kept;
	return n < 0 ? -1 : (ssize_t)got;
}

weir_err weir_limits_load(weir_limits *limits, const char *path,
			  weir_limits_problem *problem)
{
	weir_err err = WEIR_ESYSTEM;
	ssize_t length;
	char *text;
	int kept;

	if (problem)
		*problem = (weir_limits_problem){ 0 };
	if (is_unusable(limits, __func__) || !path)
		return WEIR_EINVAL;
	/*
	 * The buffer has one more byte, to recognise a file that is too long.
	 */
	text = weir_mem_alloc_(WEIR_LIMITS_FILE_MAX + 1);
	if (!text)
		return WEIR_ENOMEM;
	length = read_all(path, text, WEIR_LIMITS_FILE_MAX + 1);
	kept = errno;
	if (length >= 0)
		err = weir_limits_load_text(limits, text, (size_t)length,
					    problem);
	else if (problem)
		(void)weir_limits_wrong_(problem, 0, "cannot read ", path);
	weir_mem_free_(text);
	errno = kept;
	return err;
}

weir_err weir_limits_init(weir_limits *limits, int64_t max)
{
	if (!limits || (uintptr_t)limits % sizeof(uint64_t) || max < 1 ||
	    max > WEIR_LIMITS_MAX)
		return WEIR_EINVAL;
	*limits = (weir_limits){ .max_ = (uint32_t)max };
	limits->entries_ = weir_mem_alloc_((size_t)max *
					   sizeof(*limits->entries_));
	if (!limits->entries_)
		return WEIR_ENOMEM;
	limits->ready_ = weir_generation_;
	return WEIR_OK;
}

weir_err weir_limits_destroy(weir_limits *limits)
{
	weir_sem_info info;

	if (is_unusable(limits, __func__))
		return WEIR_EINVAL;
	for (uint32_t i = 0; i < limits->count_; i++)
		if (weir_sem_stat(&limits->entries_[i].sem, &info) ||
		    info.waiters || info.oversized || info.held || info.granted)
			return WEIR_EBUSY;
	for (uint32_t i = 0; i < limits->count_; i++)
		(void)!weir_sem_destroy(&limits->entries_[i].sem);
	weir_mem_free_(limits->entries_);
	limits->ready_ = WEIR_DESTROYED_;
	return WEIR_OK;
}

weir_sem *weir_limits_find(weir_limits *limits, const char *name)
{
	struct weir_limits_entry_ *e;

	if (is_unusable(limits, __func__) || !name)
		return NULL;
	weir_lock_(&limits->lock_);
	e = find(limits, name);
	weir_unlock_(&limits->lock_);
	return e ? &e->sem : NULL;
}

weir_sem *weir_limits_at(weir_limits *limits, int64_t i, const char **name)
{
	struct weir_limits_entry_ *e = NULL;

	if (is_unusable(limits, __func__) || i < 0)
		return NULL;
	weir_lock_(&limits->lock_);
	if (i < limits->count_)
		e = &limits->entries_[i];
	weir_unlock_(&limits->lock_);
	if (e && name)
		*name = e->spec.name;
	return e ? &e->sem : NULL;
}
