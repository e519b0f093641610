-- SPDX-License-Identifier: MIT
-- The operation that describes a semaphore and its entries.

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
