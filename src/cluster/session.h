/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_SESSION_H
#define WEIR_CLUSTER_SESSION_H

/* The session of a handle: its URL, its password, its times, its engine. */
#include "cluster/engine.h"

/* Copy the reason to opts->why and set errno.  Returns err. */
weir_err weir_cl_say_(const weir_cluster_opts *opts, weir_err err, int errnum,
		      const char *why);
/*
 * Fill in *s from the URL and the options, and set *ops.  named: the URL ends
 * with the name of a semaphore.  A failure is explained in opts->why.
 */
weir_err weir_cl_session_set_(struct session *s, const char *url, bool named,
			      const weir_cluster_opts *opts,
			      const struct engine_ops **ops);

#endif /* WEIR_CLUSTER_SESSION_H */
