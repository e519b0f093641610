#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command with URLs: statuses, signals, lost leases, secrets (C41)."""
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd", "export"))
from exposition import Family, parse
from promises import RedisSemaphore
from proxy import Proxy
from servers import Etcd, Postgres, Redis, await_, free_port
from support import Skip, main, redis_script, stat

WEIR = os.environ.get("WEIR_TEST_COMMAND", "weir")


def weir(*words, env=None, timeout=60):
    words = [word if isinstance(word, bytes) else str(word) for word in words]
    done = subprocess.run([WEIR, *words], stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                          env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout.decode(errors="replace")


def start(*words, env=None):
    return subprocess.Popen([WEIR, *map(str, words)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=dict(os.environ, **(env or {})))


def until(path):
    """The words of a job that ends when the file exists."""
    return ("sh", "-c", f"while [ ! -e {path} ]; do sleep 0.05; done")


def touch(path):
    with open(path, "w", encoding="ascii"):
        pass


def held(url):
    status, text = weir("stat", "--json", url)
    return json.loads(text)["held"] if status == 0 else 0


def resp(*words):
    """A command in the protocol of Redis."""
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def test_statuses():
    with Redis() as server:
        url = server.url + "x"
        status, text = weir("run", url, "--", "true")
        assert status == 69 and "does not exist" in text and text.count("\n") == 1
        # The message tells how to create it, where that is possible.
        for args in (("run", url, "--", "true"), ("hold", url, "--while-pid", 1), ("open", url)):
            status, text = weir(*args)
            assert status == 69 and "does not exist; -n CAPACITY creates it\n" in text, text
        status, text = weir("stat", url)
        assert status == 69 and text.endswith("does not exist\n"), text
        status, text = weir("run", url, "-n", 1, "--", "sh", "-c",
                            "echo $WEIR_FENCE $WEIR_HELD; exit 7")
        fence, name = text.split()
        assert status == 7 and int(fence) > 0 and name == url
        assert weir("run", url, "--", "/nonexistent")[0] == 127
        assert weir("run", url, "-w", 2, "--", "true")[0] == 64
        assert weir("run", url, "-w", 2, "--try", "-E", 0, "--", "true")[0] == 64
        with start("run", url, "--", "sleep", "100") as job:
            await_(lambda: held(url) == 1, "the lease")
            assert weir("run", url, "--try", "--", "true")[0] == 75
            assert weir("run", url, "-t", "50ms", "--", "true")[0] == 124
            assert weir("run", url, "--try", "-E", 3, "-q", "--", "true") == (3, "")
            # The message names the holder.
            status, text = weir("rm", url)
            assert status == 75 and f"{url}: in use; held by " in text and "sleep 100" in text, text
            assert weir("rm", "-f", url)[0] == 64
            assert weir("wait", url, "--idle", "-t", "50ms")[0] == 124
            job.send_signal(signal.SIGTERM)
            assert job.wait(30) == 143
        assert held(url) == 0
        assert weir("resize", url, 3)[0] == 0
        assert json.loads(weir("stat", "--json", url)[1])["capacity"] == 3
        assert weir("pause", url)[0] == 0 and weir("run", url, "--try", "--", "true")[0] == 75
        assert weir("resume", url)[0] == 0 and weir("run", url, "--try", "--", "true")[0] == 0
        assert weir("stat", "x", env={"WEIR_URL": server.url})[0] == 0
        with start("run", url, "--", "sleep", "100") as job:
            await_(lambda: held(url) == 1, "the lease")
            status, text = weir("close", url, "--drain", "50ms")
            assert status == 124 and f"{url}: in use; held by " in text, text
            job.send_signal(signal.SIGTERM)
            assert job.wait(30) == 143
        # A timeout of 0 succeeds if the semaphore is idle.
        assert weir("close", url, "--drain", 0) == (0, "")
        status, text = weir("run", url, "--", "true")
        assert status == 69 and text == (f'weir: {url}: the semaphore is closed; '
                                         f'"weir open {url}" opens it again\n'), text
        assert weir("rm", url)[0] == 0 and weir("stat", url)[0] == 69
        status, text = weir("run", "redis://127.0.0.1:1/x", "--", "true")
        assert status == 69 and "refused" in text and text.count("\n") == 1


def engines():
    """A server of each engine that the library has."""
    yield Redis
    for server in (Etcd, Postgres):
        probe = {"Etcd": "etcd", "Postgres": "postgresql"}[server.__name__]
        if "without the engine" not in weir("stat", probe + "://127.0.0.1:1/x")[1]:
            yield server


def lines(process):
    """Start reading the lines of a process; returns the list that grows."""
    found = []
    threading.Thread(target=lambda: found.extend(iter(process.stdout.readline, b"")),
                     daemon=True).start()
    return found


def test_hold_and_release():
    for engine in engines():
        with engine() as server, subprocess.Popen(["sleep", "100"]) as owner:
            url = server.url + "x"
            hold = ("hold", url, "--while-pid", owner.pid)
            assert weir(*hold)[0] == 69
            status, text = weir(*hold, "-n", 1, "-w", 2)
            assert status == 64 and "a weight of 2 exceeds the capacity, 1 (-n)" in text, text
            assert weir("stat", url)[0] == 69
            status, token = weir(*hold, "-n", 1, "-l", "deploy")
            assert status == 0 and token.strip().endswith("@" + url), token
            entry, = json.loads(weir("stat", "--json", url)[1])["entries"]
            assert entry["role"] == "holds" and entry["label"].endswith(": deploy"), entry
            # Statuses and messages are those of a local semaphore.
            status, text = weir(*hold, "--try")
            assert status == 75 and "busy; held by" in text and "deploy" in text, text
            status, text = weir(*hold, "-t", "50ms")
            assert status == 124 and "not granted within 50ms; held by" in text, text
            assert weir(*hold, "--try", "-E", 9)[0] == 9
            status, text = weir(*hold, "-w", 2)
            assert status == 64 and text == (f'weir: {url}: a weight of 2 exceeds the capacity, 1; '
                                             f'"weir resize {url} 2" raises it\n'), text
            status, text = weir("wait", url, "--free", 2)
            assert status == 64 and text == (f'weir: {url}: --free 2 exceeds the capacity, 1; '
                                             f'"weir resize {url} 2" raises it\n'), text
            status, text = weir(*hold, "--try", "-n", 4)
            assert status == 75 and "the capacity is 1, not 4" in text, text
            wrong = ("0" if token[0] != "0" else "1") + token.strip()[1:]
            assert weir("release", wrong)[0] == 69 and held(url) == 1
            assert weir("release", token.strip()) == (0, "") and held(url) == 0
            status, text = weir("release", token.strip())
            assert status == 69 and "holds no permit" in text, text
            # The end of the process ends the hold.
            assert weir(*hold)[0] == 0 and held(url) == 1
            owner.kill()
            owner.wait()
            await_(lambda u=url: held(u) == 0, "the release")
            assert weir("hold", url)[0] == 64


def test_hold_waits_in_the_queue():
    with Redis() as server, subprocess.Popen(["sleep", "100"]) as owner:
        url = server.url + "x"
        hold = ("hold", url, "--while-pid", owner.pid)
        token = weir(*hold, "-n", 1)[1].strip()
        with start(*hold) as second:
            await_(lambda: stat(url)["waiters"] == 1, "the waiter")
            assert weir("release", token)[0] == 0
            assert second.wait(30) == 0
            other = second.stdout.read().decode().strip()
        assert other.endswith("@" + url) and other != token
        # A signal withdraws the request.
        with start(*hold) as third:
            await_(lambda: stat(url)["waiters"] == 1, "the waiter")
            third.send_signal(signal.SIGTERM)
            assert third.wait(30) != 0
            await_(lambda: stat(url)["waiters"] == 0, "the withdrawal")
        assert weir("release", other)[0] == 0
        # The name below WEIR_URL, in a folder of its own, which the hold creates nothing in.
        env = {"WEIR_URL": server.url, "WEIR_DIR": server.dir}
        status, token = weir("hold", "x", "--while-pid", owner.pid, env=env)
        assert status == 0 and token.strip().endswith("@" + url)
        status, text = weir("run", "x", "--", "true", env=dict(env, WEIR_HELD=url + "?ttl=5s"))
        assert status == 64 and "--nested" in text, text
        assert weir("release", token.strip(), env=env)[0] == 0
        assert [f for f in os.listdir(server.dir) if "hold" in f or "weir" in f] == []
        owner.kill()


def test_c41_a_lost_hold_is_reported_by_release():
    with Redis() as server, Proxy(server) as proxy, \
            subprocess.Popen(["sleep", "100"]) as owner:
        name = "x?ttl=3s&timeout=1s"
        status, token = weir("hold", proxy.url + name, "-n", 1, "--while-pid", owner.pid)
        assert status == 0, token
        proxy.freeze()
        assert weir("run", server.url + name, "-t", "20s", "--", "true")[0] == 0
        status, text = weir("release", token.strip())
        assert status == 76 and "lost" in text, (status, text)
        owner.kill()


def test_release_says_that_the_server_did_not_confirm():
    with Redis() as server, subprocess.Popen(["sleep", "100"]) as owner:
        url = server.url + "silent?ttl=60s&timeout=1s"
        status, token = weir("hold", url, "-n", 1, "--while-pid", owner.pid)
        assert status == 0, token
        server.stop()
        status, text = weir("release", token.strip())
        server.resume()
        owner.kill()
        assert status == 69 and "did not confirm" in text, (status, text)


def test_open():
    for engine in engines():
        with engine() as server, subprocess.Popen(["sleep", "100"]) as owner:
            url = server.url + "x"
            assert weir("open", url)[0] == 69
            assert weir("open", url, "-n", 3) == (0, "")
            assert weir("open", url) == (0, "")
            status, text = weir("open", url, "-n", 5)
            assert status == 0 and "the capacity is 3, not 5" in text, text
            status, text = weir("open", url, "--fast")
            assert status == 64 and "--fast" in text, text
            token = weir("hold", url, "--while-pid", owner.pid)[1].strip()
            assert weir("close", url)[0] == 0
            status, text = weir("open", url, "-t", "100ms")
            assert status == 124 and "in use; held by" in text, text
            assert weir("run", url, "--", "true")[0] == 69
            # The replacement waits for the last holder.
            with start("open", url, "-n", 2) as opener:
                await_(lambda u=url: stat(u)["oversized"] == 1, "the wait for idle")
                assert weir("release", token) == (0, "")
                assert opener.wait(30) == 0, opener.stdout.read()
            assert json.loads(weir("stat", "--json", url)[1])["capacity"] == 2
            assert weir("run", url, "--", "true")[0] == 0
            assert weir("close", url)[0] == 0 and weir("open", url) == (0, "")
            assert json.loads(weir("stat", "--json", url)[1])["capacity"] == 2
            assert weir("close", url)[0] == 0
            assert weir("open", url, env={"WEIR_HELD": url})[0] == 64
            assert weir("open", url, "--nested", env={"WEIR_HELD": url})[0] == 0
            owner.kill()


def test_a_replica_creates_no_semaphore():
    """The next host of the URL is called; without a primary the message says what is missing."""
    with Redis("--repl-diskless-sync-delay", "0") as master, \
            Redis("--replicaof", "127.0.0.1", str(master.port)) as replica:
        await_(lambda: "master_link_status:up" in replica.cli("INFO", "replication"),
               "replication")
        status, text = weir("open", replica.url + "x", "-n", 1)
        assert status == 69 and ("the server is a replica, and the URL names no primary that "
                                 "answers" in text), text
        both = f"redis://127.0.0.1:{replica.port},127.0.0.1:{master.port}/x"
        assert weir("open", both, "-n", 1) == (0, "")
        assert '"capacity":1' in weir("stat", "--json", master.url + "x")[1]
        # The primary is dead, and the replica has not been promoted.
        master.kill()
        status, text = weir("open", both.replace("/x", "/y?timeout=1s"), "-n", 1)
        assert status == 69 and "names no primary that answers" in text, text


def test_three_replicas_before_the_primary():
    """Each of them refuses a script that was loaded for it."""
    with Redis("--repl-diskless-sync-delay", "0") as master:
        follow = ("--replicaof", "127.0.0.1", str(master.port))
        with Redis(*follow) as first, Redis(*follow) as second, Redis(*follow) as third:
            servers = (first, second, third, master)
            for replica in servers[:3]:
                await_(lambda replica=replica: "master_link_status:up" in
                       replica.cli("INFO", "replication"), "replication")
            for server in servers:
                assert server.cli("SCRIPT", "FLUSH") == "OK"
            hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
            assert weir("open", f"redis://{hosts}/x", "-n", 3) == (0, "")
            assert '"capacity":3' in weir("stat", "--json", master.url + "x")[1]


def test_ls():
    for engine in engines():
        with engine() as server:
            assert weir("ls", server.url) == (0, "")
            for i, name in enumerate(("b", "a-b", "a", "a%20b%25")):
                assert weir("open", server.url + name, "-n", i + 1)[0] == 0
            status, text = weir("ls", server.url)
            rows = [line.split() for line in text.splitlines()]
            assert status == 0 and rows[0][0] == "NAME" and rows[0][-1] == "STATE", text
            names = [server.url + n for n in ("a", "a%20b%25", "a-b", "b")]
            assert [row[0] for row in rows[1:]] == names, text
            assert rows[1][1:] == ["3", "3", "0", "0", "idle"], text
            # A name that is printed can be used.
            assert weir("close", names[1])[0] == 0
            status, text = weir("ls", "--json", server.url.rstrip("/"))
            objects = [json.loads(line) for line in text.splitlines()]
            assert [o["name"] for o in objects] == names and objects[1]["closed"], text
            assert objects[0] == json.loads(weir("stat", "--json", names[0])[1])
            # WEIR_URL: plain names.
            status, text = weir("ls", env={"WEIR_URL": server.url})
            assert [line.split()[0] for line in text.splitlines()][1:] == ["a", "a", "a-b", "b"]
    assert weir("ls", "x")[0] == 64
    status, text = weir("ls", "redis://127.0.0.1:1/")
    assert status == 69 and "refused" in text and text.count("\n") == 1, text


def explain(*words, env=None):
    """The status and the JSON of weir explain."""
    status, text = weir("explain", "--json", *words, env=env)
    return status, json.loads(text)


def test_c41_explain_one_semaphore():
    for engine in engines():
        with engine() as server, subprocess.Popen(["sleep", "100"]) as owner:
            url = server.url + "x"
            status, text = weir("explain", url)
            assert status == 69 and text.endswith("does not exist\n"), text
            assert weir("explain", server.url) == (
                0, f"weir: {server.url}: 0 watched objects, 0 contexts\n"
                f"weir: {server.url}: the server has no semaphore\n")
            token = weir("hold", url, "-n", 2, "-w", 2, "-l", "deploy", "--while-pid",
                         owner.pid)[1].strip()
            status, text = weir("explain", url)
            assert status == 0 and f"\n{url}: semaphore, 0 of 2 free; fifo; open\n" in text, text
            assert re.search(rf"\n     2  {socket.gethostname()} pid \d+ deploy  [\d.]+ m?s  "
                             r"token \d+  lease [\d.]+ m?s  waits for no semaphore that was read\n",
                             text), text
            assert "were not read" not in text
            with start("run", url, "-l", "next", "--", "true") as job:
                await_(lambda u=url: explain(u)[1]["objects"][0]["waiting"] == 1, "the wait")
                status, text = weir("explain", url)
                assert status == 0 and text.count("next  ") == 1 and "  SLOW\n" in text, text
                assert f'"weir explain {server.url}" reads all of them\n' in text, text
                status, seen = explain(url)
                found = seen["objects"][0]
                holder, waiter = found["holders"][0], found["waiters"][0]
                entries = json.loads(weir("stat", "--json", url)[1])["entries"]
                assert (holder["fence"], holder["weight"]) == (entries[0]["id"], 2), holder
                # Leases of 10 s are renewed: "lease_ns" is not 0, with etcd neither.
                for lease in holder, waiter:
                    assert 0 < lease["lease_ns"] <= 10e9, found
                contexts = [seen["contexts"][e["context"]] for e in (holder, waiter)]
                assert [c["name"] for c in contexts] == ["deploy", "next"], contexts
                assert {c["host"] for c in contexts} == {socket.gethostname()}, contexts
                assert {c["kind"] for c in contexts} == {"client"}, contexts
                assert [c["tid"] for c in contexts] == [e["pid"] for e in entries], contexts
                # While it is paused, no wait is judged.
                assert weir("pause", url)[0] == 0
                status, text = weir("explain", url)
                assert status == 0 and "; paused: no permit is granted\n" in text, text
                assert weir("resume", url)[0] == 0 and weir("release", token)[0] == 0
                assert job.wait(30) == 0
            owner.kill()


def test_c50_explain_nested_runs():
    """Each job holds a semaphore and waits for that of the other one."""
    for engine in engines():
        with engine() as server, tempfile.TemporaryDirectory() as folder:
            jobs = []
            for mine, other in (("a", "b"), ("b", "a")):
                script = (f"while [ ! -e {folder}/go ]; do sleep 0.05; done; "
                          f"exec {WEIR} run {server.url}{other} -n 1 -- true")
                jobs.append(start("run", server.url + mine, "-n", 1, "-l", "outer-" + mine, "--",
                                  "sh", "-c", script))
            await_(lambda s=server: held(s.url + "a") and held(s.url + "b"), "the holds")
            status, seen = explain(server.url)
            assert (status, seen["verdict"]) == (0, "FINE"), seen
            touch(folder + "/go")
            await_(lambda s=server: explain(s.url)[1]["verdict"] == "POSSIBLE DEADLOCK",
                   "the verdict")
            status, text = weir("explain", server.url)
            assert status == 0 and ("weir: POSSIBLE DEADLOCK  2 contexts cannot proceed unless "
                                    "another thread of these processes releases permits, or a "
                                    "lease ends\n") in text, text
            # The holder and the `weir run` inside its job are one context.
            for mine, other in (("a", "b"), ("b", "a")):
                assert re.search(rf"pid \d+ in \d+ \S+  holds {mine} 1 \(.*waits for {other} 1 ",
                                 text), text
            # With a name, the report is about it, and the others are read as well.
            status, text = weir("explain", server.url, "a")
            assert status == 0 and "POSSIBLE DEADLOCK  2" in text and "\nb: sem" not in text, text
            status, seen = explain(env={"WEIR_URL": server.url})
            assert seen["program"] == server.url and len(seen["groups"]) == 1, seen
            assert weir("explain", server.url, "c")[0] == 69
            # One semaphore alone: the other end of the wait is not known.
            assert explain(server.url + "a")[1]["verdict"] == "SLOW"
            for job in jobs:
                job.terminate()
                job.wait()


def test_stat_with_more_entries_than_a_server_returns():
    count = 7100
    with Redis(appendfsync=None) as server:
        sem = RedisSemaphore(server, redis_script(), count)
        words = ["EVALSHA", server.cli("SCRIPT", "LOAD", redis_script()), 6, *sem.keys()]
        text = b"".join(resp(*words, *sem.words(i, 1)) for i in range(count))
        subprocess.run(["redis-cli", "-p", str(server.port), "--pipe"], input=text, check=True,
                       stdout=subprocess.PIPE)
        # Memory that no entry has filled has this value.
        env = {"MALLOC_PERTURB_": "165"}
        status, text = weir("stat", "--json", server.url + sem.name, env=env)
        assert status == 0, (status, text)
        seen = json.loads(text)
        assert seen["held"] == count and len(seen["entries"]) == 7000, text[:200]
        assert all(entry["role"] == "holds" and entry["weight"] == 1 for entry in seen["entries"])
        assert weir("explain", server.url + sem.name, env=env)[0] == 0


def test_explain_asks_once_if_nothing_waits():
    with Redis() as server:
        for name in "a", "b":
            assert weir("open", server.url + name, "-n", 1)[0] == 0

        def calls(*words):
            server.cli("CONFIG", "RESETSTAT")
            assert weir(*words)[0] == 0
            return server.calls().get("evalsha", 0)
        assert calls("explain", server.url + "a") == calls("stat", server.url + "a") > 0
        assert calls("explain", server.url) == calls("ls", server.url) > 0


def test_explain_refuses_what_stat_refuses():
    status, text = weir("explain", "redis://:secret@127.0.0.1:1/x")
    assert status == 64 and "secret" not in text, text
    for url in ("redis://127.0.0.1:1/", "redis://127.0.0.1:1", "redis://127.0.0.1:1/x"):
        status, text = weir("explain", url)
        assert status == 69 and "refused" in text and text.count("\n") == 1, text
    assert weir("explain", "nonsense://h/x")[0] == 64
    with Redis() as server:
        assert weir("open", server.url + "good", "-n", 1)[0] == 0
        server.cli("SET", "weir:{bad}:e", "foreign")
        status, text = weir("explain", server.url)
        assert status == 0 and "\ngood: semaphore" in text, text
        assert f'1 semaphore cannot be read; "weir ls {server.url}" shows why' in text, text


def samples(text, name, scope="cluster"):
    """{(server, semaphore): value}"""
    found = {}
    text = re.sub("^weir: .*\n", "", text, flags=re.MULTILINE)
    for (sample, labels), value in parse(text).get(name, Family(name)).samples.items():
        labels = dict(labels)
        if labels.get("scope", scope) == scope and sample == name:
            found[labels.get("server"), labels.get("semaphore")] = value
    return found


def label_of(server, proxy=None):
    """The label of a server: its URL without the user and the last slash."""
    return re.sub(r"//\w+@", "//", (proxy or server).url).rstrip("/")


GAUGE = "weir_semaphore_"


def export(*words, env=None):
    status, text = weir("export", "--once", *words, env=env)
    assert status == 0, text
    return text


def export_refuses(*words, env=None, wrapper=()):
    """weir export refuses a wrong URL.  Returns what it said.

    The time for the check of the URLs is limited.  If this machine is too busy, weir goes on
    without the result, and is started again.
    """
    said = []

    def refuses():
        with subprocess.Popen([*wrapper, WEIR, "export", *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, **(env or {}))) as process:
            for line in process.stdout:
                said.append(line.decode(errors="replace"))
                if b"listening" in line:
                    process.terminate()
            return process.wait(60) == 64
    await_(refuses, f"a refusal of {words} {env}")
    return "".join(said)


def test_export_reads_servers():
    for engine in engines():
        with engine() as server, subprocess.Popen(["sleep", "100"]) as owner:
            url, label = server.url, label_of(server)
            text = export("--url", url)
            assert samples(text, "weir_export_server_up") == {(label, None): 1}, text
            assert not samples(text, GAUGE + "permits"), text
            assert weir("open", url + "idle", "-n", 5)[0] == 0
            token = weir("hold", url + "x", "-n", 3, "-w", 2, "--while-pid", owner.pid)[1].strip()
            with start("run", url + "x", "-w", 3, "--", "true") as job:
                await_(lambda u=url: stat(u + "x")["waiters"] == 1, "the wait")
                text = export("--url", url)
                for name, want in ("permits", (3, 5)), ("permits_available", (1, 5)), \
                        ("waiters", (1, 0)), ("waiting_permits", (3, 0)):
                    assert samples(text, GAUGE + name) == {
                        (label, "x"): want[0], (label, "idle"): want[1]}, text
                ages = samples(text, GAUGE + "oldest_holder_seconds")
                assert ages[label, "idle"] == 0 <= ages[label, "x"] < 100, text
                assert samples(text, GAUGE + "newest_holder_seconds") == {
                    (label, "x"): ages[label, "x"]}, text
                # C50: the threads of a client are not known, so there is no verdict.
                assert not samples(text, GAUGE + "deadlocked_waiters"), text
                parse(export("--openmetrics", "--url", url), True)
                if shutil.which("promtool"):
                    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          check=False)
                    assert (done.returncode, done.stdout) == (0, ""), done.stdout
                # One semaphore; and each once, however often it is named.
                text = export("--url", url + "x", "--url", url + "x")
                assert samples(text, GAUGE + "permits") == {(label, "x"): 3}, text
                both = {(label, "x"): 3, (label, "idle"): 5}
                for words in (url, url + "x", url.rstrip("/") + "/"), (url + "x", url + "idle", url):
                    text = export(*[word for url_ in words for word in ("--url", url_)])
                    assert samples(text, GAUGE + "permits") == both, (words, text)
                # $WEIR_URL is a server, also if it has a path without a slash at its end.
                for words in ((), ("--url", url + "x")):
                    text = export(*words, env={"WEIR_URL": url.rstrip("/")})
                    assert samples(text, GAUGE + "permits") == both, (words, text)
                assert weir("release", token)[0] == 0 and job.wait(30) == 0
            # A semaphore that does not exist yet is not the fault of the server.
            text = export("--url", url + "later")
            assert samples(text, "weir_export_server_up") == {(label, None): 1}, text
            assert 'weir_export_unreadable{scope="cluster"} 1\n' in text, text
            assert "later: the semaphore does not exist\n" in text, text
            owner.kill()


def test_export_takes_the_url_of_the_environment_for_a_server():
    """As all other commands do: what looks like a name is a part of the server."""
    with Redis() as server:
        base = server.url.replace("//", "//default@") + "3"
        assert weir("open", server.url + "3/a@b", "-n", 5)[0] == 0
        assert "a@b" in weir("ls", env={"WEIR_URL": base})[1]
        where = label_of(server)
        for url in base, base + "/":
            text = export(env={"WEIR_URL": url})
            assert samples(text, GAUGE + "permits") == {(where + "/3", "a@b"): 5}, text
        text = export("--url", server.url + "3/a@b")
        assert samples(text, GAUGE + "permits") == {(where + "/3", "a@b"): 5}, text
        # The label is a URL, too.
        text = export(env={"WEIR_URL": server.url.rstrip("/") + "?db=3"})
        assert samples(text, GAUGE + "permits") == {(where + "/?db=3", "a@b"): 5}, text
        assert "a@b" in weir("ls", where + "/?db=3")[1]


def test_export_cleans_the_label_of_a_server():
    text = export("--url", b"redis://127.0.0.1:1/?db=\n\xff\"")
    assert samples(text, "weir_export_server_up") == {
        ("redis://127.0.0.1:1/?db=?\ufffd\"", None): 0}, text


def test_export_with_sigchld_ignored():
    export_refuses("--once", "--url", "nonsense://h/", wrapper=("env", "--ignore-signal=CHLD"))


def test_export_says_that_a_reader_has_died():
    with Redis() as server, Proxy(server) as proxy:
        proxy.freeze()
        with start("export", "--once", "--url", proxy.url) as process:
            found = lines(process)
            while process.poll() is None:
                subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
            assert process.returncode == 0
            want = b"it cannot be read: signal 9 ended its reader\n"
            await_(lambda: any(line.endswith(want) for line in found), "the reason")


def test_export_with_more_servers_than_descriptors():
    # The servers with pipes are read.
    urls = [word for i in range(40) for word in ("--url", f"redis://127.0.0.1:1/?db={i}")]
    with Redis() as server:
        url = server.url + "x"
        assert weir("open", url, "-n", 1)[0] == 0
        done = subprocess.run([WEIR, "export", "--once", "--url", url, *urls],
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                    (64, 64)),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
                              timeout=60)
        text = done.stdout.decode()
        up = samples(text, "weir_export_server_up")
        assert up[(label_of(server), None)] == 1 and len(up) == 41, (up, done.stderr)
        assert b"it cannot be read: Too many open files" in done.stderr, done.stderr


def test_export_with_a_silent_server():
    """The answer has everything else, and is there in time."""
    for engine in engines():
        with engine() as server, Proxy(server) as proxy, Redis() as other:
            for one in server, other:
                assert weir("open", one.url + "x", "-n", 3)[0] == 0
            urls = ("--url", proxy.url, "--url", other.url, "--url", "redis://127.0.0.1:1/")
            process = start("export", "--listen", "127.0.0.1:0", *urls)
            found = lines(process)
            await_(lambda f=found: any(b"listening" in line for line in f), "it listens")
            port = re.search(r":(\d+)/metrics", b"".join(found).decode())[1]
            address = f"http://127.0.0.1:{port}/metrics"

            def get(timeout, where=address, asked=None):
                request = urllib.request.Request(where, headers={
                    "X-Prometheus-Scrape-Timeout-Seconds": str(asked or timeout)})
                with urllib.request.urlopen(request, timeout=timeout) as reply:
                    return reply.read().decode()

            def ups(text):
                return list(samples(text, "weir_export_server_up").values())
            await_(lambda g=get: ups(g(60)) == [1, 1, 0], "both are read")
            # Also if there is no time for them, they get some.
            await_(lambda g=get: ups(g(60, asked=0.001)) == [1, 1, 0], "a hasty client")
            proxy.freeze()
            # Prometheus gives up after its timeout; the answer is there before.
            def is_silent(timeout, get=get, other=other):
                try:
                    text = get(timeout)
                except TimeoutError:
                    return False        # this machine is too busy
                if ups(text) != [0, 1, 0]:
                    return False
                assert samples(text, GAUGE + "permits") == {(label_of(other), "x"): 3}, text
                return True
            for timeout in 60, 5:
                await_(lambda t=timeout, silent=is_silent: silent(t), "one is silent")
            proxy.thaw()
            await_(lambda g=get: ups(g(60)) == [1, 1, 0], "it answers again")
            # No child is left, and each message is printed once.  Another one may come
            # between: on a busy machine the time for a server ends before it is read.
            assert subprocess.run(["pgrep", "-P", str(process.pid)], check=False,
                                  stdout=subprocess.DEVNULL).returncode == 1
            process.terminate()
            assert process.wait(60) == 0
            said = [line for line in found if b" redis://127.0.0.1:1/: " in line]
            assert any(b"127.0.0.1:1: Connection refused\n" in line for line in said), found
            assert all(one != next_ for one, next_ in zip(said, said[1:])), found


def test_export_bounds_the_names():
    """A server with more semaphores than are shown.  The rest is counted."""
    with Redis() as server:
        assert weir("open", server.url + "good", "-n", 1)[0] == 0
        server.cli("SET", "weir:{bad}:e", "foreign")
        # Only names that would be opened can be found to be damaged.
        pairs = [word for i in range(1100) for word in (f"weir:{{z{i:04}}}:e", "foreign")]
        server.cli("MSET", *pairs)
        found = []

        def is_complete():
            """If this machine is too busy, the time for the server ends before."""
            found.append(export("--url", server.url))
            return samples(found[-1], "weir_export_server_up")[label_of(server), None]
        await_(is_complete, "all names are read in time")
        assert samples(found[-1], GAUGE + "permits") == {(label_of(server), "good"): 1}, found[-1]
        assert 'weir_export_unreadable{scope="cluster"} 1101\n' in found[-1], found[-1]


def test_export_hides_passwords():
    with Redis("--requirepass", "hidden-word") as server:
        bare = server.url[len("redis://"):]
        for env in ({"WEIR_URL": "redis://:hidden-word@" + bare},
                    {"WEIR_URL": server.url, "WEIR_PASSWORD": "hidden-word"}):
            text = export(env=env)
            assert samples(text, "weir_export_server_up") == {(label_of(server), None): 1}, text
            assert "hidden-word" not in text, text
        # A slash in a password is a mistake, and still a part of the password.
        text = export_refuses("--once",
                              env={"WEIR_URL": "redis://user:hidden/word@" + bare + "?db=3"})
        assert "hidden" not in text and "word@" not in text, text
    status, text = weir("export", "--once", "--url", "redis://:hidden-word@127.0.0.1:1/")
    assert status == 64 and "hidden-word" not in text, text
    for url in "nonsense://h/", "redis://h:port/", "builds":
        for words in ("--once",), ("--listen", "127.0.0.1:0"):
            export_refuses(*words, "--url", url)


class Tiring(Proxy):
    """After the list of names there is no answer."""

    def change(self, data):
        if b"weir:{" in data:
            self.freeze()
        return data


def test_ls_ends_if_the_server_stops_answering():
    with Redis() as server, Tiring(server) as proxy:
        for i in range(3):
            assert weir("open", server.url + f"x{i}", "-n", 1)[0] == 0
        status, text = weir("ls", proxy.url + "?timeout=1s")
        assert status == 69 and text.count("does not answer") == 1, text


def test_a_signal_ends_the_open_of_a_silent_server():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/x?timeout=600s"
        for words in (("run", url, "-n", 1, "--", "true"),
                      ("hold", url, "-n", 1, "--while-pid", os.getpid())):
            for sig in (signal.SIGTERM, signal.SIGINT):
                with start(*words) as command:
                    with server.accept()[0]:
                        command.send_signal(sig)
                        assert command.wait(30) in (128 + sig, -sig)
                        assert command.stdout.read() == b""


def test_json_of_names_that_are_not_utf8():
    """As in the default folder: bytes that are not UTF-8 become U+FFFD; the rest stays."""
    name = b"caf\xc3\xa9-\xff\xfe"
    shown = "caf\u00e9-\ufffd\ufffd"
    for engine in (Redis, Etcd):
        with engine() as server:
            url = server.url.encode() + name
            assert weir("open", url, "-n", 2)[0] == 0
            for words in (("ls", "--json", server.url), ("stat", "--json", url)):
                done = subprocess.run([WEIR, *words], stdout=subprocess.PIPE, check=True)
                found = json.loads(done.stdout.decode("utf-8"))
                assert found["name"] == server.url + shown and found["capacity"] == 2, found
    # PostgreSQL has no such names: one line, and no semaphore.
    with Postgres() as server:
        status, text = weir("open", server.url.encode() + name, "-n", 2)
        assert status != 0 and text.count("\n") == 1 and "UTF8" in text, text
        assert weir("ls", "--json", server.url) == (0, "")


def test_ls_leaves_foreign_keys_alone():
    with Redis() as server:
        assert weir("open", server.url + "good", "-n", 1)[0] == 0
        for key in ("weir:{}:e", "weir:{a/b}:e", "weir:{" + 200 * "x" + "}:e", "weir:{a\x01}:e"):
            server.cli("SET", key, "foreign")
        server.cli("SET", "weir:{bad}:e", "foreign")
        status, text = weir("ls", server.url)
        rows = text.splitlines()
        assert status == 0 and len(rows) == 3 and "bad" in rows[1] and "good" in rows[2], text
        bad, good = [json.loads(row) for row in weir("ls", "--json", server.url)[1].splitlines()]
        assert "error" in bad and "error" not in good
    if shutil.which("redis-server"):
        with Redis("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server:
            status, text = weir("ls", server.url)
            assert status == 69 and "Redis Cluster cannot list" in text, text


def test_watch():
    for engine in engines():
        with engine() as server, subprocess.Popen(["sleep", "100"]) as owner:
            url = server.url + "x"
            assert weir("watch", url)[0] == 69
            assert weir("open", url, "-n", 2)[0] == 0
            status, text = weir("watch", "--json", "-c", 1, url)
            assert status == 0 and json.loads(text) == json.loads(weir("stat", "--json", url)[1])
            with start("watch", "-i", "10ms", "-c", 3, url) as watch:
                assert watch.wait(30) == 0
                assert watch.stdout.read().count(b"0 of 2 in use") == 3
            # A line for each change, none without one.
            with start("watch", url) as watch:
                seen = lines(watch)
                await_(lambda s=seen: len(s) == 1, "the first line")
                token = weir("hold", url, "--while-pid", owner.pid, "-l", "me")[1].strip()
                await_(lambda s=seen: len(s) == 2 and b"1 of 2 in use" in s[1] and b"me" in s[1],
                       f"the holder {seen}")
                assert weir("release", token)[0] == 0
                await_(lambda s=seen: len(s) == 3, "the release")
                assert weir("rm", url)[0] == 0
                await_(lambda s=seen: len(s) == 4 and b"name removed" in s[3], "the removal")
                assert weir("open", url, "-n", 7)[0] == 0
                await_(lambda s=seen: len(s) == 5 and b"of 7 in use" in s[4], "the new one")
                assert len(seen) == 5
                watch.terminate()
            owner.kill()


def test_wait_for_free_permits():
    for engine in engines():
        with engine() as server, subprocess.Popen(["sleep", "100"]) as owner:
            url = server.url + "x"
            assert weir("wait", url, "--free", 1)[0] == 69
            token = weir("hold", url, "-n", 2, "--while-pid", owner.pid)[1].strip()
            assert weir("wait", url, "--free", 1) == (0, "") and held(url) == 1
            assert weir("wait", url, "--free", 0) == (0, "")
            assert weir("wait", url, "--free", 3)[0] == 64
            status, text = weir("wait", url, "--free", 2, "-t", "50ms")
            assert status == 124 and "timed out after 50ms; held by" in text, text
            assert weir("wait", url, "--free", 2, "-t", "50ms", "-E", 5)[0] == 5
            status, text = weir("wait", url, "--idle", "-t", "50ms")
            assert status == 124 and "timed out after 50ms; held by" in text, text
            # A signal withdraws the request, so that others do not wait behind it.
            with start("wait", url, "--free", 2) as waiter:
                await_(lambda u=url: stat(u)["waiters"] == 1, "the waiter")
                waiter.send_signal(signal.SIGINT)
                assert waiter.wait(30) == 130
            assert stat(url)["waiters"] == 0
            with start("wait", url, "--free", 2) as waiter:
                await_(lambda u=url: stat(u)["waiters"] == 1, "the waiter")
                assert weir("release", token)[0] == 0
                assert waiter.wait(30) == 0 and waiter.stdout.read() == b""
            assert held(url) == 0
            assert weir("wait", url, "--idle", "-t", 0) == (0, "")
            assert weir("close", url)[0] == 0 and weir("wait", url, "--free", 1)[0] == 69
            owner.kill()


def test_c41_a_lost_lease_ends_the_job():
    with Redis() as server, Proxy(server) as proxy:
        # The job ends a tenth of the TTL before the lease.
        name = "lost?ttl=10s&timeout=1s"
        weir("run", server.url + name, "-n", 1, "--", "true")
        beats, pid_file = server.dir + "/beats", server.dir + "/pid"
        # The job ignores SIGTERM; the descriptor says that the lease is about to end.
        script = (f"trap 'echo term' TERM; echo $$ >{pid_file}; (cat <&$WEIR_DEADLINE_FD; "
                  f"echo warned) & while :; do date +%s%N >{beats}.new; mv {beats}.new {beats}; "
                  "sleep 0.02; done")
        with start("run", proxy.url + name, "--", "bash", "-c", script) as job:
            await_(lambda: os.path.exists(beats) and open(pid_file).read().strip(), "the job")
            pid = int(open(pid_file).read())
            with start("run", server.url + name, "--", "date", "+%s%N") as waiter:
                await_(lambda: stat(server.url + name)["waiters"] == 1, "the waiter")
                proxy.freeze()
                status = job.wait(30)
                text = job.stdout.read().decode()
                assert status == 76, (status, text)
                assert "term" in text and "warned" in text and "cannot be renewed" in text, text
                assert not os.path.exists(f"/proc/{pid}"), "the job is dead"
                assert waiter.wait(30) == 0
                # The last sign of life is older than the next grant.
                assert int(open(beats).read()) < int(waiter.stdout.read())


def child_of(parent):
    """The first child of a process, as soon as it has one."""
    found = []

    def look():
        found[:] = subprocess.run(["pgrep", "-P", str(parent)], check=False,
                                  stdout=subprocess.PIPE).stdout.split()
        return found
    await_(look, "a child")
    return int(found[0])


def test_c41_a_stopped_command():
    """Hard test 1: SIGSTOP past the TTL, then SIGCONT: 76, and the job is dead."""
    with Redis() as server:
        url = server.url + "stopped?ttl=3s"
        weir("run", url, "-n", 1, "--", "true")
        with start("run", url, "--", "sleep", "100") as command:
            await_(lambda: held(url) == 1, "the lease")
            # The command starts them when it has the lease.
            guardian = child_of(command.pid)
            job = child_of(guardian)
            os.kill(guardian, signal.SIGSTOP)
            assert weir("run", url, "-t", "40s", "--", "true")[0] == 0
            os.kill(guardian, signal.SIGCONT)
            assert command.wait(30) == 76
            assert command.stdout.read().decode() == \
                f"weir: {url}: the lease was lost while sleep ran\n"
            assert not os.path.exists(f"/proc/{job}")


def test_a_waiting_command_survives_a_restart():
    with Redis() as server:
        url = server.url + "restart?ttl=8s&timeout=2s"
        done = server.dir + "/done"
        with start("run", url, "-n", 1, "--", *until(done)) as holder:
            await_(lambda: held(url) == 1, "the lease")
            with start("run", url, "--", "echo", "granted") as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "the waiter")
                server.kill()
                server.start()
                touch(done)
                assert holder.wait(30) == 0
                assert waiter.wait(30) == 0 and b"granted" in waiter.stdout.read()


def test_passwords_are_hidden():
    with Redis("--requirepass", "hidden-word") as server:
        bare = server.url.replace("redis://", "")
        secret = "redis://:hidden-word@" + bare
        status, text = weir("run", secret + "x", "-n", 1, "--", "true")
        assert status == 64 and "hidden-word" not in text
        for env, url in (({"WEIR_PASSWORD": "hidden-word"}, server.url + "x"),
                         ({"WEIR_URL": secret}, "x")):
            done = server.dir + "/" + "-".join(env)
            with start("run", url, "-n", 1, "--", *until(done), env=env) as job:
                await_(lambda e=env, u=url: '"held":1' in weir("stat", "--json", u, env=e)[1],
                       "the lease")
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        line = open(f"/proc/{pid}/cmdline", "rb").read()
                    except OSError:
                        continue
                    assert b"hidden-word" not in line or b"requirepass" in line, line
                assert "hidden-word" not in weir("stat", "--json", url, env=env)[1]
                touch(done)
                assert job.wait(30) == 0 and b"hidden-word" not in job.stdout.read()
        status, text = weir("stat", server.url + "x", env={"WEIR_PASSWORD": "wrong-word"})
        assert status == 77 and "wrong-word" not in text
    # '/' and '?' are not escaped: the URL is not valid.
    for word in ("hidden/word", "hidden?word", "hidden/wo@rd"):
        secret = f"redis://user:{word}@127.0.0.1:1/"
        for words, env in ((["ls"], {"WEIR_URL": secret}), (["stat", "x"], {"WEIR_URL": secret}),
                           (["stat", secret + "x"], {})):
            status, text = weir(*words, env=env)
            assert status == 64 and "hidden" not in text, text
    for secret in ("//user:hidden@127.0.0.1:1/", "redis:/user:hidden@127.0.0.1:1/"):
        status, text = weir("stat", "x", env={"WEIR_URL": secret})
        assert status == 64 and "hidden" not in text, text
    for url in ("redis://127.0.0.1:1/a@b", "redis://[::1]/a@b", "redis://u@[::1]:1/a@b"):
        assert url in weir("stat", url)[1]


def test_files_that_cannot_be_read():
    """The message names the file, and does not take it for a missing semaphore."""
    with Redis("--requirepass", "secret") as server:
        run = ("run", server.url + "x", "--", "true")
        path = server.dir + "/password"
        status, text = weir(*run, env={"WEIR_PASSWORD_FILE": path})
        assert status == 77 and path + ": No such file" in text, text
        # Not to create it.  The random name of the folder may contain the same letters.
        assert "-n" not in text.replace(server.dir, ""), text
        for length, wanted in ((255, 77), (256, 64)):
            word = "x" * length
            open(path, "w").write(word)
            for env in ({"WEIR_PASSWORD": word}, {"WEIR_PASSWORD_FILE": path}):
                status, text = weir(*run, env=env)
                assert status == wanted and word not in text, text
                assert ("longer than 255 bytes" in text) == (length > 255), text
        open(path, "w").write("secret\n" + "x" * 1000)
        status, text = weir(*run, env={"WEIR_PASSWORD_FILE": path})
        assert status == 69 and "-n CAPACITY creates it" in text, text
        ca = server.dir + "/ca"
        url = server.url.replace("redis:", "rediss:")
        status, text = weir("run", f"{url}x?ca={ca}", "--", "true")
        assert status == 77 and "read from " + ca in text, text
        assert "-n" not in text.replace(server.dir, ""), text


def test_the_job_inherits_the_password_unless_it_is_removed():
    """A job can use weir with the same server, and the guide shows how to hide the password."""
    with Redis("--requirepass", "hidden-word") as server:
        env, url = {"WEIR_PASSWORD": "hidden-word"}, server.url + "x"
        status, text = weir("run", url, "-n", 1, "--", WEIR, "stat", url, env=env)
        assert status == 0 and "0 of 1 free" in text, text
        status, text = weir("run", url, "--", "env", "-u", "WEIR_PASSWORD", "sh", "-c",
                            'env; exec "$0" stat "$1"', WEIR, url, env=env)
        assert status == 77 and "WEIR_HELD=" in text and "hidden-word" not in text, text
        # The other variables of a job do not contain the password of WEIR_URL.
        status, text = weir("run", "x", "--", "env", "-u", "WEIR_URL", "env",
                            env={"WEIR_URL": server.url.replace("://", "://:hidden-word@")})
        assert status == 0 and "WEIR_HELD=" in text and "hidden-word" not in text, text


def test_parts_of_a_url():
    # A user that would be ignored is refused.
    for url in ("etcd://me@127.0.0.1:1/x", "etcds://me@127.0.0.1:1/x"):
        status, text = weir("stat", url)
        assert status == 64 and "does not authenticate users of etcd" in text, text
    # The value of an option is decoded once.
    text = weir("stat", "postgresql://127.0.0.1:1/db/x?sslmode=%2564isable")[1]
    assert "without the engine" in text or '"%64isable"' in text, text
    # The message names the option that is wrong.
    for option, why in (("ttl=10x", "the option ttl is not a time"),
                        ("timeout=1h&ttl=0", "the option ttl is not a time"),
                        ("timeout=", "the option timeout is not a time"),
                        ("replicas=100", "the option replicas is not a number"),
                        ("tls=1", "an option is unknown"),
                        ("timeout=1h&db", "does not have the form KEY=VALUE"),
                        ("sslmode=verify-everything", "the option sslmode is too long")):
        status, text = weir("stat", "redis://127.0.0.1:1/x?" + option)
        assert status == 64 and why in text, text
    for url, why in (("redis://127.0.0.1:65536/x", "a host or a port is not valid"),
                     ("redis://127.0.0.1:0/x", "a host or a port is not valid"),
                     ("redis://127.0.0.1:/x", "a host or a port is not valid"),
                     ("redis://127.0.0.1:1/x?ttl=99ms", "the TTL is not between 100ms and 24h"),
                     ("redis://127.0.0.1:1/x?ttl=25h", "the TTL is not between 100ms and 24h"),
                     ("redis://127.0.0.1:1/" + "x" * 129, "longer than 128 bytes"),
                     ("mysql://127.0.0.1:1/x", "the schemes are redis, rediss, etcd, etcds, "
                                               "postgresql and postgres"),
                     ("redis://127.0.0.1:1/50%", "has a % that two hexadecimal digits"),
                     ("redis://127.0.0.1:1/a%0ab", "has a control character")):
        status, text = weir("stat", url)
        assert status == 64 and why in text, text
    status, text = weir("stat", "x", env={"WEIR_URL": "redis://"})
    assert status == 64 and "redis:///x: a host or a port is not valid" in text, text
    status, text = weir("open", "redis://127.0.0.1:1/x", "-n", 2**60)
    assert status == 64 and "the capacity is not between 0 and 1125899906842624" in text, text


def test_a_name_below_the_url_is_not_a_part_of_a_url():
    """With WEIR_URL, each name that `weir ls` prints is the name of that semaphore."""
    names = ["50%", "a b", "a#b", "a%20b", "a&b", "what?", "x?ttl=5s"]
    with Redis() as server:
        env = {"WEIR_URL": server.url}
        for number, name in enumerate(names, 1):
            assert weir("open", name, "-n", number, env=env)[0] == 0, name
        status, text = weir("ls", "--json", env=env)
        listed = [json.loads(line) for line in text.splitlines()]
        assert [one["name"] for one in listed] == names, text
        for number, name in enumerate(names, 1):
            status, text = weir("stat", name, "--json", env=env)
            assert status == 0 and json.loads(text)["capacity"] == number, text
            assert weir("run", name, "--", WEIR, "run", name, "--", "true", env=env)[0] == 64
            assert weir("rm", name, env=env)[0] == 0, name


def test_postgres():
    if "without the engine" in weir("stat", "postgresql://127.0.0.1:1/x")[1]:
        raise Skip("the library has no engine for PostgreSQL")
    with Postgres(auth="scram-sha-256", password="hidden-word") as server:
        url, env = server.url + "x", {"WEIR_PASSWORD": "hidden-word"}
        assert weir("run", url, "-n", 1, "--", "sh", "-c", "exit $((WEIR_FENCE > 0 ? 7 : 1))",
                    env=env)[0] == 7
        with start("run", url, "--", "sleep", "100", env=env) as job:
            await_(lambda: '"held":1' in weir("stat", "--json", url, env=env)[1], "the lease")
            assert weir("run", url, "--try", "--", "true", env=env)[0] == 75
            assert weir("run", url, "-t", "50ms", "--", "true", env=env)[0] == 124
            with start("run", url, "--", "echo", "granted", env=env) as waiter:
                await_(lambda: '"waiting":1' in weir("stat", "--json", url, env=env)[1] or
                       waiter.poll() is not None, "the waiter")
                job.send_signal(signal.SIGTERM)
                assert job.wait(30) == 143
                assert waiter.wait(30) == 0 and b"granted" in waiter.stdout.read()
        status, text = weir("doctor", url, env=env)
        assert status == 0 and "ok" in text, text
        assert weir("resize", url, 3, env=env)[0] == 0
        assert "hidden-word" not in weir("stat", "--json", url, env=env)[1]
        status, text = weir("stat", url, env={"WEIR_PASSWORD": "wrong-word"})
        assert status == 77 and "wrong-word" not in text, text
        secret = server.url.replace("weir@", "weir:hidden-word@")
        status, text = weir("stat", secret + "x")
        assert status == 64 and "hidden-word" not in text
        assert weir("stat", "x", env={"WEIR_URL": secret})[0] == 0
        assert weir("rm", url, env=env)[0] == 0 and weir("stat", url, env=env)[0] == 69
        # -n creates no database.
        absent = server.url.replace("/postgres/", "/absent/") + "x"
        for option in ((), ("-n", 1)):
            status, text = weir("run", absent, *option, "--", "true", env=env)
            assert status == 69 and text.endswith('database "absent" does not exist\n'), text
        status, text = weir("run", "postgresql://127.0.0.1:1/x", "--", "true")
        assert status == 69 and "refused" in text and text.count("\n") == 1, text


def test_the_library_near_the_command():
    """It is found without the help of the loader, as in a prefix that ldconfig does not know."""
    status, text = weir("stat", "redis://127.0.0.1:1/x", env={"LD_LIBRARY_PATH": ""})
    assert status == 69 and "refused" in text, text


def test_without_the_library():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bin", "lib"):
            os.mkdir(f"{folder}/{name}")
        alone = shutil.copy(WEIR, folder + "/bin")
        # The second time libweir is installed, and only libweir-cluster is missing.
        for libraries in ([], [os.path.dirname(WEIR) + "/../libweir.so.0"]):
            for library in libraries:
                shutil.copy(library, folder + "/lib")
            done = subprocess.run([alone, "stat", "redis://127.0.0.1/x"], check=False, timeout=60,
                                  capture_output=True, env={**os.environ, "LD_LIBRARY_PATH": ""})
            text = done.stderr.decode()
            assert done.returncode == 69 and text.count("\n") == 1, text
            assert "need libweir-cluster.so.0 (Debian package libweir-cluster0): " in text, text
            assert text.endswith("cannot open shared object file: No such file or directory\n"), text


def test_doctor():
    with Redis() as server:
        weir("run", server.url + "x", "-n", 1, "--", "true")
        status, text = weir("doctor", server.url + "x")
        assert status == 0 and "ok" in text, text
    with Redis(appendfsync=None) as server:
        weir("run", server.url + "x", "-n", 1, "--", "true")
        status, text = weir("doctor", server.url + "x")
        assert status == 69 and "appendonly" in text, text


if __name__ == "__main__":
    main(sys.modules[__name__])
