/* SPDX-License-Identifier: MIT */
/* Sources of a model. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"

bool diag_fail(struct diag *diag, int status, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(diag->why, sizeof(diag->why), format, list);
	va_end(list);
	diag->status = status;
	return false;
}

bool diag_fail_registry(struct diag *diag, enum dg_error error)
{
	if (error == DG_OTHER_VERSION && diag->header.order == RG_ORDER)
		return diag_fail(diag, EXIT_DAMAGED, "%s: its registry has "
				 "version %u, and this command reads version "
				 "%u; use the command weir of the library that "
				 "the program has", diag->name,
				 diag->header.version, RG_VERSION);
	return diag_fail(diag, EXIT_DAMAGED, "%s: %s", diag->name,
			 weir_diag_error_text_(error));
}

/* Read from the memory of the process. */
static bool read_memory(const struct diag *diag, uint64_t at, void *to,
			size_t size)
{
	struct iovec here = { to, size };
	/* An address in another process. */
	struct iovec there = { (void *)(uintptr_t)(diag->address + at), size };

	return process_vm_readv(diag->thread, &here, 1, &there, 1, 0) ==
	       (ssize_t)size;
}

bool diag_read_bytes(void *user, uint64_t at, void *to, size_t size)
{
	const struct diag *diag = user;

	if (at > RG_SIZE || size > RG_SIZE - at)
		return false;
	if (diag->fd < 0)
		return read_memory(diag, at, to, size);
	if (!diag->extents)
		return diag_pread(diag->fd, to, size, at);
	for (uint32_t i = 0; i < diag->extents; i++) {
		const struct diag_extent *extent = &diag->extent[i];

		if (extent->copy == diag->copy && at >= extent->at &&
		    at - extent->at <= extent->size &&
		    size <= extent->size - (at - extent->at))
			return diag_pread(diag->fd, to, size,
					  extent->offset + (at - extent->at));
	}
	return false;
}

static void second_copy(void *user)
{
	struct diag *diag = user;

	diag->copy = 1;
}

/* Returns true if the text is a process ID. */
static bool parse_pid(const char *text, pid_t *pid)
{
	long long number = 0;

	if (!*text)
		return false;
	for (const char *at = text; *at; at++) {
		if (!isdigit((unsigned char)*at))
			return false;
		number = number * 10 + (*at - '0');
		/* No process has this ID. */
		if (number > INT32_MAX)
			number = INT32_MAX;
	}
	*pid = (pid_t)number;
	return true;
}

static bool open_file(struct diag *diag)
{
	unsigned char magic[8] = "";
	struct stat info;

	diag->fd = open(diag->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (diag->fd < 0 && errno == ENOENT)
		return diag_missing(diag);
	if (diag->fd < 0)
		return diag_fail(diag, errno == EACCES ? EXIT_REFUSED :
				 EXIT_CLOSED, "%s: %s", diag->name,
				 strerror(errno));
	if (fstat(diag->fd, &info) || !S_ISREG(info.st_mode))
		return diag_fail(diag, EXIT_DAMAGED,
				 "%s: it is not a regular file", diag->name);
	diag->is_file = true;
	if (!diag_pread(diag->fd, magic, sizeof(magic), 0))
		return diag_fail(diag, EXIT_DAMAGED,
				 "%s: it is too short for a dump or a core "
				 "file", diag->name);
	if (!memcmp(magic, "\177ELF", 4))
		return diag_core_open(diag);
	if (!memcmp(magic, "weirdump", 8))
		return diag_dump_open(diag);
	return diag_unknown(diag);
}

bool diag_try(struct diag *diag, const char *what)
{
	enum dg_error error;
	pid_t pid;

	memset(diag, 0, sizeof(*diag));
	diag->name = what;
	diag->fd = -1;
	diag->source.read = diag_read_bytes;
	diag->source.user = diag;
	diag->source.has_gone = diag_has_gone;
	if (parse_pid(what, &pid)) {
		if (!diag_pid_open(diag, pid))
			return false;
	} else if (!open_file(diag)) {
		return false;
	}
	error = weir_diag_header_(&diag->source, &diag->header);
	if (error)
		return diag_fail_registry(diag, error);
	return true;
}

void diag_open(struct diag *diag, const char *what)
{
	if (!diag_try(diag, what))
		cmd_die(diag->status, "%s", diag->why);
}

void diag_open_named(struct diag *diag)
{
	memset(diag, 0, sizeof(*diag));
	diag->name = "named semaphores";
	diag->fd = -1;
	diag->is_named = true;
}

void *diag_room(struct diag *diag, const struct dg_limits *limits)
{
	size_t size = weir_diag_model_size_(limits);

	if (size > diag->memory_size || !diag->memory) {
		diag->memory = memory_realloc(diag->memory, size);
		diag->memory_size = size;
	}
	return diag->memory;
}

bool diag_try_read(struct diag *diag)
{
	struct dg_limits limits;
	enum dg_error error;

	if (diag->is_named) {
		if (!diag_named_read(diag))
			return false;
		weir_diag_judge_(&diag->model);
		return true;
	}
	diag->copy = 0;
	diag->source.again = diag->extents ? second_copy : NULL;
	if (!diag->is_file)
		diag->source.now_ns = weir_now_ns();
	error = weir_diag_header_(&diag->source, &diag->header);
	if (!error) {
		weir_diag_limits_(&diag->header, &limits);
		weir_diag_model_init_(&diag->model, &limits,
				      diag_room(diag, &limits));
		error = weir_diag_snapshot_(&diag->source, &diag->header,
					    &diag->model);
	}
	if (error)
		return diag_fail_registry(diag, error);
	/* The registry has the ID in the PID namespace of the process. */
	if (diag->pid)
		diag->model.pid = (uint32_t)diag->pid;
	diag_name_threads(diag);
	diag_name_posix(diag);
	weir_diag_judge_(&diag->model);
	return true;
}

void diag_read(struct diag *diag)
{
	if (!diag_try_read(diag))
		cmd_die(diag->status, "%s", diag->why);
}

void diag_tell_others(const struct diag *diag)
{
	if (diag->others)
		cmd_message("%s: the process contains %u copies of libweir, and "
			    "the semaphores of one of them are shown; a thread "
			    "may wait for a semaphore of another one",
			    diag->name, diag->others + 1);
}

void diag_close(struct diag *diag)
{
	if (diag->fd >= 0)
		(void)close(diag->fd);
	symbols_free(&diag->modules);
	modules_free(&diag->modules);
	free(diag->memory);
	diag->memory = NULL;
	diag->fd = -1;
}
