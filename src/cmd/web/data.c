/* SPDX-License-Identifier: MIT */
/*
 * The state of the processes as JSON.  Each request reads the processes again.
 * Only the symbols are kept between the requests.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cmd/diag/json.h"
#include "cmd/diag/keep.h"
#include "cmd/diag/source.h"
#include "cmd/lib/json.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/process_state.h"
#include "cmd/web/data.h"
#include "weir/base.h"

/* Sources that are not reached in this time are not read. */
#define BUDGET_NS INT64_C(3000000000)

/* A source that could not be read. */
struct failure {
	char what[64], why[DIAG_WHY];
	bool ended;
};

struct failures {
	struct failure *list;
	uint32_t count;
};

static void add_failure(struct failures *failures, const char *what,
			const char *why, bool ended)
{
	struct failure *failure;

	failures->list = memory_realloc(failures->list, (failures->count + 1) *
					sizeof(*failures->list));
	failure = &failures->list[failures->count++];
	(void)snprintf(failure->what, sizeof(failure->what), "%s", what);
	(void)snprintf(failure->why, sizeof(failure->why), "%s", why);
	failure->ended = ended;
}

static void put(FILE *out, struct diag *diag, struct failures *failures)
{
	if (!diag_try_read(diag)) {
		add_failure(failures, diag->name, diag->why, false);
		return;
	}
	json_begin(out, NULL);
	json_text(out, "what", diag->name);
	(void)diag_json_object(out, "model", diag, NULL);
	json_end(out);
}

/* `listed`: the user has named this source, so a failure is shown. */
static void put_source(FILE *out, const char *what, struct failures *failures,
		       bool listed)
{
	struct diag diag;

	if (diag_try(&diag, what)) {
		keep_use(&diag);
		put(out, &diag, failures);
		keep(&diag);
	} else if (listed) {
		add_failure(failures, what, diag.why,
			    diag.pid && process_has_ended(diag.pid));
	}
	diag_close(&diag);
}

static void put_all(FILE *out, struct failures *failures, int64_t end)
{
	struct diag named;
	pid_t *pids;
	uint32_t count = diag_processes(&pids);

	for (uint32_t i = 0; i < count; i++) {
		char what[16];

		(void)snprintf(what, sizeof(what), "%d", (int)pids[i]);
		if (weir_now_ns() < end)
			put_source(out, what, failures, false);
		else
			add_failure(failures, what, "not read, because the "
				    "other processes took too long", false);
	}
	free(pids);
	diag_open_named(&named);
	put(out, &named, failures);
	diag_close(&named);
}

bool data_write(FILE *out, void *user)
{
	const struct data_sources *sources = user;
	int64_t now = weir_now_ns(), end = now + BUDGET_NS;
	struct failures failures = { NULL, 0 };

	json_begin(out, NULL);
	json_text(out, "weir", weir_version());
	json_int(out, "now_ns", now);
	json_list(out, "processes");
	for (char **what = sources->list; *what; what++) {
		if (weir_now_ns() < end)
			put_source(out, *what, &failures, true);
		else
			add_failure(&failures, *what, "not read, because the "
				    "other sources took too long", false);
	}
	if (sources->all)
		put_all(out, &failures, end);
	json_list_end(out);
	json_list(out, "failed");
	for (uint32_t i = 0; i < failures.count; i++) {
		json_begin(out, NULL);
		json_text(out, "what", failures.list[i].what);
		json_text(out, "why", failures.list[i].why);
		json_bool(out, "ended", failures.list[i].ended);
		json_end(out);
	}
	json_list_end(out);
	json_end(out);
	json_line(out);
	free(failures.list);
	keep_drop_unused();
	return true;
}
