-- SPDX-License-Identifier: MIT
-- Functions that read, write and remove the entries of requests.  Between them, the
-- young leases become entries.

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
