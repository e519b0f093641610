# SPDX-License-Identifier: MIT
"""weir pause and weir resume."""
import signal

from support import *


def waiter(name):
    found = start("run", "a", "--", "sh", "-c", f'echo {name} >>"$0"', path("order"))
    before = len(roles("a", "waits"))
    until(lambda: len(roles("a", "waits")) > before or len(roles("a", "waits")) == int(name),
          "one more waiter")
    return found


def test_c3_the_queue_is_kept_and_its_order():
    weir("open", "a", "-n", "1")
    same(weir("pause", "a"), (0, "", ""))
    waiters = [waiter(str(i + 1)) for i in range(3)]
    same(stat("a")["paused"], True)
    same(stat("a")["free"], 1)
    check("1 of 1 free, 3 waiting, paused" in weir("stat", "a")[1], weir("stat", "a")[1])
    check("paused" in weir("ls")[1], weir("ls")[1])
    check("note: paused" in weir("doctor", "a")[1], weir("doctor", "a")[1])
    status, out, _ = weir("watch", "a", "--lines", "-c", "1")
    check(status == 0 and "paused" in out, out)
    # Resize works, and grants nothing; a timeout ends a wait.
    same(weir("resize", "a", "2")[0], 0)
    same(stat("a")["waiting"], 3)
    same(weir("resize", "a", "1")[0], 0)
    same(weir("run", "a", "-t", "10ms", "--", "true")[0], 124)
    same(weir("run", "a", "--try", "--", "true")[0], 75)
    same(weir("wait", "a", "--idle")[0], 0)
    same(read("order"), "")
    same(weir("resume", "a"), (0, "", ""))
    for one in waiters:
        same(finish(one)[0], 0)
    same(read("order"), "1\n2\n3\n")
    same(stat("a")["paused"], False)


def test_jobs_continue_during_a_pause():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    same(weir("pause", "a")[0], 0)
    same(weir("pause", "a")[0], 0)
    one = waiter("1")
    let_end("x")
    same(finish(holder)[0], 0)
    same(stat("a")["waiting"], 1)
    # A waiter can leave.
    kill(one.pid, signal.SIGTERM)
    same(finish(one)[0], 143)
    same(stat("a")["waiting"], 0)
    same(weir("resume", "a")[0], 0)
    same(weir("run", "a", "--try", "--", "true")[0], 0)


def test_closed_missing_and_misused():
    weir("open", "a", "-n", "1")
    for command in ("pause", "resume"):
        same(weir(command)[0], 64)
        same(weir(command, "a", "b")[0], 64)
        same(weir(command, "b")[0], 69)
    weir("pause", "a")
    # A close ends the pause and the waits.
    one = waiter("1")
    weir("close", "a")
    same(finish(one)[0], 69)
    same(stat("a")["paused"], False)
    for command in ("pause", "resume"):
        same(weir(command, "a")[0], 69)


def test_rm_of_a_paused_semaphore():
    weir("open", "a", "-n", "1")
    weir("pause", "a")
    one = waiter("1")
    same(weir("rm", "a")[0], 75, "a request waits")
    kill(one.pid, signal.SIGTERM)
    same(finish(one)[0], 143)
    same(weir("rm", "a"), (0, "", ""))
    same(weir("stat", "a")[0], 69)


def test_messages_say_that_it_is_paused():
    weir("open", "a", "-n", "2")
    weir("pause", "a")
    same(weir("run", "a", "--try", "--", "true"), (75, "", "weir: a: busy; paused\n"))
    same(weir("run", "a", "-t", "1ms", "--", "true"),
         (124, "", "weir: a: not granted within 1ms; paused\n"))
    same(weir("wait", "a", "--free", "1", "-t", "1ms"),
         (124, "", "weir: a: timed out after 1ms; paused\n"))
    weir("resume", "a")
    holder = start("run", "a", "-l", "holder", "--", *held_job("x"))
    job_pid("x")
    weir("pause", "a")
    err = weir("run", "a", "--try", "--", "true")[2]
    check(err.startswith("weir: a: busy; paused; held by holder, pid "), err)
    let_end("x")
    same(finish(holder)[0], 0)


if __name__ == "__main__":
    main()
