/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_EXEC_H
#define WEIR_CMD_LIB_EXEC_H

/*
 * Execute a command, as execvp(3) does by POSIX: a script without an interpreter
 * line is executed by the shell.  Returns with errno if that fails.  Allocates
 * on the stack alone, so a child that shares the memory of its parent may call it.
 */
void exec_command(char *const *argv);

#endif /* WEIR_CMD_LIB_EXEC_H */
