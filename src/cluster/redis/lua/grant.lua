-- SPDX-License-Identifier: MIT
-- Functions that remove expired entries and grant permits to waiters.

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
