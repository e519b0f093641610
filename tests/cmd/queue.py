# SPDX-License-Identifier: MIT
"""Many `weir run` in one queue: order (C4), the limit, weights, and no wake-ups while all
wait (C37)."""
import fcntl
import os
import shutil
import subprocess
import time

from support import *
import support

# With a sanitizer, a thousand runs would need too much memory.
MANY = int(os.environ.get("WEIR_QUEUED", "200"))


def queued(name, count, *command, limit=1):
    """Start `count` runs that wait behind a holder of all permits, labelled 0, 1, ..."""
    holder = start("run", name, "-n", str(limit), "-w", str(limit), "--", *held_job("x"))
    job_pid("x")
    waiters = [start("run", name, "-l", str(i), "--", *command, str(i),
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for i in range(count)]
    until(lambda: stat(name)["waiting"] == count, f"{count} wait")
    return holder, waiters


def test_c4_grants_are_in_order():
    holder, waiters = queued("a", MANY, "sh", "-c", f'echo "$1" >>"{path("order")}"', "job")
    places = [one["label"] for one in roles("a", "waits")]
    same(len(places), MANY)
    let_end("x")
    for one in [holder, *waiters]:
        same(one.wait(), 0)
    same(read("order").split(), places)
    same(stat("a")["free"], 1)


def test_the_limit_holds_for_all():
    holder, waiters = queued("a", 60, *refereed(3, "sh", "-c", "sleep 0.005"), limit=3)
    let_end("x")
    for one in [holder, *waiters]:
        same(one.wait(), 0)
    check_referee()


# A flock(1) that notes each call.
NOTING = """#!/bin/sh
echo >>"$TRIED"
exec {flock} "$@"
"""


def test_the_referee():
    """It waits for a holder that is about to end, and detects one job too many."""
    os.mkdir(path("bin"))
    with open(path("bin/flock"), "w") as file:
        file.write(NOTING.format(flock=shutil.which("flock")))
    os.chmod(path("bin/flock"), 0o755)
    env = {**ENV, "TRIED": path("tried"), "PATH": path("bin") + ":" + ENV["PATH"]}
    first = subprocess.Popen(refereed(2, *held_job("x")), env=ENV)
    job_pid("x")
    # The lock of a process that is ending: no process has the file as descriptor 9.
    with open(path("referee.1"), "a") as file:
        ending = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 20)
    with open(ending, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        second = subprocess.Popen(refereed(2, *held_job("y")), env=env)
        # Two calls a round.  The second round begins after the judgement of the first one.
        until(lambda: len(read("tried")) > 2 or read("over"), "a second round")
        check_referee()
    job_pid("y")
    same(subprocess.run(refereed(2, "true"), env=ENV, timeout=support.LIMIT).returncode, 0)
    same(read("over"), "over the limit\n", "three jobs")
    for name, process in (("x", first), ("y", second)):
        let_end(name)
        same(process.wait(support.LIMIT), 0)


def test_c10_weights():
    weir("open", "a", "-n", "3")
    first = start("run", "a", "-w", "2", "--", *held_job("x"))
    job_pid("x")
    heavy = start("run", "a", "-w", "3", "--", "sh", "-c", f'echo heavy >>"{path("order")}"')
    until(lambda: stat("a")["waiting"] == 1, "heavy waits")
    light = start("run", "a", "--", "sh", "-c", f'echo light >>"{path("order")}"')
    until(lambda: stat("a")["waiting"] == 2, "light waits, although a permit is free")
    same(stat("a")["waiting_permits"], 4)
    let_end("x")
    for one in (first, heavy, light):
        same(finish(one)[0], 0)
    same(read("order"), "heavy\nlight\n")


def switches(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as file:
            total += sum(int(line.split()[1]) for line in file
                         if "voluntary_ctxt_switches" in line)
    return total


def test_no_wake_ups_while_all_wait():
    holder, waiters = queued("a", 10, "true")
    groups = [(one.pid, guardian(one)) for one in waiters]
    until(lambda: all(state(pid) == "S" for pair in groups for pid in pair), "all sleep")
    # `weir stat` may have woken waiters; wait until that is over.
    def is_quiet():
        before = [switches(pid) for pair in groups for pid in pair]
        time.sleep(0.3)
        return before == [switches(pid) for pair in groups for pid in pair]
    until(is_quiet, "no switch in 0.3 s")
    let_end("x")
    for one in [holder, *waiters]:
        one.wait()


if __name__ == "__main__":
    main()
