# SPDX-License-Identifier: MIT
"""Helpers: weir web as a server, and programs with watched semaphores."""
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

from support import *

# HAS_HTTP is set by the programs that import this module.
PROGRAMS = ("WEIR_TEST_CROWD", "WEIR_TEST_HANGS")


class Program:
    """A program that prints a line when it is ready, and ends with its standard input."""

    def __init__(self, *args):
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=ENV, text=True)
        self.line = self.process.stdout.readline()
        check(self.line, args)
        self.pid = str(self.process.pid)

    def do(self, command):
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        same(self.process.stdout.readline(), "ok\n", command)

    def end(self):
        self.process.stdin.close()
        same(self.process.wait(LIMIT), 0, "the end of the program")
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        if self.process.returncode is None:
            self.end()


def hang(name):
    """One of the programs of docs/guide/hang.md."""
    program, = (one for one in os.environ["WEIR_TEST_HANGS"].split(":")
                if os.path.basename(one) == name)
    found = Program(program)
    same(found.line, f"{name} hangs, process {found.pid}\n")
    return found


def crowd(count, *names):
    found = Program(os.environ["WEIR_TEST_CROWD"], str(count), *names)
    same(found.line, "ready\n")
    return found


class Server:
    """weir web on a free port."""

    def __init__(self, *args, address="127.0.0.1:0", key=""):
        self.process = start("web", "--listen", address, *args, env={"WEIR_WEB_KEY": key})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (http://.*:(\d+)/([\w-]+)/)\n", line)
        check(found, line or self.process.stderr.read())
        self.url, self.port, self.key = found[1], int(found[2]), found[3]

    def get(self, path="", method="GET", **headers):
        """Returns (status, headers, body)."""
        request = urllib.request.Request(self.url + path, method=method,
                                         headers={key: value for key, value in headers.items()})
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def data(self):
        status, headers, body = self.get("data.json")
        same((status, headers["Content-Type"]), (200, "application/json"))
        return json.loads(body)

    def end(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        same(finish(self.process), (0, "", ""), "the end of the server")

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if self.process.returncode is not None:
            return
        if kind:
            self.process.kill()
            self.process.communicate()
        else:
            self.end()
