-- SPDX-License-Identifier: MIT
-- The semaphore in Redis: every operation is one call of this script.
-- docs/design/cluster.md describes the keys, the arguments and the answers.
--
-- KEYS: e state and young leases (hash), x expiry (zset), q queue (zset),
--       o oversized and idle (zset), prefix of wake-up lists, r requests (hash)
-- ARGV: the operation, then its own arguments
--
-- Fields of e: "c" is the state, the other fields except "y" are young leases by
-- id.  "y" is the number of their permits beyond one for each of them.
--
-- A request, a field of r: role weight fence ticket since min max ttl flags
-- session text
--   role   H holds, W waits in q, O is oversized, I waits for idle
--   flags  1: a waiter that a shrink makes impossible waits outside the queue
--
-- Times are microseconds.  Numbers are integers below 2^52.
--
-- A young lease was granted without waiting, or to the last request that waited,
-- and has not been renewed yet.  It lacks `since`: its fence stands for it.  While
-- there is one, nothing waits and `used` does not count it: HLEN does.  So an
-- uncontended acquire is four commands of which one writes, and its release is one
-- that needs no state.  A script with one writing command needs no transaction in
-- the file and in the replicas.  All operations further below first move the young
-- leases to r and x.  There are at most YOUNG of them, which limits the time of a
-- move.
--
-- The uncontended acquire and release come first, because every function that
-- is defined before them would cost them time.  They answer with a text instead
-- of a list for the same reason.  Numbers are passed to commands as strings
-- where that matters: the engine formats a number in 5 us.
local r = redis.call
local E = KEYS[1]
local op, id = ARGV[1], ARGV[2]

-- id keep weight: the weight of the lease, or 0 if it is not known
if op == 'release' and ARGV[3] == '0' and ARGV[4] ~= '0' and
    r('HDEL', E, id) == 1 then
	if ARGV[4] ~= '1' then
		r('HINCRBY', E, 'y', string.format('%d', 1 - ARGV[4]))
	end
	return 'R'
end

local MAX = 4503599627370496
local FORMAT = '>I4<ddddddddddd'
local VERSION = 0x57454904
local HEADER = 92
local YOUNG = 200

local fields = r('HMGET', E, 'c', 'y')
local state, extra = fields[1], tonumber(fields[2] or '')
local version, cap, used, tick, fence, closed, paused, last, next_, nq, no, off
if state and #state == HEADER then
	version, cap, used, tick, fence, closed, paused, last, next_, nq, no,
		off = struct.unpack(FORMAT, state)
end
if version ~= VERSION or not extra then
	if not state then
		if r('EXISTS', unpack(KEYS)) > 0 then
			return { 'BAD', 'keys of another program' }
		end
		if op ~= 'create' then
			return { 'NONE' }
		end
		r('HSET', E, 'c', struct.pack(FORMAT, VERSION, tonumber(ARGV[2]),
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 'y', '0')
		return { 'MADE' }
	end
	version = #state >= 4 and struct.unpack('>I4', state)
	return { version and version ~= VERSION and
		version - version % 256 == VERSION - VERSION % 256 and
		'VERSION' or 'BAD', 'the state' }
end

local X, R = KEYS[2], KEYS[6]

-- An older lease, while nothing waits.  The young leases stay young: if they moved,
-- then their releases would move others, and so on.
if op == 'release' and ARGV[3] == '0' and nq == 0 and no == 0 then
	local weight = tonumber(string.match(r('HGET', R, id) or '',
		'^H (%d+) '))
	if weight and weight <= used then
		r('HDEL', R, id)
		r('ZREM', X, id)
		r('HSET', E, 'c', struct.pack(FORMAT, VERSION, cap,
			used - weight, tick, fence, closed, paused, last, next_,
			0, 0, off))
		return 'R'
	end
end

local time = r('TIME')
local now = time[1] * 1000000 + time[2] + off
local young = r('HLEN', E) - 2

-- id fresh min max ttl try tail: flags session text
if op == 'acquire' and ARGV[3] == '1' and nq == 0 and no == 0 and closed == 0 and
    paused == 0 and extra >= 0 and young < YOUNG and now >= last and
    (next_ == 0 or now < next_) then
	local text = ARGV[5]
	local weight = tonumber(text)
	local free = cap - used - young - extra
	if weight > 0 and free > 0 and free >= tonumber(ARGV[4]) then
		local ends = now + tonumber(ARGV[6])
		if weight > free then
			weight, text = free, string.format('%d', free)
		end
		fence = fence + 1
		if fence < now then
			fence = now
		end
		tick = tick + 1
		if next_ == 0 or ends < next_ then
			next_ = ends
		end
		local grant = string.format('H %s %d %d', text, fence, tick)
		local entry = grant .. ' ' .. ARGV[4] .. ' ' .. ARGV[5] .. ' ' ..
			ARGV[6] .. ' ' .. ARGV[8]
		state = struct.pack(FORMAT, VERSION, cap, used, tick, fence, 0,
			0, now, next_, 0, 0, off)
		if weight == 1 then
			r('HSET', E, 'c', state, id, entry)
		else
			r('HSET', E, 'c', state, id, entry, 'y',
				string.format('%d', extra + weight - 1))
		end
		return grant
	end
end

-- The rest handles queues, expiry and administration.
local Q, O, W = KEYS[3], KEYS[4], KEYS[5]

-- A number that is no integer, or no number at all, makes the sum differ from 0.
if not (math.min(cap, used, tick, fence, last, next_, nq, no, off, extra) >= 0 and
    math.max(cap, used, tick, fence, last, next_, nq, no, off, extra) <= MAX and
    cap % 1 + used % 1 + tick % 1 + fence % 1 + last % 1 + next_ % 1 + nq % 1 +
    no % 1 + off % 1 + extra % 1 == 0) then
	return { 'BAD', 'a number of the state' }
end

-- The clock was set back: go on from the last time that was seen.
if now < last then
	off = off + last - now
	now = last
end

-- Opening a handle leaves the young leases alone.
if op == 'info' or op == 'create' then
	return { 'OK', cap, used + young + extra, closed, paused, fence, now }
end

-- A lease whose permits go to the head of the queue and to no other request.  If
-- the head is the last request that waits, then its lease becomes a young one.  Not
-- with more permits than one: a late copy of the request may overwrite a young
-- lease, and would count its other permits again.
-- The wake-up comes last: if the engine refuses it, then the data is right.
if op == 'release' and ARGV[3] == '0' and nq > 0 and no == 0 and paused == 0 and
    young == 0 and extra == 0 and now < next_ then
	local head = r('ZRANGE', Q, '0', '0')[1]
	local both = head and r('HMGET', R, id, head) or {}
	local weight = tonumber(string.match(both[1] or '', '^H (%d+) '))
	local ticket, rest, min, max, ttl, session = string.match(both[2] or '',
		'^W 0 0 (%d+) %d+( (%d+) (%d+) (%d+) [01] (%x+) .*)$')
	local free = weight and weight <= used and cap - used + weight or 0
	if ticket and free > 0 and free >= tonumber(min) and
	    (nq == 1 or free <= tonumber(max)) then
		local becomes_young = nq == 1 and max == '1'
		local ends, list = now + ttl, W .. session
		local text = max
		used = used - weight
		if not becomes_young then
			used = used + max
			if used > cap then
				used, text = cap, string.format('%d', free)
			end
		end
		fence = math.max(fence + 1, now)
		next_ = math.min(next_, ends)
		local grant = string.format('%s %d %s', text, fence, ticket)
		state = struct.pack(FORMAT, VERSION, cap, used, tick, fence,
			closed, 0, now, next_, nq - 1, 0, off)
		r('ZREM', Q, head)
		if becomes_young then
			r('HDEL', R, id, head)
			r('ZREM', X, id, head)
			r('HSET', E, 'c', state, head, 'H ' .. grant .. rest)
		else
			r('HDEL', R, id)
			r('HSET', R, head,
				string.format('H %s %d%s', grant, now, rest))
			r('ZREM', X, id)
			r('ZADD', X, string.format('%d', ends), head)
			r('HSET', E, 'c', state)
		end
		r('RPUSH', list, head .. ' G ' .. grant)
		r('PEXPIRE', list, string.format('%d', ttl / 1000 + 1001))
		return 'R'
	end
end

-- With more fields of e and their values.
local function save(...)
	r('HSET', E, 'c', struct.pack(FORMAT, VERSION, cap, used, tick, fence,
		closed, paused, now, next_, nq, no, off), ...)
end

-- Damaged data: a call fails as a whole before it has changed an answer.
local function bad(what)
	error('WEIRBAD ' .. what)
end

-- Returns the request as a table, or nil if it does not exist.
local function get(id)
	local entry = r('HGET', R, id)
	if not entry then
		return nil
	end
	local role, weight, token, ticket, since, min, max, ttl, flags, session,
		text = string.match(entry,
		'^([HWOI]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([01]) (%x+) (.*)$')
	if not role or #entry > 600 then
		bad('an entry')
	end
	weight, token, ticket, since, min, max, ttl = tonumber(weight),
		tonumber(token), tonumber(ticket), tonumber(since),
		tonumber(min), tonumber(max), tonumber(ttl)
	if math.max(weight, token, ticket, since, min, max, ttl) > MAX then
		bad('a number of an entry')
	end
	return { role = role, weight = weight, fence = token, ticket = ticket,
		since = since, min = min, max = max, ttl = ttl, flags = flags,
		session = session, text = text }
end

local function put(id, e)
	r('HSET', R, id, string.format('%s %d %d %d %d %d %d %d %s %s %s',
		e.role, e.weight, e.fence, e.ticket, e.since, e.min, e.max,
		e.ttl, e.flags, e.session, e.text))
end

-- Move the young leases to r and x.  If r has the id already, then the young
-- lease is a late copy of a request that was repeated: drop it.
if young > 0 or extra > 0 then
	local all = r('HGETALL', E)
	local list = {}
	for i = 1, #all, 2 do
		if all[i] ~= 'c' and all[i] ~= 'y' then
			local grant, weight, since, rest, ttl = string.match(
				all[i + 1],
				'^(H (%d+) (%d+) %d+)( %d+ %d+ (%d+) .*)$')
			if not grant then
				bad('a young lease')
			end
			extra = extra - weight + 1
			list[#list + 1] = { id = all[i], weight = weight,
				ends = since + ttl,
				text = grant .. ' ' .. since .. rest }
		end
	end
	if extra ~= 0 then
		bad('the young leases')
	end
	for _, e in ipairs(list) do
		if r('HSETNX', R, e.id, e.text) == 1 then
			r('ZADD', X, string.format('%d', e.ends), e.id)
			used = used + e.weight
		end
		r('HDEL', E, e.id)
	end
	save('y', '0')
end

-- The entry ends at the time `at`, unless it is renewed.
local function expire(id, at)
	r('ZADD', X, string.format('%d', at), id)
	if next_ == 0 or at < next_ then
		next_ = at
	end
end

-- Set next_ to the earliest expiry.
local function find_next()
	local first = r('ZRANGE', X, '0', '0', 'WITHSCORES')
	next_ = tonumber(first[2] or 0)
end

local function tell(id, e, text)
	local list = W .. e.session
	r('RPUSH', list, id .. ' ' .. text)
	r('PEXPIRE', list, string.format('%d', e.ttl / 1000 + 1001))
end

local function drop(id, e)
	if e.role == 'H' then
		used = math.max(0, used - e.weight)
	elseif e.role == 'W' then
		r('ZREM', Q, id)
		nq = nq - 1
	else
		r('ZREM', O, id)
		no = no - 1
	end
	r('HDEL', R, id)
	r('ZREM', X, id)
end

-- Remove every entry that has expired.  Returns true if there was one.
local function sweep()
	local any = false
	if next_ == 0 or now < next_ then
		return false
	end
	repeat
		local ids = r('ZRANGEBYSCORE', X, '-inf',
			string.format('%d', now), 'LIMIT', '0', '100')
		for _, id in ipairs(ids) do
			local e = get(id)
			any = true
			if e then
				drop(id, e)
			else
				r('ZREM', X, id)
			end
		end
	until #ids == 0
	find_next()
	return any
end

-- Give the entry its permits.  A full lease begins now.
local function hold(id, e)
	e.weight = math.min(e.max, cap - used)
	used = used + e.weight
	fence = math.max(fence + 1, now)
	e.role, e.fence, e.since = 'H', fence, now
	put(id, e)
	expire(id, now + e.ttl)
end

local function tell_granted(id, e)
	tell(id, e, string.format('G %d %d %d', e.weight, e.fence, e.ticket))
end

-- Grant strictly from the head of the queue.  Tell the waiters for idle.
local function grant()
	while nq > 0 and paused == 0 do
		local id = r('ZRANGE', Q, '0', '0')[1]
		if not id then
			bad('the queue')
		end
		local e = get(id)
		if not e then
			r('ZREM', Q, id)
			nq = nq - 1
		elseif cap - used < e.min or cap <= used then
			break
		else
			r('ZREM', Q, id)
			nq = nq - 1
			hold(id, e)
			tell_granted(id, e)
		end
	end
	if no > 0 and used == 0 then
		for _, id in ipairs(r('ZRANGE', O, '0', '-1')) do
			local e = get(id)
			if e and e.role == 'I' then
				drop(id, e)
				tell(id, e, 'I')
			end
		end
	end
end

-- The operations.  Those that pass permits on come first.

-- Returns the answer about an entry.
local function about(id, e)
	if e.role == 'H' then
		return { 'H', e.weight, e.fence, e.ticket }
	end
	local place = e.role == 'W' and r('ZRANK', Q, id)
	return { 'W', place and place + 1 or 0, e.ticket,
		next_ == 0 and 0 or math.max(1, next_ - now) }
end

-- release: id keep weight: release all but `keep` permits; withdraw a request that
-- waits.  cancel: id: withdraw a request that waits; a lease stays.
if op == 'release' or op == 'cancel' then
	local keep = tonumber(ARGV[3] or '0')
	local e = get(id)
	if e and e.role == 'H' and op == 'cancel' then
		return about(id, e)
	end
	if e and e.role == 'H' and keep > 0 then
		if keep < e.weight then
			used = math.max(0, used - e.weight + keep)
			e.weight = keep
			put(id, e)
		end
	elseif e then
		drop(id, e)
	end
	sweep()
	grant()
	save()
	return { e and 'R' or 'L' }
end

-- ttl id...
if op == 'renew' then
	local ttl = tonumber(ARGV[2])
	local answers = {}
	sweep()
	for i = 3, #ARGV do
		if get(ARGV[i]) then
			expire(ARGV[i], now + ttl)
		end
	end
	find_next()
	grant()
	for i = 3, #ARGV do
		local e = get(ARGV[i])
		answers[i - 2] = e and about(ARGV[i], e) or { 'L' }
	end
	save()
	return answers
end

local function wait(id, e, list, role)
	e.role = role
	put(id, e)
	r('ZADD', list, string.format('%d', e.ticket), id)
	expire(id, now + e.ttl)
	if role == 'W' then
		nq = nq + 1
	else
		no = no + 1
	end
end

local function acquire()
	local min, max = tonumber(ARGV[4]), tonumber(ARGV[5])
	local e = ARGV[3] ~= '1' and get(id)
	if e then
		-- A repeated request: a full lease begins now.
		expire(id, now + e.ttl)
		return about(id, e)
	end
	if closed == 1 then
		return { 'C' }
	end
	if max == 0 then
		return { 'H', 0, 0, 0 }
	end
	local flags, session, text = string.match(ARGV[8], '^([01]) (%x+) (.*)$')
	e = { weight = 0, min = min, max = max, ttl = tonumber(ARGV[6]),
		fence = 0, ticket = tick + 1, since = now, flags = flags,
		session = session, text = text }
	if nq == 0 and paused == 0 and cap > used and cap - used >= min then
		tick = tick + 1
		hold(id, e)
		return about(id, e)
	end
	if min == 0 then
		return { 'H', 0, 0, 0 }
	end
	if closed == 2 then
		return { 'C' }
	end
	if ARGV[7] == '1' then
		return { 'B' }
	end
	if min > cap and e.flags == '0' then
		return { 'T' }
	end
	tick = tick + 1
	if min > cap then
		wait(id, e, O, 'O')
	else
		wait(id, e, Q, 'W')
	end
	return about(id, e)
end

if op == 'acquire' then
	if sweep() then
		grant()
	end
	local answer = acquire()
	save()
	return answer
end

-- id ttl session text: wait until no permit is held
if op == 'idle' then
	sweep()
	grant()
	local e = get(id)
	if used == 0 then
		if e then
			drop(id, e)
		end
		save()
		return { 'I' }
	end
	if not e then
		tick = tick + 1
		e = { weight = 0, min = 0, max = 0, ttl = tonumber(ARGV[3]),
			fence = 0, ticket = tick, since = now, flags = '0',
			session = ARGV[4], text = ARGV[5] }
		wait(id, e, O, 'I')
	end
	save()
	return about(id, e)
end

local function info()
	return { 'OK', cap, used, closed, paused, fence, now }
end

-- capacity
if op == 'resize' then
	cap = tonumber(ARGV[2])
	sweep()
	for _, id in ipairs(r('ZRANGE', Q, '0', '-1')) do
		local e = get(id)
		if e and e.min > cap then
			drop(id, e)
			if e.flags == '1' then
				wait(id, e, O, 'O')
			else
				tell(id, e, 'T')
			end
		end
	end
	for _, id in ipairs(r('ZRANGE', O, '0', '-1')) do
		local e = get(id)
		if e and e.role == 'O' and e.min <= cap then
			drop(id, e)
			tick = tick + 1
			e.ticket = tick
			wait(id, e, Q, 'W')
		end
	end
	grant()
	save()
	return info()
end

-- 1: at once; 2: drain
if op == 'close' then
	local how = tonumber(ARGV[2])
	if closed ~= 1 then
		closed, paused = how, 0
	end
	sweep()
	for _, id in ipairs(r('ZRANGE', Q, '0', '-1')) do
		local e = get(id)
		if e then
			drop(id, e)
			if how == 2 and cap - used >= e.min and cap > used then
				hold(id, e)
				tell_granted(id, e)
			else
				tell(id, e, 'C')
			end
		end
	end
	for _, id in ipairs(r('ZRANGE', O, '0', '-1')) do
		local e = get(id)
		if e and e.role == 'O' then
			drop(id, e)
			tell(id, e, 'C')
		end
	end
	grant()
	save()
	return info()
end

-- 1: pause; 0: resume
if op == 'pause' then
	if closed ~= 0 then
		return { 'C' }
	end
	paused = tonumber(ARGV[2])
	sweep()
	grant()
	save()
	return info()
end

if op == 'unlink' then
	sweep()
	grant()
	save()
	if used > 0 or nq > 0 or no > 0 then
		return { 'B' }
	end
	r('DEL', E, X, Q, O, R)
	return info()
end

-- max: the state and at most max entries
if op == 'stat' then
	local max = tonumber(ARGV[2])
	local list, waiting = {}, 0
	if sweep() then
		grant()
		save()
	end
	local ids = r('ZRANGE', X, '0', '-1', 'WITHSCORES')
	for i = 1, #ids, 2 do
		local e = get(ids[i])
		if e then
			list[#list + 1] = { e.role, ids[i], e.weight, e.min,
				e.fence, e.ticket, e.since, tonumber(ids[i + 1]),
				e.text }
			if e.role == 'W' then
				waiting = waiting + e.min
			end
		end
	end
	local order = { H = 1, W = 2, O = 3, I = 4 }
	table.sort(list, function(a, b)
		if a[1] ~= b[1] then
			return order[a[1]] < order[b[1]]
		end
		local key = a[1] == 'H' and 5 or 6
		return a[key] < b[key]
	end)
	local answer = info()
	answer[8], answer[9], answer[10], answer[11] = nq, no, waiting, #list
	for i = 1, math.min(#list, max) do
		answer[11 + i] = list[i]
	end
	return answer
end
