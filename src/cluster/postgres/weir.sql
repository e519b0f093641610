-- SPDX-License-Identifier: MIT
-- The semaphore in PostgreSQL: the schema weir, its tables and functions.
-- docs/design/cluster.md describes who changes what.  The library sends this
-- text as one transaction when it creates the first semaphore of a database,
-- or when the functions there are older than its own.
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

-- closed: 0 open, 1 at once, 2 drains.  next: no entry expires earlier; 0: none.
-- last: the last time seen; skew is added to the clock, so that time does not
-- go back.
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
-- room: permits for the fast path; null: a request waits, or grants are stopped.
-- If it is not null, then it is capacity - used - the permits of young leases.
-- after: tokens, tickets and times of the fast path are later, and set it.
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

CREATE OR REPLACE FUNCTION weir.bad_(what text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING ERRCODE = 'WR002', MESSAGE = what;
END $$;

-- Set the counts of the semaphore from its entries.
CREATE OR REPLACE FUNCTION weir.count_(INOUT s weir.sem)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT coalesce(sum(weight) FILTER (WHERE role = 'H'), 0),
		count(*) FILTER (WHERE role = 'W'),
		count(*) FILTER (WHERE role IN ('O', 'I')),
		coalesce(min(ends), 0)
		INTO s.used, s.waiters, s.outside, s.next
		FROM weir.entry WHERE sem = s.name;
END $$;

-- Move the young leases to weir.entry.  If the id is there already, then the young
-- lease is a late copy of a request that was repeated: drop it.
CREATE OR REPLACE FUNCTION weir.age_(INOUT s weir.sem)
LANGUAGE plpgsql AS $$
DECLARE
	permits bigint;
	moved bigint;
	first bigint;
BEGIN
	SELECT sum(split_part(value, ' ', 1)::bigint) INTO permits
		FROM jsonb_each_text(s.young);
	IF permits IS DISTINCT FROM s.capacity - s.used - s.room THEN
		PERFORM weir.bad_('the young leases');
	END IF;
	WITH moved AS (INSERT INTO weir.entry
		SELECT key, s.name, 'H', m[2]::bigint + s.skew, m[1]::bigint,
		m[1]::bigint, m[1]::bigint, m[2]::bigint + s.skew,
		m[2]::bigint + s.skew, m[2]::bigint + s.skew + m[3]::bigint,
		m[3]::bigint, m[4]::boolean, m[5]
		FROM jsonb_each_text(s.young), regexp_match(value,
		'^(\d+) (\d+) (\d+) ([a-z]+) (.*)$') AS m
		ON CONFLICT DO NOTHING RETURNING weight, ends)
		SELECT coalesce(sum(weight), 0), min(ends) FROM moved
		INTO moved, first;
	s.used := s.used + moved;
	s.room := s.capacity - s.used;
	s.young := '{}';
	IF s.next = 0 OR first < s.next THEN
		s.next := first;
	END IF;
	UPDATE weir.sem SET used = s.used, room = s.room, young = s.young,
		next = s.next WHERE name = s.name;
END $$;

-- Check the row, move the young leases and set the time, which is then last.
CREATE OR REPLACE FUNCTION weir.begin_(INOUT s weir.sem)
LANGUAGE plpgsql AS $$
DECLARE
	now bigint;
	most CONSTANT bigint := 4503599627370496;
BEGIN
	IF NOT (s.capacity BETWEEN 0 AND most AND s.used BETWEEN 0 AND most AND
	    s.ticket BETWEEN 0 AND most AND s.fence BETWEEN 0 AND most AND
	    s.closed BETWEEN 0 AND 2 AND s.paused BETWEEN 0 AND 1 AND
	    s.waiters BETWEEN 0 AND most AND s.outside BETWEEN 0 AND most AND
	    s.last BETWEEN 0 AND most AND s.next BETWEEN 0 AND most AND
	    s.skew BETWEEN 0 AND most AND s.after BETWEEN 0 AND most) THEN
		PERFORM weir.bad_('a number of the semaphore is out of range');
	END IF;
	IF s.young <> '{}' THEN
		s := weir.age_(s);
	END IF;
	s.ticket := greatest(s.ticket, s.after);
	s.fence := greatest(s.fence, s.after);
	s.last := greatest(s.last, s.after);
	now := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + s.skew;
	IF now < s.last THEN
		-- The clock was set back.
		s.skew := s.skew + s.last - now;
		now := s.last;
	END IF;
	s.last := now;
END $$;

-- Lock the semaphore and begin to use it.
CREATE OR REPLACE FUNCTION weir.lock_(a_name text) RETURNS weir.sem
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem;
BEGIN
	SELECT * INTO s FROM weir.sem WHERE name = a_name FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION USING ERRCODE = 'WR001',
			MESSAGE = 'the semaphore does not exist';
	END IF;
	RETURN weir.begin_(s);
END $$;

CREATE OR REPLACE FUNCTION weir.save_(s weir.sem) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE weir.sem SET capacity = s.capacity, used = s.used,
		ticket = s.ticket, fence = s.fence, closed = s.closed,
		paused = s.paused, waiters = s.waiters, outside = s.outside,
		last = s.last, next = s.next, skew = s.skew,
		room = CASE WHEN s.closed = 0 AND s.paused = 0 AND
			s.waiters = 0 AND s.outside = 0
			THEN s.capacity - s.used END,
		after = greatest(s.ticket, s.fence, s.last)
		WHERE name = s.name;
END $$;

CREATE OR REPLACE FUNCTION weir.check_(e weir.entry) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	most CONSTANT bigint := 4503599627370496;
BEGIN
	IF NOT (e.weight BETWEEN 0 AND most AND e.least BETWEEN 0 AND e.most AND
	    e.most BETWEEN 0 AND most AND e.ticket BETWEEN 0 AND most AND
	    e.fence BETWEEN 0 AND most AND e.since BETWEEN 0 AND most AND
	    e.ends BETWEEN 0 AND most AND e.ttl BETWEEN 1 AND most AND
	    length(e.about) <= 600 AND length(e.id) < 48 AND
	    e.role IN ('H', 'W', 'O', 'I', 'C', 'T', 'D')) THEN
		PERFORM weir.bad_('an entry is damaged');
	END IF;
END $$;

-- The text of a wake-up.  An SQL function of one expression becomes part of the
-- query that calls it, so a connection needs no time to compile it.
CREATE OR REPLACE FUNCTION weir.wake_(e weir.entry) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT e.id || CASE e.role
		WHEN 'H' THEN ' H ' || e.weight::text || ' ' ||
			e.fence::text || ' ' || e.ticket::text
		WHEN 'D' THEN ' I'
		ELSE ' ' || e.role::text END
$$;

-- Tell the handle of an entry its outcome.
CREATE OR REPLACE FUNCTION weir.tell_(e weir.entry) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('weir_' || split_part(e.id, '.', 1), weir.wake_(e));
END $$;

CREATE OR REPLACE FUNCTION weir.expiry_(INOUT s weir.sem, at bigint)
LANGUAGE plpgsql AS $$
BEGIN
	IF s.next = 0 OR at < s.next THEN
		s.next := at;
	END IF;
END $$;

-- Remove every entry that has expired.
CREATE OR REPLACE FUNCTION weir.sweep_(INOUT s weir.sem)
LANGUAGE plpgsql AS $$
BEGIN
	IF s.next <> 0 AND s.last >= s.next THEN
		DELETE FROM weir.entry WHERE sem = s.name AND ends <= s.last;
		s := weir.count_(s);
	END IF;
END $$;

-- Give the entry its permits and tell its handle.  A full lease begins now.
CREATE OR REPLACE FUNCTION weir.hold_(INOUT s weir.sem, e weir.entry)
LANGUAGE plpgsql AS $$
BEGIN
	e.role := 'H';
	e.weight := least(e.most, s.capacity - s.used);
	s.used := s.used + e.weight;
	s.fence := greatest(s.fence + 1, s.last);
	e.fence := s.fence;
	UPDATE weir.entry SET role = 'H', weight = e.weight, fence = e.fence,
		since = s.last, ends = s.last + e.ttl WHERE id = e.id;
	s := weir.expiry_(s, s.last + e.ttl);
	PERFORM weir.tell_(e);
END $$;

-- Grant strictly from the head of the queue.  Tell the waiters for idle.
CREATE OR REPLACE FUNCTION weir.grant_(INOUT s weir.sem)
LANGUAGE plpgsql AS $$
DECLARE
	e weir.entry;
BEGIN
	WHILE s.waiters > 0 AND s.paused = 0 LOOP
		SELECT * INTO e FROM weir.entry
			WHERE sem = s.name AND role = 'W'
			ORDER BY ticket LIMIT 1;
		IF NOT FOUND THEN
			s := weir.count_(s);
			EXIT;
		END IF;
		PERFORM weir.check_(e);
		EXIT WHEN s.capacity - s.used < e.least OR s.capacity <= s.used;
		s.waiters := s.waiters - 1;
		s := weir.hold_(s, e);
	END LOOP;
	IF s.outside > 0 AND s.used = 0 THEN
		FOR e IN UPDATE weir.entry SET role = 'D', ends = s.last + ttl
		    WHERE sem = s.name AND role = 'I' RETURNING * LOOP
			s.outside := s.outside - 1;
			PERFORM weir.tell_(e);
		END LOOP;
	END IF;
END $$;

-- Delete the entry.
CREATE OR REPLACE FUNCTION weir.drop_(INOUT s weir.sem, e weir.entry)
LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM weir.entry WHERE id = e.id;
	IF e.role = 'H' THEN
		s.used := greatest(0, s.used - e.weight);
	ELSIF e.role = 'W' THEN
		s.waiters := greatest(0, s.waiters - 1);
	ELSIF e.role IN ('O', 'I') THEN
		s.outside := greatest(0, s.outside - 1);
	END IF;
END $$;

-- End the wait of an entry with an outcome, which stays until it expires.
CREATE OR REPLACE FUNCTION weir.end_(INOUT s weir.sem, e weir.entry,
	a_role "char")
LANGUAGE plpgsql AS $$
BEGIN
	IF e.role = 'W' THEN
		s.waiters := greatest(0, s.waiters - 1);
	ELSE
		s.outside := greatest(0, s.outside - 1);
	END IF;
	e.role := a_role;
	UPDATE weir.entry SET role = a_role, ends = s.last + ttl
		WHERE id = e.id;
	PERFORM weir.tell_(e);
END $$;

-- The answer about an entry.  The place in the queue is exact up to 8.
CREATE OR REPLACE FUNCTION weir.answer_(s weir.sem, e weir.entry) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	place bigint := 0;
BEGIN
	IF e.role = 'H' THEN
		RETURN 'H ' || e.weight || ' ' || e.fence || ' ' || e.ticket;
	ELSIF e.role NOT IN ('W', 'O', 'I') THEN
		RETURN CASE e.role WHEN 'D' THEN 'I' ELSE e.role::text END;
	END IF;
	IF e.role = 'W' THEN
		SELECT count(*) INTO place FROM (SELECT FROM weir.entry
			WHERE sem = s.name AND role = 'W' AND ticket <= e.ticket
			ORDER BY ticket LIMIT 9) AS first;
	END IF;
	RETURN 'W ' || place || ' ' || e.ticket || ' ' ||
		CASE s.next WHEN 0 THEN 0 ELSE greatest(1, s.next - s.last) END;
END $$;

CREATE OR REPLACE FUNCTION weir.info_(s weir.sem) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN 'OK ' || s.capacity || ' ' || s.used || ' ' || s.closed || ' ' ||
		s.paused || ' ' || s.fence || ' ' || s.last;
END $$;

CREATE OR REPLACE FUNCTION weir.create(a_name text, a_capacity bigint)
RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO weir.sem (name, capacity, room)
		VALUES (a_name, a_capacity, a_capacity)
		ON CONFLICT DO NOTHING;
	RETURN CASE WHEN FOUND THEN 'MADE' ELSE weir.info(a_name) END;
END $$;

CREATE OR REPLACE FUNCTION weir.info(a_name text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN weir.info_(weir.lock_(a_name));
END $$;

-- a_fresh: the id was never sent before.
CREATE OR REPLACE FUNCTION weir.acquire(a_name text, a_id text, a_fresh boolean,
	a_least bigint, a_most bigint, a_ttl bigint, a_try boolean,
	a_aside boolean, a_about text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	now bigint;
	token bigint;
BEGIN
	IF a_fresh AND a_least = a_most AND a_least > 0 THEN
		now := date_part('epoch', clock_timestamp()) * 1000000;
		UPDATE weir.sem SET room = room - a_least, after = now + skew,
			young = young || jsonb_build_object(a_id, a_least ||
				' ' || now || ' ' || a_ttl || ' ' || a_aside ||
				' ' || a_about)
			WHERE name = a_name AND room >= a_least AND
			after < now + skew AND pg_column_size(young) < 1000
			RETURNING after INTO token;
		IF FOUND THEN
			RETURN 'H ' || a_least || ' ' || token || ' ' || token;
		END IF;
	END IF;
	RETURN weir.acquire_(a_name, a_id, a_fresh, a_least, a_most, a_ttl,
		a_try, a_aside, a_about);
END $$;

CREATE OR REPLACE FUNCTION weir.acquire_(a_name text, a_id text,
	a_fresh boolean, a_least bigint, a_most bigint, a_ttl bigint,
	a_try boolean, a_aside boolean, a_about text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.lock_(a_name);
	e weir.entry;
BEGIN
	IF s.next <> 0 AND s.last >= s.next THEN
		s := weir.grant_(weir.sweep_(s));
		PERFORM weir.save_(s);
	END IF;
	IF NOT a_fresh THEN
		SELECT * INTO e FROM weir.entry WHERE id = a_id;
		IF FOUND THEN
			-- A repeated request: a full lease begins now.
			PERFORM weir.check_(e);
			UPDATE weir.entry SET ends = s.last + ttl
				WHERE id = a_id;
			RETURN weir.answer_(s, e);
		END IF;
	END IF;
	IF s.closed = 1 THEN
		RETURN 'C';
	ELSIF a_most = 0 THEN
		RETURN 'H 0 0 0';
	END IF;
	e := ROW(a_id, a_name, 'W', s.ticket + 1, 0, a_least, a_most, 0, s.last,
		s.last + a_ttl, a_ttl, a_aside, a_about)::weir.entry;
	IF s.waiters = 0 AND s.paused = 0 AND s.capacity > s.used AND
	    s.capacity - s.used >= a_least THEN
		e.role := 'H';
		e.weight := least(a_most, s.capacity - s.used);
		s.used := s.used + e.weight;
		s.fence := greatest(s.fence + 1, s.last);
		e.fence := s.fence;
	ELSIF a_least = 0 THEN
		RETURN 'H 0 0 0';
	ELSIF s.closed = 2 THEN
		RETURN 'C';
	ELSIF a_try THEN
		RETURN 'B';
	ELSIF a_least > s.capacity THEN
		IF NOT a_aside THEN
			RETURN 'T';
		END IF;
		e.role := 'O';
		s.outside := s.outside + 1;
	ELSE
		s.waiters := s.waiters + 1;
	END IF;
	s.ticket := s.ticket + 1;
	INSERT INTO weir.entry SELECT e.*;
	s := weir.expiry_(s, e.ends);
	PERFORM weir.save_(s);
	RETURN weir.answer_(s, e);
END $$;

-- Wait until no permit is held.
CREATE OR REPLACE FUNCTION weir.idle(a_name text, a_id text, a_ttl bigint,
	a_about text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.grant_(weir.sweep_(weir.lock_(a_name)));
	e weir.entry;
BEGIN
	SELECT * INTO e FROM weir.entry WHERE id = a_id;
	IF s.used = 0 THEN
		IF e.id IS NOT NULL THEN
			s := weir.drop_(s, e);
		END IF;
		PERFORM weir.save_(s);
		RETURN 'I';
	END IF;
	IF e.id IS NULL THEN
		s.ticket := s.ticket + 1;
		s.outside := s.outside + 1;
		e := ROW(a_id, a_name, 'I', s.ticket, 0, 0, 0, 0, s.last,
			s.last + a_ttl, a_ttl, false, a_about)::weir.entry;
		INSERT INTO weir.entry SELECT e.*;
		s := weir.expiry_(s, e.ends);
	END IF;
	PERFORM weir.save_(s);
	RETURN weir.answer_(s, e);
END $$;

-- Release all but a_keep permits; withdraw a request that waits.
CREATE OR REPLACE FUNCTION weir.release(a_name text, a_id text, a_keep bigint)
RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	IF a_keep = 0 THEN
		UPDATE weir.sem SET young = young - a_id,
			room = room + split_part(young ->> a_id, ' ', 1)::bigint
			WHERE name = a_name AND young ? a_id;
		IF FOUND THEN
			RETURN 'R';
		END IF;
	END IF;
	RETURN weir.release_(a_name, a_id, a_keep);
END $$;

CREATE OR REPLACE FUNCTION weir.release_(a_name text, a_id text, a_keep bigint)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem;
	e weir.entry;
	returned bigint;
BEGIN
	-- An older lease, while nothing waits.  The young leases stay young: if
	-- they moved, then their releases would move others, and so on.
	IF a_keep = 0 THEN
		PERFORM FROM weir.sem WHERE name = a_name AND room IS NOT NULL
			FOR UPDATE;
		IF FOUND THEN
			DELETE FROM weir.entry WHERE id = a_id AND role = 'H'
				RETURNING weight INTO returned;
			IF FOUND THEN
				UPDATE weir.sem SET used = used - returned,
					room = room + returned
					WHERE name = a_name;
				RETURN 'R';
			END IF;
		END IF;
	END IF;
	s := weir.lock_(a_name);
	SELECT * INTO e FROM weir.entry WHERE id = a_id;
	IF e.role = 'H' AND a_keep > 0 THEN
		IF a_keep < e.weight THEN
			s.used := greatest(0, s.used - e.weight + a_keep);
			UPDATE weir.entry SET weight = a_keep WHERE id = a_id;
		END IF;
	ELSIF e.id IS NOT NULL THEN
		s := weir.drop_(s, e);
	END IF;
	s := weir.grant_(weir.sweep_(s));
	PERFORM weir.save_(s);
	RETURN CASE WHEN e.id IS NULL THEN 'L' ELSE 'R' END;
END $$;

-- Withdraw a request that waits; a lease stays.
CREATE OR REPLACE FUNCTION weir.cancel(a_name text, a_id text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.lock_(a_name);
	e weir.entry;
BEGIN
	SELECT * INTO e FROM weir.entry WHERE id = a_id;
	IF e.role = 'H' THEN
		RETURN weir.answer_(s, e);
	END IF;
	IF e.id IS NOT NULL THEN
		s := weir.drop_(s, e);
	END IF;
	s := weir.grant_(weir.sweep_(s));
	PERFORM weir.save_(s);
	RETURN CASE WHEN e.id IS NULL THEN 'L' ELSE 'R' END;
END $$;

-- One answer in a row for each id, in order.  An unknown id is never added.
CREATE OR REPLACE FUNCTION weir.renew(a_name text, a_ttl bigint, a_ids text[])
RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.sweep_(weir.lock_(a_name));
	e weir.entry;
	i text;
BEGIN
	UPDATE weir.entry SET ends = s.last + a_ttl
		WHERE id = ANY (a_ids) AND sem = a_name;
	s := weir.grant_(s);
	PERFORM weir.save_(s);
	FOREACH i IN ARRAY a_ids LOOP
		SELECT * INTO e FROM weir.entry WHERE id = i AND sem = a_name;
		IF FOUND THEN
			PERFORM weir.check_(e);
			RETURN NEXT weir.answer_(s, e);
		ELSE
			RETURN NEXT 'L';
		END IF;
	END LOOP;
END $$;

CREATE OR REPLACE FUNCTION weir.resize(a_name text, a_value bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.lock_(a_name);
	e weir.entry;
BEGIN
	s.capacity := a_value;
	s := weir.sweep_(s);
	FOR e IN SELECT * FROM weir.entry WHERE sem = a_name AND role = 'W' AND
	    least > a_value ORDER BY ticket LOOP
		IF e.aside THEN
			s.waiters := s.waiters - 1;
			s.outside := s.outside + 1;
			UPDATE weir.entry SET role = 'O' WHERE id = e.id;
		ELSE
			s := weir.end_(s, e, 'T');
		END IF;
	END LOOP;
	FOR e IN SELECT * FROM weir.entry WHERE sem = a_name AND role = 'O' AND
	    least <= a_value ORDER BY ticket LOOP
		s.outside := s.outside - 1;
		s.waiters := s.waiters + 1;
		s.ticket := s.ticket + 1;
		UPDATE weir.entry SET role = 'W', ticket = s.ticket
			WHERE id = e.id;
	END LOOP;
	s := weir.grant_(s);
	PERFORM weir.save_(s);
	RETURN weir.info_(s);
END $$;

-- a_value: 1 at once, 2 drain
CREATE OR REPLACE FUNCTION weir.close(a_name text, a_value bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.sweep_(weir.lock_(a_name));
	e weir.entry;
BEGIN
	IF s.closed <> 1 THEN
		s.closed := a_value;
		s.paused := 0;
	END IF;
	FOR e IN SELECT * FROM weir.entry WHERE sem = a_name AND role = 'W'
	    ORDER BY ticket LOOP
		PERFORM weir.check_(e);
		IF a_value = 2 AND s.capacity - s.used >= e.least AND
		    s.capacity > s.used THEN
			s.waiters := s.waiters - 1;
			s := weir.hold_(s, e);
		ELSE
			s := weir.end_(s, e, 'C');
		END IF;
	END LOOP;
	FOR e IN SELECT * FROM weir.entry WHERE sem = a_name AND role = 'O'
	    ORDER BY ticket LOOP
		s := weir.end_(s, e, 'C');
	END LOOP;
	s := weir.grant_(s);
	PERFORM weir.save_(s);
	RETURN weir.info_(s);
END $$;

-- a_value: 1 pause, 0 resume
CREATE OR REPLACE FUNCTION weir.pause(a_name text, a_value bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.sweep_(weir.lock_(a_name));
BEGIN
	IF s.closed <> 0 THEN
		RETURN 'C';
	END IF;
	s.paused := a_value;
	s := weir.grant_(s);
	PERFORM weir.save_(s);
	RETURN weir.info_(s);
END $$;

CREATE OR REPLACE FUNCTION weir.unlink(a_name text, a_value bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.grant_(weir.sweep_(weir.lock_(a_name)));
BEGIN
	IF s.used > 0 OR s.waiters > 0 OR s.outside > 0 THEN
		PERFORM weir.save_(s);
		RETURN 'B';
	END IF;
	DELETE FROM weir.entry WHERE sem = a_name;
	DELETE FROM weir.sem WHERE name = a_name;
	RETURN weir.info_(s);
END $$;

-- The first row describes the semaphore, the others its entries, at most a_max.
CREATE OR REPLACE FUNCTION weir.stat(a_name text, a_max bigint)
RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	s weir.sem := weir.lock_(a_name);
	e weir.entry;
	waiting bigint;
	number bigint;
BEGIN
	IF s.next <> 0 AND s.last >= s.next THEN
		s := weir.grant_(weir.sweep_(s));
		PERFORM weir.save_(s);
	END IF;
	PERFORM weir.check_(q) FROM weir.entry AS q WHERE q.sem = a_name;
	SELECT coalesce(sum(least) FILTER (WHERE role = 'W'), 0), count(*)
		INTO waiting, number FROM weir.entry
		WHERE sem = a_name AND role IN ('H', 'W', 'O', 'I');
	RETURN NEXT weir.info_(s) || ' ' || s.waiters || ' ' || s.outside ||
		' ' || waiting || ' ' || number;
	FOR e IN SELECT * FROM weir.entry WHERE sem = a_name AND
	    role IN ('H', 'W', 'O', 'I')
	    ORDER BY position(role::text IN 'HWOI'),
	    CASE role WHEN 'H' THEN fence ELSE ticket END LIMIT a_max LOOP
		RETURN NEXT e.role::text || ' ' || e.weight || ' ' || e.least ||
			' ' || e.fence || ' ' || e.since || ' ' || e.ends ||
			' ' || e.id || ' ' || e.about;
	END LOOP;
END $$;

-- The outcomes of a handle, as wake-ups: notifications that it has missed.
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
	-- Leases move from young to weir.entry and never back.
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
-- no semaphore and no entry has the name null.  In a connection the first
-- execution of a statement is slow, because it is compiled and planned: all of
-- them together take longer than the rest of a burial.
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

-- Does not return if the server has ended.  Then its processes end by themselves
-- and release their locks, which looks like the death of every client; but the
-- clients live, and their leases are valid after a restart.  PostgreSQL looks
-- for its own end and for a shutdown while it sleeps.  A sleep may be over before
-- it has begun, if the CPU is busy with other processes, hence two; each takes
-- one millisecond.
CREATE OR REPLACE FUNCTION weir.server_lives_() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.0005);
	PERFORM pg_sleep(0.0005);
END $$;

-- Wait until every connection of the handle has ended, then return its permits.
-- Each connection holds the shared lock (a, b) of the handle, and an exclusive
-- lock of its own whose key is made of a and its pid.  If the guard gets the
-- exclusive lock (a, b), then no connection is left.  It does not wait for that
-- lock, because a new connection would then wait behind the guard.  It waits for
-- the lock of one connection.  The wait begins again after lock_timeout: a
-- transaction that lasts would keep old row versions alive.
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
		-- A search in pg_locks takes longer.
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

INSERT INTO weir.meta (version, code) VALUES (1, 3)
	ON CONFLICT (one) DO UPDATE SET code = excluded.code;
