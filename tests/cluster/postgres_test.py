#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PostgreSQL: crashes, dead clients, lost answers, hostile data (C41, C44, C45)."""
import contextlib
import glob
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
from servers import Postgres, Server, await_
from storm import Storm
from support import CLIENT, TOOL, Holder, Steps, creator, main, stat, tool


def test_c41_a_dead_holder_returns_at_once():
    """The TTL is a minute: the guard inside the server returns the permits."""
    with Postgres() as server:
        url = server.url + "dead?ttl=60s"
        tool(url, "create", 2)
        with Holder(url, 2) as holder:
            holder.await_("got")
            with Holder(url, 1) as waiter, Holder(url, 1) as other:
                await_(lambda: stat(url)["waiters"] == 2, "waiters")
                died = time.time()
                holder.kill()
                waiter.await_("got", 20)
                other.await_("got", 20)
                print(f"    granted after {waiter.time_of('got') / 1e3 - died * 1e3:.1f} ms")
                assert waiter.number("fence") > holder.number("fence")
                assert stat(url)["held"] == 2


def test_c41_time_from_death_to_grant():
    """Printed, not judged: a loaded machine is slow."""
    with Postgres() as server:
        url = server.url + "times?ttl=60s"
        tool(url, "create", 1)
        times = []
        holder = Holder(url).await_("got")
        for _ in range(10):
            waiter = Holder(url)
            await_(lambda: stat(url)["waiters"] == 1, "a waiter")
            died = time.time()
            holder.process.send_signal(signal.SIGKILL)
            waiter.await_("got", 20)
            times.append(waiter.time_of("got") / 1e3 - died * 1e3)
            holder.__exit__()
            holder = waiter
        holder.__exit__()
        times.sort()
        print(f"    from SIGKILL to the grant: least {times[0]:.1f} ms, median {times[5]:.1f} ms")


def test_c41_a_dead_waiter_leaves_the_queue():
    with Postgres() as server:
        url = server.url + "dead?ttl=60s"
        tool(url, "create", 2)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url, 2) as head:
                await_(lambda: stat(url)["waiters"] == 1, "the head")
                with Holder(url) as second:
                    await_(lambda: stat(url)["waiters"] == 2, "the second")
                    head.kill()
                    second.await_("got", 20)


def test_c41_a_stopped_holder_is_lost_and_its_token_refused():
    """Hard test 1: the connections of a stopped process live; the TTL ends the lease."""
    with Postgres() as server:
        url = server.url + "paused?ttl=3s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                holder.process.send_signal(signal.SIGSTOP)
                waiter.await_("got", 20)
                resource = waiter.number("fence")
                holder.process.send_signal(signal.SIGCONT)
                holder.await_("lost").await_("callback")
                assert "check WEIR_ELOST" in holder.output()
                assert holder.number("fence") < resource, "the resource refuses it"
                assert "WEIR_ELOST" in holder.release()
                assert "released WEIR_OK" in waiter.release()


def test_c41_the_holder_knows_before_the_next_grant():
    """Hard test 5, without namespaces: the proxy cuts the holder off."""
    with Postgres() as server, Proxy(server) as proxy:
        # The validity ends a tenth of the TTL before the lease.
        name = "cut?ttl=10s&timeout=3s"
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


def test_c41_one_broken_connection_is_no_death():
    """The server ends connections of a live holder one by one; it keeps its lease."""
    with Postgres() as server:
        url = server.url + "broken?ttl=6s"
        tool(url, "create", 1)

        def pids(kind):
            return server.sql("SELECT pid FROM pg_stat_activity WHERE application_name = "
                              f"'{kind}' ORDER BY random()").split()
        with Holder(url) as holder:
            holder.await_("got")
            # The first renewal opens the lane of the thread.
            await_(lambda: len(pids("weir")) == 3 and pids("weir guard"), "the connections")
            for kind in ("weir", "weir guard", "weir", "weir guard"):
                victim = pids(kind)[0]
                server.sql(f"SELECT pg_terminate_backend({victim})")
                # A renewal opens it again.  The lane of calls stays closed until a call.
                await_(lambda v=victim: len(pids("weir")) >= 2 and len(pids("weir guard")) == 1 and
                       v not in pids("weir") + pids("weir guard"), "the connections")
            assert stat(url)["held"] == 1 and not holder.says("lost")
            # The new guard returns the permit; the TTL cannot: it ends in an hour.
            holder.process.send_signal(signal.SIGSTOP)
            server.sql("UPDATE weir.entry SET ends = ends + 3600000000")
            holder.kill()
            await_(lambda: stat(url)["held"] == 0, "the permit")


def connections(process):
    """The sockets of a process."""
    count = 0
    for path in glob.glob(f"/proc/{process.pid}/fd/*"):
        with contextlib.suppress(FileNotFoundError):    # it has been closed meanwhile
            count += os.readlink(path).startswith("socket:")
    return count


def test_c41_a_slow_server_is_no_death():
    """The server does not answer the LISTEN of a live holder in time, and accepts no new
    connection; then another connection of the holder ends.  The holder keeps its lease."""
    with Postgres() as server:
        url = server.url + "slow?ttl=60s&timeout=2s"
        tool(url, "create", 2)
        with Steps(url, 1, "more", more=(2,)) as holder:
            holder.await_("got")
            pid = lambda sql: server.sql("SELECT pid FROM pg_stat_activity WHERE "
                                         f"application_name = 'weir' AND query {sql}")
            await_(lambda: pid("LIKE '%weir.acquire(%'") and pid("LIKE 'SET idle%'"),
                   "the connections")
            lane, life = int(pid("LIKE '%weir.acquire(%'")), int(pid("LIKE 'SET idle%'"))
            before = connections(holder.process)
            for stopped in (life, server.process.pid):
                os.kill(stopped, signal.SIGSTOP)
            try:
                holder.go()
                holder.await_("more WEIR_ETIMEDOUT")
                # A holder that closes the slow connection does so within the timeout.
                end = time.monotonic() + 5
                while connections(holder.process) >= before and time.monotonic() < end:
                    time.sleep(0.05)
                os.kill(lane, signal.SIGTERM)
                await_(lambda: not os.path.exists(f"/proc/{lane}/fd/0"), "the end of a connection")
            finally:
                for stopped in (server.process.pid, life):
                    os.kill(stopped, signal.SIGCONT)
            end = time.monotonic() + 2
            while time.monotonic() < end:
                assert stat(url)["held"] == 1
            holder.go()
            holder.await_("released WEIR_OK")
            assert "valid WEIR_OK" in holder.output()


def test_c41_a_slow_connection_for_wake_ups_costs_no_lease():
    """The time limit of a request is longer than the TTL, and the LISTEN of a holder is not answered.
    Its lease is renewed meanwhile."""
    with Postgres() as server:
        url = server.url + "listen?ttl=4s&timeout=50s"
        tool(url, "create", 2)
        with Steps(url, 1, "more", more=(2,)) as holder:
            holder.await_("got")
            pid = lambda: server.sql("SELECT pid FROM pg_stat_activity WHERE "
                                     "application_name = 'weir' AND query LIKE 'SET idle%'")
            await_(pid, "the connection")
            life = int(pid())
            os.kill(life, signal.SIGSTOP)
            try:
                holder.go()
                holder.await_("more WEIR_ETIMEDOUT")
                # Longer than the TTL.
                end = time.monotonic() + 6
                while time.monotonic() < end:
                    assert stat(url)["held"] == 1
            finally:
                os.kill(life, signal.SIGCONT)
            holder.go()
            holder.await_("released WEIR_OK")
            assert "valid WEIR_OK" in holder.output()


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
    with Postgres() as server:
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
    with Postgres() as server:
        def faults(storm):
            for capacity in (2, 8, 1, 4, 6):
                time.sleep(0.5)
                storm.resize(server.url, capacity)
        storm = storm_with(server, server.url, 4, faults, timeout_ms=5000)
        full_capacity(server, storm)
        storm.check()


def test_c41_the_server_is_killed():
    """Hard test 2: leases and the queue survive kill -9 of the server."""
    with Postgres() as server:
        def faults(storm):
            for _ in range(3):
                time.sleep(0.8)
                storm.crash(server)
        storm = storm_with(server, server.url, 6, faults, ttl_ms=3000, timeout_ms=3000)
        full_capacity(server, storm)
        storm.check()


def test_c41_a_guard_that_outlives_the_server_buries_nobody():
    """The server is killed; its other processes notice that and release their locks.  The guard,
    which is the last one, must not take that for the death of its client."""
    with Postgres() as server:
        url = server.url + "outlive?ttl=60s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            # The lease is an entry, and the guard waits for the lock of a connection.
            assert stat(url)["held"] == 1
            waits = lambda: server.sql("SELECT pid FROM pg_stat_activity WHERE application_name = "
                                       "'weir guard' AND wait_event = 'advisory'")
            await_(waits, "the guard")
            guard = int(waits())
            os.kill(guard, signal.SIGSTOP)
            try:
                server.kill()
                await_(lambda: not [pid for pid in processes(server) if pid != guard],
                       "the end of the other processes")
            finally:
                os.kill(guard, signal.SIGCONT)
            await_(lambda: not processes(server), "the end of the guard")
            server.start()
            assert stat(url)["held"] == 1
            assert "released WEIR_OK" in holder.release()


def processes(server):
    """The processes that use the server's folder."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cwd"):
        try:
            if os.readlink(path) == server.data:
                found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


class Standby(Postgres):
    """A copy of another server that follows it."""

    def __init__(self, primary):        # pylint: disable=super-init-not-called
        Server.__init__(self)
        self.options, self.bin, self.ids = [], primary.bin, primary.ids
        self.password = None
        self.data = self.dir + "/data"
        if self.ids:
            os.chown(self.dir, self.ids["user"], self.ids["group"])
        done = subprocess.run([self.bin + "/pg_basebackup", "-h", "127.0.0.1", "-p",
                               str(primary.port), "-U", "weir", "-D", self.data, "-R", "-c",
                               "fast"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, cwd=self.dir, **self.ids)
        assert done.returncode == 0, done.stdout.decode()
        self.url = f"postgresql://weir@127.0.0.1:{self.port}/postgres/"


def test_c41_failover_to_a_synchronous_standby():
    """Hard test 3: every commit is on the standby.  The primary dies, the standby is promoted:
    the lease and the queue are there, the holder renews, and tokens grow."""
    with Postgres("wal_level=replica", "max_wal_senders=4") as primary, \
            Standby(primary) as standby:
        await_(lambda: primary.sql("SELECT count(*) FROM pg_stat_replication "
                                   "WHERE state = 'streaming'") == "1", "replication")
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        await_(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync",
               "synchronous replication")
        both = (f"postgresql://weir@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres/"
                "failover?ttl=60s&timeout=3s")
        alone = standby.url + "failover"
        tool(both, "create", 1)
        with Holder(both) as holder:
            holder.await_("got")
            with Holder(both) as waiter:
                await_(lambda: stat(both)["waiters"] == 1, "a waiter")
                primary.process.send_signal(signal.SIGQUIT)
                primary.process.wait(20)
                assert standby.sql("SELECT pg_promote()") == "t"
                assert stat(alone)["held"] == 1 and stat(alone)["waiters"] == 1
                assert not waiter.says("got") and not holder.says("lost")
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got", 30)
                assert waiter.number("fence") > holder.number("fence")
                assert stat(alone)["held"] == 1
                assert "released WEIR_OK" in waiter.release()


def test_c44_lost_answers():
    """Hard test 7: answers of acquire, renew and release are dropped."""
    with Postgres() as server, Proxy(server) as proxy:
        def faults(storm):
            for _ in range(25):
                time.sleep(0.15)
                proxy.drop_replies(storm.random.randrange(1, 4))
        storm = storm_with(server, proxy.url, 5, faults, timeout_ms=5000)
        assert proxy.dropped > 5, proxy.dropped
        full_capacity(server, storm)
        storm.check()


def test_c44_no_answer_is_indeterminate():
    with Postgres() as server, Proxy(server) as proxy:
        name = "mute?ttl=6s&timeout=3s"
        tool(server.url + name, "create", 1)
        with Holder(proxy.url + name) as holder:
            holder.await_("got")
            proxy.freeze()
            assert "WEIR_EINDETERMINATE" in holder.release() or holder.says("WEIR_ELOST")
        proxy.thaw()
        await_(lambda: stat(server.url + name)["free"] == 1, "the permit")


def statements(server):
    """Statements that clients have sent, by log_statement=all."""
    with open(server.dir + "/log", encoding="utf-8") as log:
        return [line for line in log
                if "statement: " in line or "execute " in line]


def test_c45_nobody_polls():
    """1,000 waiters and no changes: the server sees renewals only."""
    with Postgres("log_statement=all") as server:
        url = server.url + "crowd?ttl=6s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with subprocess.Popen([TOOL, url, "crowd", "1", "1000"],
                                  stdin=subprocess.PIPE) as crowd:
                await_(lambda: stat(url)["waiters"] == 1000, "1,000 waiters")
                # The last statement of a handle that begins to listen.
                await_(lambda: any("weir.outcomes" in s for s in statements(server)), "LISTEN")
                before, started = len(statements(server)), time.monotonic()
                time.sleep(6)
                sent = statements(server)[before:]
                rounds = 1 + (time.monotonic() - started) / 2
                crowd.stdin.close()
                crowd.wait(60)
            # 1,001 requests are renewed after each third of the TTL, in batches.
            renewals = [s for s in sent if "weir.renew" in s]
            assert 0 < len(renewals) <= rounds * (1001 / 100 + 20), len(renewals)
            rest = [s for s in sent if "weir.renew" not in s]
            assert len(rest) <= 6, rest     # the thread's lane connects and prepares
            assert "released WEIR_OK" in holder.release()


def test_c45_wake_ups_and_no_polling():
    """With a TTL of a minute no renewal is due: NOTIFY delivers the grant, and while
    nothing changes the server gets no statement."""
    with Postgres("log_statement=all") as server:
        url = server.url + "wake?ttl=60s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter, Holder(url) as other:
                await_(lambda: stat(url)["waiters"] == 2, "waiters")
                # The last statement of a handle that begins to listen.
                await_(lambda: sum("weir.outcomes" in s for s in statements(server)) == 2,
                       "LISTEN")
                before = len(statements(server))
                time.sleep(3)
                assert statements(server)[before:] == []
                assert "released WEIR_OK" in holder.release()
                await_(lambda: waiter.says("got") or other.says("got"), "a wake-up", 10)


def test_c45_a_handle_listens_only_while_it_waits():
    """NOTIFY wakes every listener of the database."""
    with Postgres("log_statement=all") as server:
        url = server.url + "quiet?ttl=3s"
        tool(url, "create", 1)
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got")
                words = lambda: "".join(statements(server))
                await_(lambda: "UNLISTEN" in words(), "UNLISTEN")
                assert words().count("LISTEN weir_") == 1
                assert not waiter.says("lost")


def test_hostile_data():
    """Damaged rows: a clear error, no crash, no wait without end."""
    with Postgres() as server:
        url = server.url + "hostile?ttl=600s"      # no renewal is due while rows are damaged
        tool(url, "create", 3)

        def texts():
            return [tool(url, *words, check=False, timeout=30)
                    for words in (("stat",), ("try", 1), ("take", 1), ("resize", 5))]
        for change in ("capacity = -1", "used = -5", "fence = 9223372036854775807",
                       "ticket = -7", "last = 9223372036854775807", "closed = 9",
                       "waiters = -1", "skew = -1", "after = -1", "young = '[]'", "young = '5'",
                       """young = '{"x": "garbage"}'""", """young = '{"x": {"y": 1}}'"""):
            server.sql("UPDATE weir.sem SET " + change)
            for text in texts():
                # Only what an operation reads is checked.
                assert "EBADMSG" in text or "got" in text, (change, text)
            assert "EBADMSG" in texts()[0], change
            server.sql("DELETE FROM weir.entry; DELETE FROM weir.sem")
            tool(url, "create", 3)
        with Holder(url, 3) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                for change in ("weight = -1", "weight = 9223372036854775807", "ticket = -5",
                               "least = 7, most = 3", "ttl = 0", "role = 'x'", "fence = -1",
                               "about = repeat('x', 1000)"):
                    server.sql("CREATE TABLE copy AS SELECT * FROM weir.entry")
                    server.sql("UPDATE weir.entry SET " + change)
                    assert "EBADMSG" in tool(url, "stat", check=False), change
                    tool(url, "try", 1, check=False)
                    server.sql("DELETE FROM weir.entry; INSERT INTO weir.entry SELECT * FROM copy;"
                               " DROP TABLE copy")
                # Foreign notifications are ignored.
                channel = "weir_" + server.sql("SELECT split_part(id, '.', 1) FROM weir.entry "
                                               "WHERE role = 'W'")
                for text in ("", "x", "a b c", "x H 1", "9" * 3000, "x H -1 2 3"):
                    server.sql(f"SELECT pg_notify('{channel}', '{text}')")
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got", 20)
        # Another version, a damaged table, a foreign schema.
        server.sql("UPDATE weir.meta SET version = 2")
        assert "EPROTO" in tool(url, "stat", check=False)
        server.sql("DELETE FROM weir.meta")
        assert "EBADMSG" in tool(url, "stat", check=False)
        server.sql("INSERT INTO weir.meta VALUES (true, 1, 99); DROP FUNCTION weir.stat")
        assert "EBADMSG" in tool(url, "stat", check=False)
        server.sql("ALTER TABLE weir.sem DROP COLUMN fence")
        assert "EBADMSG" in tool(url, "take", 1, check=False)
        server.sql("DROP SCHEMA weir CASCADE")
        assert "ENOENT" in tool(url, "stat", check=False)
        server.sql("CREATE SCHEMA weir; CREATE TABLE weir.sem (x int)")
        assert "EBADMSG" in tool(url, "create", 1, check=False)


def test_c44_a_late_copy_of_a_repeated_request():
    """The first copy of a request arrives after its repetition was granted: a connection that the
    client has given up.  The copy counts for nothing when the lease is next touched."""
    with Postgres() as server:
        url = server.url + "late"
        tool(url, "create", 2)

        def acquire(fresh):
            return server.sql(f"SELECT weir.acquire('late', '{'a' * 16}.1', {fresh}, 1, 1, 60000000, "
                              "false, false, 'host 1 x')")
        assert acquire("false").startswith("H 1 ")
        acquire("true")
        assert stat(url)["held"] == 1
        assert server.sql(f"SELECT weir.release('late', '{'a' * 16}.1', 0)") == "R"
        assert stat(url)["free"] == 2


def test_young_leases_move_when_another_client_comes():
    """A lease that was granted without waiting is part of the row of its semaphore until then."""
    with Postgres() as server:
        url = server.url + "young?ttl=60s"
        rows = lambda: tuple(map(int, server.sql(
            "SELECT (SELECT count(*) FROM jsonb_object_keys(young)), (SELECT count(*) FROM weir.entry), "
            "room FROM weir.sem").replace("||", "|-1|").rstrip("|").split("|")))
        release = lambda i: server.sql(f"SELECT weir.release('young', '{'a' * 16}.{i}', 0)")
        tool(url, "create", 7)
        for i in (1, 2, 4):
            assert server.sql(f"SELECT weir.acquire('young', '{'a' * 16}.{i}', true, {i}, {i}, 60000000, "
                              "false, false, 'host 1 x')").startswith(f"H {i} ")
        assert rows() == (3, 0, 0), rows()
        assert release(2) == "R" and rows() == (2, 0, 2), rows()
        with Holder(url, 3) as waiter:
            await_(lambda: stat(url)["waiters"] == 1, "a waiter")
            assert rows() == (0, 3), rows()
            assert release(1) == "R" and release(4) == "R"
            waiter.await_("got", 10)
            assert "released WEIR_OK" in waiter.release()
        assert stat(url)["free"] == 7 and rows() == (0, 0, 7)


def test_young_leases_are_few():
    """An update copies the row, so it is kept short; the rest are entries."""
    with Postgres() as server:
        url = server.url + "many"
        tool(url, "create", 100)
        acquire = lambda i: server.sql(f"SELECT weir.acquire('many', '{'a' * 16}.{i}', true, 1, 1, "
                                       "60000000, false, false, 'host 1 x')")
        for i in range(40):
            assert acquire(i).startswith("H 1 ")
        young, entries = map(int, server.sql(
            "SELECT (SELECT count(*) FROM jsonb_object_keys(young)), (SELECT count(*) FROM "
            "weir.entry) FROM weir.sem").split("|"))
        assert young + entries == 40 and 0 < young < 25, (young, entries)
        # The release of an older lease leaves the young ones alone.
        assert server.sql(f"SELECT weir.release('many', '{'a' * 16}.0', 0)") == "R"
        assert server.sql("SELECT count(*) FROM jsonb_object_keys((SELECT young FROM weir.sem))") \
            == str(young)
        assert stat(url)["held"] == 39


def test_c41_a_false_notification_grants_nothing():
    """Any user of the database may send a notification.  It is a hint to read the row."""
    with Postgres("log_statement=all") as server:
        url = server.url + "false?ttl=60s"
        tool(url, "create", 1)
        server.sql("CREATE ROLE stranger LOGIN")
        looks = lambda: sum("weir.wake_" in s for s in statements(server))
        with Holder(url) as holder:
            holder.await_("got")
            with Holder(url) as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "a waiter")
                await_(lambda: any("weir.outcomes" in s for s in statements(server)), "LISTEN")
                name = server.sql("SELECT id FROM weir.entry WHERE role = 'W'")
                other = server.sql("SELECT id FROM weir.entry WHERE role = 'H'")
                before = waiter.output()
                for text in ("H 1 9000000000000000 9", "C", "T", "I", "L", "R", "B"):
                    seen = looks()
                    for entry in (name, other):
                        server.sql("SET ROLE stranger; SELECT pg_notify('weir_"
                                   f"{name.split('.')[0]}', '{entry} {text}')")
                    await_(lambda n=seen: looks() > n or waiter.output() != before, "a look")
                    assert waiter.output() == before and waiter.process.poll() is None, text
                assert stat(url)["held"] == 1 and stat(url)["waiters"] == 1
                # A true one is believed at once; no renewal is due for 20 s.
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got", 10)
                fence = waiter.number("fence")
                assert fence == int(server.sql("SELECT fence FROM weir.entry"))
                assert "released WEIR_OK" in waiter.release()


def test_the_schema_is_created_once():
    """Many clients create the first semaphores of a database at the same time; functions of
    an older library are replaced."""
    with Postgres("log_statement=all") as server:
        lock = "8603216354771628402"
        waiting = lambda: server.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                                     "AND NOT granted")
        # All of them have seen that there is no schema before the first one may create it.
        # pylint: disable=consider-using-with
        gate = subprocess.Popen([server.bin + "/psql", "-Xq", "-h", "127.0.0.1", "-p",
                                 str(server.port), "-U", "weir", "-d", "postgres"],
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        gate.stdin.write(f"SELECT pg_advisory_lock({lock});\n".encode())
        gate.stdin.flush()
        await_(lambda: server.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") ==
               "1", "the lock")
        clients = [subprocess.Popen([TOOL, server.url + f"s{i % 3}?timeout=30s", "create", "2"],
                                    stdout=subprocess.PIPE) for i in range(12)]
        await_(lambda: waiting() == "12", "12 clients")
        gate.communicate()
        for client in clients:
            text = client.communicate(timeout=60)[0]
            assert client.returncode == 0, text
        with open(server.dir + "/log", encoding="utf-8") as log:
            assert log.read().count("CREATE SCHEMA IF NOT EXISTS weir") == 1
        assert server.sql("SELECT count(*) FROM weir.sem") == "3"
        code = server.sql("SELECT code FROM weir.meta")
        server.sql("UPDATE weir.meta SET code = 0; DROP FUNCTION weir.stat")
        # The columns that the first version of the functions did not know.
        server.sql("ALTER TABLE weir.sem DROP COLUMN room, DROP COLUMN after, DROP COLUMN young")
        assert stat(server.url + "s0")["capacity"] == 2
        assert server.sql("SELECT code FROM weir.meta") == code


def test_hostile_server():
    """A server that answers garbage, or not at all."""
    hello = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\1\0\0\0\2Z\0\0\0\5I"
    hello = b"S\0\0\0\x18server_version\0" + b"15.0\0" + hello
    for answer in (b"garbage\r\n", b"R\x7f\xff\xff\xff", b"N" * 50, b"", b"E\0\0\0\4", b"\0" * 100,
                   hello, hello + b"D\0\0\0\6\xff\xff", hello + b"Z\0\0\0\5I" * 20,
                   hello + b"T\0\0\0\6\0\0C\0\0\0\6x\0Z\0\0\0\5I"):
        listener = socket.create_server(("127.0.0.1", 0))

        def serve(listener=listener, answer=answer):
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                client.settimeout(5)
                try:
                    while True:
                        data = client.recv(65536)
                        if not data:
                            break
                        ssl = data[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30")
                        client.sendall(b"N" if ssl and answer.startswith(b"S") else answer)
                except OSError:
                    pass
                client.close()
        threading.Thread(target=serve, daemon=True).start()
        port = listener.getsockname()[1]
        text = tool(f"postgresql://u@127.0.0.1:{port}/d/x?timeout=500ms", "stat", check=False)
        assert "open WEIR_ESYSTEM" in text, (answer, text)
        listener.close()


class Pooler(Proxy):
    """A pooler invents the process number of the server."""

    @staticmethod
    def change(data):
        at = data.find(b"K\0\0\0\x0c")
        return data[:at + 5] + b"\0\0\0\7" + data[at + 9:] if at >= 0 else data


def test_a_pooler_is_refused():
    with Postgres() as server, Pooler(server) as pooler:
        tool(server.url + "x", "create", 1)
        text = tool(pooler.url + "x", "stat", check=False)
        assert "EPROTO" in text and "pooler" in text, text


def test_errors_of_open():
    with Postgres(auth="scram-sha-256", password="secret") as server:
        tool_ = lambda url, **k: tool(url, "stat", check=False, **k)
        assert "EACCES" in tool_(server.url + "x")
        wrong = tool_(server.url + "x", env={"WEIR_PASSWORD": "hidden-word"})
        assert "EACCES" in wrong and "hidden-word" not in wrong, wrong
        assert "ENOENT" in tool_(server.url + "x", env={"WEIR_PASSWORD": "secret"})
        path = server.dir + "/password"
        open(path, "w").write("secret\n")
        assert "ENOENT" in tool_(server.url + "x", env={"WEIR_PASSWORD_FILE": path})
        other = server.url.replace("/postgres/", "/nowhere/")
        assert "EIO" in tool_(other + "x", env={"WEIR_PASSWORD": "secret"})
        assert "ECONNREFUSED" in tool_("postgres://127.0.0.1:1/x")
        assert "WEIR_EINVAL" in tool_("postgres://127.0.0.1")
        # A user without privileges.
        tool(server.url + "x", "create", 1, env={"WEIR_PASSWORD": "secret"})
        server.sql("CREATE USER guest PASSWORD 'guest'")
        text = tool_(server.url.replace("weir@", "guest@") + "x", env={"WEIR_PASSWORD": "guest"})
        assert "EACCES" in text, text
        # The privileges of the guide.
        server.sql("GRANT USAGE ON SCHEMA weir TO guest; GRANT SELECT, INSERT, UPDATE, DELETE "
                   "ON ALL TABLES IN SCHEMA weir TO guest")
        guest = server.url.replace("weir@", "guest@") + "x"
        assert "released WEIR_OK" in tool(guest, "try", 1, env={"WEIR_PASSWORD": "guest"})
        assert "finding" not in tool(guest, "doctor", env={"WEIR_PASSWORD": "guest"})


def test_tls():
    """TLS by libpq: the certificate and the name of the server are checked."""
    with Postgres() as server:
        server.kill()
        for name in ("good", "other"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout",
                            f"{server.dir}/{name}.key", "-out", f"{server.dir}/{name}.crt",
                            "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                           check=True, stderr=subprocess.DEVNULL)
            os.chmod(f"{server.dir}/{name}.key", 0o600)
            if server.ids:
                os.chown(f"{server.dir}/{name}.key", server.ids["user"], server.ids["group"])
        server.options += ["ssl=on", f"ssl_cert_file={server.dir}/good.crt",
                           f"ssl_key_file={server.dir}/good.key"]
        server.start()
        url = server.url + f"tls?ttl=4s&ca={server.dir}/"
        tool(url + "good.crt", "create", 1)
        with Holder(url + "good.crt") as holder:
            holder.await_("got")
            with Holder(url + "good.crt") as waiter:
                await_(lambda: stat(url + "good.crt")["waiters"] == 1, "a waiter")
                ends = lambda: int(server.sql("SELECT ends FROM weir.entry WHERE role = 'H'"))
                first = ends()
                await_(lambda: ends() > first, "a renewal over TLS")
                assert not holder.says("lost")
                assert server.sql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity "
                                  "USING (pid) WHERE application_name LIKE 'weir%' AND NOT ssl "
                                  ) == "0"
                assert "released WEIR_OK" in holder.release()
                waiter.await_("got")
                assert "released WEIR_OK" in waiter.release()
        text = tool(url + "other.crt", "stat", check=False)
        assert "WEIR_ESYSTEM" in text and "certificate" in text, text


def test_doctor():
    with Postgres("fsync=off", "synchronous_commit=off") as server:
        tool(server.url + "x", "create", 1)
        text = tool(server.url + "x", "doctor")
        assert "finding fsync" in text and "finding synchronous_commit" in text, text
    with Postgres() as server:
        tool(server.url + "x", "create", 1)
        assert "finding" not in tool(server.url + "x", "doctor")


def test_nothing_stays_behind():
    """A closed handle leaves no connection, no lock and no row."""
    with Postgres() as server:
        url = server.url + "clean"
        tool(url, "create", 1)
        for _ in range(3):
            assert "released WEIR_OK" in tool(url, "try", 1)
        await_(lambda: server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name "
                                  "LIKE 'weir%'") == "0", "no connection")
        assert server.sql("SELECT count(*) FROM weir.entry") == "0"
        assert server.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "0"


if __name__ == "__main__":
    main(sys.modules[__name__])
