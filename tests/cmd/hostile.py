# SPDX-License-Identifier: MIT
"""C39: hostile files in a shared folder.  ls and doctor report the file and continue; other
commands fail with status 65, in bounded time.  No file makes a command crash or hang."""
import fcntl
import os
import random
import signal
import socket
import struct
import subprocess
import sys

from support import *
from stops import Stopped, is_allowed
import support

ROUNDS = 400 if FULL else 40
SIZE = 4096 + 4096 * 256 + 8192 * 128
OFD_SETLK, SETLEASE = 37, 1024
# The lock of the first participant: docs/design/named-format.md.
BYTE_ALIVE = (1 << 40) + 2
# Offsets of fields of the header: docs/design/named-format.md.
VALUE, CAPACITY, SLOTS_HIGH, RECORDS_HIGH = 144, 152, 192, 200


def poke(name, offset, data):
    with open(path(name + ".weir"), "r+b", buffering=0) as file:
        os.pwrite(file.fileno(), data, offset)


def semaphore(name):
    same(weir("open", name, "-n", "2")[0], 0)
    os.chmod(path(name + ".weir"), 0o666)
    return path(name + ".weir")


# Each kind makes the file of a semaphore hostile.  The objects that it returns are kept until
# the test has ended.
def is_short(name):
    os.truncate(semaphore(name), 4096)


def is_empty(name):
    os.truncate(semaphore(name), 0)


def has_grown(name):
    os.truncate(semaphore(name), SIZE + 4096)


def is_zero(name):
    os.truncate(semaphore(name), 0)
    os.truncate(path(name + ".weir"), SIZE)


def has_another_header(name):
    semaphore(name)
    poke(name, 20, struct.pack("=I", 8))


def does_not_add_up(name):
    semaphore(name)
    poke(name, VALUE, struct.pack("=q", 1000))


def has_a_negative_capacity(name):
    semaphore(name)
    poke(name, CAPACITY, struct.pack("=q", -1))


def is_full_of_random_bytes(name):
    semaphore(name)
    chance = random.Random(name)
    for field in (SLOTS_HIGH, RECORDS_HIGH):
        poke(name, field, struct.pack("=I", 0xffffffff))
    poke(name, 4096, chance.randbytes(SIZE - 4096))


def is_executed(name):
    where = semaphore(name)
    with open("/bin/sleep", "rb") as program, open(where, "wb") as file:
        file.write(program.read())
    os.chmod(where, 0o777)
    process = subprocess.Popen([where, "1000"])
    until(lambda: os.readlink(f"/proc/{process.pid}/exe") == os.path.realpath(where), "exec")
    return process


def has_a_lease(name):
    file = open(semaphore(name), "r+b")
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        fcntl.fcntl(file, SETLEASE, fcntl.F_WRLCK)
    except OSError:
        raise Skipped("needs a file system with leases")
    return file


def is_locked(name):
    file = open(semaphore(name), "r+b")
    fcntl.fcntl(file, OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    return file


REFUSED_BY_ALL = (is_short, is_empty, has_grown, is_zero, has_another_header)
REFUSED_BY_READERS = (does_not_add_up, has_a_negative_capacity, is_full_of_random_bytes)
REFUSED_BY_USERS = (is_executed, has_a_lease, is_locked)


def check_lists(name):
    """ls and doctor report the file, and go on to the next one."""
    same(weir("open", "zz", "-n", "7")[0], 0)
    status, out, err = weir("ls")
    same((status, err), (0, ""))
    check(any(line.startswith(name + " ") for line in out.splitlines()), out)
    check(any(line.startswith("zz ") and " 7 " in line for line in out.splitlines()), out)
    _, out, _ = weir("doctor")
    check(f"{name}\n" in out and out.rstrip().endswith("zz\nok: 7 of 7 free, 0 waiting"), out)


def readers(name):
    return (["stat", name, "--shared"], ["watch", name, "--shared", "--lines", "-c", "1"])


def users(name):
    return (["run", name, "--shared", "--", "true"],
            ["run", name, "--shared", "-n", "2", "--", "true"],
            ["run", name, "--shared", "--try", "--", "true"],
            ["run", name, "--shared", "-t", "10ms", "--", "true"],
            ["hold", name, "--shared", "--while-pid", str(os.getpid())],
            ["wait", name, "--shared", "--idle"],
            ["resize", name, "--shared", "3"], ["close", name, "--shared"],
            ["pause", name, "--shared"], ["rm", name, "--shared"])


def refused(kinds, commands, *names):
    for kind in kinds:
        name = kind.__name__
        kept = kind(name)
        for command in commands(name):
            status, _, err = weir(*command)
            same(status, 65, f"{' '.join(command)}: {err}")
            check(err.startswith("weir: "), err)
        check_lists(name)
        if kind in (is_locked, has_a_lease):
            status, out, _ = weir("doctor", name)
            same(status, 65, out)
            check(f"problem: {path(name)}.weir is locked by another process" in out and
                  "ok:" not in out, out)
        if kind is is_executed:
            kill(kept.pid)
            kept.wait()
        del kept
        weir("rm", "-f", name)


def test_c39_files_that_no_command_accepts():
    refused(REFUSED_BY_ALL, lambda name: (*readers(name), *users(name)))


def test_c39_contents_that_add_up_to_nothing():
    refused(REFUSED_BY_READERS, readers)


def test_c39_locked_files():
    refused(REFUSED_BY_USERS, users)


def test_c39_a_lock_beside_those_of_participants():
    """doctor tells the lock of another program from those of participants."""
    where = semaphore("a")
    holders = [start("run", "a", "--shared", "--", *held_job(name)) for name in ("x", "y")]
    for name in ("x", "y"):
        job_pid(name)
    same(weir("doctor", "a"), (0, "a\nok: 0 of 2 free, 0 waiting\n", ""))
    for kind, start_at, length in ((fcntl.F_WRLCK, 0, 100), (fcntl.F_RDLCK, 0, 1),
                                   (fcntl.F_WRLCK, BYTE_ALIVE + 100, 0)):
        with open(where, "r+b") as file:
            fcntl.fcntl(file, OFD_SETLK, struct.pack("hhqqi4x", kind, 0, start_at, length, 0))
            status, out, _ = weir("doctor", "a")
            same(status, 65, out)
            check(out.startswith(f"a\n0 of 2 free, 0 waiting\nproblem: {where} is locked by"), out)
    same(weir("doctor", "a")[0], 0)
    for name, holder in zip(("x", "y"), holders):
        let_end(name)
        same(finish(holder)[0], 0)


def test_c39_other_things_by_that_name():
    os.mkfifo(path("fifo.weir"))
    os.mkdir(path("folder.weir"))
    os.symlink("/etc/passwd", path("link.weir"))
    listener = socket.socket(socket.AF_UNIX)
    folder = os.open(support.DIR, os.O_PATH)
    listener.bind(f"/proc/self/fd/{folder}/socket.weir")
    os.close(folder)
    for name in ("fifo", "folder", "link", "socket"):
        for command in (*readers(name), *users(name)):
            status, _, err = weir(*command)
            same(status, 65 if name == "folder" else 77, f"{' '.join(command)}: {err}")
        check_lists(name)
    listener.close()


# Change the file all the time, in another process.
DISTURB = r"""
import os, random, struct, sys
kind, where, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance = random.Random(int(sys.argv[4]))
with open(where, "rb") as file:
    good = file.read()
used = good[:4096 + 256 * 32]
print("ready", flush=True)
while True:
    if kind == "truncate":
        os.truncate(where, chance.choice((0, 100, 4096, 4096 * 3, size - 1)))
        os.truncate(where, size)
        with open(where, "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), used, 0)
    elif kind == "replace":
        with open(where + ".new", "wb") as file:
            file.write(used)
            file.truncate(chance.choice((size, size, size + 1, 4096)))
        os.chmod(where + ".new", 0o666)
        os.rename(where + ".new", where)
        if chance.random() < 0.3:
            os.unlink(where)
    else:
        with open(where, "r+b", buffering=0) as file:
            for _ in range(100):
                at = chance.choice((chance.randrange(128, 512), chance.randrange(4096, 8192),
                                    chance.randrange(4096 + 4096 * 256, 4096 + 4096 * 258)))
                os.pwrite(file.fileno(), chance.randbytes(chance.choice((1, 4, 8))), at & ~3)
"""


def disturbed(kind, allowed, commands):
    """No command crashes or hangs while another process changes the file."""
    seed = int(os.environ.get("WEIR_SEED", random.randrange(1 << 32)))
    where = semaphore("a")
    same(weir("open", "b", "-n", "5")[0], 0)
    with open(where, "rb") as file:
        good = file.read()
    disturber = subprocess.Popen([sys.executable, "-c", DISTURB, kind, where, str(SIZE),
                                  str(seed)], stdout=subprocess.PIPE, text=True)
    same(disturber.stdout.readline(), "ready\n")
    seen = {}
    try:
        for _ in range(ROUNDS):
            for command in commands:
                status, out, err = weir(*command)
                check(status in allowed, f"WEIR_SEED={seed} {command}: {status} {out} {err}")
                seen[status] = seen.get(status, 0) + 1
            if commands[0][0] == "ls":
                out = weir("ls")[1]
                check(any(line.startswith("b ") and " 5 " in line for line in out.splitlines()),
                      out)
    finally:
        kill(disturber.pid)
        disturber.wait()
    print(f"  {kind}: {dict(sorted(seen.items()))}")
    return good


LOOK = (["ls"], ["ls", "--json"], ["stat", "a", "--shared"], ["stat", "a", "--shared", "--json"],
        ["watch", "a", "--shared", "--lines", "-c", "1"])


def test_c39_truncated_while_it_is_read():
    disturbed("truncate", (0, 65), LOOK)


def test_c39_replaced_while_it_is_read():
    # 69: there is no file at that moment.
    disturbed("replace", (0, 65, 69), LOOK)


def test_c39_changed_while_it_is_read():
    disturbed("change", (0, 65, 77), LOOK)


USE = (["run", "a", "--shared", "--try", "--", "true"],
       ["run", "a", "--shared", "-t", "5ms", "--", "true"],
       ["wait", "a", "--shared", "--idle", "-t", "5ms"])


def test_c39_truncated_while_it_is_used():
    """SIGBUS ends the command with 65, not with a signal."""
    # 64, 69: a file of zeros has no capacity.
    disturbed("truncate", (0, 64, 65, 69, 75, 76, 124), USE)


def test_c39_replaced_while_it_is_used():
    disturbed("replace", (0, 65, 69, 75, 76, 124), USE)


def test_c39_truncated_while_a_job_runs():
    """The job and its descendants end: the limit could not be kept."""
    for orphan in ("kill", "keep"):
        where = semaphore("a")
        runner = start("run", "a", "--shared", "--orphan", orphan, "--", "sh", "-c",
                       'setsid sleep 1000 >/dev/null 2>&1 & echo $! >"$1"; echo $$ >"$2.tmp"; '
                       'mv "$2.tmp" "$2"; '
                       'read line <"$3"', "job", path("y"), path("x"), held_job("x")[-1])
        job, other = job_pid("x"), job_pid("y")
        os.truncate(where, 0)
        let_end("x")
        status, _, err = finish(runner)
        same(status, 65, err)
        check("truncated while it was in use" in err, err)
        until(lambda: is_gone(job), "the job has ended")
        if orphan == "kill":
            until(lambda: is_gone(other), "its descendants have ended")
        else:
            kill(other)
        os.unlink(where)
        for name in ("x", "y"):
            os.unlink(path(name))


def calls(*args):
    """The number of system calls of a command."""
    def fork():
        pid = os.fork()
        if not pid:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        return pid
    return Stopped(1 << 60, args, wrapper=True, fork=fork).stops // 2


def test_the_work_for_each_file_is_bounded():
    """ls makes a bounded number of system calls for each file, whatever its content."""
    if not is_allowed():
        raise Skipped("ptrace is not allowed")
    base = calls("ls")
    kinds = (semaphore, *REFUSED_BY_ALL, *REFUSED_BY_READERS, has_a_lease, is_locked)
    kept = []
    for kind in kinds:
        before = calls("ls")
        for i in range(4):
            kept.append(kind(f"{kind.__name__}-{i}"))
        each = (calls("ls") - before) / 4
        print(f"  {kind.__name__}: {each:.0f}")
        check(each <= (20 if kind is semaphore else 600), f"{kind.__name__}: {each} calls")
    check(base < 400, f"{base} calls for an empty folder")


if __name__ == "__main__":
    main()
