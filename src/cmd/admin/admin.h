/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_ADMIN_ADMIN_H
#define WEIR_CMD_ADMIN_ADMIN_H

/* Subcommands that change semaphores: resize, pause, close, ... */
#include "cmd/lib/command.h"
#include "weir/base.h"

extern const struct cmd cmd_resize, cmd_pause, cmd_resume, cmd_close, cmd_open,
	cmd_rm;

/* Exit because the name cannot be removed.  Uses errno. */
_Noreturn void admin_unlink_failed(const char *name, weir_err err);

#endif /* WEIR_CMD_ADMIN_ADMIN_H */
