# SPDX-License-Identifier: MIT
"""Every signal in every phase of `weir run`, and of `weir hold`."""
import os
import signal
import subprocess
import sys
import time

from support import *
import support

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
PASSED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
          signal.SIGWINCH)


def blocked(name="a"):
    """Somebody who holds the one permit, and ends with let_end("x")."""
    holder = start("run", name, "-n", "1", "--", *held_job("x"))
    job_pid("x")
    return holder


def waiting(*job, **more):
    waiter = start("run", "a", "--", *job, **more)
    until(lambda: stat("a")["waiting"] == 1, "one waits")
    return waiter


def test_c16_while_waiting_they_leave_the_queue():
    holder = blocked()
    for sig in ENDING:
        waiter = waiting("touch", path("ran"))
        kill(waiter.pid, sig)
        same(finish(waiter), (128 + sig, "", ""), sig.name)
        same(stat("a")["waiting"], 0, sig.name)
    let_end("x")
    same(finish(holder)[0], 0)
    same(stat("a")["free"], 1)
    check(not os.path.exists(path("ran")), "the command was started")


def test_c18_at_any_moment():
    # Also in the one before it sleeps, which the signal then does not interrupt.
    holder = blocked()
    for i in range(60):
        waiter = start("run", "a", "--", "touch", path("ran"))
        time.sleep(i * 0.0001)
        kill(waiter.pid, signal.SIGTERM)
        # Before it has set up anything, it ends as any program does.
        check(finish(waiter)[0] in (-15, 143))
    until(lambda: stat("a")["waiting"] == 0, "all left")
    let_end("x")
    same(finish(holder)[0], 0)
    check(not os.path.exists(path("ran")), "the command was started")


def test_while_waiting_others_do_nothing():
    holder = blocked()
    waiter = waiting("sh", "-c", "exit 7")
    for sig in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
        kill(waiter.pid, sig)
    same(stat("a")["waiting"], 1)
    let_end("x")
    same(finish(holder)[0], 0)
    same(finish(waiter)[0], 7)


def test_the_guardian_can_be_told_as_well():
    holder = blocked()
    waiter = waiting("touch", path("ran"))
    kill(guardian(waiter), signal.SIGTERM)
    same(finish(waiter)[0], 128 + signal.SIGTERM)
    let_end("x")
    finish(holder)


# A job that notes what it hears, and ends when told.
TRAP = """
import os, signal, sys
heard, started = sys.argv[1:]
def note(sig, frame):
    with open(heard, "a") as file:
        file.write(signal.Signals(sig).name + chr(10))
for name in "TERM HUP QUIT USR1 USR2 WINCH INT".split():
    signal.signal(getattr(signal, "SIG" + name), note)
os.mkfifo(started + ".fifo")
with open(started, "w") as file:
    file.write(str(os.getpid()))
open(started + ".fifo").read()
"""


def test_while_running_they_are_passed_on_once():
    runner = start("run", "a", "-n", "1", "--", sys.executable, "-c", TRAP,
                   path("heard"), path("x"))
    job_pid("x")
    want = ""
    for sig in PASSED:
        want += sig.name + "\n"
        kill(runner.pid, sig)
        until(lambda: read("heard").endswith(want), sig.name)
    # The terminal's own: whoever sends it to the wrapper alone gets nothing.
    kill(runner.pid, signal.SIGINT)
    kill(runner.pid, signal.SIGUSR1)
    until(lambda: read("heard") == want + "SIGUSR1\n", "USR1 after INT")
    let_end("x")
    same(finish(runner)[0], 0)
    same(read("heard"), want + "SIGUSR1\n")


def test_a_job_that_a_signal_ends():
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        runner = start("run", "a", "-n", "1", "--", *held_job("x"))
        kill_when_running(runner, sig)
        same(finish(runner), (128 + sig, "", ""), sig.name)
        same(stat("a")["free"], 1, sig.name)


def kill_when_running(runner, sig):
    job_pid("x")
    os.unlink(path("x"))
    kill(runner.pid, sig)


def test_kill_after_a_signal_that_is_not_heard():
    job = ["sh", "-c", 'trap "" TERM; echo $$ >"$1"; while :; do sleep 1000; done', "job",
           path("x")]
    runner = start("run", "a", "-n", "1", "--kill-after", "10ms", "--", *job)
    pid = job_pid("x")
    kill(runner.pid, signal.SIGTERM)
    same(finish(runner)[0], 128 + signal.SIGKILL)
    check(is_gone(pid), "the job")
    same(stat("a")["free"], 1)


def test_ignored_ones_stay_ignored():
    # As under nohup: neither the wait nor the command ends by it.
    holder = blocked()
    waiter = subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$0" run a -- "$@"', support.WEIR,
                               *held_job("y")], env=ENV, stdin=subprocess.DEVNULL)
    until(lambda: stat("a")["waiting"] == 1, "one waits")
    kill(waiter.pid, signal.SIGHUP)
    same(stat("a")["waiting"], 1)
    let_end("x")
    finish(holder)
    pid = job_pid("y")
    kill(waiter.pid, signal.SIGHUP)
    kill(pid, signal.SIGHUP)
    let_end("y")
    same(waiter.wait(), 0)


def test_blocked_and_ignored_signals_are_as_before_for_the_command():
    weir("open", "a", "-n", "1")
    show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    plain = subprocess.run(show, env=ENV, capture_output=True, text=True).stdout
    same(weir("run", "a", "--", *show)[1], plain)

    # Also those that weir has a use for itself.
    def ignore():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGRTMIN, signal.SIG_IGN)

    ignored = subprocess.run(show, env=ENV, capture_output=True, text=True,
                             preexec_fn=ignore).stdout
    check(ignored != plain)
    same(weir("run", "a", "--", *show, preexec_fn=ignore)[1], ignored)
    same(weir("jobserver", "--", *show, preexec_fn=ignore)[1], ignored)


def test_sigchld_ignored():
    # Some programs start others so; children would then be reaped by nobody.
    done = subprocess.run(["sh", "-c", 'trap "" CHLD; exec "$0" run a -n 1 -- sh -c "exit 6"',
                           support.WEIR], env=ENV)
    same(done.returncode, 6)


def test_hold_leaves_the_queue():
    holder = blocked()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        waiter = start("hold", "a", "--while-pid", str(os.getpid()))
        until(lambda: stat("a")["waiting"] == 1, "one waits")
        kill(waiter.pid, sig)
        same(finish(waiter)[0], -sig)
        until(lambda: stat("a")["waiting"] == 0, "it left")
    let_end("x")
    finish(holder)
    same(stat("a")["free"], 1)


if __name__ == "__main__":
    main()
