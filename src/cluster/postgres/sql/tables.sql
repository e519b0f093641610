-- SPDX-License-Identifier: MIT
-- The semaphore in PostgreSQL: the schema weir and its tables.  The library joins
-- the files of this folder, in the order tables, rows, requests, admin, guard,
-- version, and sends them as one transaction when it creates the first semaphore
-- of a database, or when the functions there are older than its own.
-- docs/design/cluster.md describes the algorithm and the locks.
--
-- Times are microseconds since 1970.  Every change of a semaphore is made by a
-- transaction that has locked its row in weir.sem.
--
-- Errors: WR001 the semaphore does not exist, WR002 the data is damaged or
-- foreign, WR003 another version.

SELECT pg_advisory_xact_lock(8603216354771628402);

DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'weir') AND
	    to_regclass('weir.meta') IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'WR002',
			MESSAGE = 'the schema weir belongs to another program';
	END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS weir;

CREATE TABLE IF NOT EXISTS weir.meta (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	version integer NOT NULL,
	code integer NOT NULL
);

DO $$
BEGIN
	IF EXISTS (SELECT FROM weir.meta WHERE version <> 1) THEN
		RAISE EXCEPTION USING ERRCODE = 'WR003',
			MESSAGE = 'another version of weir made the data';
	END IF;
END $$;

-- closed: 0 open, 1 closed at once, 2 drains.  next: no entry expires earlier;
-- 0: no entry.  last: the time of the last change.  skew is added to the clock,
-- so that time does not go back.
CREATE TABLE IF NOT EXISTS weir.sem (
	name text COLLATE "C" PRIMARY KEY,
	capacity bigint NOT NULL,
	used bigint NOT NULL DEFAULT 0,
	ticket bigint NOT NULL DEFAULT 0,
	fence bigint NOT NULL DEFAULT 0,
	closed smallint NOT NULL DEFAULT 0,
	paused smallint NOT NULL DEFAULT 0,
	waiters bigint NOT NULL DEFAULT 0,
	outside bigint NOT NULL DEFAULT 0,
	last bigint NOT NULL DEFAULT 0,
	next bigint NOT NULL DEFAULT 0,
	skew bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_scale_factor = 0);

-- The fast path of acquire and release updates this row alone, and no index:
-- room: free permits for the fast path; null: a request waits, or the semaphore
-- is closed or paused, so the fast path must not be used.  Otherwise room is
-- capacity - used - the permits of young leases.
-- after: no token, ticket or time so far is greater.  The fast path takes its
-- token and ticket above it, and stores them in it.
-- young: leases of the fast path, {id: "weight time ttl aside about"}.  `used`
-- does not count them.  Their token and ticket is time + skew.  lock_ moves them
-- to weir.entry.
ALTER TABLE weir.sem
	ADD COLUMN IF NOT EXISTS room bigint,
	ADD COLUMN IF NOT EXISTS after bigint NOT NULL DEFAULT 0,
	ADD COLUMN IF NOT EXISTS young jsonb NOT NULL DEFAULT '{}';

-- role: H holds, W waits in the queue, O is oversized, I waits for idle;
-- outcomes that the client may not have seen: C closed, T too big, D idle.
-- The id begins with the session of the handle and a dot.
CREATE TABLE IF NOT EXISTS weir.entry (
	id text COLLATE "C" PRIMARY KEY,
	sem text COLLATE "C" NOT NULL,
	role "char" NOT NULL,
	ticket bigint NOT NULL,
	weight bigint NOT NULL,
	least bigint NOT NULL,
	most bigint NOT NULL,
	fence bigint NOT NULL,
	since bigint NOT NULL,
	ends bigint NOT NULL,
	ttl bigint NOT NULL,
	aside boolean NOT NULL,
	about text NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_scale_factor = 0);

CREATE INDEX IF NOT EXISTS entry_queue ON weir.entry (sem, role, ticket);
