/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_BYTES_H
#define WEIR_DIAG_BYTES_H

/*
 * The bytes of a registry: of this process, of another one, or of a dump.  Its
 * header, its times, and its texts.
 */
#include "diag/model.h"

enum dg_error {
	DG_OK = 0,
	DG_NOT_A_REGISTRY,	/* there is no magic number */
	DG_OTHER_VERSION,	/* of the layout, or another byte order */
	DG_TRUNCATED,		/* it cannot be read to its end */
	DG_DAMAGED		/* the header contradicts itself */
};

/*
 * Read `size` bytes at the offset `at` of the registry.  Returns false if there
 * are not that many.
 */
typedef bool dg_read_fn(void *user, uint64_t at, void *to, size_t size);

struct dg_source {
	dg_read_fn *read;
	void *user;
	int64_t now_ns;		/* CLOCK_MONOTONIC of the registry's system */
	/*
	 * Called between steps 3 and 4 of snapshot.h; may be null.  A dump has
	 * two copies.
	 */
	void (*again)(void *user);
	/*
	 * Returns true if the thread does not exist any more.  If that is not
	 * known, false.  `age_ns` is the age of its context: a younger thread
	 * with this ID is another one.  Null: nothing is known of threads.
	 */
	bool (*has_gone)(void *user, uint32_t tid, int64_t age_ns);
};

/* Read and check the header. */
enum dg_error weir_diag_header_(const struct dg_source *source,
				struct rg_header *header);
/* Compute the size of a model for the registry, according to its header. */
void weir_diag_limits_(const struct rg_header *header,
		       struct dg_limits *limits);
/* Returns ticks as nanoseconds; saturates. */
int64_t weir_diag_to_ns_(const struct rg_header *header, uint64_t ticks);
/* Returns the time since `ticks`; DG_UNKNOWN if ticks is 0. */
int64_t weir_diag_age_(const struct rg_header *header, int64_t now_ns,
		       uint64_t ticks);
/* Returns a text such as "the registry has another version". */
const char *weir_diag_error_text_(enum dg_error error);

/*
 * Copy text of up to `size` bytes, which need not be terminated.  Control
 * characters and invalid UTF-8 become '?'.
 */
void weir_diag_clean_(char *to, size_t to_size, const char *from, size_t size);

#endif /* WEIR_DIAG_BYTES_H */
