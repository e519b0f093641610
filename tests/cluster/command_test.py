#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command with URLs: statuses, signals, lost leases, secrets (C41)."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from proxy import Proxy
from servers import Postgres, Redis, await_
from support import Skip, main, stat

WEIR = os.environ.get("WEIR_TEST_COMMAND", "weir")


def weir(*words, env=None, timeout=60):
    done = subprocess.run([WEIR, *map(str, words)], stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                          env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout.decode(errors="replace")


def start(*words, env=None):
    return subprocess.Popen([WEIR, *map(str, words)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=dict(os.environ, **(env or {})))


def held(url):
    status, text = weir("stat", "--json", url)
    return json.loads(text)["held"] if status == 0 else 0


def test_statuses():
    with Redis() as server:
        url = server.url + "x"
        status, text = weir("run", url, "--", "true")
        assert status == 69 and "does not exist" in text and text.count("\n") == 1
        status, text = weir("run", url, "-n", 1, "--", "sh", "-c",
                            "echo $WEIR_FENCE $WEIR_HELD; exit 7")
        fence, name = text.split()
        assert status == 7 and int(fence) > 0 and name == url
        assert weir("run", url, "--", "/nonexistent")[0] == 127
        assert weir("run", url, "-w", 2, "--", "true")[0] == 64
        with start("run", url, "--", "sleep", "100") as job:
            await_(lambda: held(url) == 1, "the lease")
            assert weir("run", url, "--try", "--", "true")[0] == 75
            assert weir("run", url, "-t", "50ms", "--", "true")[0] == 124
            assert weir("run", url, "--try", "-E", 3, "-q", "--", "true") == (3, "")
            assert weir("rm", url)[0] == 75
            assert weir("wait", url, "--idle", "-t", "50ms")[0] == 124
            job.send_signal(signal.SIGTERM)
            assert job.wait(30) == 143
        assert held(url) == 0
        assert weir("resize", url, 3)[0] == 0
        assert json.loads(weir("stat", "--json", url)[1])["capacity"] == 3
        assert weir("pause", url)[0] == 0 and weir("run", url, "--try", "--", "true")[0] == 75
        assert weir("resume", url)[0] == 0 and weir("run", url, "--try", "--", "true")[0] == 0
        assert weir("stat", "x", env={"WEIR_URL": server.url})[0] == 0
        assert weir("close", url)[0] == 0 and weir("run", url, "--", "true")[0] == 69
        assert weir("rm", url)[0] == 0 and weir("stat", url)[0] == 69
        status, text = weir("run", "redis://127.0.0.1:1/x", "--", "true")
        assert status == 69 and "refused" in text and text.count("\n") == 1
        assert weir("hold", url, "--while-pid", os.getpid())[0] == 64


def test_c41_a_lost_lease_ends_the_job():
    with Redis() as server, Proxy(server) as proxy:
        name = "lost?ttl=1500ms&timeout=400ms"
        weir("run", server.url + name, "-n", 1, "--", "true")
        beats, pid_file = server.dir + "/beats", server.dir + "/pid"
        # The job ignores SIGTERM; the descriptor says that the lease is about to end.
        script = (f"trap 'echo term' TERM; echo $$ >{pid_file}; (cat <&$WEIR_DEADLINE_FD; "
                  f"echo warned) & while :; do date +%s%N >{beats}; sleep 0.02; done")
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


def test_c41_a_stopped_command():
    """Hard test 1: SIGSTOP past the TTL, then SIGCONT: 76, and the job is dead."""
    with Redis() as server:
        url = server.url + "stopped?ttl=800ms"
        weir("run", url, "-n", 1, "--", "true")
        with start("run", url, "--", "sleep", "100") as command:
            await_(lambda: held(url) == 1, "the lease")
            children = subprocess.run(["pgrep", "-P", str(command.pid)], check=True,
                                      stdout=subprocess.PIPE).stdout.split()
            guardian = int(children[0])
            job = int(subprocess.run(["pgrep", "-P", str(guardian)], check=True,
                                     stdout=subprocess.PIPE).stdout.split()[0])
            os.kill(guardian, signal.SIGSTOP)
            assert weir("run", url, "-t", "10s", "--", "true")[0] == 0
            os.kill(guardian, signal.SIGCONT)
            assert command.wait(10) == 76
            assert not os.path.exists(f"/proc/{job}")


def test_a_waiting_command_survives_a_restart():
    with Redis() as server:
        url = server.url + "restart?ttl=3s&timeout=500ms"
        with start("run", url, "-n", 1, "--", "sleep", "2.5") as holder:
            await_(lambda: held(url) == 1, "the lease")
            with start("run", url, "--", "echo", "granted") as waiter:
                await_(lambda: stat(url)["waiters"] == 1, "the waiter")
                server.kill()
                server.start()
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
            with start("run", url, "-n", 1, "--", "sleep", "1", env=env) as job:
                await_(lambda e=env, u=url: '"held":1' in weir("stat", "--json", u, env=e)[1],
                       "the lease")
                for pid in filter(str.isdigit, os.listdir("/proc")):
                    try:
                        line = open(f"/proc/{pid}/cmdline", "rb").read()
                    except OSError:
                        continue
                    assert b"hidden-word" not in line or b"requirepass" in line, line
                assert "hidden-word" not in weir("stat", "--json", url, env=env)[1]
                assert job.wait(30) == 0 and b"hidden-word" not in job.stdout.read()
        status, text = weir("stat", server.url + "x", env={"WEIR_PASSWORD": "wrong-word"})
        assert status == 77 and "wrong-word" not in text


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
        status, text = weir("run", "postgresql://127.0.0.1:1/x", "--", "true")
        assert status == 69 and "refused" in text and text.count("\n") == 1, text


def test_without_the_library():
    status, text = weir("stat", "redis://127.0.0.1/x", env={"LD_LIBRARY_PATH": ""})
    assert status == 69 and "libweir-cluster" in text and text.count("\n") == 1, text


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
