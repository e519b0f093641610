# SPDX-License-Identifier: MIT
"""Many clients, faults, and the check of their history."""
import os
import random
import signal
import subprocess
import tempfile
import time

import history
import support


class Storm:
    """Clients of one semaphore.  TTL and request timeout are short, so that faults end
    within the test."""

    def __init__(self, client, url, create, capacity=5, ttl_ms=1000, seed=None,
                 timeout_ms=800):
        self.client = client
        self.seed = seed if seed is not None else int(os.environ.get("WEIR_SEED", "0")) or \
            random.randrange(1 << 30)
        self.random = random.Random(self.seed)
        self.capacity, self.ttl_ms = capacity, ttl_ms
        self.name = f"storm-{os.getpid()}-{random.randrange(1 << 30)}"
        self.url = f"{url}{self.name}?ttl={ttl_ms}ms&timeout={timeout_ms}ms"
        self.log = tempfile.mktemp(prefix="weir-history-")
        self.processes = []
        self.there = []         # processes on the other machine
        self.kills = 0
        create(self.name, capacity)

    def start(self, seconds, count=4, threads=2, there=None):
        """there: a program that runs the client on the other machine."""
        for _ in range(count):
            process = subprocess.Popen(
                [there or self.client, self.url, self.log, str(self.random.randrange(1 << 20)),
                 str(int(seconds * 1000)), str(threads)])
            self.processes.append(process)
            if there:
                self.there.append(process)

    def note(self, what, *words, when=None):
        """A line of the test itself, by default about this moment."""
        line = f"{int((when or time.time()) * 1e6)} test {what} - {' '.join(map(str, words))}\n"
        fd = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, line.encode())
        os.close(fd)

    def resize(self, url, capacity):
        self.note("resize", capacity)
        support.tool(url + self.name, "resize", capacity)
        self.note("resized", capacity)

    def kill_one(self):
        alive = [p for p in self.processes if p.poll() is None]
        if alive:
            process = self.random.choice(alive)
            # PostgreSQL may grant its permits before wait() returns.
            when = time.time()
            process.kill()
            process.wait()
            self.note("killed", process.pid, when=when)
            self.kills += 1

    def pause_one(self, seconds):
        alive = [p for p in self.processes if p.poll() is None]
        if alive:
            process = self.random.choice(alive)
            self.note("pause", process.pid)
            process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            process.send_signal(signal.SIGCONT)
            self.note("resume", process.pid)

    def cut(self, net, seconds):
        """Cut the other machine off."""
        clients = [p.pid for p in self.there]
        self.note("cut", *clients)
        net.cut()
        time.sleep(seconds)
        net.heal()
        self.note("heal", *clients)

    def crash(self, server, and_then=lambda: None):
        self.note("down")
        server.kill()
        server.start()
        and_then()
        self.note("up")

    def finish(self, limit=120):
        end = time.monotonic() + limit
        for process in self.processes:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                for p in self.processes:
                    p.kill()
                raise AssertionError("a client hangs; seed %d" % self.seed) from None

    def problems(self, **options):
        checked = history.History(self.log, self.capacity, self.ttl_ms * 1000, **options)
        found = checked.check()
        self.summary = checked.summary()
        self.grants = len(checked.grants)
        return found

    def check(self, **options):
        found = self.problems(**options)
        assert not found, "seed %d, %s\n%s" % (self.seed, self.log, "\n".join(found[:5]))
        assert self.grants, self.summary     # a slow machine makes few
        os.unlink(self.log)
        print(f"    {self.summary}, {self.kills} killed, seed {self.seed}")
