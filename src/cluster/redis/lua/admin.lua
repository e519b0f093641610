-- SPDX-License-Identifier: MIT
-- The operations that change a whole semaphore: resize, close, pause, unlink.

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
