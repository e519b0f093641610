# SPDX-License-Identifier: MIT
"""Every process may be killed with SIGKILL, and the limit holds (C37).  A referee checks
the limit without using weir.  The cases are the table of docs/design/cmd.md."""
import os
import random
import signal
import subprocess
import time

from support import *
import support

# A job of three processes: the shell, a child, and a grandchild in a session of its own
# that is not waited for.  Their pids are written to the files "x", "y" and "z".
FAMILY = """
setsid sh -c 'echo $$ >"$1/z.tmp"; mv "$1/z.tmp" "$1/z"; exec sleep 1000' sh "$1" &
sh -c 'echo $$ >"$1/y.tmp"; mv "$1/y.tmp" "$1/y"; exec sleep 1000' sh "$1" &
echo $$ >"$1/x.tmp"; mv "$1/x.tmp" "$1/x"
wait
"""


def family(*options, fast=False):
    """Start a FAMILY under the only permit of "a", and another job that waits for it."""
    same(weir("open", "a", "-n", "1", *(["--fast"] if fast else []))[0], 0)
    runner = start("run", "a", *options, "--", *refereed(1, "sh", "-c", FAMILY, "job", path(".")),
                   stdout=subprocess.DEVNULL, stderr=open(path("said"), "w"))
    pids = [job_pid(name) for name in "xyz"]
    following = start("run", "a", "--", *refereed(1, "sh", "-c", "exit 0"))
    until(lambda: stat("a")["waiting"] == 1, "the next job waits")
    return runner, pids, following


def next_is_granted(following):
    same(finish(following)[0], 0, "the next")
    check_referee()
    same(stat("a")["free"], 1, "all permits are released")


def test_c37_wrapper_while_waiting():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    waiter = start("run", "a", "--", "touch", path("ran"))
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    kill(waiter.pid)
    finish(waiter)
    until(lambda: stat("a")["waiting"] == 0, "the waiter has left")
    let_end("x")
    finish(holder)
    same(stat("a")["free"], 1)
    check(not os.path.exists(path("ran")), "the job was started")


def test_c37_wrapper_orphan_kill():
    runner, pids, following = family()
    kill(runner.pid)
    next_is_granted(following)
    check(all(is_gone(pid) for pid in pids), "a process of the job is alive")
    same(runner.wait(), -9)


def test_c37_wrapper_orphan_kill_fast():
    runner, pids, following = family(fast=True)
    kill(runner.pid)
    next_is_granted(following)
    check(all(is_gone(pid) for pid in pids), "a process of the job is alive")


def test_c37_wrapper_orphan_keep():
    for fast in (False, True):
        same(weir("open", "a", "-n", "1", *(["--fast"] if fast else []))[0], 0)
        runner = start("run", "a", "--orphan", "keep", "--", *refereed(1, *held_job("x")))
        pid = job_pid("x")
        following = start("run", "a", "--", *refereed(1, "true"))
        until(lambda: stat("a")["waiting"] == 1, "the next job waits")
        holder = guardian(runner)
        kill(runner.pid)
        same(runner.wait(), -9)
        until(lambda: state(holder) and os.stat(f"/proc/{holder}"), "the guardian lives on")
        # The permit is held by a live process.
        one, = roles("a", "holds")
        same((one["pid"], one["dead"]), (holder, False))
        check(not is_gone(pid), "the job was killed")
        let_end("x")
        next_is_granted(following)
        # rm does not wait long for a process that is inside the lock.
        until(lambda: is_gone(holder), "the guardian has left")
        os.unlink(path("x"))
        same(weir("rm", "a")[0], 0)


def test_c37_the_whole_group():
    # Kill the wrapper's process group, as `timeout -s KILL` does.
    for options in ([], ["--orphan", "keep"]):
        same(weir("open", "a", "-n", "1")[0], 0)
        # A job without children, one of which might just be ending.
        job = ["sh", "-c", f'echo $$ >{path("x")}; read line <{path("x.fifo")}']
        if not os.path.exists(path("x.fifo")):
            os.mkfifo(path("x.fifo"))
        runner = start("run", "a", *options, "--", *refereed(1, *job), start_new_session=True)
        pid = job_pid("x")
        following = start("run", "a", "--", *refereed(1, "true"))
        until(lambda: stat("a")["waiting"] == 1, "the next job waits")
        check(runner.pid > 1)
        same(os.getpgid(pid), runner.pid, "the job is in the terminal's group")
        check(os.getpgid(guardian(runner)) != runner.pid, "the guardian is in it as well")
        os.killpg(runner.pid, signal.SIGKILL)
        next_is_granted(following)
        check(is_gone(pid))
        runner.wait()
        os.unlink(path("x"))


def test_c37_the_job():
    runner, pids, following = family()
    kill(pids[0])
    same(runner.wait(), 128 + 9)
    next_is_granted(following)
    check(all(is_gone(pid) for pid in pids), "a process of the job is alive")


def test_c37_the_job_orphan_keep():
    # The referee's lock stays with the descendants: the referee is not asked.
    runner, pids, following = family("--orphan", "keep")
    kill(pids[0])
    same(runner.wait(), 128 + 9)
    same(finish(following)[0], 0)
    # The job has ended; its descendants continue without a permit.
    check(not is_gone(pids[2]))
    kill(pids[1])
    kill(pids[2])


def test_descendants_of_a_job_that_has_exited():
    # A job that exits may leave processes running.
    for status in (3, 128 + 9):
        same(weir("run", "a", "-n", "1", "--", "sh", "-c",
                  f'sleep 1000 >&- 2>&- & echo $! >{path("y")}; exit {status}')[0], status)
        same(stat("a")["free"], 1)
        check(not is_gone(job_pid("y")))
        kill(job_pid("y"))


def test_c37_guardian_while_waiting():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    waiter = start("run", "a", "--", "touch", path("ran"))
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    kill(guardian(waiter))
    status, out, err = finish(waiter)
    same((status, err), (125, "weir: a: the guardian was killed by signal 9 while it waited\n"))
    same(stat("a")["waiting"], 0)
    let_end("x")
    finish(holder)
    check(not os.path.exists(path("ran")))


def test_c37_guardian_orphan_kill():
    runner, pids, following = family()
    kill(guardian(runner))
    next_is_granted(following)
    same(runner.wait(), 76)
    same(read("said"), "weir: a: the guardian was killed while it held the permit; sh was ended\n")
    check(all(is_gone(pid) for pid in pids), "a process of the job is alive")


def test_earlier_children_are_not_killed():
    # A script that started a process and then executed weir.
    script = 'sleep 1000 >&- 2>&- & echo $! >"$1"; shift; exec "$@"'
    runner = subprocess.Popen(["sh", "-c", script, "sh", path("y"), support.WEIR, "run", "a",
                               "-n", "1", "--", *held_job("x")], env=ENV, stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    job, other = job_pid("x"), job_pid("y")
    holder, = [pid for pid in children(runner.pid) if pid != other]
    kill(holder)
    same(runner.wait(support.LIMIT), 76)
    check(is_gone(job), "the job is alive")
    check(not is_gone(other), "a process that is not part of the job was killed")
    kill(other)
    until(lambda: stat("a")["free"] == 1, "the permit is released")


def test_c37_guardian_orphan_keep():
    same(weir("open", "a", "-n", "1")[0], 0)
    os.mkfifo(path("x.fifo"))
    runner = start("run", "a", "--orphan", "keep", "--",
                   *refereed(1, "sh", "-c", 'echo $$ >"$1"; read line <"$1.fifo"; exit 5', "job",
                             path("x")))
    job_pid("x")
    following = start("run", "a", "--", *refereed(1, "true"))
    until(lambda: stat("a")["waiting"] == 1, "the next job waits")
    kill(guardian(runner))
    until(lambda: roles("a", "holds")[0]["dead"], "the death is noticed")
    same(stat("a")["waiting"], 1, "the job still has the permit")
    let_end("x")
    same(finish(runner)[0], 5, "the job's own status")
    next_is_granted(following)


def test_signals_after_the_guardian():
    # The job keeps the permit, and the wrapper still passes signals on.
    runner = start("run", "a", "-n", "1", "--orphan", "keep", "--", *held_job("x"))
    pid = job_pid("x")
    kill(guardian(runner))
    until(lambda: children(runner.pid) == [pid], "the job is the wrapper's")
    kill(runner.pid, signal.SIGTERM)
    same(runner.wait(support.LIMIT), 128 + 15)
    check(is_gone(pid), "the job did not get the signal")


def test_c37_wrapper_and_guardian_at_once():
    for options, lives in (([], False), (["--orphan", "keep"], True)):
        runner, pids, following = family(*options)
        both = [runner.pid, guardian(runner)]
        # Neither process may act on the death of the other one.  The guardian is killed
        # first: if the wrapper ended first, the kernel might continue a stopped guardian.
        for pid in both:
            kill(pid, signal.SIGSTOP)
        for pid in reversed(both):
            kill(pid)
        same(runner.wait(), -9)
        if not lives:
            until(lambda: is_gone(pids[0]), "the kernel killed the job")
        check(not is_gone(pids[2]), "a grandchild")
        # Descendants are running, so the permit is held.
        until(lambda: roles("a", "holds")[0]["dead"], "the death is noticed")
        same(stat("a")["waiting"], 1)
        for pid in pids:
            if not is_gone(pid):
                kill(pid)
        next_is_granted(following)
        for name in "xyz":
            os.unlink(path(name))
        same(weir("rm", "a")[0], 0)


def test_c37_guardian_fast():
    # FAST: the permit is free at once, so the job is killed.
    for options in ([], ["--orphan", "keep"]):
        runner, pids, following = family(*options, fast=True)
        kill(guardian(runner))
        same(runner.wait(), 76)
        check(all(is_gone(pid) for pid in pids), "a process of the job is alive")
        same(finish(following)[0], 0)
        same(stat("a")["free"], 1)
        for name in "xyz":
            os.unlink(path(name))
        same(weir("rm", "a")[0], 0)


def test_kill_after_gives_time():
    job = ["sh", "-c", 'trap "echo bye >\\"$1.bye\\"; exit" TERM; echo $$ >"$1"; '
           'while :; do sleep 0.01; done', "job", path("x")]
    runner = start("run", "a", "-n", "1", "--kill-after", "1h", "--", *job)
    pid = job_pid("x")
    kill(runner.pid)
    until(lambda: stat("a")["free"] == 1, "all permits are released")
    same(read("x.bye"), "bye\n", "the job got SIGTERM")
    check(is_gone(pid))
    runner.wait()


def test_kill_after_is_over():
    job = ["sh", "-c", 'trap "" TERM; echo $$ >"$1"; while :; do sleep 1000; done', "job",
           path("x")]
    runner = start("run", "a", "-n", "1", "--kill-after", "5ms", "--", *job)
    pid = job_pid("x")
    kill(runner.pid)
    until(lambda: stat("a")["free"] == 1, "all permits are released")
    check(is_gone(pid))
    runner.wait()


def test_a_stopped_job_is_killed_too():
    runner, pids, following = family("--kill-after", "1ms")
    kill(pids[1], signal.SIGSTOP)
    until(lambda: state(pids[1]) == "T", "the process is stopped")
    kill(runner.pid)
    next_is_granted(following)
    check(all(is_gone(pid) for pid in pids))


def test_c37_hold_and_its_process():
    # Kill the process of --while-pid.
    weir("open", "a", "-n", "1")
    script = subprocess.Popen(["sh", "-c", '"$0" hold a --while-pid $$ >"$1.tmp"; mv "$1.tmp" "$1"; '
                               'exec sleep 1000', support.WEIR, path("token")], env=ENV)
    until(lambda: read("token"), "a token")
    following = start("run", "a", "--", "true")
    until(lambda: stat("a")["waiting"] == 1, "the next job waits")
    kill(script.pid)
    same(finish(following)[0], 0)
    script.wait()
    until(lambda: not [f for f in os.listdir(path(".")) if f.startswith(".weir-hold")],
          "the socket is removed")


def test_c37_the_hold_daemon():
    weir("open", "a", "-n", "1")
    token = weir("hold", "a", "--while-pid", str(os.getpid()))[1].strip()
    one, = roles("a", "holds")
    kill(one["pid"])
    until(lambda: stat("a")["free"] == 1, "the permit is released")
    # It may be released before the socket is closed.
    until(lambda: is_gone(one["pid"]), "the hold daemon has ended")
    check([f for f in os.listdir(path(".")) if f.startswith(".weir-hold")], "a socket remains")
    status, out, err = weir("release", token)
    same((status, err), (69, "weir: a: this token holds no permit (any more)\n"))
    check(not [f for f in os.listdir(path(".")) if f.startswith(".weir-hold")])


def victims(rng, runner):
    """Choose processes of a run to kill: wrapper, guardian, both, or with the job.  With
    --orphan keep, not the job alone: its descendants would then run without a permit,
    and the referee would count them."""
    guards = children(runner.pid)
    jobs = [job for guard in guards for job in children(guard)]
    some = [[runner.pid], guards, [runner.pid, *guards], [*guards, *jobs],
            [runner.pid, *guards, *jobs]]
    if "keep" not in runner.args:
        some.append(jobs)
    return rng.choice(some)


def test_c37_a_storm():
    # Eight runs at a time under a limit of two, while processes are killed at random.
    seed = int(os.environ.get("WEIR_SEED", 0)) or random.SystemRandom().randrange(1, 2**32)
    rng = random.Random(seed)
    total, kills, runners = 1000 if FULL else 120, 0, []
    same(weir("open", "a", "-n", "2")[0], 0)
    job = refereed(2, "sh", "-c", "sleep 0.01 & sleep 0.02; wait")
    for i in range(total):
        options = ["--orphan", "keep"] if rng.randrange(2) else []
        runners.append(start("run", "a", *options, "--", *job, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL))
        time.sleep(rng.random() * 0.01)
        alive = [one for one in runners if one.poll() is None]
        if alive and rng.randrange(2):
            for pid in victims(rng, rng.choice(alive)):
                try:
                    kill(pid)
                    kills += 1
                except ProcessLookupError:
                    pass
        until(lambda: sum(one.poll() is None for one in runners) < 8, "one ends")
    for one in runners:
        one.wait(timeout=support.LIMIT)
    until(lambda: stat("a")["free"] == 2, "all permits are released")
    print(f"{total} runs, {kills} kills (WEIR_SEED={seed})")
    check_referee()
    check(kills > total / 8, f"only {kills} kills")


if __name__ == "__main__":
    main()
