/* SPDX-License-Identifier: MIT */
/* The description of a client, and the message of a failure. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/engine.h"
#include "cluster/text.h"

void weir_cl_text_copy_(char *out, size_t size, const char *text)
{
	size_t i;

	for (i = 0; i + 1 < size && text[i]; i++)
		out[i] = (char)(iscntrl((unsigned char)text[i]) ? '?' : text[i]);
	out[i] = 0;
}

void weir_cl_text_self_(char *out, size_t size, const char *label)
{
	char host[WEIR_CLUSTER_HOST_MAX + 1] = "", clean[WEIR_CLUSTER_LABEL_MAX + 1];

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		(void)snprintf(host, sizeof(host), "unknown");
	for (char *p = host; *p; p++)
		if (isspace((unsigned char)*p))
			*p = '-';
	weir_cl_text_copy_(clean, sizeof(clean), label ? label : "");
	(void)snprintf(out, size, "%s %d %s", host, (int)getpid(), clean);
}

void weir_cl_text_describe_(const char *text, weir_cluster_entry *entry)
{
	const char *space = strchr(text, ' ');
	char host[WEIR_CLUSTER_HOST_MAX + 1] = "";
	size_t length = space ? (size_t)(space - text) : 0;
	char *end;

	if (!space || length >= sizeof(host))
		return;
	memcpy(host, text, length);
	weir_cl_text_copy_(entry->host, sizeof(entry->host), host);
	entry->pid = (int32_t)strtol(space + 1, &end, 10);
	if (*end == ' ')
		weir_cl_text_copy_(entry->label, sizeof(entry->label), end + 1);
}

enum result weir_cl_fault_(struct fault *fault, enum result result, int errnum,
			   const char *format, ...)
{
	char text[sizeof(fault->why)];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	weir_cl_text_copy_(fault->why, sizeof(fault->why), text);
	fault->errnum = errnum;
	return result;
}
