-- SPDX-License-Identifier: MIT
-- The functions that change or describe a whole semaphore.

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
