#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hard test 6: clock steps of clients and of PostgreSQL, and a suspend (C41).

redis_test.py has the steps of a Redis server.  etcd does not use its wall clock.
"""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from servers import Etcd, Postgres, Redis, await_
from support import Holder, Skip, main, stat, tool

NAMES = os.environ.get("WEIR_TEST_ENGINES", "redis").split(",")
ENGINES = [e for e in (Redis, Etcd, Postgres) if e.__name__.lower() in NAMES]


class Clock:
    """An offset of a clock, for programs that are started with env."""

    def __init__(self, server, variable):
        shim = server.dir + "/clock.so"
        if not os.path.exists(shim):
            subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", shim, os.path.dirname(
                os.path.abspath(__file__)) + "/clock_shim.c"], check=True)
        self.file = server.dir + "/" + variable
        self.env = {"LD_PRELOAD": shim, variable: self.file}
        self.step(0)

    def step(self, seconds):
        """In one rename, so that no program reads half a number."""
        with open(self.file + ".new", "w", encoding="ascii") as file:
            file.write(str(seconds))
        os.chmod(self.file + ".new", 0o644)
        os.rename(self.file + ".new", self.file)


def test_c41_the_clients_wall_clock():
    """A lease depends on CLOCK_BOOTTIME: it survives steps of the wall clock, and a holder
    that stops renewing still loses it."""
    for engine in ENGINES:
        with engine() as server:
            url = server.url + "clock?ttl=6s"
            tool(url, "create", 1)
            clock = Clock(server, "WEIR_CLOCK_OFFSET_FILE")
            with Holder(url, env=clock.env) as holder:
                holder.await_("got")
                with Holder(url, env=clock.env) as waiter:
                    await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                    for seconds in (-3600, 3600):
                        clock.step(seconds)
                        time.sleep(6.5)         # longer than the TTL
                        assert not holder.says("lost") and not waiter.says("got")
                        assert stat(url)["waiters"] == 1
                    holder.process.send_signal(signal.SIGSTOP)
                    waiter.await_("got")
                    holder.process.send_signal(signal.SIGCONT)
                    holder.await_("lost")
                    assert waiter.number("fence") > holder.number("fence")
                    assert holder.time_of("lost") > (time.time() + 3000) * 1e6, "the step"
                    assert "released WEIR_OK" in waiter.release()


def test_c41_a_suspended_machine():
    """CLOCK_BOOTTIME has jumped when the machine wakes up: the holder regards its lease as
    lost and does not renew it."""
    for engine in ENGINES:
        with engine() as server:
            url = server.url + "suspend?ttl=4s"
            tool(url, "create", 1)
            clock = Clock(server, "WEIR_BOOT_OFFSET_FILE")
            with Holder(url, env=clock.env) as holder:
                holder.await_("got")
                with Holder(url) as waiter:
                    await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                    clock.step(60)
                    holder.await_("lost")
                    waiter.await_("got")
                    assert holder.time_of("lost") < waiter.time_of("got")
                    assert "WEIR_ELOST" in holder.release()
                    assert stat(url)["held"] == 1
                    assert "released WEIR_OK" in waiter.release()


def test_c41_the_clock_of_postgresql():
    """Back one hour: leases go on and expire after the TTL.  Forward one minute: a lease
    expires early, its holder learns that, and tokens grow."""
    if Postgres not in ENGINES:
        raise Skip("the library has no engine for PostgreSQL")
    server = Postgres()
    clock = Clock(server, "WEIR_CLOCK_OFFSET_FILE")
    server.preload = clock.env["LD_PRELOAD"]
    os.environ["WEIR_CLOCK_OFFSET_FILE"] = clock.file
    try:
        with server:
            now = lambda: int(server.sql("SELECT extract(epoch FROM clock_timestamp())::bigint"))
            url = server.url + "clock?ttl=6s"
            tool(url, "create", 1)
            with Holder(url) as first:
                first.await_("got")
                clock.step(-3600)
                assert now() < time.time() - 3000, "the step has no effect"
                with Holder(url) as second:
                    await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                    time.sleep(6.5)             # longer than the TTL
                    assert not first.says("lost") and not second.says("got")
                    first.process.send_signal(signal.SIGSTOP)
                    second.await_("got")
                    first.process.send_signal(signal.SIGCONT)
                    first.await_("lost")
                    assert second.number("fence") > first.number("fence")
                    with Holder(url) as third:
                        await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                        clock.step(60)
                        third.await_("got")
                        second.await_("lost")
                        assert third.number("fence") > second.number("fence")
                        assert "released WEIR_OK" in third.release()
    finally:
        del os.environ["WEIR_CLOCK_OFFSET_FILE"]


if __name__ == "__main__":
    main(sys.modules[__name__])
