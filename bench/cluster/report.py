#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure semaphores between machines, and write docs/performance/cluster.md.

    bench/cluster/report.py BUILD [RUNS [ROUNDS]]  measure; results go to bench/cluster/MACHINE.txt
    bench/cluster/report.py                        write the page from the results of all machines

A line of a result file is "key | value value ...", one value for each run.  Runs are the outermost
loop, so that a disturbance affects one value of every line.  BUILD needs the targets bench-cluster,
bench-cluster-clients and bench-cluster-peers, and the command.

`chrt -r 1 bench/cluster/report.py ...` measures with real-time priority, so that other processes
do not disturb it much.  It then pauses after each program, so that they do not starve.
"""
import glob
import os
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PAGE = os.path.join(ROOT, "docs", "performance", "cluster.md")

# name: engine of tests/cluster/serve.py, folder of the data
SERVERS = {
    "redis-memory": ("redis-memory", "/dev/shm"),
    "redis-aof": ("redis", "/dev/shm"),
    "postgres-disk": ("postgres", "/var/tmp"),
    "etcd": ("etcd", "/var/tmp"),
    "postgres-memory": ("postgres", "/dev/shm"),
}


REAL_TIME = os.sched_getscheduler(0) != os.SCHED_OTHER


def run(*words, **options):
    started = time.monotonic()
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, **options)
    if REAL_TIME:
        time.sleep(time.monotonic() - started)
    return done.stdout.decode()


def serve(server, *command):
    engine, folder = SERVERS[server]
    words = [os.path.join(ROOT, "tests", "cluster", "serve.py"), engine, "sh", "-c",
             " ".join([command[0], "$WEIR_TEST_URL", *command[1:]])]
    return run(*words, env=dict(os.environ, WEIR_TEST_DIR=folder))


def single(build, server, rounds):
    """bench-cluster prints "what median p99" and "what ratio"."""
    found = {}
    for line in serve(server, build + "/bench/bench-cluster", rounds).splitlines():
        match = re.fullmatch(r"(.{28}) +([0-9.]+)(?: +[0-9.]+)?", line)
        found[f"{server}: {match[1].strip()}"] = float(match[2])
    return found


def clients(build, count):
    text = serve("redis-memory", build + "/bench/bench-cluster-clients", "6", str(count))
    rate = re.search(r"pairs/s, weir / bare scripts: ([0-9.]+)", text)[1]
    cpu = re.search(r"CPU time of the server, bare scripts / weir: ([0-9.]+)", text)[1]
    return {f"{count} clients: rate": float(rate), f"{count} clients: cpu": float(cpu)}


def peers(build):
    found = {}
    for line in serve("redis-memory", build + "/bench/bench-cluster-peers").splitlines():
        name, _, ratio = re.fullmatch(r"(.+?) +([0-9.]+) us; weir / it: ([0-9.]+) .*", line).groups()
        found["peer: " + name] = float(ratio)
    for line in run(os.path.join(HERE, "peers.py"), build).splitlines():
        found["command: " + line.split()[0]] = float(re.search(r"weir / it: ([0-9.]+)", line)[1])
    return found


def first_line(*command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    return done.stdout.decode().splitlines()[0]


def version(package):
    return first_line("dpkg-query", "-W", "-f=${Version}", package)


def write(values):
    with open(os.path.join(HERE, platform.machine() + ".txt"), "w", encoding="utf-8") as file:
        file.write(f"on | {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}; Redis "
                   f"{version('redis-server')}, etcd {version('etcd-server')}, PostgreSQL "
                   f"{version('postgresql')}; load average {os.getloadavg()[2]:.0f}"
                   f"{', real-time priority' if REAL_TIME else ''}; commit "
                   f"{first_line('git', 'describe', '--always')}\n")
        for key, series in values.items():
            file.write(f"{key} | {' '.join(f'{v:g}' for v in series)}\n")


def measure(build, runs, rounds):
    """The file is written after each program, so that a run that is stopped has results."""
    values = {}
    programs = [lambda s=s: single(build, s, rounds) for s in SERVERS]
    programs += [lambda n=n: clients(build, n) for n in (1, 64)] + [lambda: peers(build)]
    for _ in range(runs):
        for program in programs:
            for key, value in program().items():
                values.setdefault(key, []).append(value)
            write(values)


def load():
    results = {}
    for path in sorted(glob.glob(HERE + "/*.txt")):
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(" | ") for line in file]
        results[os.path.basename(path)[:-4]] = dict(lines)
    return results


def cell(result, key, scale=1.0):
    values = sorted(float(v) * scale for v in result.get(key, "").split())
    if not values:
        return "-"
    middle = statistics.median(values)
    digits = 2 if middle < 20 else 1 if middle < 100 else 0
    low, middle, high = (f"{v:.{digits}f}" for v in (values[0], middle, values[-1]))
    return (middle if len(values) == 1 else f"{low} to {high}" if len(values) == 2 else
            f"{middle} ({low} to {high})")


RATIOS = (
    ("Redis without a file: pair / bare EVALSHA", "3.0", "redis-memory: pair / round trip"),
    ("Redis, `appendfsync always`, file in memory: the same", "3.0", "redis-aof: pair / round trip"),
    ("Redis without a file: hand-off / bare EVALSHA", "4.0", "redis-memory: hand-off / round trip"),
    ("Redis, `appendfsync always`, file in memory: the same", "4.0", "redis-aof: hand-off / round trip"),
    ("Redis without a file: hand-off with 1,000 waiters / with 10", "1.3",
     "redis-memory: passed around, 1000 / 10"),
    ("Redis without a file: join and leave a queue, 1,000 waiters / 10", "",
     "redis-memory: queue and leave, 1000 / 10"),
    ("Redis without a file: pair, last of 50,000 / first", "1.3", "redis-memory: pair, last / first"),
    ("etcd: join and leave a queue, 1,000 waiters / 10", "1.5", "etcd: queue and leave, 1000 / 10"),
    ("PostgreSQL on a disk: pair / one update and commit", "3.0", "postgres-disk: pair / round trip"),
    ("PostgreSQL in memory: the same", "", "postgres-memory: pair / round trip"),
    ("PostgreSQL on a disk: join and leave a queue, 1,000 waiters / 10", "",
     "postgres-disk: queue and leave, 1000 / 10"),
    ("PostgreSQL on a disk: pair, last of 50,000 / first", "1.3", "postgres-disk: pair, last / first"),
)

TIMES = (
    ("Redis without a file: bare EVALSHA", "redis-memory: bare round trip"),
    ("... pair", "redis-memory: uncontended pair"),
    ("... hand-off", "redis-memory: hand-off"),
    ("Redis, `appendfsync always`, file in memory: bare EVALSHA", "redis-aof: bare round trip"),
    ("... pair", "redis-aof: uncontended pair"),
    ("... hand-off", "redis-aof: hand-off"),
    ("etcd: pair", "etcd: uncontended pair"),
    ("... hand-off", "etcd: hand-off"),
    ("... join and leave a queue of 10", "etcd: queue and leave, 10 wait"),
    ("... join and leave a queue of 1,000", "etcd: queue and leave, 1000 wait"),
    ("PostgreSQL on a disk: update and commit", "postgres-disk: bare round trip"),
    ("... pair", "postgres-disk: uncontended pair"),
    ("... hand-off", "postgres-disk: hand-off"),
    ("PostgreSQL in memory: update and commit", "postgres-memory: bare round trip"),
    ("... pair", "postgres-memory: uncontended pair"),
    ("... hand-off", "postgres-memory: hand-off"),
)

CLIENTS = (
    ("1 client: pairs per second, weir / bare scripts", "", "1 clients: rate"),
    ("64 clients: the same", "0.8", "64 clients: rate"),
    ("1 client: server's CPU time for a pair, bare scripts / weir", "", "1 clients: cpu"),
    ("64 clients: the same", "", "64 clients: cpu"),
)

PEERS = (
    ("Redisson, PermitExpirableSemaphore", "weights", "peer: Redisson PermitExpirable"),
    ("Redisson, Semaphore", "a dead client keeps its permits", "peer: Redisson Semaphore"),
    ("redis-py, Lock", "more than one permit; its waiters poll", "peer: redis-py Lock"),
)

COMMANDS = (
    ("`etcdctl lock`", "command: etcd"),
    ("psql with `pg_advisory_lock`", "command: postgres"),
)


def table(heads, rows, results, scale=1.0):
    """rows: cells, and the key of the results as the last one."""
    lines = ["| " + " | ".join([*heads, *results]) + " |", "|---" * (len(heads) + len(results)) + "|"]
    for *cells, key in rows:
        lines.append("| " + " | ".join([*cells, *(cell(r, key, scale) for r in results.values())]) + " |")
    return "\n".join(lines)


def page():
    results = load()
    with open(os.path.join(HERE, "page.md"), encoding="utf-8") as file:
        text = file.read()
    death = tuple((name, "15", key + ": SIGKILL to grant") for name, key in (
        ("PostgreSQL on a disk", "postgres-disk"), ("PostgreSQL in memory", "postgres-memory")))
    for name, value in {
            "machines": "\n".join(f"- {m}: {r['on']}" for m, r in results.items()),
            "ratios": table(["", "aim"], RATIOS, results),
            "death": table(["from SIGKILL to the grant, ms", "aim"], death, results, 0.001),
            "times": table(["us"], TIMES, results),
            "clients": table(["", "aim"], CLIENTS, results),
            "peers": table(["algorithm", "it lacks besides"], PEERS, results),
            "commands": table(["command"], COMMANDS, results)}.items():
        text = text.replace(f"@{name}@", value)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)


if len(sys.argv) > 1:
    measure(os.path.abspath(sys.argv[1]), int((sys.argv[2:] or [3])[0]), (sys.argv[3:] or ["2000"])[0])
else:
    page()
