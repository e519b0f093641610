# SPDX-License-Identifier: MIT
"""Helpers: weir export as a server, and semaphores with known holders and waiters."""
import os
import re
import signal
import socket
import time

from support import *

COARSE = 6      # CLOCK_MONOTONIC_COARSE
HAS_HTTP = os.environ.get("WEIR_TEST_EXPORT") != "once"


class Server:
    """weir export on a free port."""

    def __init__(self, *args, address="127.0.0.1:0"):
        if not HAS_HTTP:
            raise Skipped("built without libmicrohttpd")
        self.process = start("export", "--listen", address, *args)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on http://(.*):(\d+)/metrics\n", line)
        check(found, line or self.process.stderr.read())
        self.host, self.port = found[1].strip("[]"), int(found[2])

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=LIMIT)

    def ask(self, request):
        """Send a whole request.  Returns (status, headers, body)."""
        with self.connect() as connection:
            connection.sendall(request)
            return answer(connection)

    def get(self, path="/metrics", accept=None, method="GET"):
        header = f"Accept: {accept}\r\n" if accept is not None else ""
        return self.ask(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())

    def get_whole(self):
        """The body of a large answer: the server closes a connection after ten seconds."""
        def whole():
            try:
                _, headers, body = self.get()
            except (ConnectionError, ValueError):   # cut off before the body
                return None
            return body if headers.get("content-length") == str(len(body.encode())) else None
        return until(whole, "a whole answer")

    def end(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        same(finish(self.process), (0, "", ""), "the end of the server")

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind:
            self.process.kill()
            self.process.wait()
        else:
            self.end()


def answer(connection):
    """(status, headers, body); the status is 0 if the server closed the connection before."""
    data = b""
    while chunk := connection.recv(1 << 16):
        data += chunk
    if not data:
        return 0, {}, ""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body.decode()


def let_a_tick_pass():
    """The times of holders and waiters may come from a clock of some milliseconds a tick."""
    before = time.clock_gettime(COARSE)
    until(lambda: time.clock_gettime(COARSE) > before, "a tick of the clock")


def staged():
    """builds: 3 permits; a holder of 2, a waiter for 2, a waiter for 1.  idle: 5 permits."""
    weir("open", "builds", "-n", "3")
    weir("open", "idle", "-n", "5")
    jobs = [start("run", "builds", "-w", "2", "--", *held_job("x"))]
    job_pid("x")
    let_a_tick_pass()
    for number, weight in enumerate(("2", "1"), 1):
        jobs.append(start("run", "builds", "-w", weight, "--", *held_job(f"w{number}")))
        until(lambda: len(roles("builds", "waits")) == number, "a waiter")
    let_a_tick_pass()
    return jobs


def end_staged(jobs):
    for name in ("x", "w1", "w2"):
        job_pid(name)
        let_end(name)
    for job in jobs:
        same(finish(job)[0], 0, "a job")
