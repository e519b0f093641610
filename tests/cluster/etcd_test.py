#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""etcd: crashes, elections, compaction, revoked leases, hostile data (C41, C44, C45)."""
import json
import signal
import sys
import threading
import time
import urllib.request

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from proxy import Proxy
from servers import Etcd, await_, free_port
from storm import Storm
from support import CLIENT, Holder, Steps, creator, main, stat, tool

NAME = "?ttl=4s&timeout=5s"


def test_c41_a_dead_holder():
    with Etcd() as server:
        url = server.url + "dead" + NAME
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                holder.kill()
                waiter.await_("got")
                assert waiter.number("fence") > holder.number("fence")


def test_c41_a_stopped_holder_is_lost():
    with Etcd() as server:
        url = server.url + "paused" + NAME
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                holder.process.send_signal(signal.SIGSTOP)
                waiter.await_("got")
                holder.process.send_signal(signal.SIGCONT)
                holder.await_("lost")
                assert holder.number("fence") < waiter.number("fence")
                assert "WEIR_ELOST" in holder.release()


def test_c41_a_lease_revoked_by_hand():
    """Hard test 4: the holder learns at its next renewal."""
    with Etcd() as server:
        url = server.url + "revoked" + NAME
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            lease = [w for w in server.ctl("lease", "list").split() if len(w) == 16][0]
            server.ctl("lease", "revoke", lease)
            holder.await_("lost")


class TwoGrants(Proxy):
    """The answers to two requests for an etcd lease: the first is passed on when the second has come,
    the second when the event is set."""

    def __init__(self, server):
        super().__init__(server)
        self.grants = 0
        self.second = threading.Event()
        self.event = threading.Event()

    def change(self, data):     # pylint: disable=arguments-differ
        if b'"TTL"' in data and b'"result"' not in data:
            with self.lock:
                self.grants += 1
                first = self.grants == 1
            if first:
                self.second.wait(30)
            else:
                self.second.set()
                self.event.wait(30)
        return data


def test_c41_one_etcd_lease_for_a_handle():
    """A call and the thread of a new handle each get an etcd lease at the same time.  The keys of both
    requests must be attached to the lease that is renewed."""
    with Etcd() as server, TwoGrants(server) as proxy:
        url, through = (u + "twice?ttl=4s&timeout=30s" for u in (server.url, proxy.url))
        tool(url, "create", 2)
        with Steps(through, 1, "both") as steps:
            steps.go()
            await_(lambda: stat(url)["held"] == 1, "the first lease")
            proxy.event.set()
            steps.await_("got WEIR_OK")
            assert proxy.grants == 2
            # Longer than an etcd lease that is not renewed.
            end = time.monotonic() + 9
            while time.monotonic() < end:
                assert stat(url)["held"] == 2
            steps.go()
            steps.await_("released WEIR_OK")
            assert "operation WEIR_OK\ncall WEIR_OK" in steps.output(), steps.output()


def test_c44_a_release_while_etcd_is_down():
    """The waiters of a handle keep its etcd lease, and with it every key of the handle.  So the
    handle repeats the release for as long as etcd is down."""
    with Etcd() as server:
        url = server.url + "down?ttl=4s&timeout=2s"
        tool(url, "create", 1)
        with Steps(url, 1, "pass") as steps:
            steps.await_("got")
            await_(lambda: stat(url)["waiters"] == 1, "the waiter")
            server.kill()
            steps.go()
            steps.await_("released WEIR_EINDETERMINATE")
            time.sleep(8)       # longer than the TTL and the time limit of a request
            server.start()
            steps.await_("ended WEIR_OK", 30)
            steps.await_("released WEIR_OK")


def test_c11_oversized_requests_do_not_hide_one_that_fits():
    """12 requests outside the queue stay oversized after a resize; the one after them does not."""
    with Etcd() as server:
        url = server.url + "outside" + NAME
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url, 100, "crowd", more=(12,)) as crowd:
                await_(lambda: stat(url)["oversized"] == 12, "the oversized requests")
                with Holder(url, 2, "crowd", more=(1,)) as last:
                    await_(lambda: stat(url)["oversized"] == 13, "the last request")
                    tool(url, "resize", 2)
                    await_(lambda: stat(url)["waiters"] == 1, "it is in the queue", 20)
                    holder.release()
                    await_(lambda: stat(url)["waiters"] == 0, "its grant")
                    last.release()
                tool(url, "resize", 100)
                await_(lambda: stat(url)["oversized"] == 0, "the others are in the queue", 20)
                await_(lambda: stat(url)["held"] == 0, "they have ended")
                crowd.release()


def metric(server, name):
    """The sum of a metric of the server over all its labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as page:
        return sum(float(line.split()[-1]) for line in page.read().decode().splitlines()
                   if line.startswith(name))


def quiet(server, seconds):
    """The server gets no request, of any kind, for some time."""
    before = metric(server, "grpc_server_started_total")
    time.sleep(seconds)
    return metric(server, "grpc_server_started_total") == before


def test_c45_wake_ups_and_no_polling():
    """With a TTL of a minute no renewal is due: the watch delivers the grant, and while
    nothing changes the server gets no request."""
    with Etcd() as server:
        url = server.url + "watch?ttl=60s&timeout=5s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter, Holder(url) as other:
                await_(lambda: stat(url)["waiters"] == 2, "waiters")
                # Each waiter is among the first of the queue and has two watches.  A handle that
                # polls does so more often than once in 3 s.
                await_(lambda: metric(server, "etcd_debugging_mvcc_watch_stream_total") >= 4,
                       "the watches")
                await_(lambda: quiet(server, 1), "the end of their requests")
                assert quiet(server, 3)
                assert "released WEIR_OK" in holder.release()
                await_(lambda: waiter.says("got") or other.says("got"), "a wake-up", 10)


def full_capacity(url, storm):
    url = url + storm.name + NAME
    await_(lambda: stat(url)["free"] == stat(url)["capacity"], "full capacity")
    assert "released WEIR_OK" in tool(url, "try", stat(url)["capacity"])


def test_c41_a_storm_with_kills_and_a_crash():
    with Etcd() as server:
        storm = Storm(CLIENT, server.url, creator(server.url), ttl_ms=2000, timeout_ms=5000)
        storm.start(10)
        for _ in range(3):
            time.sleep(2)
            storm.kill_one()
            storm.start(3, 1)
        storm.crash(server)
        storm.finish()
        full_capacity(server.url, storm)
        # Tokens are no times here; leases end up to 2 s late.
        storm.check(timed=False, blocked=True, slack_us=2500000)


def test_c41_three_members_the_leader_dies():
    ports = [free_port() for _ in range(3)]
    peers = ",".join(f"m{i}=http://127.0.0.1:{p}" for i, p in enumerate(ports))
    members = [Etcd(f"m{i}", peers, p) for i, p in enumerate(ports)]
    try:
        for member in members[1:]:
            member.ready = lambda: True
            member.start()
        members[0].ready = lambda: members[0].ctl("get", "x") == ""
        members[0].start()
        url = "etcd://" + ",".join(f"127.0.0.1:{m.port}" for m in members) + "/"
        storm = Storm(CLIENT, url, creator(url), ttl_ms=4000, timeout_ms=6000)
        storm.start(10)
        time.sleep(3)
        leader = next((m for m in members if m.ctl("endpoint", "status").split(", ")[4] == "true"),
                      members[0])
        leader.kill()
        time.sleep(2)
        other = next(m for m in members if m is not leader)
        revision = json.loads(other.ctl("get", "x", "-w", "json"))["header"]["revision"]
        other.ctl("compact", str(revision))     # during the watches
        time.sleep(1)
        leader.ready = lambda: True
        leader.start()
        storm.finish()
        full_capacity(url, storm)
        storm.check(timed=False, errors=False)
    finally:
        for member in members:
            member.__exit__()


def test_c41_a_member_is_added():
    """Hard test 4: the cluster grows from one member to two during a storm."""
    with Etcd() as first:
        second = Etcd("n")
        peer = f"http://127.0.0.1:{second.peer_port}"
        second.peers = f"m=http://127.0.0.1:{first.peer_port},n={peer}"
        second.state = "existing"
        storm = Storm(CLIENT, first.url, creator(first.url), ttl_ms=6000, timeout_ms=8000)
        storm.start(8)
        time.sleep(2)
        assert "added" in first.ctl("member", "add", "n", "--peer-urls=" + peer)
        with second:
            # There is no quorum until the second member has joined.
            await_(lambda: second.ctl("get", "x") == "", "the second member")
            storm.finish()
            assert first.ctl("member", "list").count("started") == 2
            full_capacity(second.url, storm)
            storm.check(timed=False, errors=False)


def test_hostile_data():
    with Etcd() as server:
        url = server.url + "hostile" + NAME

        def put(key, value):
            server.ctl("put", "weir/hostile/" + key, value)
        for value in ("", "garbage", "[]", "{}", '{"v":2}', '{"v":1,"cap":-1}',
                      '{"v":1,"cap":9e99,"used":0,"tick":0,"nq":0,"no":0,"fence":0,'
                      '"closed":0,"paused":0}'):
            put("s", value)
            text = tool(url, "stat", check=False)
            assert "EBADMSG" in text or "EPROTO" in text, (value, text)
        server.ctl("del", "--prefix", "weir/")
        tool(url, "create", 1)
        for key in ("g/x", "q/0000000000000001", "o/0000000000000001"):
            put(key, '{"s":"G","id":"x","w":-5}')
            assert "EBADMSG" in tool(url, "stat", check=False), key
            assert "EBADMSG" in tool(url, "try", 1, check=False), key
            server.ctl("del", "weir/hostile/" + key)


def test_c44_a_request_that_curl_cannot_repeat_is_indeterminate():
    """The answer is lost with the connection; curl sends the request again, and is refused."""
    with Etcd() as server, Proxy(server) as proxy:
        server.marks = (b"/v3/kv/txn",)
        name = "refused?timeout=3s&ttl=60s"
        tool(server.url + name, "create", 3)
        with Steps(proxy.url + name, 3, "reduce", more=(1,)) as steps:
            steps.await_("got")
            proxy.on_drop = proxy.refuse
            proxy.drop_replies(1, "request_put")
            steps.go()
            steps.await_("reduced")
            assert "reduced WEIR_EINDETERMINATE" in steps.output(), steps.output()
            assert proxy.dropped == 1


def test_a_server_that_authenticates_users():
    with Etcd() as server:
        server.ctl("user", "add", "root:secret")
        server.ctl("user", "grant-role", "root", "root")
        server.ctl("auth", "enable")
        text = tool(server.url + "auth", "create", 1, check=False)
        assert "open WEIR_ESYSTEM EACCES: etcd requires a user" in text, text


def test_errors_of_open():
    with Etcd() as server:
        assert "ENOENT" in tool(server.url + "x", "stat", check=False)
        assert "ECONNREFUSED" in tool("etcd://127.0.0.1:1/x", "stat", check=False)
        # At once: the time limit of the tool is shorter than that of the request.
        secure = server.url.replace("etcd:", "etcds:") + "x?timeout=600s"
        assert "EPROTO" in tool(secure, "stat", check=False)
        tool(server.url + "x", "create", 1)
        assert "finding members" in tool(server.url + "x", "doctor")


if __name__ == "__main__":
    main(sys.modules[__name__])
