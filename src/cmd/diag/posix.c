/* SPDX-License-Identifier: MIT */
/*
 * The names of sem_t, which libweir-posix gives without debug information:
 *
 *     lock               a symbol; nothing is to be done
 *     server+0x20048     a variable of static storage, its file and offset
 *     main+0x3c@0x5e2a0  the place of the sem_init, and the address
 *
 * With debug information they become "lock" and "server.c:40@0x5e2a0".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/source.h"

/* "server+0x20048": look the variable up. */
static bool name_variable(struct modules *modules, const char *name, char *to,
			  size_t size)
{
	const char *plus = strrchr(name, '+');
	char file[sizeof(((struct dg_object *)0)->name)];
	unsigned long long offset;
	char *end;

	if (!plus || strncmp(plus, "+0x", 3) != 0)
		return false;
	offset = strtoull(plus + 1, &end, 16);
	if (*end)
		return false;
	(void)snprintf(file, sizeof(file), "%.*s", (int)(plus - name), name);
	return symbols_variable(modules, file, offset, to, size);
}

/* "main+0x3c@0x5e2a0": replace the place by the line. */
static bool name_place(struct modules *modules, const struct dg_object *object,
		       char *to, size_t size)
{
	const char *at = strrchr(object->name, '@');
	char place[96];

	if (!at || !object->site ||
	    !symbols_name(modules, object->site, place, sizeof(place)) ||
	    !strchr(place, ':'))
		return false;
	/* "server.c:40 main" */
	place[strcspn(place, " ")] = '\0';
	(void)snprintf(to, size, "%s%.46s", place, at);
	return true;
}

void diag_name_posix(struct diag *diag)
{
	for (uint32_t i = 0; i < diag->model.used.objects; i++) {
		struct dg_object *object = &diag->model.objects[i];
		char name[sizeof(object->name)];

		if (object->type != RG_POSIX)
			continue;
		if (name_place(&diag->modules, object, name, sizeof(name)) ||
		    name_variable(&diag->modules, object->name, name,
				  sizeof(name)))
			weir_diag_clean_(object->name, sizeof(object->name),
					 name, sizeof(name));
	}
}
