/* SPDX-License-Identifier: MIT */
/* weir_report and weir_explain: the registry of this process. */
#include "diag/own.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/print.h"
#include "base/shared.h"
#include "base/thread.h"
#include "diag/maps.h"
#include "record/registry.h"
#include "weir/diag.h"

/* How often a snapshot is repeated. */
#define TRIES 16

static uint32_t read_word(const char *at)
{
	/* [D1] acquire, [D11] acquire */
	return at_load_acquire((const uint32_t *)(const void *)at);
}

static bool read_own(void *user, uint64_t at, void *to, size_t size)
{
	const char *from = (const char *)user + at;
	char *next = to;

	if (at > RG_SIZE || size > RG_SIZE - at)
		return false;
	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t word = read_word(from + i);

		memcpy(next + i, &word, sizeof(word));
	}
	return true;
}

/*
 * Returns true if the thread of this process does not exist any more.  The initial
 * thread remains as a zombie until the process ends.
 */
static bool has_gone(void *user, uint32_t tid, int64_t age_ns)
{
	const struct rg_header *header = user;

	(void)age_ns;
	/* In the child of a vfork, getpid() would be that of the child. */
	return !weir_thread_exists_(header->pid, tid) ||
	       (tid == header->pid && weir_thread_is_zombie_(tid));
}

static weir_err snapshot(struct dg_own *own, char *base)
{
	struct dg_source source = { .read = read_own, .user = base,
				    .now_ns = weir_now_ns(),
				    .has_gone = has_gone };
	struct rg_header header;
	struct dg_limits limits;

	if (weir_diag_header_(&source, &header))
		return WEIR_EAGAIN;
	weir_diag_limits_(&header, &limits);
	/* The tables may have grown since the last try. */
	if (own->memory && weir_diag_model_size_(&limits) > own->size)
		weir_diag_own_free_(own);
	if (!own->memory) {
		own->size = weir_diag_model_size_(&limits) + 1;
		own->memory = weir_map_zero_(own->size);
	}
	if (!own->memory)
		return WEIR_ENOMEM;
	weir_diag_model_init_(&own->model, &limits, own->memory);
	return weir_diag_snapshot_(&source, &header, &own->model) ?
		       WEIR_EAGAIN : WEIR_OK;
}

static bool is_exact(const struct dg_model *model, uint64_t id)
{
	for (uint32_t i = 0; i < model->used.objects; i++)
		if (model->objects[i].id == id)
			return !model->objects[i].approximate;
	return true;
}

weir_err weir_diag_own_(struct dg_own *own, uint64_t exact)
{
	/* relaxed: a thread that has not seen the registry reports none. */
	char *base = at_load_relaxed(&weir_registry_->base);
	weir_err err = WEIR_EAGAIN;

	own->memory = NULL;
	if (!base)
		return err;
	for (int i = 0; i < TRIES; i++) {
		err = snapshot(own, base);
		if (err || !exact || is_exact(&own->model, exact))
			break;
	}
	if (err)
		weir_diag_own_free_(own);
	else
		weir_diag_judge_(&own->model);
	return err;
}

void weir_diag_own_free_(struct dg_own *own)
{
	if (own->memory)
		weir_unmap_(own->memory, own->size);
	own->memory = NULL;
}

/* Write a call site as "function+0x12" (a dg_site_fn), with dladdr. */
static bool name_site(void *user, uint64_t site, char *to, size_t size)
{
	const char *name, *slash;
	Dl_info info;

	(void)user;
	/* A return address may be that of the next function. */
	if (!dladdr((const void *)(uintptr_t)(site - 1), &info) ||
	    !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	name = info.dli_sname ? info.dli_sname :
	       slash ? slash + 1 : info.dli_fname;
	weir_diag_clean_(to, size, name, strlen(name));
	weir_diag_put_offset_(to, size, site - (uint64_t)(uintptr_t)(
		info.dli_sname ? info.dli_saddr : info.dli_fbase));
	return true;
}

static void write_out(struct dg_text *text)
{
	weir_print_(*(const int *)text->flush_user, text->to, text->used);
	text->used = 0;
}

weir_err weir_report(int fd)
{
	int before = errno;
	struct dg_own own;
	struct dg_text text = { .to = own.room, .size = sizeof(own.room),
				.flush = write_out, .flush_user = &fd };
	weir_err err = weir_diag_own_(&own, 0);

	if (!err) {
		(void)weir_diag_report_(&text, &own.model, NULL);
		write_out(&text);
		weir_diag_own_free_(&own);
	}
	errno = before;
	return err;
}

weir_err weir_explain(char *text, size_t size, weir_diag_verdict *verdict)
{
	int before = errno;
	char none[1];
	struct dg_own own;
	struct dg_text out = { .to = size ? text : none,
			       .size = size ? size : sizeof(none),
			       .site = name_site };
	weir_err err = weir_diag_own_(&own, 0);

	if (!err) {
		out.to[0] = '\0';
		if (size)
			(void)weir_diag_report_(&out, &own.model, NULL);
		if (verdict)
			*verdict = weir_diag_number_(
				weir_diag_gravest_(&own.model, NULL));
		weir_diag_own_free_(&own);
	}
	errno = before;
	return err;
}
