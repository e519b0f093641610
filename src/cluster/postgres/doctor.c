/* SPDX-License-Identifier: MIT */
/* Settings of the server that weaken the promises. */
#include <stdlib.h>
#include <string.h>

#include "cluster/postgres/postgres.h"

/* Each is reported if the setting has this value. */
static const struct {
	const char *setting;
	const char *value;
	const char *text;
} findings[] = {
	{ "fsync", "off", "after a crash of the server's machine the data may be "
	  "lost or damaged, and more leases than the capacity may exist" },
	{ "synchronous_commit", "off", "a grant may be forgotten in a crash of the "
	  "server: two holders may then have the same permit" },
	{ "full_page_writes", "off", "a crash of the server's machine may damage "
	  "the data" },
	{ "autovacuum", "off", "old row versions are never removed: every "
	  "operation becomes slower" },
	{ "track_counts", "off", "autovacuum does not run: every operation becomes "
	  "slower" },
};

static void check_settings(const PGresult *table, weir_cluster_finding_fn *fn,
			   void *user)
{
	for (int i = 0; i < PQntuples(table); i++)
		for (size_t k = 0; k < sizeof(findings) / sizeof(findings[0]);
		     k++)
			if (!strcmp(PQgetvalue(table, i, 0),
				    findings[k].setting) &&
			    !strcmp(PQgetvalue(table, i, 1),
				    findings[k].value))
				fn(findings[k].setting, findings[k].text, user);
}

static long number_of(const PGresult *table, const char *name)
{
	for (int i = 0; i < PQntuples(table); i++)
		if (!strcmp(PQgetvalue(table, i, 0), name))
			return strtol(PQgetvalue(table, i, 1), NULL, 10);
	return 0;
}

static const char *value_of(const PGresult *table, const char *name)
{
	for (int i = 0; i < PQntuples(table); i++)
		if (!strcmp(PQgetvalue(table, i, 0), name))
			return PQgetvalue(table, i, 1);
	return "";
}

static void check_rest(const PGresult *table, weir_cluster_finding_fn *fn,
		       void *user)
{
	long replicas = number_of(table, "replicas");

	if (replicas > 0 && !*value_of(table, "synchronous_standby_names"))
		fn("synchronous_standby_names", "standbys exist, but no commit "
		   "waits for one: after a failover two holders may have the "
		   "same permit", user);
	if (number_of(table, "connections") + 8 > number_of(table, "max_connections"))
		fn("max_connections", "nearly all connections are in use; each "
		   "client needs up to 4", user);
	if (strcmp(value_of(table, "guard"), "t"))
		fn("weir.guard", "the user may not call it: permits of a dead "
		   "client return after the TTL only", user);
}

enum result weir_cl_postgres_doctor_(struct engine *e,
				     weir_cluster_finding_fn *fn, void *user,
				     int64_t deadline, struct fault *fault)
{
	PGresult *table;
	struct query q;
	enum result result;

	weir_cl_pg_query_(&q, DO_ONCE,
		"SELECT name, setting FROM pg_settings WHERE name IN ('fsync', "
		"'synchronous_commit', 'full_page_writes', 'autovacuum', "
		"'track_counts', 'synchronous_standby_names', "
		"'max_connections') UNION ALL "
		"SELECT 'replicas', count(*)::text FROM pg_stat_replication "
		"UNION ALL SELECT 'connections', count(*)::text "
		"FROM pg_stat_activity WHERE backend_type = 'client backend' "
		"UNION ALL SELECT 'guard', has_function_privilege("
		"'weir.guard(text, text)', 'EXECUTE')::text::char(1)");
	result = weir_cl_pg_run_(&e->lanes[LANE_CALL], &q, &table, deadline,
				 fault);
	if (result)
		return result;
	if (PQnfields(table) == 2) {
		check_settings(table, fn, user);
		check_rest(table, fn, user);
	}
	PQclear(table);
	return RES_OK;
}
