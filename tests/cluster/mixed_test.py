#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hard test 9: cuts, crashes of the server, kills, pauses and resizes in random order (C41, C44).

Each engine takes 12 s; with WEIR_FULL=1 all engines together take an hour.  WEIR_TEST_SECONDS sets
the time for each engine.  The time is divided into storms of at most two minutes; the history of each
is checked, and its seed is printed.
"""
import os
import sys
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import netns
from partition_test import ENGINES, check, client_there, each, full_capacity
from storm import Storm
from support import CLIENT, creator, main

SECONDS = int(os.environ.get("WEIR_TEST_SECONDS") or
              (3600 // len(ENGINES) if os.environ.get("WEIR_FULL") else 12))


def storm_of(seconds, server, net):
    """A storm with faults.  Between them the engine is undisturbed for up to twice the TTL, so that
    a waiter that is blocked after a fault is noticed."""
    storm = Storm(CLIENT, server.url, creator(server.url), ttl_ms=3000, timeout_ms=3000)
    there = client_there(server, net)
    end = time.monotonic() + seconds

    def replace(_):
        storm.kill_one()
        storm.start(max(1, end - time.monotonic()), 1, there=storm.random.choice((None, there)))

    faults = (lambda length: storm.cut(net, length), lambda _: storm.crash(server), replace,
              storm.pause_one, lambda _: storm.resize(server.url, storm.random.randrange(4, 9)))
    storm.start(seconds, 3)
    storm.start(seconds, 3, there=there)
    while time.monotonic() < end:
        storm.random.choice(faults)(storm.random.choice((0.3, 1, 4)))
        time.sleep(min(storm.random.choice((0.3, 1, 6)), max(0.3, end - time.monotonic())))
    storm.finish()
    full_capacity(server, storm)
    check(server, storm)


def test_c41_all_faults_mixed():
    for server, net in each():
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            storm_of(min(120, max(5, end - time.monotonic())), server, net)


if __name__ == "__main__":
    netns.enter()
    main(sys.modules[__name__])
