-- SPDX-License-Identifier: MIT
-- The semaphore in Redis: every operation is one call of this script.  The build
-- joins the files of this folder, in the order uncontended, handover, entries,
-- grant, requests, admin, stat, and embeds them without comments and indentation.
-- They are one chunk: a local of a file is visible in the files after it.
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
-- the file and in the replicas.  All operations in entries.lua and after it first
-- move the young leases to r and x.  There are at most YOUNG of them, which limits
-- the time of a move.
--
-- The uncontended acquire and release, in this file, come first, because every
-- function that is defined before them would cost them time.  They answer with a
-- text instead of a list for the same reason.  Numbers are passed to commands as
-- strings where that matters: the engine formats a number in 5 us.
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
