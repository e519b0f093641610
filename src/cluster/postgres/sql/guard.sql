-- SPDX-License-Identifier: MIT
-- The functions that serve one handle, and its guard: a connection that returns
-- the permits of the handle when the handle's process has died.

-- Return the outcomes of a handle's requests as wake-ups: the handle may have
-- missed the notifications.
CREATE OR REPLACE FUNCTION weir.outcomes(a_name text, a_session text)
RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT weir.wake_(e) FROM weir.entry AS e
		WHERE id > a_session || '.' AND id < a_session || '/' AND
		sem = a_name AND role IN ('H', 'C', 'T', 'D');
END $$;

-- Remove the entries of a handle from a semaphore that is locked, and grant.
CREATE OR REPLACE FUNCTION weir.forget_(s weir.sem, a_session text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM weir.entry WHERE sem = s.name AND
		id > a_session || '.' AND id < a_session || '/';
	PERFORM weir.save_(weir.grant_(weir.sweep_(weir.count_(s))));
END $$;

-- Remove all entries of a handle that has died.
CREATE OR REPLACE FUNCTION weir.bury_(a_name text, a_session text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	-- Look at young first: leases move from young to weir.entry and never
	-- back.
	PERFORM FROM weir.sem WHERE name = a_name AND young <> '{}';
	IF NOT FOUND THEN
		PERFORM FROM weir.entry WHERE id > a_session || '.' AND
			id < a_session || '/' LIMIT 1;
	END IF;
	IF FOUND THEN
		PERFORM weir.forget_(weir.lock_(a_name), a_session);
	END IF;
END $$;

-- Execute the statements of bury_ and of the functions that it calls, on no row:
-- no semaphore has the name null or the empty name.  The first execution of a
-- statement in a connection is slow, because the statement is compiled and
-- planned: the first executions together take longer than the rest of bury_.
CREATE OR REPLACE FUNCTION weir.warm_() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem;
BEGIN
	s.waiters := 1;
	s.paused := 0;
	s.next := 1;
	s.last := 1;
	PERFORM weir.begin_(NULL), weir.age_(NULL), weir.grant_(s),
		weir.sweep_(s), weir.check_(NULL), weir.forget_(NULL, '');
	PERFORM weir.bury_('', ''), weir.server_lives_();
	BEGIN
		PERFORM weir.lock_('');
	EXCEPTION WHEN SQLSTATE 'WR001' THEN
		NULL;
	END;
	BEGIN
		PERFORM weir.hold_(NULL, NULL);
	EXCEPTION WHEN invalid_parameter_value THEN
		NULL;	-- pg_notify without a channel
	END;
END $$;

-- Does not return if the server has ended.  In that case the server's processes
-- end by themselves and release their locks, which looks like the death of
-- every client; but the clients live, and their leases are valid after a
-- restart.  A process of PostgreSQL checks for the end of the server and for a
-- shutdown while it sleeps.  If the CPU is busy with other processes, the time
-- of a sleep may have passed before the sleep begins, so there are two; each
-- takes one millisecond.
CREATE OR REPLACE FUNCTION weir.server_lives_() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.0005);
	PERFORM pg_sleep(0.0005);
END $$;

-- Wait until every connection of the handle has ended, then return its permits.
-- Each connection holds the shared lock (a, b) of the handle, and an exclusive
-- lock of its own whose key is made of a and its pid.  If the guard gets the
-- exclusive lock (a, b), then no connection is left.  The guard does not wait
-- for that lock, because a new connection would then wait behind the guard.
-- The guard waits for the lock of one connection.  The wait begins again after
-- lock_timeout: a long transaction would keep old row versions alive.
CREATE OR REPLACE PROCEDURE weir.guard(a_name text, a_session text)
LANGUAGE plpgsql AS $$
DECLARE
	a CONSTANT bigint := ('x' || substr(a_session, 1, 8))::bit(32)::bigint;
	b CONSTANT bigint := ('x' || substr(a_session, 9, 8))::bit(32)::bigint;
	here CONSTANT oid := (SELECT oid FROM pg_database
		WHERE datname = current_database());
	alive integer;
BEGIN
	PERFORM weir.warm_();
	COMMIT;
	LOOP
		-- Try this first, because a search in pg_locks takes longer.
		EXIT WHEN pg_try_advisory_xact_lock(a::bit(32)::integer,
			b::bit(32)::integer);
		SELECT min(pid) INTO alive FROM pg_locks
			WHERE locktype = 'advisory' AND objsubid = 2 AND
			database = here AND classid::bigint = a AND
			objid::bigint = b AND mode = 'ShareLock' AND granted;
		EXIT WHEN alive IS NULL;
		BEGIN
			PERFORM pg_advisory_xact_lock_shared((a << 32) | alive);
		EXCEPTION WHEN lock_not_available THEN
			NULL;
		END;
		COMMIT;
	END LOOP;
	PERFORM weir.server_lives_();
	PERFORM set_config('lock_timeout', '0', false);
	PERFORM weir.bury_(a_name, a_session);
END $$;
