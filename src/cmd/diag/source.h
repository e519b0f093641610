/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_SOURCE_H
#define WEIR_CMD_DIAG_SOURCE_H

/*
 * A source of a model: a process, a dump file, a core file, the named
 * semaphores, or semaphores between machines.
 *
 *     struct diag diag;
 *     diag_open(&diag, "4711");
 *     diag_read(&diag);
 *     ... diag.model ...
 *     diag_close(&diag);
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/diag/io.h"
#include "cmd/diag/modules.h"
#include "diag/snapshot.h"
#include "diag/verdict.h"

/* A part of a registry in a file. */
struct diag_extent {
	uint64_t at, size;	/* in the registry */
	uint64_t offset;	/* in the file */
	uint32_t copy;		/* 0: the first copy, 1: the second one */
	uint32_t pad;
};
#define DIAG_EXTENTS_MAX 16u

#define DIAG_WHY 512

struct diag {
	const char *name;	/* as the user gave it */
	pid_t pid;		/* of a living process; 0: none */
	pid_t thread;		/* a living thread of the process */
	bool apart;		/* it is in another PID namespace */
	int fd;			/* of the registry or the file; -1: none */
	uint64_t address;	/* without fd: of the registry in the process */
	uint32_t others;	/* registries of further copies of the library */
	uint32_t mappings, descriptors;	/* that were examined */
	uint32_t extents;	/* 0: the file is the registry */
	struct diag_extent extent[DIAG_EXTENTS_MAX];
	uint32_t copy;		/* the copy that is read */
	bool is_file;		/* it does not change */
	bool is_named;
	const char *url;	/* of a semaphore or a server; null: none */
	bool is_server;		/* url: all semaphores of a server */
	uint32_t unreadable;	/* the named semaphores that cannot be read */
	struct dg_source source;
	struct rg_header header;
	struct dg_model model;
	void *memory;
	size_t memory_size;
	struct modules modules;
	int status;		/* exit status for `why` */
	char why[DIAG_WHY];	/* why diag_try has failed */
};

/*
 * Open a source; `what` is a process ID or the path of a file.  diag_try
 * returns false and sets why and status if that fails; diag_open exits.
 */
bool diag_try(struct diag *diag, const char *what);
void diag_open(struct diag *diag, const char *what);
/* Open the named semaphores of the default folder as a source. */
void diag_open_named(struct diag *diag);
/*
 * Open a semaphore between machines as a source, or all semaphores of a server:
 * if `server` is set, or if the URL has no name.  Errors of the server exit.
 */
void diag_open_remote(struct diag *diag, const char *url, bool server);
/*
 * Read a snapshot, and judge it.  diag_try_read returns false as diag_try does;
 * diag_read exits.
 */
bool diag_try_read(struct diag *diag);
void diag_read(struct diag *diag);
void diag_close(struct diag *diag);

/* Print a message if the process has registries that are not read. */
void diag_tell_others(const struct diag *diag);

/*
 * Find the processes whose registry this user can read.  Returns their number;
 * the caller frees *list.  Without /proc, the number is 0.
 */
uint32_t diag_processes(pid_t **list);
bool diag_has_proc(void);
#define DIAG_NO_PROC "processes cannot be read: /proc is not mounted"

/* For the sources: set why and status; returns false. */
bool diag_fail(struct diag *diag, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a registry that cannot be read; diag->header is that which was read. */
bool diag_fail_registry(struct diag *diag, enum dg_error error);
/* Returns room for a model of this size. */
void *diag_room(struct diag *diag, const struct dg_limits *limits);

/* The sources.  Each returns false as diag_try does. */
bool diag_pid_open(struct diag *diag, pid_t pid);
bool diag_dump_open(struct diag *diag);
bool diag_core_open(struct diag *diag);
bool diag_named_read(struct diag *diag);

/* Fail because there is no process with the number that is the name. */
bool diag_no_process(struct diag *diag);
/* Fail because there is no file of this name. */
bool diag_missing(struct diag *diag);
/* Fail because the format of the file is unknown. */
bool diag_unknown(struct diag *diag);

/*
 * threads.c.  diag_has_gone is the has_gone of a dg_source, whose user is the
 * struct diag.
 */
bool diag_has_gone(void *user, uint32_t tid, int64_t age_ns);
void diag_name_threads(struct diag *diag);

/* Name the sem_t of the model with the help of debug information. */
void diag_name_posix(struct diag *diag);

/* Write a dump of the source to standard output. */
void diag_dump_write(struct diag *diag);

/* Read from the registry; a dg_read_fn, and `user` is the struct diag. */
bool diag_read_bytes(void *user, uint64_t at, void *to, size_t size);

#endif /* WEIR_CMD_DIAG_SOURCE_H */
