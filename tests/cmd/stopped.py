# SPDX-License-Identifier: MIT
"""A process that is stopped inside the lock of a semaphore keeps no other process from
looking, from giving up and from being ended."""
import os
import re
import signal
import subprocess
import time

from support import *
import support
from terminal import Terminal

ROUNDS = 4000 if FULL else 150


class Locked:
    """A semaphore of two permits, one held; the holder is stopped inside the lock."""

    def __init__(self):
        same(weir("open", "a", "-n", "2")[0], 0)
        same(weir("hold", "a", "--while-pid", str(os.getpid()))[0], 0)
        self.holder, = roles("a", "holds")
        self.pid = self.holder["pid"]

    def __enter__(self):
        kill(self.pid, signal.SIGSTOP)
        until(lambda: state(self.pid) == "T", "the process is stopped")
        lock_as("a", self.holder)
        return self

    def __exit__(self, *_):
        unlock("a")
        kill(self.pid, signal.SIGCONT)


def waits_for_the_lock(process):
    """The guardian or hold daemon of a command sleeps in the library."""
    child = until(lambda: children(process.pid), "a child")[0]

    def sleeps():
        try:
            with open(f"/proc/{child}/syscall") as file:
                # futex or futex_waitv, on aarch64 and riscv64, and on x86_64
                return file.read().split()[0] in ("98", "202", "449")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False
    until(sleeps, "it waits")
    return child


def test_those_who_look():
    with Locked() as locked:
        where = f"locked by weir hold, pid {locked.pid}, which is stopped"
        status, out, err = weir("stat", "a")
        same((status, err), (0, ""))
        check(out.startswith(f"a: 1 of 2 free, 0 waiting, {where}"), out)
        check(re.search(rf"^locks +{locked.pid} ", out, re.M), out)
        seen = stat("a")
        same((seen["inconsistent"], seen["free"], seen["held"]), (True, 1, 1))
        same((seen["entries"][0]["role"], seen["entries"][0]["pid"]), ("locks", locked.pid))
        check(re.search(r"^a .* locked$", weir("ls")[1], re.M), weir("ls")[1])
        status, out, _ = weir("doctor", "a")
        same(status, 69)
        check(f"problem: {where}" in out, out)
        check(f"note: process {locked.pid} (weir hold) is stopped; it has held 1" in out, out)
        same(weir("doctor")[0], 69)
        status, out, _ = weir("watch", "a", "--lines", "-c", "1")
        same(status, 0)
        check(where in out, out)
    until(lambda: not stat("a")["inconsistent"], "it is consistent again")
    same(weir("doctor", "a")[0], 0)


def test_since_when():
    """A command that waits for the lock notes the time, and others show it."""
    with Locked() as locked:
        where = f"locked by weir hold, pid {locked.pid}, which is stopped, for "
        runner = start("run", "a", "--", "true")
        until(lambda: where in weir("stat", "a")[1], where)
        check(where in weir("doctor", "a")[1], weir("doctor", "a")[1])
        check(stat("a")["entries"][0]["age_ms"] >= 0)
    same(finish(runner)[0], 0)


def test_those_who_give_up():
    with Locked() as locked:
        where = f"locked by weir hold, pid {locked.pid}, which is stopped"
        status, _, err = weir("run", "a", "--try", "--", "true")
        same(status, 75)
        check(where in err, err)
        status, _, err = weir("run", "a", "-t", "20ms", "--", "true")
        same(status, 124)
        check(where in err, err)
        same(weir("hold", "a", "--while-pid", str(os.getpid()), "--try")[0], 75)
        same(weir("hold", "a", "--while-pid", str(os.getpid()), "-t", "20ms")[0], 124)
        same(weir("wait", "a", "--free", "1", "-t", "20ms")[0], 124)
        same(weir("wait", "a", "--idle", "-t", "20ms")[0], 124)
        same(weir("open", "a", "-n", "2")[0], 0)
    until(lambda: stat("a")["participants"] == 1, "the others have left")
    same((stat("a")["free"], stat("a")["held"], stat("a")["waiting"]), (1, 1, 0))
    same(weir("run", "a", "--", "true"), (0, "", ""))


def test_signals_end_those_who_wait():
    with Locked():
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for command in (["run", "a", "--", "true"],
                            ["hold", "a", "--while-pid", str(os.getpid())]):
                process = start(*command)
                waits_for_the_lock(process)
                kill(process.pid, sig)
                check(finish(process)[0] in (128 + sig, -sig), f"{command} {sig}")
            for command in (["wait", "a", "--idle"], ["resize", "a", "3"], ["close", "a"]):
                process = start(*command)
                until(lambda: state(process.pid) == "S", "it waits")
                kill(process.pid, sig)
                same(finish(process)[0], -sig, f"{command} {sig}")
    until(lambda: stat("a")["participants"] == 1, "the others have left")
    same((stat("a")["free"], stat("a")["capacity"]), (1, 2))


def test_a_signal_ends_a_command_whose_job_has_ended():
    locked = Locked()
    runner = start("run", "a", "--", *held_job("x"))
    job_pid("x")
    same(stat("a")["free"], 0)
    with locked:
        let_end("x")
        waits_for_the_lock(runner)
        kill(runner.pid, signal.SIGTERM)
        same(finish(runner)[0], 128 + signal.SIGTERM)
    until(lambda: stat("a")["free"] == 1, "its permit is free")


def test_a_command_goes_on_when_the_process_continues():
    with Locked():
        runner = start("run", "a", "--", "true")
        waits_for_the_lock(runner)
    same(finish(runner)[0], 0)


def test_a_command_goes_on_when_the_process_is_killed():
    locked = Locked()
    locked.__enter__()
    runner = start("run", "a", "--", "true")
    waits_for_the_lock(runner)
    kill(locked.pid, signal.SIGKILL)
    # The semaphore stays locked by the dead process.
    same(finish(runner)[0], 0)
    until(lambda: stat("a")["free"] == 2, "all permits are free")


def test_the_doctor_reports_stopped_wrappers_and_jobs():
    same(weir("open", "a", "-n", "1")[0], 0)
    runner = start("run", "a", "--", *held_job("x"))
    job, holder = job_pid("x"), guardian(runner)
    for who, text in ((runner.pid, f"note: process {runner.pid} (weir), the wrapper of process "
                                   f"{holder}, is stopped"),
                      (job, f"note: process {job} (sh), of the job of process {holder}, "
                            "is stopped"),
                      (holder, f"note: process {holder} (job {path('x')}".split(" (")[0])):
        check(text not in weir("doctor", "a")[1], text)
        kill(who, signal.SIGSTOP)
        until(lambda: state(who) == "T", "the process is stopped")
        status, out, _ = weir("doctor", "a")
        same(status, 0)
        check(text in out, out)
        kill(who, signal.SIGCONT)
        until(lambda: state(who) != "T", "the process continues")
    let_end("x")
    same(finish(runner)[0], 0)


def test_a_process_that_is_frozen_inside_the_lock():
    locked = Locked()
    with frozen(locked.pid):
        lock_as("a", locked.holder)
        where = f"locked by weir hold, pid {locked.pid}, which is frozen"
        check(where in weir("stat", "a")[1], weir("stat", "a")[1])
        status, out, _ = weir("doctor", "a")
        same(status, 69)
        check(f"problem: {where}" in out, out)
        check(f"note: process {locked.pid} (weir hold) is frozen; it has held 1" in out, out)
        status, _, err = weir("run", "a", "--try", "--", "true")
        same(status, 75)
        check(where in err, err)
        status, _, err = weir("run", "a", "-t", "20ms", "--", "true")
        same(status, 124)
        check(where in err, err)
        # The line of a waiting command.
        runner = Terminal("run", "a", "--", "true")
        runner.sees(f"weir: a: waiting, .*; {where}")
        unlock("a")
    same(runner.end(), 0)
    same(weir("doctor", "a")[0], 0)


def test_the_doctor_reports_frozen_processes():
    """A frozen process keeps its permit; nothing tells that but its control group."""
    same(weir("open", "a", "-n", "1")[0], 0)
    runner = start("run", "a", "-l", "x", "--", *held_job("x"))
    job, holder = job_pid("x"), guardian(runner)
    for pid, text in (
            (holder, f"note: process {holder} (x) is frozen; it has held 1"),
            (job, f"note: process {job} (sh), of the job of process {holder}, is frozen"),
            (runner.pid, f"note: process {runner.pid} (weir), the wrapper of process "
                         f"{holder}, is frozen")):
        check("frozen" not in weir("doctor", "a")[1], weir("doctor", "a")[1])
        with frozen(pid):
            status, out, _ = weir("doctor", "a")
            same(status, 0)
            check(text in out, out)
    let_end("x")
    same(finish(runner)[0], 0)


def test_stopped_at_random_moments():
    """Stop processes that look, at random moments, and use the semaphore."""
    same(weir("open", "j", "-n", "2")[0], 0)
    for _ in range(ROUNDS):
        looking = start("stat", "j", stdout=subprocess.DEVNULL)
        kill(looking.pid, signal.SIGSTOP)
        same(weir("ls")[0], 0)
        same(weir("run", "j", "--try", "--", "true"), (0, "", ""))
        kill(looking.pid, signal.SIGKILL)
        looking.wait()
    same(weir("run", "j", "--try", "-w", "2", "--", "true"), (0, "", ""))


def test_users_stopped_at_random_moments():
    """The same with processes that open and use it: those who look never wait."""
    same(weir("open", "j", "-n", "2")[0], 0)
    for i in range(ROUNDS):
        using = start("run", "j", "--", "true", stdout=subprocess.DEVNULL)
        # Another moment each time, from the start to the end of the command.
        end = time.monotonic() + 0.004 * i / ROUNDS
        while time.monotonic() < end:
            pass
        pids = [using.pid, *children(using.pid)]
        for pid in pids:
            try:
                kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                pass
        same(weir("ls")[0], 0)
        check(weir("stat", "j")[0] == 0)
        check(weir("run", "j", "--try", "--", "true")[0] in (0, 75))
        check(weir("run", "j", "-t", "5ms", "--", "true")[0] in (0, 124))
        for pid in pids:
            try:
                kill(pid, signal.SIGKILL if i % 2 else signal.SIGCONT)
            except ProcessLookupError:
                pass
        using.wait()
    until(lambda: stat("j")["free"] == 2, "all permits are free")
    same(weir("run", "j", "-w", "2", "--", "true"), (0, "", ""))


if __name__ == "__main__":
    main()
