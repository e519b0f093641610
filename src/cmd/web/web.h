/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WEB_WEB_H
#define WEIR_CMD_WEB_WEB_H

/*
 * weir web: the watched semaphores of processes in a browser.
 *
 *     page.html   the page: style, script and structure in one file
 *     embed.py    makes it a C file, with the policy that allows only its script
 *     page.h      the declarations of that C file
 *     data.c      the state of the processes as JSON, for the page
 *     hosts.c     which Host headers are answered
 *     web.c       the options, and the answers over HTTP
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_web;

#endif /* WEIR_CMD_WEB_WEB_H */
