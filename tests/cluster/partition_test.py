#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hard test 5: partitions between network namespaces (C41, C44)."""
import contextlib
import os
import stat as file_mode
import subprocess
import sys
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import netns
from servers import Etcd, Postgres, Redis, Server, await_
from storm import Storm
from support import CLIENT, Holder, creator, main, stat, tool

WEIR = os.environ.get("WEIR_TEST_COMMAND")
ENGINES = [e for e in (Redis, Etcd, Postgres)
           if e.__name__.lower() in os.environ.get("WEIR_TEST_ENGINES", "redis").split(",")]


def each():
    """Each engine, with a network."""
    for engine in ENGINES:
        with netns.Network() as net:
            Server.host = net.here
            with engine() as server:
                yield server, net


def test_c41_the_holder_knows_before_the_next_grant():
    for server, net in each():
        url = server.url + "cut?ttl=6s&timeout=3s"
        tool(url, "create", 1)
        with Holder(url, where=net.run()) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                net.cut()
                holder.await_("lost")
                waiter.await_("got")
                assert holder.time_of("lost") < waiter.time_of("got")
                assert waiter.number("fence") > holder.number("fence")
                # The old holder cannot release the permit of the new one.
                net.heal()
                assert "WEIR_ELOST" in holder.release()
                assert stat(url)["held"] == 1
                assert "released WEIR_OK" in waiter.release()
        # The other machine takes part again.
        with Holder(url, where=net.run()) as holder:
            holder.await_("got")
            assert "released WEIR_OK" in holder.release()


def test_c41_a_waiter_that_is_cut_off_waits_on():
    """A short cut: the waiter keeps its place.  A long one: it joins the queue again."""
    for server, net in each():
        for long in (False, True):
            url = server.url + "wait?ttl=6s&timeout=2s"
            tool(url, "create", 1)
            with Holder(url) as holder:
                holder.await_("got")
                with Holder(url, where=net.run()) as waiter:
                    await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                    net.cut()
                    time.sleep(2.5)     # longer than the timeout
                    if long:
                        await_(lambda u=url: stat(u)["waiters"] == 0, "the end of its lease")
                    net.heal()
                    await_(lambda u=url: stat(u)["waiters"] == 1, "the waiter")
                    assert not waiter.says("got")
                    assert "released WEIR_OK" in holder.release()
                    waiter.await_("got")
                    assert "released WEIR_OK" in waiter.release()


def test_c41_the_command_ends_its_job():
    for server, net in each():
        url = server.url + "run?ttl=9s&timeout=3s"
        tool(url, "create", 1)
        beats = server.dir + "/beats"
        script = (f"trap '' TERM; while :; do date +%s%N >{beats}.new; mv {beats}.new {beats}; "
                  "sleep 0.02; done")
        with subprocess.Popen(net.run(WEIR, "run", url, "--", "bash", "-c", script),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as job, \
                contextlib.ExitStack() as end:
            end.callback(job.kill)
            await_(lambda f=beats: os.path.exists(f), "the job")
            with Holder(url) as waiter:
                await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                net.cut()
                assert job.wait(60) == 76, job.stdout.read()
                waiter.await_("got")
                with open(beats, encoding="ascii") as file:
                    assert int(file.read()) / 1000 < waiter.time_of("got")
            net.heal()


def client_there(server, net):
    """A program that runs the client on the other machine."""
    there = server.dir + "/client"
    with open(there, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexec " + " ".join(net.run(CLIENT)) + ' "$@"\n')
    os.chmod(there, file_mode.S_IRWXU | file_mode.S_IRWXG | file_mode.S_IRWXO)
    return there


def full_capacity(server, storm):
    url = server.url + storm.name
    await_(lambda: stat(url)["free"] == stat(url)["capacity"], "full capacity")
    assert stat(url)["waiters"] == 0


def check(server, storm):
    """Check the history.  A token of etcd is no time, and its leases end up to 2 s late."""
    if isinstance(server, Etcd):
        storm.check(timed=False, blocked=True, slack_us=2500000)
    else:
        storm.check()


def test_c41_a_storm_on_both_sides():
    """Clients on both machines, kills and pauses, three cuts; the history of all is
    checked."""
    for server, net in each():
        storm = Storm(CLIENT, server.url, creator(server.url), ttl_ms=2000, timeout_ms=2000)
        storm.start(9, 3)
        storm.start(9, 3, there=client_there(server, net))
        for seconds in (0.4, 3, 1.2):
            time.sleep(0.8)
            storm.cut(net, seconds)
            storm.kill_one()
            storm.pause_one(0.3)
        storm.finish()
        full_capacity(server, storm)
        check(server, storm)


if __name__ == "__main__":
    netns.enter()
    main(sys.modules[__name__])
