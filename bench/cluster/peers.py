#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job under a limit of one between machines: `weir run`, next to the commands that
people use, in turns; the whole time of a command, from its start to its end.

    bench/cluster/peers.py BUILD [TURNS]

etcd: `etcdctl lock NAME true`.  PostgreSQL: psql with pg_advisory_lock, which holds the lock
while its shell command runs.  Redis has no command for this.  `weir run` keeps a queue, gives
a fencing token and ends the job if the lease is lost; the others do not.
"""
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))
import servers  # pylint: disable=wrong-import-position


def seconds(command, env):
    started = time.monotonic()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def peer_of(engine, server):
    if engine == "etcd":
        return ["etcdctl", "--endpoints", f"127.0.0.1:{server.port}", "lock", "bench", "true"]
    return ["psql", "-qAt", "-d", server.url.rstrip("/"), "-c", "SELECT pg_advisory_lock(1)",
            "-c", r"\! true", "-c", "SELECT pg_advisory_unlock(1)"]


def compare(engine, build, turns):
    with servers.ENGINES[engine]() as server:
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, "src", "cluster"))
        weir = [os.path.join(build, "src", "cmd", "weir"), "run", server.url + "bench", "-n", "1", "--", "true"]
        peer = peer_of(engine, server)
        seconds(weir, env)      # creates the semaphore
        seconds(peer, env)
        times = [(seconds(weir, env), seconds(peer, env)) for _ in range(turns)]
    ratios = sorted(a / b for a, b in times)
    print(f"{engine:9} weir run {1000 * statistics.median(a for a, _ in times):.1f} ms, "
          f"{peer[0]} {1000 * statistics.median(b for _, b in times):.1f} ms; weir / it: "
          f"{statistics.median(ratios):.2f} ({ratios[turns // 10]:.2f} to "
          f"{ratios[-1 - turns // 10]:.2f})")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for engine in ("etcd", "postgres"):
        compare(engine, os.path.abspath(sys.argv[1]), int((sys.argv[2:] or [20])[0]))


main()
