/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_DIAG_H
#define WEIR_CMD_DIAG_DIAG_H

/*
 * weir explain, dump and top: the watched objects of a process, a dump file, a
 * core file, and the named semaphores of all processes.
 *
 *     io.c         reading files
 *     source.c     opening and reading a source of a model; errors
 *     pid.c        the registry of a process
 *     file.c       dump files: the registry's bytes and the modules
 *     core.c       the registry in a core file
 *     modules.c    the executable segments of a process
 *     symbols.c    from an address to function, file and line (libdw)
 *     nosymbols.c  in place of symbols.c: module and offset
 *     kin.c        parents and threads of processes
 *     threads.c    the threads of a process: their names; which exist
 *     posix.c      the names of sem_t
 *     named.c      named semaphores as objects, processes as contexts
 *     json.c       a model as JSON
 *     rows.c       the table of weir top
 *     top_screen.c, top_noscreen.c    that table on a terminal
 *     explain.c, dump.c, top.c        the commands
 */
#include "cmd/lib/command.h"

extern const struct cmd cmd_explain, cmd_dump, cmd_top;

#endif /* WEIR_CMD_DIAG_DIAG_H */
