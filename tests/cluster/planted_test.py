#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Planted bugs: the checks of a storm find each of them.

The proxy replaces a text in the script while a client loads it, so the library has no hook
for this.
"""
import contextlib
import sys
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from proxy import Proxy
from servers import Redis, await_
from storm import Storm
from support import CLIENT, Holder, creator, main, stat, tool

# name: (text of the script, replacement)
BUGS = {
    "grants_one_permit_too_many":
        ("elseif cap - used < e.min or cap <= used then", "elseif cap - used + 1 < e.min then"),
    "newcomers_overtake_the_queue":
        ("ARGV[3] == '1' and nq == 0 and no == 0 and closed == 0", "ARGV[3] == '1' and closed == 0"),
    "the_fast_path_ignores_the_capacity":
        ("if weight > 0 and free > 0 and free >= tonumber(ARGV[4]) then",
         "if weight > 0 then free = 100"),
    "last_come_first_served":
        ("local id = r('ZRANGE', Q, '0', '0')[1]", "local id = r('ZREVRANGE', Q, 0, 0)[1]"),
    "a_light_waiter_passes_a_heavy_head":
        ("elseif cap - used < e.min or cap <= used then\nbreak",
         "elseif cap - used < e.min then\nlocal n = r('ZRANGE', Q, 1, 1)[1]\n"
         "local f = n and get(n)\nif f and cap - used >= f.min then\nr('ZREM', Q, n)\n"
         "nq = nq - 1\nhold(n, f)\ntell_granted(n, f)\nend\nbreak"),
    "tokens_repeat":
        ("fence = math.max(fence + 1, now)\ne.role", "fence = math.max(fence, now - now % 1000000)"
         "\ne.role"),
    "tokens_start_again":
        ("fence = fence + 1\nif fence < now then\nfence = now\nend", "fence = tick % 7"),
    "a_release_grants_nobody":
        ("elseif e then\ndrop(id, e)\nend\nsweep()\ngrant()\nsave()", "elseif e then\ndrop(id, e)\nend\nsave()"),
    "a_release_counts_twice":
        ("used = math.max(0, used - e.weight)\nelseif", "used = math.max(0, used - 2 * e.weight)\nelseif"),
    "a_hand_over_serves_the_last":
        ("local head = r('ZRANGE', Q, '0', '0')[1]", "local head = r('ZREVRANGE', Q, '0', '0')[1]"),
    "a_hand_over_ignores_the_smallest_request":
        ("free > 0 and free >= tonumber(min) and\n", "free > 0 and\n"),
    "a_hand_over_leaves_permits_unused":
        ("(nq == 1 or free <= tonumber(max)) then", "true then"),
    "a_hand_over_leaks":
        ("used = used - weight\nif not becomes_young", "if not becomes_young"),
    "a_hand_over_counts_too_little":
        ("used = used + max\nif used > cap", "if used > cap"),
    "a_hand_over_repeats_the_token":
        ("fence = math.max(fence + 1, now)\nnext_", "next_"),
    "a_hand_over_keeps_the_old_lease":
        ("r('HDEL', R, id)\nr('HSET', R, head,", "r('HSET', R, head,"),
    "a_hand_over_to_the_last_keeps_the_old_lease":
        ("r('HDEL', R, id, head)", "r('HDEL', R, head)"),
    "a_hand_over_is_for_ever":
        ("r('ZADD', X, string.format('%d', ends), head)", "r('ZADD', X, string.format('%d', MAX), head)"),
    "a_hand_over_wakes_nobody":
        ("r('RPUSH', list, head .. ' G ' .. grant)", ""),
    "a_release_of_a_young_lease_leaks":
        ("r('HINCRBY', E, 'y', string.format('%d', 1 - ARGV[4]))", ""),
    "young_leases_are_not_counted":
        ("local free = cap - used - young - extra", "local free = cap - used"),
    "moved_leases_are_not_counted":
        ("used = used + e.weight\nend\nr('HDEL'", "end\nr('HDEL'"),
    "a_release_leaks":
        ("used = math.max(0, used - e.weight)\nelseif", "used = math.max(0, used)\nelseif"),
    "nothing_expires":
        ("if next_ == 0 or now < next_ then\nreturn false\nend", "if true then\nreturn false\nend"),
    "young_leases_never_expire":
        ("if next_ == 0 or ends < next_ then\nnext_ = ends\nend", ""),
    "moved_leases_never_expire":
        ("ends = since + ttl,", "ends = MAX,"),
    "a_renewal_does_not_renew":
        ("if get(ARGV[i]) then\nexpire(ARGV[i], now + ttl)\nend", ""),
    "a_repeated_request_counts_twice":
        ("local e = ARGV[3] ~= '1' and get(id)\nif e then", "local e\nif e then"),
}

# A storm finds these by chance, if a client dies with a young lease while nothing waits, or if a lease
# outlives its TTL.  promises_test.py finds them, and all others, in every run.
SELDOM = ("a_hand_over_is_for_ever", "a_hand_over_keeps_the_old_lease",
          "a_hand_over_to_the_last_keeps_the_old_lease", "young_leases_never_expire", "moved_leases_never_expire", "a_renewal_does_not_renew")


def run(plant):
    """Returns what the checks of a storm find."""
    with Redis(appendfsync=None) as server, Proxy(server, plant) as proxy:
        create = creator(proxy.url)
        storm = Storm(CLIENT, proxy.url, create, capacity=5, ttl_ms=600)
        storm.start(3, count=4, threads=3)
        for step in range(8):
            time.sleep(0.3)
            proxy.drop_replies(6, "acquire" if step % 2 else "")
            if step % 3 == 0:
                storm.kill_one()
                storm.start(1.5, 1)
            if step in (3, 5):
                proxy.drop_replies(0)
                try:
                    storm.resize(proxy.url, 4)
                    time.sleep(0.15)
                    storm.resize(proxy.url, 5)
                except AssertionError as failure:
                    return [str(failure)]
        try:
            storm.finish(30)
        except AssertionError as hang:
            return [str(hang)]
        assert proxy.planted
        found = storm.problems(slack_us=400000)
        url = proxy.url + storm.name
        try:
            await_(lambda: stat(url)["free"] == stat(url)["capacity"], "full capacity", 4)
        except AssertionError as missing:
            found.append(str(missing))
        return found


def hand_over_to(count, server, proxy):
    name = f"hand{count}"
    url = f"{proxy.url}{name}?ttl=60s"
    tool(url, "create", count)
    with Holder(url, count) as holder, contextlib.ExitStack() as stack:
        holder.await_("got")
        waiters = [stack.enter_context(Holder(url)) for _ in range(count)]
        await_(lambda: server.cli("ZCARD", f"weir:{{{name}}}:q") == str(count), "the waiters")
        holder.release()
        try:
            for waiter in waiters:
                waiter.await_("got", 3)
        except AssertionError:
            return ["blocked: a waiter was not granted"]
    return []


def hand_over(plant):
    """A release must grant to one waiter, and to two, at once: no renewal is due for 20 s."""
    with Redis(appendfsync=None) as server, Proxy(server, plant) as proxy:
        return hand_over_to(1, server, proxy) or hand_over_to(2, server, proxy)


def planted(name):
    def test():
        for _ in range(3):
            found = run([BUGS[name]]) or hand_over([BUGS[name]])
            if found:
                print("    " + found[0][:150])
                return
        raise AssertionError("the checks do not find " + name)
    return test


for bug in (name for name in BUGS if name not in SELDOM):
    globals()["test_" + bug] = planted(bug)


def test_without_a_bug_nothing_is_found():
    for _ in range(2):
        found = run([]) + hand_over([])
        assert not found, found[:3]


if __name__ == "__main__":
    main(sys.modules[__name__])
