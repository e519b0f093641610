# SPDX-License-Identifier: MIT
"""Whoever is killed with SIGKILL: the limit holds (C37), as a referee says that knows
nothing of weir.  The cases are the table of docs/design/cmd.md."""
import os
import random
import signal
import subprocess
import time

from support import *
import support

# A job of three: itself, a child, and a grandchild in a session of its own that
# nobody waits for.  Their numbers go to the files "x", "y" and "z".
FAMILY = """
setsid sh -c 'echo $$ >"$1/z.tmp"; mv "$1/z.tmp" "$1/z"; exec sleep 1000' sh "$1" &
sh -c 'echo $$ >"$1/y.tmp"; mv "$1/y.tmp" "$1/y"; exec sleep 1000' sh "$1" &
echo $$ >"$1/x.tmp"; mv "$1/x.tmp" "$1/x"
wait
"""


def family(*options, fast=False):
    """A family that runs under the one permit of "a", and the next in the queue."""
    same(weir("open", "a", "-n", "1", *(["--fast"] if fast else []))[0], 0)
    runner = start("run", "a", *options, "--", *refereed(1, "sh", "-c", FAMILY, "job", path(".")),
                   stdout=subprocess.DEVNULL, stderr=open(path("said"), "w"))
    pids = [job_pid(name) for name in "xyz"]
    following = start("run", "a", "--", *refereed(1, "sh", "-c", "exit 0"))
    until(lambda: stat("a")["waiting"] == 1, "the next waits")
    return runner, pids, following


def next_gets_it(following):
    same(finish(following)[0], 0, "the next")
    check_referee()
    same(stat("a")["free"], 1, "all is back")


def test_c37_wrapper_while_waiting():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    waiter = start("run", "a", "--", "touch", path("ran"))
    until(lambda: stat("a")["waiting"] == 1, "one waits")
    kill(waiter.pid)
    finish(waiter)
    until(lambda: stat("a")["waiting"] == 0, "it left the queue")
    let_end("x")
    finish(holder)
    same(stat("a")["free"], 1)
    check(not os.path.exists(path("ran")), "the command was started")


def test_c37_wrapper_orphan_kill():
    runner, pids, following = family()
    kill(runner.pid)
    next_gets_it(following)
    check(all(is_gone(pid) for pid in pids), "somebody lives")
    same(runner.wait(), -9)


def test_c37_wrapper_orphan_kill_fast():
    runner, pids, following = family(fast=True)
    kill(runner.pid)
    next_gets_it(following)
    check(all(is_gone(pid) for pid in pids), "somebody lives")


def test_c37_wrapper_orphan_keep():
    for fast in (False, True):
        same(weir("open", "a", "-n", "1", *(["--fast"] if fast else []))[0], 0)
        runner = start("run", "a", "--orphan", "keep", "--", *refereed(1, *held_job("x")))
        pid = job_pid("x")
        following = start("run", "a", "--", *refereed(1, "true"))
        until(lambda: stat("a")["waiting"] == 1, "the next waits")
        holder = guardian(runner)
        kill(runner.pid)
        same(runner.wait(), -9)
        until(lambda: state(holder) and os.stat(f"/proc/{holder}"), "the guardian lives on")
        # Whoever looks now finds it held, by one that lives.
        one, = roles("a", "holds")
        same((one["pid"], one["dead"]), (holder, False))
        check(not is_gone(pid), "the job was killed")
        let_end("x")
        next_gets_it(following)
        os.unlink(path("x"))
        same(weir("rm", "a")[0], 0)


def test_c37_the_whole_group():
    # All in the wrapper's process group, as `timeout -s KILL` does it.
    for options in ([], ["--orphan", "keep"]):
        same(weir("open", "a", "-n", "1")[0], 0)
        # (One that has no child which might be about to end just now.)
        job = ["sh", "-c", f'echo $$ >{path("x")}; read line <{path("x.fifo")}']
        if not os.path.exists(path("x.fifo")):
            os.mkfifo(path("x.fifo"))
        runner = start("run", "a", *options, "--", *refereed(1, *job), start_new_session=True)
        pid = job_pid("x")
        following = start("run", "a", "--", *refereed(1, "true"))
        until(lambda: stat("a")["waiting"] == 1, "the next waits")
        check(runner.pid > 1)
        same(os.getpgid(pid), runner.pid, "the job is in the terminal's group")
        check(os.getpgid(guardian(runner)) != runner.pid, "the guardian is in it as well")
        os.killpg(runner.pid, signal.SIGKILL)
        next_gets_it(following)
        check(is_gone(pid))
        runner.wait()
        os.unlink(path("x"))


def test_c37_the_job():
    runner, pids, following = family()
    kill(pids[0])
    same(runner.wait(), 128 + 9)
    next_gets_it(following)
    check(all(is_gone(pid) for pid in pids), "somebody lives")


def test_c37_the_job_orphan_keep():
    runner, pids, following = family("--orphan", "keep")
    kill(pids[0])
    same(runner.wait(), 128 + 9)
    same(finish(following)[0], 0)
    # The command has ended; what it left behind goes on, and counts no more.
    check(not is_gone(pids[2]))
    kill(pids[1])
    kill(pids[2])


def test_what_a_job_leaves_behind():
    # One that ends by itself may leave something running.
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
    until(lambda: stat("a")["waiting"] == 1, "one waits")
    kill(guardian(waiter))
    status, out, err = finish(waiter)
    same((status, err), (125, "weir: a: the guardian was killed while it waited\n"))
    same(stat("a")["waiting"], 0)
    let_end("x")
    finish(holder)
    check(not os.path.exists(path("ran")))


def test_c37_guardian_orphan_kill():
    runner, pids, following = family()
    kill(guardian(runner))
    next_gets_it(following)
    same(runner.wait(), 76)
    same(read("said"), "weir: a: the guardian was killed while it held the permit; sh was ended\n")
    check(all(is_gone(pid) for pid in pids), "somebody lives")


def test_children_of_before_are_not_killed():
    # A script that started something of its own, and became weir.
    script = 'sleep 1000 >&- 2>&- & echo $! >"$1"; shift; exec "$@"'
    runner = subprocess.Popen(["sh", "-c", script, "sh", path("y"), support.WEIR, "run", "a",
                               "-n", "1", "--", *held_job("x")], env=ENV, stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    job, other = job_pid("x"), job_pid("y")
    holder, = [pid for pid in children(runner.pid) if pid != other]
    kill(holder)
    same(runner.wait(support.LIMIT), 76)
    check(is_gone(job), "the job lives")
    check(not is_gone(other), "killed, and not of the job")
    kill(other)
    until(lambda: stat("a")["free"] == 1, "the permit is back")


def test_c37_guardian_orphan_keep():
    same(weir("open", "a", "-n", "1")[0], 0)
    runner = start("run", "a", "--orphan", "keep", "--",
                   *refereed(1, "sh", "-c", 'echo $$ >"$1"; read line <"$1.fifo"; exit 5', "job",
                             path("x")))
    os.mkfifo(path("x.fifo"))
    job_pid("x")
    following = start("run", "a", "--", *refereed(1, "true"))
    until(lambda: stat("a")["waiting"] == 1, "the next waits")
    kill(guardian(runner))
    until(lambda: roles("a", "holds")[0]["dead"], "its death is known")
    same(stat("a")["waiting"], 1, "the job still has the permit")
    let_end("x")
    same(finish(runner)[0], 5, "the job's own status")
    next_gets_it(following)


def test_signals_after_the_guardian():
    # Its job keeps the permit, and can still be told to end.
    runner = start("run", "a", "-n", "1", "--orphan", "keep", "--", *held_job("x"))
    pid = job_pid("x")
    kill(guardian(runner))
    until(lambda: children(runner.pid) == [pid], "the job is the wrapper's")
    kill(runner.pid, signal.SIGTERM)
    same(runner.wait(support.LIMIT), 128 + 15)
    check(is_gone(pid), "the job was not told")


def test_c37_wrapper_and_guardian_at_once():
    for options, lives in (([], False), (["--orphan", "keep"], True)):
        runner, pids, following = family(*options)
        both = [runner.pid, guardian(runner)]
        # Neither has a moment in which only the other is gone.
        kill(both[1], signal.SIGSTOP)
        for pid in both:
            kill(pid)
        same(runner.wait(), -9)
        if not lives:
            until(lambda: is_gone(pids[0]), "the kernel killed the job")
        check(not is_gone(pids[2]), "a grandchild")
        # Something of it runs, so the permit is out.
        until(lambda: roles("a", "holds")[0]["dead"], "its death is known")
        same(stat("a")["waiting"], 1)
        for pid in pids:
            if not is_gone(pid):
                kill(pid)
        next_gets_it(following)
        for name in "xyz":
            os.unlink(path(name))
        same(weir("rm", "a")[0], 0)


def test_c37_guardian_fast():
    # A semaphore that does not wait for the last of a holder: the job dies.
    for options in ([], ["--orphan", "keep"]):
        runner, pids, following = family(*options, fast=True)
        kill(guardian(runner))
        same(runner.wait(), 76)
        check(all(is_gone(pid) for pid in pids), "somebody lives")
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
    until(lambda: stat("a")["free"] == 1, "all is back")
    same(read("x.bye"), "bye\n", "it was told")
    check(is_gone(pid))
    runner.wait()


def test_kill_after_is_over():
    job = ["sh", "-c", 'trap "" TERM; echo $$ >"$1"; while :; do sleep 1000; done', "job",
           path("x")]
    runner = start("run", "a", "-n", "1", "--kill-after", "5ms", "--", *job)
    pid = job_pid("x")
    kill(runner.pid)
    until(lambda: stat("a")["free"] == 1, "all is back")
    check(is_gone(pid))
    runner.wait()


def test_a_stopped_job_is_killed_too():
    runner, pids, following = family("--kill-after", "1ms")
    kill(pids[1], signal.SIGSTOP)
    until(lambda: state(pids[1]) == "T", "it stopped")
    kill(runner.pid)
    next_gets_it(following)
    check(all(is_gone(pid) for pid in pids))


def test_c37_hold_and_its_process():
    # The process for which it holds.
    weir("open", "a", "-n", "1")
    script = subprocess.Popen(["sh", "-c", '"$0" hold a --while-pid $$ >"$1.tmp"; mv "$1.tmp" "$1"; '
                               'exec sleep 1000', support.WEIR, path("token")], env=ENV)
    until(lambda: read("token"), "a token")
    following = start("run", "a", "--", "true")
    until(lambda: stat("a")["waiting"] == 1, "the next waits")
    kill(script.pid)
    same(finish(following)[0], 0)
    script.wait()
    until(lambda: not [f for f in os.listdir(path(".")) if f.startswith(".weir-hold")],
          "the socket is gone")


def test_c37_who_holds_for_hold():
    weir("open", "a", "-n", "1")
    token = weir("hold", "a", "--while-pid", str(os.getpid()))[1].strip()
    one, = roles("a", "holds")
    kill(one["pid"])
    until(lambda: stat("a")["free"] == 1, "it is back")
    check([f for f in os.listdir(path(".")) if f.startswith(".weir-hold")], "a socket remains")
    status, out, err = weir("release", token)
    same((status, err), (69, "weir: a: this token holds no permit (any more)\n"))
    check(not [f for f in os.listdir(path(".")) if f.startswith(".weir-hold")])


def victims(rng, runner):
    """Some of the processes of a run: wrapper, guardian, both, or with the job.  Not
    the job alone if it is kept: what that leaves behind counts for the referee only."""
    guards = children(runner.pid)
    jobs = [job for guard in guards for job in children(guard)]
    some = [[runner.pid], guards, [runner.pid, *guards], [*guards, *jobs],
            [runner.pid, *guards, *jobs]]
    if "keep" not in runner.args:
        some.append(jobs)
    return rng.choice(some)


def test_c37_a_storm():
    # Eight at a time through a limit of two; somebody is killed all the while.
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
    until(lambda: stat("a")["free"] == 2, "all is back")
    print(f"{total} runs, {kills} kills (WEIR_SEED={seed})")
    check_referee()
    check(kills > total / 8, f"only {kills} kills")


if __name__ == "__main__":
    main()
