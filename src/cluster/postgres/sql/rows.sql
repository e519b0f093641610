-- SPDX-License-Identifier: MIT
-- Internal functions on the row of a semaphore and on its entries: lock, check,
-- grant, remove, answer.  Their names end in an underscore.  The caller has locked
-- the row.  `s` is the copy of the row in memory, which save_ writes back.

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

-- Move the young leases to weir.entry.  If weir.entry has the id already, then
-- the young lease is a late copy of a request that was repeated: drop it.
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

-- Check the row, move the young leases, and set s.last to the current time.
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
		-- The clock was set back: time goes on from the last time.
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

-- Notify the handle of an entry about its outcome.
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

-- Give the entry its permits and notify its handle.  A full lease begins now.
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

-- Grant strictly from the head of the queue.  Notify the waiters for idle.
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

-- Return the answer about an entry.  The place in the queue is exact up to 8.
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
