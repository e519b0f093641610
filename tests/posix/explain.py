# SPDX-License-Identifier: MIT
"""weir explain and weir top on a program that knows <semaphore.h> and not weir.

    explain.py WEIR PROGRAM
"""
import json
import os
import re
import subprocess
import sys
import time

WEIR, PROGRAM = sys.argv[1:]
LIMIT = 60      # seconds


def run(*arguments):
    return subprocess.run([WEIR, *arguments], text=True, timeout=LIMIT, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Hanging:
    """The program, which hangs; a context manager."""

    def __init__(self, how, *options, **environment):
        self.process = subprocess.Popen(
            [WEIR, "posix", *options, "--", PROGRAM, how], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        assert self.process.stdout.readline() == "waits\n"
        self.pid = str(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(timeout=LIMIT) == 0

    def explain(self, expected):
        """The report, as soon as the verdict is there: the threads are about to wait."""
        end = time.monotonic() + LIMIT
        while True:
            done = run("explain", self.pid)
            if expected in done.stdout:
                return done
            assert time.monotonic() < end, done.stdout


def has_lines(text):
    """Whether the command has debug information."""
    return "hang.c:" in text


def test_cycle():
    """C50: the two locks, their holders and the places of the waits are named."""
    with Hanging("deadlock") as hanging:
        done = hanging.explain("DEADLOCK  2 contexts")
        assert done.returncode == 1, done
        if has_lines(done.stdout):
            locks = ["left_fork", "right_fork"]
            assert "hang.c:" in done.stdout
        else:
            locks = re.findall(r"(?m)^(\S+\+0x\w+): sem_t, 0 of 1 free", done.stdout)
        for mine, other in (locks, locks[::-1]):
            assert re.search(rf"(?m)^  tid \d+ .*holds {re.escape(mine)} 1 .*waits for "
                             rf"{re.escape(other)} 1 ", done.stdout), done.stdout
        table = run("top", "--once", hanging.pid).stdout
        for name in locks:
            assert re.search(rf"(?m) DEADLOCK +{re.escape(name)}$", table), table


def test_try():
    """The call site of the first sem_trywait is in the program, not in the library."""
    with Hanging("try") as hanging:
        hanging.explain("waits for")
        report = json.loads(run("explain", "--json", hanging.pid).stdout)
        sites = [hold["site"] for found in report["objects"] for hold in found["holders"]]
        assert len(sites) == 1 and "hang" in str(sites), report
        assert "weir" not in str(sites), report


def test_json():
    with Hanging("deadlock") as hanging:
        hanging.explain("DEADLOCK")
        report = json.loads(run("explain", "--json", hanging.pid).stdout)
        kinds = [found["type"] for found in report["objects"]]
        assert kinds == ["sem_t"] * 3, report


def test_heap():
    """Semaphores without a symbol: the line of the sem_init, and the address."""
    with Hanging("heap", "--barging") as hanging:
        done = hanging.explain("DEADLOCK  2 contexts")
        names = set(re.findall(r"holds (\S+@0x\w+) 1 ", done.stdout))
        assert len(names) == 2, done.stdout
        if has_lines(done.stdout):
            assert all(name.startswith("hang.c:") for name in names), names


def test_cycle_of_untried():
    """C50: a third thread may be about to post; only a lock that was used as one excludes that."""
    with Hanging("first") as hanging:
        done = hanging.explain("DEADLOCK  2 contexts")
        assert "weir: POSSIBLE DEADLOCK  2 contexts cannot proceed unless" in done.stdout, done.stdout
        assert done.returncode == 0, done
        table = run("top", "--once", hanging.pid).stdout
        assert len(re.findall(r"(?m) DEADLOCK\? +\S", table)) == 2, table


def test_ring():
    """C50: the consumer of a ring may release what the producer has taken."""
    with Hanging("ring") as hanging:
        done = hanging.explain("NO KNOWN RELEASER  1 context")
        assert done.returncode == 0, done
        assert "DEADLOCK" not in done.stdout and "SELF-NESTED" not in done.stdout, done.stdout


def test_ended():
    """The consumer of a ring releases what a producer has taken, that has ended."""
    for how, free in (("ended", "0 of 2 free"), ("ended-one", "0 of 1 free")):
        with Hanging(how) as hanging:
            done = hanging.explain("THREAD EXITED")
            assert done.returncode == 0, done
            assert free in done.stdout and "LEAKED" not in done.stdout, done.stdout


def test_signal():
    with Hanging("signal") as hanging:
        done = hanging.explain("NO KNOWN RELEASER  1 context")
        assert "sem_t, unbounded" in done.stdout, done.stdout


def test_off():
    with Hanging("deadlock", WEIR_DIAG="off") as hanging:
        done = run("explain", hanging.pid)
        assert "no watched semaphores" in done.stdout, done


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print("ok", name)
