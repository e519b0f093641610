#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program of each engine keeps its promises, and a planted bug that breaks one is found."""
import sys

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import planted_test
import postgres_planted_test
from promises import PostgresSemaphore, RedisSemaphore, broken
from servers import Postgres, Redis
from support import main, redis_script, tool

# Bugs of the conversation with clients, which need clients: hand_over() of postgres_planted_test.
CLIENTS = ("a_grant_notifies_nobody", "the_guard_takes_a_live_client_for_dead")


def check(kind, name, found):
    if name is None:
        assert not found, found
    else:
        assert found, f"{kind}: no promise is broken by {name}"


def redis(server):
    script = redis_script()
    for name, (old, new) in {None: ("", ""), **planted_test.BUGS}.items():
        assert not old or script.count(old) == 1, (name, script.count(old))
        text = script.replace(old, new) if old else script
        check("redis", name, broken(lambda n, text=text: RedisSemaphore(
            server, text, n)))


def postgres(server):
    tool(server.url + "first", "create", 1)
    new = lambda n: PostgresSemaphore(server, n)
    check("postgres", None, broken(new))
    for name, bug in postgres_planted_test.BUGS.items():
        if name not in CLIENTS:
            undo = postgres_planted_test.plant(server, bug)
            check("postgres", name, broken(new))
            assert "ERROR" not in server.sql(undo)
    check("postgres", None, broken(new))


def test_redis():
    with Redis(appendfsync=None) as server:
        redis(server)


def test_postgres():
    with Postgres() as server:
        postgres(server)


if __name__ == "__main__":
    main(sys.modules[__name__])
