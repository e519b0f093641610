/* SPDX-License-Identifier: MIT */
/* The schema: created with the first semaphore of a database. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/postgres/postgres.h"

/*
 * Read the version of the functions into *code; -1: the schema does not exist.
 */
static enum result look(struct engine *e, int *code, int64_t deadline,
			struct fault *fault)
{
	PGresult *table;
	struct query q;
	enum result result;

	*code = -1;
	weir_cl_pg_query_(&q, DO_ONCE, "SELECT version, code FROM weir.meta");
	result = weir_cl_pg_run_(&e->lanes[LANE_CALL], &q, &table, deadline,
				 fault);
	if (result == RES_REFUSED && fault->errnum == ENOENT)
		return RES_OK;
	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	if (PQntuples(table) != 1 || PQnfields(table) != 2)
		result = weir_cl_fault_(fault, RES_REFUSED, EBADMSG,
					"the table weir.meta is damaged");
	else if (atoi(PQgetvalue(table, 0, 0)) != SCHEMA_VERSION)
		result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
					"another version of weir made the data");
	else
		*code = atoi(PQgetvalue(table, 0, 1));
	PQclear(table);
	return result;
}

/* The key of the advisory lock in sql/tables.sql. */
#define LOCK_KEY "8603216354771628402"

/*
 * Install the schema, unless another client has done so meanwhile.  Many clients
 * may start at the same time, and each installation takes a second.
 */
static enum result install(struct engine *e, int64_t deadline,
			   struct fault *fault)
{
	struct conn *conn = &e->lanes[LANE_CALL];
	enum result result;
	int code = -1;

	result = weir_cl_pg_script_(conn, "SELECT pg_advisory_lock(" LOCK_KEY
				    ")", NULL, deadline, fault);
	if (!result)
		result = look(e, &code, deadline, fault);
	if (!result && code < SCHEMA_CODE)
		result = weir_cl_pg_script_(conn, weir_cl_postgres_schema_,
					    NULL, deadline, fault);
	if (!result)
		result = weir_cl_pg_script_(conn, "SELECT pg_advisory_unlock("
					    LOCK_KEY ")", NULL, deadline,
					    fault);
	/* The end of the connection releases the lock. */
	if (result)
		weir_cl_pg_close_(conn);
	/* To repeat the installation is harmless. */
	return result == RES_UNKNOWN ? RES_UNSENT : result;
}

enum result weir_cl_postgres_prepare_(struct engine *e, int64_t capacity,
				      bool *made, int64_t deadline,
				      struct fault *fault)
{
	weir_cluster_info info;
	PGresult *table;
	struct query q;
	const char *text, *rest;
	enum result result;
	int code = -1;

	*made = false;
	result = weir_cl_pg_open_(&e->lanes[LANE_CALL], deadline, fault);
	if (!result)
		result = look(e, &code, deadline, fault);
	if (!result && code < 0 && capacity < 0)
		result = weir_cl_fault_(fault, RES_REFUSED, ENOENT,
					"the semaphore does not exist");
	if (!result && code < SCHEMA_CODE)
		result = install(e, deadline, fault);
	if (result)
		return result;
	weir_cl_pg_query_(&q, DO_ONCE, capacity < 0 ?
			  "SELECT weir.info($1)" : "SELECT weir.create($1, $2)");
	weir_cl_pg_text_(&q, e->session.url.name);
	if (capacity >= 0)
		weir_cl_pg_number_(&q, capacity);
	result = weir_cl_pg_run_(&e->lanes[LANE_CALL], &q, &table, deadline,
				 fault);
	if (result)
		return result;
	text = PQntuples(table) ? PQgetvalue(table, 0, 0) : "";
	*made = !strcmp(text, "MADE");
	if (!*made && !weir_cl_pg_info_(text, &info, &rest))
		result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
					"the server's answer is not understood");
	PQclear(table);
	return result;
}
