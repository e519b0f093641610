/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_HTTP_H
#define WEIR_CMD_EXPORT_HTTP_H

/* Exit with a message if there is no HTTP server in this build or host. */
void http_load(void);
/*
 * Answer requests on the listening socket until SIGTERM, SIGINT or SIGHUP.
 * Prints a line with the address when these signals are handled.
 * Requires: http_load was called.
 */
void http_run(int listener, const char *address);

#endif /* WEIR_CMD_EXPORT_HTTP_H */
