# SPDX-License-Identifier: MIT
"""weir pause and weir resume."""
import fcntl
import os
import signal
import struct

from support import *

OFD_SETLK = 37
BYTE_JOIN = 1 << 40     # NM_BYTE_JOIN of src/named/format.h


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


def test_the_label_is_the_command():
    """A slot keeps the label of its last owner."""
    weir("open", "a", "-n", "1")
    for command in ("pause", "resume"):
        same(weir(command, "a")[0], 0)
        with open(path("a.weir"), "rb") as file:
            check(f"weir {command}\0".encode() in file.read(), f"no label of weir {command}")


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


def opened(pid, name):
    """How many descriptors of the file the process has."""
    found = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += os.readlink(f"/proc/{pid}/fd/{fd}").endswith("/" + name)
        except FileNotFoundError:
            pass    # closed meanwhile
    return found


def test_rm_against_a_resume():
    """A resume after rm has found the semaphore unused lets no job in.

    rm locks a byte of the file before it removes the name.  The test has that byte, so rm
    is stopped between its check and the removal.
    """
    weir("open", "a", "-n", "1")
    weir("pause", "a")
    with open(path("a.weir"), "r+b") as file:
        def lock(kind):
            fcntl.fcntl(file, OFD_SETLK, struct.pack("hhqqi4x", kind, 0, BYTE_JOIN, 1, 0))

        lock(fcntl.F_WRLCK)
        rm = start("rm", "a")

        def stopped_at_the_byte():
            kill(rm.pid, signal.SIGSTOP)
            until(lambda: is_stopped(rm.pid), "rm is stopped")
            # To map the file, rm opens it twice as well, but before it has a request.  Its
            # other threads must not be inside the lock: the resume would wait for them.
            if opened(rm.pid, "a.weir") == 2 and roles("a", "waits") and not lock_is_held("a"):
                return True
            kill(rm.pid, signal.SIGCONT)
            return False

        until(stopped_at_the_byte, "rm waits for the byte")
        same(weir("resume", "a")[0], 0)
        job = start("run", "a", "--", *held_job("x"))
        until(lambda: len(roles("a", "waits") + roles("a", "holds")) == 1, "the job's request")
        same(roles("a", "holds"), [], "a job has a permit of a semaphore that is removed")
        lock(fcntl.F_UNLCK)
    kill(rm.pid, signal.SIGCONT)
    same(finish(rm), (0, "", ""))
    same(finish(job)[0], 69, "the semaphore was closed")
    check(not os.path.exists(path("x")), "the job was started")


def test_rm_against_a_request():
    """rm of a paused semaphore that is in use leaves no request of its own."""
    weir("open", "a", "-n", "2")
    job = start("run", "a", "--", *held_job("x"))
    job_pid("x")
    weir("pause", "a")
    same(weir("rm", "a")[0], 75)
    same((stat("a")["held"], stat("a")["waiting"]), (1, 0))
    let_end("x")
    same(finish(job)[0], 0)
    same(weir("resume", "a")[0], 0)
    same(weir("run", "a", "-w", "2", "--try", "--", "true")[0], 0)


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
