-- SPDX-License-Identifier: MIT
-- The operations that leave the young leases where they are: opening a handle, and
-- a release that hands its permits over to the head of the queue.  Before them,
-- the checks of the state and of the clock, which all later files rely on.

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
