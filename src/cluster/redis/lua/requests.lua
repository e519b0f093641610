-- SPDX-License-Identifier: MIT
-- The operations of requests: release, cancel, renew, acquire, idle.  Those that
-- pass permits on come first.

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
