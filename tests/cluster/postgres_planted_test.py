#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Planted bugs in the functions in src/cluster/postgres/sql: the checks find each of them."""
import sys
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from servers import Postgres, await_
from storm import Storm
from support import CLIENT, Holder, creator, main, stat, tool

# name: (function, text, replacement)
BUGS = {
    "grants_one_permit_too_many":
        ("grant_", "s.capacity - s.used < e.least OR s.capacity <= s.used",
         "s.capacity - s.used + 1 < e.least"),
    "newcomers_overtake_the_queue":
        ("save_", "s.waiters = 0 AND s.outside = 0\n", "true\n"),
    "last_come_first_served":
        ("grant_", "ORDER BY ticket LIMIT 1", "ORDER BY ticket DESC LIMIT 1"),
    "tokens_repeat":
        ("hold_", "greatest(s.fence + 1, s.last)", "greatest(s.fence, s.last - s.last % 1000000)"),
    "a_release_grants_nobody":
        ("release_", "weir.grant_(weir.sweep_(s))", "weir.sweep_(s)"),
    "a_grant_notifies_nobody":
        ("tell_", "PERFORM pg_notify", "PERFORM concat"),
    "a_release_counts_twice":
        ("release_", "room = room + returned", "room = room + 2 * returned"),
    "a_release_of_a_young_lease_leaks":
        ("release", "room + split_part", "room + 0 * split_part"),
    "the_fast_path_ignores_the_capacity":
        ("acquire", "room >= a_least AND\n", "room IS NOT NULL AND\n"),
    "young_leases_are_forgotten":
        ("age_", "s.used := s.used + moved", "s.used := s.used"),
    "the_guard_takes_a_live_client_for_dead":
        ("guard", "EXIT WHEN pg_try_advisory_xact_lock(", "EXIT WHEN true OR pg_try_advisory_xact_lock("),
}

# In a storm these are rare, because a request waits for most of the time.
ALONE = ("a_release_counts_twice", "a_release_of_a_young_lease_leaks")


def plant(server, bug):
    """Returns the statement that undoes it."""
    name, old, new = bug
    text = server.sql(f"SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = '{name}' AND "
                      "pronamespace = 'weir'::regnamespace")
    assert text.count(old) == 1, (name, old, text.count(old))
    assert "ERROR" not in server.sql(text.replace(old, new))
    return text


def run(bug):
    """Returns what the checks of a storm find."""
    with Postgres() as server:
        tool(server.url + "first", "create", 1)
        if bug:
            plant(server, bug)
        storm = Storm(CLIENT, server.url, creator(server.url), capacity=5, ttl_ms=1500)
        storm.start(3, count=4, threads=3)
        for _ in range(3):
            time.sleep(0.7)
            storm.kill_one()
            storm.start(1.5, 1)
        try:
            storm.finish(40)
        except AssertionError as hang:
            return [str(hang)]
        found = storm.problems(slack_us=400000)
        url = server.url + storm.name
        try:
            await_(lambda: stat(url)["free"] == stat(url)["capacity"], "full capacity", 4)
        except AssertionError as missing:
            found.append(str(missing))
        return found


def hand_over(bug):
    """A holder that lives keeps its lease.  Its release grants at once: no renewal is due
    for 20 s."""
    with Postgres() as server:
        url = server.url + "live?ttl=60s"
        tool(url, "create", 1)
        if bug:
            plant(server, bug)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1 or waiter.says("got"), "a waiter")
                time.sleep(1)
                if waiter.says("got"):
                    return ["capacity: two holders"]
                holder.release()
                try:
                    waiter.await_("got", 5)
                except AssertionError:
                    return ["blocked: the waiter was not granted"]
    return []


def alone(bug):
    """Leases are granted and released while nothing waits: a young one, then one that has moved
    to weir.entry."""
    with Postgres() as server:
        url = server.url + "alone"
        tool(url, "create", 3)
        if bug:
            plant(server, bug)
        acquire = lambda i, n: server.sql(f"SELECT weir.acquire('alone', '{'a' * 16}.{i}', true, {n}, {n}, "
                                          "60000000, true, false, 'host 1 x')")
        release = lambda i: server.sql(f"SELECT weir.release('alone', '{'a' * 16}.{i}', 0)")
        assert acquire(1, 1).startswith("H 1 ") and acquire(2, 1).startswith("H 1 ")
        assert release(1) == "R"
        text = tool(url, "stat", check=False)
        if " held 1 " not in text:
            return [text]
        assert acquire(3, 1).startswith("H 1 ")
        assert stat(url)["held"] == 2
        assert release(2) == "R"
        return [] if acquire(4, 3) == "B" else ["capacity: 4 permits of 3"]


def planted(name):
    def test():
        for _ in range(3):
            found = (alone(BUGS[name]) if name in ALONE else
                     run(BUGS[name]) or hand_over(BUGS[name]))
            if found:
                print("    " + found[0][:150])
                return
        raise AssertionError("the checks do not find " + name)
    return test


for bug_ in BUGS:
    globals()["test_" + bug_] = planted(bug_)


def test_without_a_bug_nothing_is_found():
    found = alone(None) + run(None) + hand_over(None)
    assert not found, found[:3]


if __name__ == "__main__":
    main(sys.modules[__name__])
