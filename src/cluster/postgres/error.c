/* SPDX-License-Identifier: MIT */
/* The meaning of errors of the server and of libpq. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cluster/postgres/conn.h"

/* An entry matches if the SQLSTATE begins with the text. */
static const struct {
	const char *state;
	enum result result;
	int errnum;
} states[] = {
	{ "WR001", RES_REFUSED, ENOENT }, { "WR002", RES_REFUSED, EBADMSG },
	{ "WR003", RES_REFUSED, EPROTO },
	/* The schema was dropped. */
	{ "3F000", RES_REFUSED, ENOENT }, { "42P01", RES_REFUSED, ENOENT },
	/* The database does not exist.  No call of weir creates it. */
	{ "3D000", RES_REFUSED, EIO },
	/* The user is refused, or has no privilege. */
	{ "28", RES_REFUSED, EACCES }, { "42501", RES_REFUSED, EACCES },
	/* A function or column is missing; a value or a constraint is wrong. */
	{ "42", RES_REFUSED, EBADMSG }, { "22", RES_REFUSED, EBADMSG },
	{ "23", RES_REFUSED, EBADMSG },
	/* The transaction was rolled back: a repetition may succeed. */
	{ "40003", RES_UNKNOWN, ETIMEDOUT }, { "40", RES_UNSENT, EAGAIN },
	{ "55P03", RES_UNSENT, EAGAIN }, { "57014", RES_UNSENT, ETIMEDOUT },
	{ "53100", RES_UNSENT, ENOSPC }, { "53", RES_UNSENT, EAGAIN },
	{ "25006", RES_UNSENT, EROFS },
	/* The server starts up. */
	{ "57P03", RES_UNSENT, EAGAIN },
	/* The connection ends, possibly after the commit. */
	{ "57P", RES_UNKNOWN, ECONNRESET }, { "08", RES_UNKNOWN, ECONNRESET },
};

enum result weir_cl_pg_error_(const char *sqlstate, const char *text,
			      struct fault *fault)
{
	/* The message has one line. */
	int length = (int)strcspn(text, "\r\n");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strncmp(sqlstate, states[i].state,
			     strlen(states[i].state)))
			return weir_cl_fault_(fault, states[i].result,
					      states[i].errnum, "%.*s", length,
					      text);
	return weir_cl_fault_(fault, RES_REFUSED, EIO,
			      "the server answers: %.*s", length, text);
}

/* Find an SQLSTATE, as in "FATAL:  28P01: the reason". */
static const char *find_state(const char *text)
{
	for (const char *p = strstr(text, ":  "); p; p = strstr(p + 1, ":  ")) {
		int i = 0;

		while (isupper((unsigned char)p[3 + i]) ||
		       isdigit((unsigned char)p[3 + i]))
			i++;
		if (i == 5 && p[8] == ':' && p[9] == ' ')
			return p + 3;
	}
	return NULL;
}

enum result weir_cl_pg_connect_error_(const char *text, struct fault *fault)
{
	static const int errors[] = { ECONNREFUSED, EHOSTUNREACH, ENETUNREACH,
				      ETIMEDOUT, ECONNRESET, EACCES, ENOENT };
	const char *state = find_state(text);
	int errnum = EHOSTUNREACH;

	if (state) {
		enum result result = weir_cl_pg_error_(state, state + 7, fault);

		return result == RES_UNKNOWN ? RES_UNSENT : result;
	}
	/* Only the text of libpq's message, from strerror(3), has the error. */
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strstr(text, strerror(errors[i])))
			errnum = errors[i];
	if (errnum == ENOENT)	/* the socket of a server on this machine */
		errnum = ECONNREFUSED;
	if (strstr(text, "no password supplied"))
		return weir_cl_fault_(fault, RES_REFUSED, EACCES,
				      "the server requires a password");
	return weir_cl_fault_(fault, RES_UNSENT, errnum, "%.*s",
			      (int)strcspn(text, "\r\n"), text);
}
