# SPDX-License-Identifier: MIT
"""Every signal in every phase of `weir run`, and of `weir hold`."""
import ctypes
import os
import platform
import signal
import subprocess
import sys
import time

from support import *
import support

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
          signal.SIGUSR2, signal.SIGWINCH)
RT_SIGPROCMASK = 14 if platform.machine() == "x86_64" else 135


def blocked(name="a"):
    """Start a job that holds the only permit until let_end("x")."""
    holder = start("run", name, "-n", "1", "--", *held_job("x"))
    job_pid("x")
    return holder


def waiting(*job, **more):
    waiter = start("run", "a", "--", *job, **more)
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
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
    check(not os.path.exists(path("ran")), "the job was started")


def test_c18_at_any_moment():
    # Also just before the sleep, which such a signal does not interrupt.
    holder = blocked()
    for i in range(60):
        waiter = start("run", "a", "--", "touch", path("ran"))
        time.sleep(i * 0.0001)
        kill(waiter.pid, signal.SIGTERM)
        # Before weir has blocked its signals, the default action ends it.
        check(finish(waiter)[0] in (-15, 143))
    until(lambda: stat("a")["waiting"] == 0, "all waiters have left")
    let_end("x")
    same(finish(holder)[0], 0)
    check(not os.path.exists(path("ran")), "the job was started")


def test_while_waiting_other_signals_are_discarded():
    holder = blocked()
    waiter = waiting("sh", "-c", "exit 7")
    sent = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
    for sig in sent:
        kill(waiter.pid, sig)
    # They must arrive before the job is started: the job would get them then.
    bits = sum(1 << sig - 1 for sig in sent)
    until(lambda: pending(guardian(waiter)) & bits == bits, "the guardian has them")
    same(stat("a")["waiting"], 1)
    let_end("x")
    same(finish(holder)[0], 0)
    same(finish(waiter)[0], 7)


def test_a_signal_to_the_guardian():
    holder = blocked()
    waiter = waiting("touch", path("ran"))
    kill(guardian(waiter), signal.SIGTERM)
    same(finish(waiter)[0], 128 + signal.SIGTERM)
    let_end("x")
    finish(holder)


# A job that writes the signals that it gets to a file, and ends after let_end.  A signal
# that comes just before a call sleeps would not interrupt it: hence the wakeup descriptor.
TRAP = """
import os, select, signal, sys
signals, started = sys.argv[1:]
def note(sig, frame):
    with open(signals, "a") as file:
        file.write(signal.Signals(sig).name + chr(10))
reads, writes = os.pipe()
os.set_blocking(writes, False)
signal.set_wakeup_fd(writes)
for name in "TERM HUP QUIT USR1 USR2 WINCH INT".split():
    signal.signal(getattr(signal, "SIG" + name), note)
os.mkfifo(started + ".fifo")
fifo = os.open(started + ".fifo", os.O_RDONLY | os.O_NONBLOCK)
with open(started, "w") as file:
    file.write(str(os.getpid()))
while fifo not in select.select([fifo, reads], [], [])[0]:
    os.read(reads, 1)
"""


def test_while_running_they_are_passed_on_once():
    runner = start("run", "a", "-n", "1", "--", sys.executable, "-c", TRAP,
                   path("signals"), path("x"))
    job_pid("x")
    want = ""
    for sig in PASSED:
        want += sig.name + "\n"
        kill(runner.pid, sig)
        until(lambda: read("signals").endswith(want), sig.name)
    let_end("x")
    same(finish(runner)[0], 0)
    same(read("signals"), want)


def test_a_job_that_a_signal_ends():
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        runner = start("run", "a", "-n", "1", "--", *held_job("x"))
        kill_when_running(runner, sig)
        same(finish(runner), (128 + sig, "", ""), sig.name)
        same(stat("a")["free"], 1, sig.name)


def test_a_stopped_leader_of_a_session_has_the_status_of_its_job():
    """The end of the job orphans the group: the kernel sends SIGHUP and SIGCONT to it."""
    weir("open", "a", "-n", "1")
    wrapper = start("run", "a", "--", *held_job("x"), start_new_session=True)
    job_pid("x")
    kill(wrapper.pid, signal.SIGSTOP)
    until(lambda: state(wrapper.pid) == "T", "the wrapper stops")
    let_end("x")
    same(finish(wrapper), (0, "", ""))
    same(stat("a")["free"], 1)


def kill_when_running(runner, sig):
    job_pid("x")
    os.unlink(path("x"))
    kill(runner.pid, sig)


def test_kill_after_an_ignored_signal():
    job = ["sh", "-c", 'trap "" TERM; echo $$ >"$1"; while :; do sleep 1000; done', "job",
           path("x")]
    runner = start("run", "a", "-n", "1", "--kill-after", "10ms", "--", *job)
    pid = job_pid("x")
    kill(runner.pid, signal.SIGTERM)
    same(finish(runner)[0], 128 + signal.SIGKILL)
    check(is_gone(pid), "the job")
    same(stat("a")["free"], 1)


def test_ignored_signals_stay_ignored():
    # As under nohup: the signal ends neither the wait nor the job.
    holder = blocked()
    waiter = subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$0" run a -- "$@"', support.WEIR,
                               *held_job("y")], env=ENV, stdin=subprocess.DEVNULL)
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    kill(waiter.pid, signal.SIGHUP)
    same(stat("a")["waiting"], 1)
    let_end("x")
    finish(holder)
    pid = job_pid("y")
    kill(waiter.pid, signal.SIGHUP)
    kill(pid, signal.SIGHUP)
    let_end("y")
    same(waiter.wait(), 0)


def test_the_job_inherits_blocked_and_ignored_signals():
    weir("open", "a", "-n", "1")
    show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    plain = subprocess.run(show, env=ENV, capture_output=True, text=True).stdout
    same(weir("run", "a", "--", *show)[1], plain)

    # Also the signals that weir uses itself.
    def ignore():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGRTMIN, signal.SIG_IGN)

    ignored = subprocess.run(show, env=ENV, capture_output=True, text=True,
                             preexec_fn=ignore).stdout
    check(ignored != plain)
    same(weir("run", "a", "--", *show, preexec_fn=ignore)[1], ignored)
    same(weir("jobserver", "--", *show, preexec_fn=ignore)[1], ignored)

    # Also those that the C library uses itself, and its pthread_sigmask leaves out.
    def block():
        every = ctypes.c_uint64(2 ** 64 - 1)
        libc.syscall(RT_SIGPROCMASK, 0, ctypes.byref(every), None, 8)

    libc = ctypes.CDLL(None)
    mask = subprocess.run(show, env=ENV, capture_output=True, text=True,
                          preexec_fn=block).stdout
    check(mask != plain)
    same(weir("run", "a", "--", *show, preexec_fn=block)[1], mask)
    same(weir("jobserver", "--", *show, preexec_fn=block)[1], mask)


def ignore_sigchld():
    # A shell may set SIGCHLD to its default for its commands, even after a trap.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def test_sigchld_ignored():
    # With SIGCHLD ignored, the kernel would reap the job and discard its status.
    same(weir("run", "a", "-n", "1", "--", "sh", "-c", "exit 6", preexec_fn=ignore_sigchld)[0], 6)
    # The same for the hold daemon, which a refusal ends.
    holder = blocked()
    for args, status in ((["--try"], 75), (["-t", "1ms"], 124), (["-w", "2"], 64)):
        got, out, err = weir("hold", "a", "--while-pid", str(os.getpid()), *args,
                             preexec_fn=ignore_sigchld)
        same((got, out, err.count("\n")), (status, "", 1), f"hold {args}: {err}")
    let_end("x")
    finish(holder)


def test_hold_leaves_the_queue():
    holder = blocked()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        waiter = start("hold", "a", "--while-pid", str(os.getpid()))
        until(lambda: stat("a")["waiting"] == 1, "one waiter")
        kill(waiter.pid, sig)
        same(finish(waiter)[0], -sig)
        until(lambda: stat("a")["waiting"] == 0, "the waiter has left")
    let_end("x")
    finish(holder)
    same(stat("a")["free"], 1)


if __name__ == "__main__":
    main()
