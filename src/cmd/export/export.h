/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_EXPORT_H
#define WEIR_CMD_EXPORT_EXPORT_H

/*
 * weir export: metrics for Prometheus.
 *
 *     metrics.c   the model: families and samples
 *     sources.c   the list of sources
 *     named.c     a source: the semaphores between the processes of this host
 *     processes.c a source: the watched semaphores in processes
 *     recent.c    its exemplars
 *     servers.c   a source: the semaphores of servers; client.c reads one of
 *                 them, and url.c names it
 *     sums.c      from a semaphore that has a name to samples
 *     model.c     its samples, from the model of a process (src/diag)
 *     format.c    the model as Prometheus text and as OpenMetrics
 *     accept.c    the choice between the two by a request's Accept header
 *     export.c    the options, and the answers over HTTP
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_export;

#endif /* WEIR_CMD_EXPORT_EXPORT_H */
