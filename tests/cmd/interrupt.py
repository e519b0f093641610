# SPDX-License-Identifier: MIT
"""SIGINT reaches weir or its job exactly once, in every phase of `weir run`."""
import os
import pty
import random
import signal
import sys
import time

from support import *
from stops import Stopped, need_ptrace
import support

RUNS = 2000 if FULL else 150
ENDED = (128 + signal.SIGINT, -signal.SIGINT)


def job():
    """A job that only a signal ends.

    It is not a shell: dash catches SIGINT, and loses one that comes just before it opens a
    fifo.
    """
    return ["sleep", "1000000"]


def settled(pid):
    """The wrapper has fetched the signal, or has ended."""
    return is_gone(pid) or (not pending(pid) >> (signal.SIGINT - 1) & 1 and state(pid) == "S")


def at_every_stop(interrupt, fork=os.fork):
    """Interrupt weir at every stop of the guardian and of the job, until the job waits."""
    weir("open", "a", "-n", "1")
    number = 0
    while True:
        number += 1
        # The first stops beyond the exec of the job are enough.
        stopped = Stopped(number, ["run", "a", "--", *job()], fork=fork)
        check(stopped.reached, f"ended with {stopped.status} at stop {number}")
        executed = os.readlink(f"/proc/{stopped.last}/exe") != support.WEIR
        interrupt(stopped)
        until(lambda: settled(stopped.pid), f"stop {number}: the wrapper has fetched SIGINT")
        check(stopped.go() in ENDED, f"stop {number}: {stopped.status}")
        until(lambda: stat("a")["free"] == 1, f"stop {number}: the permit is free")
        if executed:
            print(f"  {number} stops")
            check(number > 20, "too few stops")
            return


def test_c16_sent_to_the_wrapper_at_every_stop():
    need_ptrace()
    at_every_stop(lambda stopped: kill(stopped.pid, signal.SIGINT))


def test_c16_from_the_terminal_at_every_stop():
    need_ptrace()
    masters = []

    def fork():
        pid, fd = pty.fork()
        masters.append(fd)
        return pid

    def interrupt(_):
        os.write(masters[-1], b"\3")

    at_every_stop(interrupt, fork)
    for fd in masters:
        os.close(fd)


def test_before_the_job_at_every_stop_of_the_wrapper():
    """Until the wrapper has forked: the signal ends the wrapper, or reaches the job."""
    need_ptrace()
    weir("open", "a", "-n", "1")
    number, forked = 0, False
    while not forked:
        number += 1
        stopped = Stopped(number, ["run", "a", "--", *job()], wrapper=True)
        check(stopped.reached, f"ended with {stopped.status} at stop {number}")
        forked = stopped.forked()
        kill(stopped.pid, signal.SIGINT)
        check(stopped.go() in ENDED, f"stop {number}: {stopped.status}")
    print(f"  {number} stops")
    check(number > 20, "too few stops")
    until(lambda: stat("a")["free"] == 1, "the permit is free")


def test_after_the_job_at_every_stop_of_the_wrapper():
    """The job has ended: the signal ends the wrapper, as it ends flock.

    The last stop is the entry of exit_group, where a signal has no effect on any process.
    """
    need_ptrace()
    weir("open", "a", "-n", "1")
    number, tried, exits = 0, 0, False
    # The number of stops differs by a few from run to run.
    while not exits:
        number += 1
        stopped = Stopped(number, ["run", "a", "--", "true"], wrapper=True)
        if not stopped.reached:
            break
        exits = stopped.exits()
        if not stopped.forked():
            same(stopped.go(), 0)
            continue
        tried += 1
        for pid in children(stopped.pid):
            until(lambda: is_gone(pid), "the end of the guardian")
        kill(stopped.pid, signal.SIGINT)
        check(stopped.go() in ENDED or exits, f"stop {number}: {stopped.status}")
    print(f"  {tried} stops")
    check(tried > 5, "too few stops")
    same(stat("a")["free"], 1)


def test_at_random_moments():
    """Signals at random moments, before and after the start of the job: none is lost."""
    seed = int(os.environ.get("WEIR_SEED", random.randrange(1 << 32)))
    chance = random.Random(seed)
    weir("open", "a", "-n", "1")
    began = time.monotonic()
    runner = start("run", "a", "--", *job())
    until(lambda: children(guardian(runner)), "the job")
    span = time.monotonic() - began
    kill(runner.pid, signal.SIGINT)
    check(finish(runner)[0] in ENDED)
    lost = 0
    for _ in range(RUNS):
        runner = start("run", "a", "--", *job())
        time.sleep(chance.random() * span)
        kill(runner.pid, signal.SIGINT)
        lost += finish(runner)[0] not in ENDED
    same(lost, 0, f"WEIR_SEED={seed}: lost signals of {RUNS}")
    same(stat("a")["free"], 1)


# A job that records each SIGINT and SIGUSR1.
COUNT = """
import os, signal, sys
def note(sig, frame):
    with open(sys.argv[1], "a") as file:
        file.write(signal.Signals(sig).name + " ")
for sig in (signal.SIGINT, signal.SIGUSR1):
    signal.signal(sig, note)
with open(sys.argv[1] + ".pid", "w") as file:
    file.write(str(os.getpid()))
while not os.path.exists(sys.argv[1] + ".end"):
    signal.sigtimedwait([signal.SIGHUP], 0.01)
sys.exit(7)
"""


def count_job():
    return [sys.executable, "-c", COUNT, path("got")]


def test_a_running_job_gets_it_once():
    runner = start("run", "a", "-n", "1", "--", *count_job())
    job_pid("got.pid")
    for want in ("SIGINT ", "SIGINT SIGUSR1 ", "SIGINT SIGUSR1 SIGINT "):
        # Pending signals are fetched in the order of their numbers: INT before USR1.
        kill(runner.pid, signal.SIGUSR1 if want.endswith("USR1 ") else signal.SIGINT)
        until(lambda: read("got") == want, want)
    open(path("got.end"), "w").close()
    same(finish(runner)[0], 7)
    same(read("got"), want)


def test_a_running_job_gets_that_of_the_terminal_once():
    pid, fd = pty.fork()
    if not pid:
        os.execve(support.WEIR, ["weir", "run", "a", "-n", "1", "--", *count_job()], ENV)
    job_pid("got.pid")
    os.write(fd, b"\3")
    until(lambda: read("got") == "SIGINT ", "the job got it")
    # A second one would arrive before SIGUSR1.
    kill(pid, signal.SIGUSR1)
    until(lambda: read("got").endswith("SIGUSR1 "), "SIGUSR1")
    open(path("got.end"), "w").close()
    same(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
    same(read("got"), "SIGINT SIGUSR1 ")
    os.close(fd)


def test_kill_after_counts_from_it():
    runner = start("run", "a", "-n", "1", "--kill-after", "10ms", "--", "sh", "-c",
                   'trap "" INT; echo $$ >"$0"; while :; do sleep 1000; done', path("x"))
    job_pid("x")
    kill(runner.pid, signal.SIGINT)
    same(finish(runner)[0], 128 + signal.SIGKILL)


def test_jobserver_passes_it_on():
    server = start("jobserver", "--", *count_job())
    job_pid("got.pid")
    kill(server.pid, signal.SIGINT)
    until(lambda: read("got") == "SIGINT ", "the command got it")
    open(path("got.end"), "w").close()
    same(finish(server)[0], 7)


if __name__ == "__main__":
    main()
