/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_ADMIN_ADMIN_H
#define WEIR_CMD_ADMIN_ADMIN_H

/* Subcommands that change semaphores: resize, pause, close, ... */
#include "cmd/lib/command.h"

extern const struct cmd cmd_resize, cmd_pause, cmd_resume, cmd_close, cmd_open,
	cmd_rm;

#endif /* WEIR_CMD_ADMIN_ADMIN_H */
