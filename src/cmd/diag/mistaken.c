/* SPDX-License-Identifier: MIT */
/*
 * Messages about an argument that is not a source, such as the name of a
 * semaphore.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/text.h"
#include "weir/named.h"

static bool is_semaphore_name(const char *name)
{
	char path[PATH_MAX];

	return !remote_url(name) &&
	       !weir_named_path(name, path, sizeof(path)) &&
	       !access(path, F_OK);
}

bool diag_missing(struct diag *diag)
{
	const char *name = remote_display(diag->name);

	if (strstr(diag->name, "://"))
		return diag_fail(diag, EXIT_CLOSED, "%s: no such file; \"weir "
				 "explain %s\" shows the semaphore of this "
				 "name", name, name);
	if (is_semaphore_name(diag->name))
		return diag_fail(diag, EXIT_CLOSED, "%s: no such file; \"weir "
				 "stat %s\" shows the semaphore of this name",
				 name, name);
	/*
	 * Only the server knows whether a semaphore below $WEIR_URL exists.
	 * "hang.weir" or "core.4711" is a file rather than a semaphore.
	 */
	if (remote_url(name) && !strchr(name, '.'))
		return diag_fail(diag, EXIT_CLOSED, "%s: it is neither a "
				 "process ID nor a file; if it is a semaphore, "
				 "\"weir stat %s\" shows it", name, name);
	return diag_fail(diag, EXIT_CLOSED, "%s: %s",
			 text_visible(diag->name),
			 strchr(diag->name, '/') ? "no such file" :
			 "it is neither a process ID nor a file");
}

bool diag_no_process(struct diag *diag)
{
	const char *name = diag->name;

	if (!access(name, F_OK))
		return diag_fail(diag, EXIT_CLOSED, "%s: no such process; "
				 "\"./%s\" is the file of this name", name,
				 name);
	if (is_semaphore_name(name))
		return diag_fail(diag, EXIT_CLOSED, "%s: no such process; "
				 "\"weir stat %s\" shows the semaphore of this "
				 "name", name, name);
	return diag_fail(diag, EXIT_CLOSED, "%s: no such process", name);
}

bool diag_unknown(struct diag *diag)
{
	if (names_is_semaphore(diag->fd))
		return diag_fail(diag, EXIT_DAMAGED, "%s: it is a semaphore; "
				 "\"weir stat %s\" shows it", diag->name,
				 diag->name);
	return diag_fail(diag, EXIT_DAMAGED, "%s: it is neither a dump of weir "
			 "nor a core file", diag->name);
}
