#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Redis: crashes, lost answers, clocks, failover, hostile data (C41, C44, C45)."""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from proxy import Proxy
from servers import Redis, await_, free_port
from storm import Storm
from support import CLIENT, TOOL, Holder, Steps, creator, main, redis_script, stat, tool


def test_c41_a_stopped_holder_is_lost_and_its_token_refused():
    """Hard test 1: a resource that checks tokens refuses the paused holder."""
    with Redis() as server:
        url = server.url + "paused?ttl=3s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                holder.process.send_signal(signal.SIGSTOP)
                waiter.await_("got")
                resource = waiter.number("fence")
                holder.process.send_signal(signal.SIGCONT)
                holder.await_("lost").await_("callback")
                assert "check WEIR_ELOST" in holder.output()
                assert holder.number("fence") < resource, "the resource refuses it"
                assert "WEIR_ELOST" in holder.release()
                assert "released WEIR_OK" in waiter.release()


def test_c41_the_holder_knows_before_the_next_grant():
    """Hard test 5, without namespaces: the proxy cuts the holder off; it learns of the loss
    before the server grants again."""
    with Redis() as server, Proxy(server) as proxy:
        # The validity ends a tenth of the TTL before the lease.
        name = "cut?ttl=10s&timeout=1s"
        tool(server.url + name, "create", 1)
        with Holder(proxy.url + name) as holder:
            holder.await_("got")
            with Holder(server.url + name) as waiter:
                await_(lambda: stat(server.url + name)["waiters"] == 1, "a waiter")
                proxy.freeze()
                holder.await_("lost")
                waiter.await_("got")
                assert holder.time_of("lost") < waiter.time_of("got")
                assert waiter.number("fence") > holder.number("fence")


def test_c41_a_dead_holder_within_the_ttl():
    with Redis() as server:
        url = server.url + "dead?ttl=3s"
        tool(url, "create", 2)
        with Holder(url, 2) as holder:
            holder.await_("got")
            with Holder(url, 1) as waiter, Holder(url, 1) as other:
                await_(lambda: stat(url)["waiters"] == 2, "waiters")
                holder.kill()
                waiter.await_("got")
                other.await_("got")
                assert stat(url)["held"] == 2


def test_c41_dead_clients_leave_no_keys():
    """Leases that are never released do not stay in the server (Redisson #4100, #2045)."""
    with Redis() as server:
        url = server.url + "keys?ttl=3s"
        tool(url, "create", 2)
        for _ in range(2):
            with Holder(url, 2) as holder:
                holder.await_("got")
                with Holder(url, 1) as waiter:
                    await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                    waiter.kill()
                    holder.kill()
        await_(lambda: stat(url)["free"] == 2 and
               server.cli("KEYS", "*").split() == ["weir:{keys}:e"], "only the semaphore")


def storm_with(server, url, seconds, faults, **options):
    storm = Storm(CLIENT, url, creator(server.url), **options)
    storm.start(seconds)
    faults(storm)
    storm.finish()
    return storm


def full_capacity(server, storm):
    """After the last fault everything comes back within the TTL."""
    url = server.url + storm.name
    await_(lambda: stat(url)["free"] == stat(url)["capacity"], "full capacity")
    assert stat(url)["waiters"] == 0
    assert "released WEIR_OK" in tool(url, "try", stat(url)["capacity"])


def test_c41_a_storm_with_kills_and_pauses():
    with Redis() as server:
        def faults(storm):
            for _ in range(6):
                time.sleep(0.4)
                storm.kill_one()
                storm.start(2, 1)
                storm.pause_one(0.3)
        storm = storm_with(server, server.url, 5, faults, timeout_ms=5000)
        full_capacity(server, storm)
        storm.check()


def test_c21_a_storm_with_resizes():
    with Redis() as server:
        def faults(storm):
            for capacity in (2, 8, 1, 4, 6):
                time.sleep(0.5)
                storm.resize(server.url, capacity)
        storm = storm_with(server, server.url, 4, faults, timeout_ms=5000)
        full_capacity(server, storm)
        storm.check()


def crash(appendfsync):
    """Hard test 2: kill -9 of the server in the middle of a storm."""
    with Redis(appendfsync=appendfsync) as server:
        def faults(storm):
            create = lambda: tool(server.url + storm.name, "create", storm.capacity)
            for _ in range(3):
                time.sleep(0.7)
                storm.crash(server, create if not appendfsync else lambda: None)
                server.cli("SCRIPT", "FLUSH")
                time.sleep(0.2)
                for line in server.cli("CLIENT", "LIST").splitlines():
                    if "cmd=blpop" in line:
                        server.cli("CLIENT", "KILL", "ID", line.split()[0].split("=")[1])
        storm = storm_with(server, server.url, 5, faults)
        full_capacity(server, storm)
        return storm


def test_c41_the_server_is_killed_aof_always():
    crash("always").check()


def test_c41_the_server_is_killed_aof_everysec():
    # Killing the process loses nothing that was written to the file.
    crash("everysec").check()


def test_c41_the_server_is_killed_without_a_file():
    """All leases are forgotten: more may exist.  Tokens grow all the same."""
    crash(None).check(timed=False, tickets=False, errors=False, limit=False)


def test_c44_lost_answers():
    """Hard test 7: answers of acquire, renew and release are dropped."""
    with Redis() as server, Proxy(server) as proxy:
        def faults(storm):
            for _ in range(25):
                time.sleep(0.15)
                proxy.drop_replies(storm.random.randrange(1, 4))
        storm = storm_with(server, proxy.url, 5, faults, timeout_ms=5000)
        assert proxy.dropped > 5, proxy.dropped
        full_capacity(server, storm)
        storm.check()


def script(server, name, *words):
    """Call the script by hand."""
    return server.cli("EVAL", redis_script(), 6,
                      *(f"weir:{{{name}}}:{key}" for key in ("e", "x", "q", "o", "w:", "r")),
                      *words)


def test_c44_a_late_copy_of_a_repeated_request():
    """The first copy of a request arrives after its repetition was granted: a connection that the
    client has given up.  The copy counts for nothing when the lease is next touched."""
    with Redis() as server:
        url = server.url + "late"
        tool(url, "create", 2)
        name = "a" * 16 + ".1"
        for fresh in (0, 1):
            assert script(server, "late", "acquire", name, fresh, 1, 1, 60000000, 0,
                          f"0 {'a' * 16} host 1 x").startswith("H")
        assert stat(url)["held"] == 1
        assert script(server, "late", "release", name, 0, 1) == "R"
        assert stat(url)["free"] == 2


def test_young_leases_move_when_another_client_comes():
    """A lease that was granted without waiting is a field beside the state until then."""
    with Redis() as server:
        url = server.url + "young?ttl=60s"
        key = "weir:{young}:"
        tool(url, "create", 7)
        holders = [Holder(url, weight).await_("got") for weight in (1, 2, 4)]
        assert server.cli("HGET", key + "e", "y") == "4" and server.cli("HLEN", key + "e") == "5"
        assert server.cli("HLEN", key + "r") == "0"
        assert "released WEIR_OK" in holders[1].release()
        assert server.cli("HGET", key + "e", "y") == "3" and server.cli("HLEN", key + "e") == "4"
        with Holder(url, 3) as waiter:
            await_(lambda: server.cli("ZCARD", key + "q") == "1", "a waiter")
            assert server.cli("HGET", key + "e", "y") == "0" and server.cli("HLEN", key + "e") == "2"
            assert server.cli("HLEN", key + "r") == "3"
            for holder in holders[::2]:
                assert "released WEIR_OK" in holder.release()
            waiter.await_("got", 10)
            assert "released WEIR_OK" in waiter.release()
        assert stat(url)["free"] == 7


def test_young_leases_are_limited():
    """There are at most 200 young leases, so that moving them is quick."""
    with Redis() as server:
        url = server.url + "many"
        tool(url, "create", 1000)
        for i in range(450):
            assert script(server, "many", "acquire", f"{'a' * 16}.{i}", 1, 1, 1, 60000000, 0,
                          f"0 {'a' * 16} host 1 x").startswith("H")
        assert int(server.cli("HLEN", "weir:{many}:e")) <= 202
        assert stat(url)["held"] == 450
        # The release of an older lease leaves the young ones alone.
        script(server, "many", "acquire", f"{'b' * 16}.1", 1, 1, 1, 60000000, 0,
               f"0 {'b' * 16} host 1 x")
        assert script(server, "many", "release", f"{'a' * 16}.7", 0, 1) == "R"
        assert server.cli("HLEN", "weir:{many}:e") == "3"
        assert script(server, "many", "release", f"{'b' * 16}.1", 0, 1) == "R"
        assert stat(url)["held"] == 449


def test_c44_no_answer_is_indeterminate():
    with Redis() as server, Proxy(server) as proxy:
        name = "mute?ttl=6s&timeout=3s"
        tool(server.url + name, "create", 1)
        with Holder(proxy.url + name) as holder:
            holder.await_("got")
            proxy.freeze()
            assert "WEIR_EINDETERMINATE" in holder.release() or holder.says("WEIR_ELOST")
        proxy.thaw()
        await_(lambda: stat(server.url + name)["free"] == 1, "the permit")


def test_c41_failover_is_indeterminate_and_tokens_grow():
    """Hard test 3: with replicas=1 a grant that no replica has confirmed is no grant."""
    with Redis("--repl-diskless-sync-delay", "0") as master:
        with Redis("--replicaof", "127.0.0.1", str(master.port)) as replica:
            await_(lambda: "master_link_status:up" in replica.cli("INFO", "replication"),
                   "replication")
            both = (f"redis://127.0.0.1:{master.port},127.0.0.1:{replica.port}/"
                    "failover?replicas=1&ttl=20s&timeout=")
            patient, both = both + "10s", both + "1s"
            tool(patient, "create", 1)
            with Holder(patient) as holder:
                holder.await_("got")
                fence = holder.number("fence")
                assert "released WEIR_OK" in holder.release()
            replica.stop()
            text = tool(both, "try", 1, check=False)
            assert "WEIR_EINDETERMINATE" in text, text
            replica.resume()
            master.kill()
            replica.cli("REPLICAOF", "NO", "ONE")
            with Holder(f"redis://127.0.0.1:{replica.port}/failover?ttl=2s") as holder:
                holder.await_("got")
                assert holder.number("fence") > fence


def test_c41_the_servers_clock():
    """Hard test 6: the server's clock goes back one hour; permits of a dead holder still
    return within the TTL, and tokens grow."""
    with Redis() as server:
        shim = server.dir + "/clock.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", shim,
                        os.path.dirname(os.path.abspath(__file__)) + "/clock_shim.c"], check=True)
        server.kill()
        server.preload = shim
        offset = server.dir + "/offset"
        os.environ["WEIR_CLOCK_OFFSET_FILE"] = offset
        try:
            open(offset, "w").write("0")
            server.start()
            url = server.url + "clock?ttl=6s"
            tool(url, "create", 1)
            with Holder(url) as first:
                first.await_("got")
                fence = first.number("fence")
                open(offset, "w").write("-3600")
                with Holder(url) as waiter:
                    await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                    # The holder goes on: it is renewed although the clock was set back.
                    time.sleep(7)               # longer than the TTL
                    assert not first.says("lost") and not waiter.says("got")
                    first.kill()
                    waiter.await_("got")
                    assert waiter.number("fence") > fence
                    # Forward: the holder is evicted early, and its token is smaller.
                    with Holder(url) as third:
                        await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                        open(offset, "w").write("60")
                        third.await_("got")
                        assert third.number("fence") > waiter.number("fence")
                        waiter.await_("lost")
        finally:
            del os.environ["WEIR_CLOCK_OFFSET_FILE"]


def test_c41_a_stale_wake_up_grants_nothing():
    """A waiter was cut off, was granted, lost that lease without knowing it, and has joined the
    queue again.  Then the old wake-up arrives: it has the ticket of the old place."""
    with Redis() as server:
        url = server.url + "stale?ttl=60s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                name = server.cli("ZRANGE", "weir:{stale}:q", 0, -1)
                await_(lambda: "cmd=blpop" in server.cli("CLIENT", "LIST"), "the wait")
                server.cli("CONFIG", "RESETSTAT")
                server.cli("RPUSH", "weir:{stale}:w:" + name.split(".")[0],
                           f"{name} G 1 {holder.number('fence') - 1} 1000000")
                # The waiter asks the server instead; no renewal is due for 20 s.
                await_(lambda: waiter.says("got") or server.calls().get("evalsha"), "a look")
                assert not waiter.says("got")
                assert stat(url)["held"] == 1 and stat(url)["waiters"] == 1
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got", 10)
                assert waiter.number("fence") > holder.number("fence")


def test_a_lost_wake_up_is_found_when_the_connection_is_open_again():
    """The server has taken the wake-up from the list, and its answer is lost with the connection.
    No renewal is due for 60 s."""
    with Redis() as server, Proxy(server) as proxy:
        name = "wake-lost?ttl=180s"
        server.marks = (b"BLPOP",)
        tool(server.url + name, "create", 1)
        with Holder(server.url + name) as holder:
            holder.await_("got")
            with Holder(proxy.url + name) as waiter:
                await_(lambda: "cmd=blpop" in server.cli("CLIENT", "LIST"), "the wait")
                proxy.drop_replies(1)
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got", 30)
                assert proxy.dropped == 1


def test_c41_a_wake_up_before_the_answer_with_replicas():
    """The request waits in the server, whose answer waits for a replica.  The wake-up comes first.
    It has to be confirmed, but no renewal is due for 60 s."""
    with Redis("--repl-diskless-sync-delay", "0") as master:
        with Redis("--replicaof", "127.0.0.1", str(master.port)) as replica:
            await_(lambda: "master_link_status:up" in replica.cli("INFO", "replication"),
                   "replication")
            plain = master.url + "early?ttl=180s"
            tool(plain, "create", 1)
            with Holder(plain).await_("got") as first, \
                    Steps(plain + "&replicas=1&timeout=120s", 1, "again") as waiter:
                await_(lambda: "cmd=blpop" in master.cli("CLIENT", "LIST"), "the wait")
                first.release()
                waiter.await_("released")
                # Wake-ups arrive from now on.
                with Holder(plain) as second:
                    second.await_("got")
                    replica.stop()
                    waiter.go()
                    await_(lambda: stat(plain)["waiters"] == 1, "a waiter")
                    second.release()
                    await_(lambda: stat(plain)["held"] == 1, "a grant")
                    await_(lambda: master.cli("EXISTS", "weir:{early}:w:" + master.cli(
                        "HKEYS", "weir:{early}:r").split(".")[0]) == "0", "the wake-up is read")
                    assert not waiter.says("got")
                    replica.resume()
                    waiter.await_("got", 30)


def repetition(verb, operation, result, *more):
    """The server has executed a request, its answer is lost, and then no connection is
    possible."""
    with Redis() as server, Proxy(server) as proxy:
        name = "refused?timeout=1s&ttl=20s"
        tool(server.url + name, "create", 3)
        proxy.on_drop = proxy.refuse
        proxy.drop_replies(1, operation)
        with Steps(proxy.url + name, 3, verb, more=more) as steps:
            steps.go()
            steps.await_(result)
            assert result + " WEIR_EINDETERMINATE" in steps.output(), steps.output()
            assert proxy.dropped == 1


def test_c44_a_reduction_whose_repetition_is_not_sent_is_indeterminate():
    repetition("reduce", "release", "reduced", 1)


def test_c41_a_reduction_that_finds_no_lease_reports_the_loss():
    """No renewal is due for 100 s."""
    with Redis() as server:
        url = server.url + "vanish?ttl=300s"
        tool(url, "create", 3)
        with Steps(url, 3, "vanish", more=(1,)) as steps:
            steps.await_("got")
            server.cli("FLUSHALL")
            tool(url, "create", 3)
            steps.go()
            steps.await_("valid")
            assert "reduced WEIR_ELOST\nvalid WEIR_ELOST" in steps.output(), steps.output()


def test_c44_an_operation_whose_repetition_is_not_sent_is_indeterminate():
    repetition("async", "acquire", "ended")


class Delayed(Proxy):
    """Holds an acquire back, from `hold` until `go`."""

    def __init__(self, server):
        super().__init__(server)
        self.hold, self.caught, self.go = (threading.Event() for _ in range(3))

    def before(self, data):
        if self.hold.is_set() and b"\r\nacquire\r\n" in data:
            self.caught.set()
            self.go.wait(60)


def test_c44_a_request_that_joins_again_after_its_call_has_ended_is_withdrawn():
    """The server has lost its data.  The handle's thread sends the request again, but the server gets
    it after the call has given up and has withdrawn it."""
    with Redis() as server, Delayed(server) as proxy:
        url, through = (u + "stray?ttl=40s&timeout=30s" for u in (server.url, proxy.url))
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Steps(through, 1, "until", more=(5000,)) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "the waiter")
                proxy.hold.set()
                server.cli("FLUSHALL")
                tool(url, "create", 1)
                # The waiter finds that its wake-up connection is lost, and renews.
                server.cli("CLIENT", "KILL", "TYPE", "normal")
                await_(proxy.caught.is_set, "the request is sent again")
                waiter.await_("acquired WEIR_ETIMEDOUT")
                proxy.go.set()
                waiter.process.wait(60)
                assert stat(url)["held"] == 0


def test_c41_an_operation_that_is_not_answered_costs_no_lease():
    """The time limit of a request is longer than the TTL.  A call is granted a lease while the handle's
    thread waits for the answer to an operation.  The thread gives that up in time to renew."""
    with Redis() as server, Delayed(server) as proxy:
        url, through = (u + "busy?ttl=6s&timeout=50s" for u in (server.url, proxy.url))
        tool(url, "create", 2)
        proxy.hold.set()
        with Steps(through, 1, "both") as steps:
            await_(proxy.caught.is_set, "the operation")
            proxy.hold.clear()
            steps.go()
            steps.await_("got WEIR_OK", 30)
            # Longer than the TTL.
            end = time.monotonic() + 8
            while time.monotonic() < end:
                assert stat(url)["held"] == 2
                time.sleep(0.1)
            steps.go()
            steps.await_("released WEIR_OK")
            assert "operation WEIR_OK\ncall WEIR_OK" in steps.output(), steps.output()


class Slow(Proxy):
    """Each answer takes 20 ms."""
    answers = 0

    def change(self, data):     # pylint: disable=arguments-differ
        time.sleep(0.02)
        self.answers += 1
        return data


def test_c41_many_operations_do_not_delay_renewals():
    """500 operations take the handle's thread 10 s.  The lease is valid for 4.5 s without a
    renewal."""
    with Redis() as server, Slow(server) as proxy:
        name = "flood?ttl=5s&timeout=20s"
        tool(server.url + name, "create", 1000)
        with Steps(proxy.url + name, 1, "flood", more=(500,)) as steps:
            steps.await_("flooded")
            assert "flooded WEIR_OK" in steps.output(), steps.output()


def test_c41_many_withdrawals_do_not_delay_renewals():
    """As above, for operations that are cancelled."""
    with Redis() as server, Slow(server) as proxy:
        name = "cancel?ttl=5s&timeout=20s"
        tool(server.url + name, "create", 1000)
        with Steps(proxy.url + name, 1, "cancel", more=(500,)) as steps:
            steps.await_("cancelled")
            await_(lambda: proxy.answers >= 500, "the withdrawals")
            steps.go()
            steps.await_("released")
            assert "valid WEIR_OK" in steps.output(), steps.output()
            await_(lambda: stat(server.url + name)["held"] == 0, "the permits")


def test_c41_a_grant_that_was_made_at_the_deadline_is_valid():
    """The client is cut off while its request is granted, until its validity by the last answer
    has passed.  The server has begun a full lease.  The call whose deadline has passed keeps the
    grant, and its lease is valid."""
    with Redis() as server, Proxy(server) as proxy:
        name = "edge?ttl=8s&timeout=20s"
        tool(server.url + name, "create", 1)
        with Holder(server.url + name) as holder:
            holder.await_("got")
            with Steps(proxy.url + name, 1, "until", more=(6000,)) as waiter:
                await_(lambda: stat(server.url + name)["waiters"] == 1, "a waiter")
                proxy.freeze()
                asked = time.monotonic()
                time.sleep(5)
                holder.release()
                time.sleep(max(0, asked + 9 - time.monotonic()))
                proxy.thaw()
                waiter.await_("released")
                assert "got WEIR_OK" in waiter.output(), waiter.output()


def test_c45_nobody_polls():
    """1,000 waiters and no changes: the server sees renewals only."""
    with Redis() as server:
        url = server.url + "crowd?ttl=6s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with subprocess.Popen([TOOL, url, "crowd", "1", "1000"],
                                  stdin=subprocess.PIPE) as crowd:
                await_(lambda: stat(url)["waiters"] == 1000, "1,000 waiters")
                await_(lambda: "cmd=blpop" in server.cli("CLIENT", "LIST"), "the wait")
                server.cli("CONFIG", "RESETSTAT")
                started = time.monotonic()
                time.sleep(6)
                calls = server.calls()
                rounds = 1 + (time.monotonic() - started) / 2
                crowd.stdin.close()
                crowd.wait(60)
            # 1,001 requests are renewed after each third of the TTL, in batches.
            scripts = calls.pop("evalsha", 0)
            assert 0 < scripts <= rounds * (1001 / 100 + 20), scripts
            assert calls.get("blpop", 0) == 0, calls
            assert "released WEIR_OK" in holder.release()


def test_wake_ups_do_not_wait_for_renewals():
    with Redis() as server:
        url = server.url + "wake?ttl=60s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got", 10)


def hostile(server, *commands):
    name = "hostile"
    server.cli("FLUSHALL")
    tool(server.url + name, "create", 3)
    with Holder(server.url + name) as holder:
        holder.await_("got")
        for command in commands:
            server.cli(*command)
        texts = [tool(server.url + name, *words, check=False, timeout=30)
                 for words in (("stat",), ("try", 1), ("take", 1), ("resize", 5))]
        holder.kill()
    return texts


def test_hostile_data():
    """Foreign or damaged keys: a clear error, no crash, no wait without end."""
    key = "weir:{hostile}:"
    first = "$(id)"
    with Redis() as server:
        def field():
            tool(server.url + "hostile", "stat", check=False)
            return server.cli("HKEYS", key + "r").split()[0]
        for texts in (
                hostile(server, ("DEL", key + "e"), ("SET", key + "e", "text")),
                hostile(server, ("HSET", key + "e", "c", "text")),
                hostile(server, ("HSET", key + "e", "c", "x" * 92)),
                hostile(server, ("HDEL", key + "e", "y")),
                hostile(server, ("HSET", key + "e", "y", "text")),
                hostile(server, ("HSET", key + "e", "foreign", "1"),
                        ("HDEL", key + "e", "c"))):
            for text in texts:
                assert "EBADMSG" in text, (first, text)
        server.cli("FLUSHALL")
        tool(server.url + "hostile", "create", 3)
        with Holder(server.url + "hostile") as holder:
            holder.await_("got")
            for value in ("garbage", "H -1 1 1 1 1 1 1 0 ab text",
                          "H 99999999999999999999 1 1 1 1 1 1 0 ab text",
                          "W 1 1 -5 1 1 1 1 0 ab text", "H 1 1 1 1 1 1 1 0 ab " + "x" * 1000):
                server.cli("HSET", key + "r", field(), value)
                assert "EBADMSG" in tool(server.url + "hostile", "stat", check=False), value
            holder.kill()
        # A young lease that is damaged, and one whose permits are not counted.
        for damage in ("damaged", "H 2 1 1 1 1 1 0 ab text"):
            server.cli("FLUSHALL")
            tool(server.url + "hostile", "create", 3)
            with Holder(server.url + "hostile") as holder:
                holder.await_("got")
                fields = set(server.cli("HKEYS", key + "e").split()) - {"c", "y"}
                assert len(fields) == 1, fields
                server.cli("HSET", key + "e", fields.pop() if damage == "damaged" else
                           "0123456789abcdef.1", damage)
                assert "EBADMSG" in tool(server.url + "hostile", "stat", check=False), damage
                holder.kill()
        # Another version.
        server.cli("FLUSHALL")
        tool(server.url + "hostile", "create", 3)
        server.cli("EVAL", "local s = redis.call('HGET', KEYS[1], 'c') "
                   "redis.call('HSET', KEYS[1], 'c', string.sub(s, 1, 3) .. '\\9' .. "
                   "string.sub(s, 5))", "1", key + "e")
        assert "EPROTO" in tool(server.url + "hostile", "stat", check=False)


def test_hostile_server():
    """A server that answers garbage, or not at all."""
    for answer in (b"garbage\r\n", b"*2147483647\r\n", b"$1073741824\r\n", b"*-7\r\n",
                   b"+OK\r\n" * 5, b":1\r\n", b"*1\r\n" * 50, b"", b"-ERR no\r\n",
                   b"\0" * 100, b"*3\r\n$1\r\nH\r\n:-1\r\n:5\r\n"):
        listener = socket.create_server(("127.0.0.1", 0))

        def serve(listener=listener, answer=answer):
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                client.settimeout(5)
                try:
                    while client.recv(65536):
                        client.sendall(answer)
                except OSError:
                    pass
                client.close()
        threading.Thread(target=serve, daemon=True).start()
        port = listener.getsockname()[1]
        text = tool(f"redis://127.0.0.1:{port}/x?timeout=500ms", "stat", check=False)
        assert "open WEIR_ESYSTEM" in text, (answer, text)
        listener.close()


def test_errors_of_open():
    with Redis("--requirepass", "secret") as server:
        tool_ = lambda url, **k: tool(url, "stat", check=False, **k)
        assert "EACCES" in tool_(server.url + "x")
        wrong = tool_(server.url + "x", env={"WEIR_PASSWORD": "hidden-word"})
        assert "EACCES" in wrong and "hidden-word" not in wrong
        assert "ENOENT" in tool_(server.url + "x", env={"WEIR_PASSWORD": "secret"})
        path = server.dir + "/password"
        open(path, "w").write("secret\n")
        assert "ENOENT" in tool_(server.url + "x", env={"WEIR_PASSWORD_FILE": path})
        assert "ECONNREFUSED" in tool_("redis://127.0.0.1:1/x")
        assert "WEIR_EINVAL" in tool_("redis://127.0.0.1")
        assert "WEIR_EINVAL" in tool_("other://127.0.0.1/x")


def tls(server, *names):
    """Start the server again with TLS and the certificate of the first name.  Returns a URL
    without the host and the file of the certificate."""
    server.kill()
    for name in names:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout",
                        f"{server.dir}/{name}.key", "-out", f"{server.dir}/{name}.crt",
                        "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, stderr=subprocess.DEVNULL)
    port = free_port()
    server.options += ["--tls-port", str(port), "--tls-cert-file",
                       f"{server.dir}/{names[0]}.crt", "--tls-key-file",
                       f"{server.dir}/{names[0]}.key", "--tls-auth-clients", "no"]
    server.start()
    return f"rediss://{{}}:{port}/tls?ttl=9s&ca={server.dir}/"


def test_tls():
    """rediss: the certificate and the name of the server are checked."""
    with Redis() as server:
        base = tls(server, "good", "other")
        for host in ("localhost", "127.0.0.1"):
            url = base.format(host)
            tool(url + "good.crt", "create", 1)
            with Holder(url + "good.crt") as holder:
                holder.await_("got")
                with Holder(url + "good.crt") as waiter:
                    await_(lambda u=url: stat(u + "good.crt")["waiters"] == 1, "a waiter")
                    # Two of them are renewed over TLS.
                    calls = server.calls().get("evalsha", 0)
                    await_(lambda n=calls: server.calls().get("evalsha", 0) > n + 1, "renewals")
                    assert not holder.says("lost")
                    assert "released WEIR_OK" in holder.release()
                    waiter.await_("got")
                    assert "released WEIR_OK" in waiter.release()
            text = tool(url + "other.crt", "stat", check=False)
            assert "WEIR_ESYSTEM" in text and "certificate" in text, text


def test_tls_does_not_delay_renewals():
    """TLS 1.3 sends records that are no answer.  A waiter that has received them renews, although
    the time limit of a request is long."""
    with Redis() as server:
        url = tls(server, "good").format("localhost") + "good.crt"
        tool(url, "create", 1)
        with Holder(server.url + "tls?ttl=600s") as holder:
            holder.await_("got")
            with Holder(url + "&timeout=120s"):
                await_(lambda: server.cli("ZCARD", "weir:{tls}:q") == "1", "a waiter")
                server.cli("CONFIG", "RESETSTAT")
                await_(lambda: server.calls().get("evalsha", 0) > 2, "renewals")


def test_redis_cluster():
    """Redis Cluster: a redirection is followed; all keys are in one slot."""
    ports = [free_port(), free_port()]
    one, two = (Redis("--cluster-enabled", "yes", "--cluster-port", str(p), appendfsync=None)
                for p in ports)
    with one, two:
        one.cli("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
        two.cli("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
        one.cli("CLUSTER", "MEET", "127.0.0.1", two.port, ports[1])
        for server in (one, two):
            await_(lambda s=server: "cluster_state:ok" in s.cli("CLUSTER", "INFO"), "the cluster")
        for name in ("a", "b", "c", "d"):
            url = one.url + name
            tool(url, "create", 1)
            with Holder(url) as holder:
                holder.await_("got")
                with Holder(url) as waiter:
                    await_(lambda u=url: stat(u)["waiters"] == 1, "a waiter")
                    assert "released WEIR_OK" in holder.release()
                    waiter.await_("got")
        assert "weir:{" in one.cli("KEYS", "*") and "weir:{" in two.cli("KEYS", "*")


class Redirecting:
    """A server on loopback that answers each request with one line, and keeps the peers."""

    def __init__(self, host, answer):
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.answer = answer
        self.reached = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                try:
                    while client.recv(65536):
                        self.reached.set()
                        client.sendall(f"-{self.answer}\r\n".encode())
                except OSError:
                    pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)    # ends accept(2)
        self.listener.close()


def test_a_redirection_without_a_host():
    """MOVED with an empty host: the host of the server that answers, also if the client was
    redirected to it."""
    last = Redirecting("127.0.0.2", "ERR the end")
    second = Redirecting("127.0.0.2", f"MOVED 1 :{last.port}")
    first = Redirecting("127.0.0.1", f"MOVED 1 127.0.0.2:{second.port}")
    text = tool(f"redis://127.0.0.1:{first.port}/x?timeout=2s", "stat", check=False)
    assert last.reached.is_set(), text
    for server in (first, second, last):
        server.close()


class OldReplica(Proxy):
    """Before version 7, Redis reports the error of a script in another form."""

    @staticmethod
    def change(data):
        return data.replace(b"-READONLY", b"-ERR Error running script (call to f_1): "
                                          b"@user_script:1: @user_script: 1: -READONLY")


def test_a_replica_of_an_old_version():
    with Redis("--repl-diskless-sync-delay", "0") as master, \
            Redis("--replicaof", "127.0.0.1", str(master.port)) as replica, \
            OldReplica(replica) as proxy:
        tool(master.url + "old", "create", 1)
        await_(lambda: replica.cli("EXISTS", "weir:{old}:e") == "1", "replication")
        with Holder(f"redis://127.0.0.1:{proxy.port},127.0.0.1:{master.port}/old") as holder:
            holder.await_("got")
            assert "released WEIR_OK" in holder.release()


def test_doctor():
    with Redis(appendfsync=None) as server:
        tool(server.url + "x", "create", 1)
        assert "finding appendonly" in tool(server.url + "x", "doctor")
    with Redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server:
        tool(server.url + "x", "create", 1)
        text = tool(server.url + "x", "doctor")
        assert "finding maxmemory-policy" in text and "finding append" not in text


if __name__ == "__main__":
    main(sys.modules[__name__])
