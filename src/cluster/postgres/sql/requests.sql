-- SPDX-License-Identifier: MIT
-- The functions that a client calls for its requests: create, acquire, wait for
-- idle, release, cancel, renew.

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
	-- Release a lease in weir.entry while no request waits.  The young
	-- leases stay in young: if they moved to weir.entry, their releases
	-- would come here, too, and would move the next ones.
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

-- Withdraw a request that waits; a request that was granted stays.
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

-- Renew the requests.  Each row is the answer about one id, in the order of
-- a_ids.  A request with an unknown id is not added.
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
