#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An engine that is connected and does not answer, in every phase of a request (C41, C44).

The proxy lets nothing pass.  Each call ends within its time limit, its result claims nothing that is not
known, and all permits return after that.
"""
import os
import socket
import sys
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from proxy import Proxy
from servers import ENGINES, await_, free_port
from support import Holder, Steps, main, stat, tool

NAMES = os.environ.get("WEIR_TEST_ENGINES", "redis").split(",")
# The server may have executed the request; etcd may have been read only.
UNKNOWN = ("WEIR_EINDETERMINATE", "WEIR_ESYSTEM")


def each(name, capacity=1):
    """Each engine: the URL to the server, and the proxy with its URL."""
    for engine in NAMES:
        with ENGINES[engine]() as server, Proxy(server) as proxy:
            tool(server.url + name, "create", capacity)
            yield server.url + name, proxy, proxy.url + name


def returns(url, capacity=1):
    await_(lambda: stat(url)["free"] == capacity and stat(url)["waiters"] == 0, "the permit")


def test_open():
    for url, proxy, through in each("open?timeout=1s"):
        proxy.freeze()
        text = tool(through, "resize", 2, check=False)
        assert "open WEIR_ESYSTEM ETIMEDOUT" in text, text
        assert stat(url)["capacity"] == 1


def test_acquire():
    for url, proxy, through in each("acquire?timeout=1s&ttl=3s"):
        with Steps(through, 1, "again") as steps:
            steps.await_("released")
            proxy.freeze()
            steps.go()
            steps.await_("acquired")
            assert any(word in steps.output() for word in UNKNOWN), steps.output()
            proxy.thaw()
            returns(url)


def test_acquire_with_signals():
    """A signal handler that runs often does not prolong a call."""
    for url, proxy, through in each("signals?timeout=1s&ttl=3s"):
        with Steps(through, 1, "again", env={"STEPS_ALARM": "1"}) as steps:
            steps.await_("released")
            proxy.freeze()
            steps.go()
            steps.await_("acquired", 30)
            assert any(word in steps.output() for word in UNKNOWN), steps.output()
            proxy.thaw()
            returns(url)


def test_wait():
    """Longer than the TTL: the waiter joins the queue again.  The holder keeps its lease meanwhile."""
    for url, proxy, through in each("wait?timeout=1s&ttl=6s"):
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(through) as waiter:
                await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                proxy.freeze()
                await_(lambda u=url: stat(u)["waiters"] == 0, "its place is lost")
                proxy.thaw()
                await_(lambda u=url: stat(u)["waiters"] == 1, "it has joined again")
                holder.release()
                waiter.await_("got")
                assert "released WEIR_OK" in waiter.release()


def test_wait_until_a_deadline():
    """The engine is silent before the deadline, and the holder has its lease until then."""
    for url, proxy, through in each("until?timeout=1s&ttl=20s"):
        with Holder(url) as holder:
            holder.await_("got")
            with Steps(through, 1, "until", more=(10000,)) as waiter:
                await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                proxy.freeze()
                waiter.await_("acquired WEIR_EINDETERMINATE")
                proxy.thaw()
                assert "released WEIR_OK" in holder.release()
                returns(url)


def test_hold():
    for url, proxy, through in each("hold?timeout=1s&ttl=2s"):
        with Holder(through) as holder:
            holder.await_("got")
            proxy.freeze()
            holder.await_("lost").await_("callback")
            assert "released WEIR_ELOST" in holder.release()
            proxy.thaw()
            returns(url)


def test_hold_with_an_operation():
    """The time limit of a request is longer than the TTL.  The loss of a lease is reported while the
    handle's thread waits for the answer to an operation."""
    for url, proxy, through in each("operation?timeout=55s&ttl=3s", 2):
        with Steps(through, 1, "lose") as steps:
            steps.await_("got")
            proxy.freeze()
            steps.go()
            steps.await_("lost WEIR_ELOST", 30)
            proxy.thaw()
            steps.await_("ended WEIR_OK")
            steps.await_("released WEIR_ELOST")
            returns(url, 2)


def with_host_before(server, port):
    """The URL of the server, with another host before it."""
    return server.url.replace("127.0.0.1:", f"127.0.0.1:{port},127.0.0.1:", 1)


def test_open_with_another_host():
    """The first host refuses connections, or accepts them and is silent."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for engine in NAMES:
            with ENGINES[engine]() as server:
                tool(server.url + "host", "create", 1)
                for port in (free_port(), silent.getsockname()[1]):
                    with Holder(with_host_before(server, port) + "host?timeout=10s") as holder:
                        holder.await_("got")
                        assert "released WEIR_OK" in holder.release()


def test_hold_with_another_host():
    """The host of the holder's connections falls silent.  Renewals go to the other one."""
    for engine in NAMES:
        with ENGINES[engine]() as server, Proxy(server) as proxy:
            url = with_host_before(server, proxy.port) + "hold?timeout=2s&ttl=12s"
            tool(server.url + "hold", "create", 1)
            with Holder(url) as holder:
                holder.await_("got")
                proxy.freeze()
                # Longer than the TTL.
                end = time.monotonic() + 16
                while time.monotonic() < end:
                    assert stat(server.url + "hold")["held"] == 1
                    assert not holder.says("lost")
                    time.sleep(0.1)
                assert "released WEIR_OK" in holder.release()


def test_release():
    for url, proxy, through in each("release?timeout=1s&ttl=20s"):
        with Holder(through) as holder:
            holder.await_("got")
            proxy.freeze()
            assert "released WEIR_EINDETERMINATE" in holder.release()
            proxy.thaw()
            returns(url)


if __name__ == "__main__":
    main(sys.modules[__name__])
