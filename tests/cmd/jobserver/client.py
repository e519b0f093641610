# SPDX-License-Identifier: MIT
"""A client of the job server protocol, one step at a time: client.py WHAT

It stands where a make would, finds the server in MAKEFLAGS, and exits with 0 if all was
as it should be.  Reads wait, unless it is said otherwise.
"""
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time


def connect():
    """Descriptors to read and to write."""
    auth = re.findall(r"--jobserver-auth=(\S+)", os.environ["MAKEFLAGS"])[-1]
    if auth.startswith("fifo:"):
        fd = os.open(auth[5:], os.O_RDWR)
        return fd, fd
    reads, writes = auth.split(",")
    return int(reads), int(writes)


def tokens():
    return int(re.findall(r" -j(\d+)", os.environ["MAKEFLAGS"])[-1]) - 1


def in_pipe(fd):
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]


def all_back(fd, count):
    """As many are in the pipe; the last may be on its way, but none too many."""
    end = time.monotonic() + 60
    while in_pipe(fd) < count:
        assert time.monotonic() < end
        time.sleep(0.002)
    assert in_pipe(fd) == count == tokens()


def take(fd):
    assert len(os.read(fd, 1)) == 1


def give(fd):
    assert os.write(fd, b"+") == 1


def child(work):
    """Run work(say) in a child; its pid, and what to hear from."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work(lambda: os.write(mouth, b"said"))
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(mouth)
    return pid, ear


def reap(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed():
    """A child takes two and is killed.  We want all three, and wait for them."""
    def work(say):
        reads, _ = connect()
        take(reads)
        take(reads)
        say()
        signal.pause()

    pid, ear = child(work)
    assert os.read(ear, 9) == b"said"
    reads, writes = connect()
    take(reads)
    assert in_pipe(reads) == 0
    assert pid > 1
    os.kill(pid, signal.SIGKILL)
    # The first ones to come are ours: this waits in the server.
    take(reads)
    take(reads)
    assert reap(pid) == -signal.SIGKILL
    for _ in range(3):
        give(writes)
    all_back(reads, 3)


def nonblocking():
    """As ninja does it: two descriptors that do not block, and a poll; the byte is kept."""
    def opened():
        path = re.findall(r"auth=fifo:(\S+)", os.environ["MAKEFLAGS"])[-1]
        return (os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC),
                os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def work(say):
        reads, _ = opened()
        take(reads)
        take(reads)
        say()
        signal.pause()

    pid, ear = child(work)
    assert os.read(ear, 9) == b"said"
    reads, writes = opened()
    try:
        os.read(reads, 1)
        sys.exit("a token from nowhere")
    except BlockingIOError:
        pass
    assert pid > 1
    os.kill(pid, signal.SIGKILL)
    assert select.select([reads], [], [], 60)[0]
    byte = os.read(reads, 1)
    assert len(byte) == 1 and os.write(writes, byte) == 1
    reap(pid)
    all_back(reads, 2)


def excess():
    reads, writes = connect()
    take(reads)
    give(writes)
    give(writes)
    all_back(reads, 2)
    take(reads)
    give(writes)
    all_back(reads, 2)


class Alarm(Exception):
    pass


def on_alarm(_number, _frame):
    raise Alarm


def interrupted():
    """Somebody else has the token; our read is ended by a signal, again and again."""
    def work(say):
        reads, writes = connect()
        take(reads)
        say()
        # Until the other has nothing more to try.
        signal.sigwait({signal.SIGUSR1})
        give(writes)

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    pid, ear = child(work)
    assert os.read(ear, 9) == b"said"
    reads, writes = connect()
    signal.signal(signal.SIGALRM, on_alarm)
    for _ in range(20):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            os.read(reads, 1)
            sys.exit("a token from nowhere")
        except Alarm:
            pass
    os.kill(pid, signal.SIGUSR1)
    assert reap(pid) == 0
    take(reads)
    assert in_pipe(reads) == 0
    give(writes)
    all_back(reads, 1)


def handed():
    """A child reads, we return, the child dies."""
    def work(say):
        reads, _ = connect()
        take(reads)
        say()
        signal.pause()

    pid, ear = child(work)
    assert os.read(ear, 9) == b"said"
    reads, writes = connect()
    give(writes)
    all_back(reads, 2)
    assert pid > 1
    os.kill(pid, signal.SIGKILL)
    reap(pid)
    # The server has buried it when it has answered another call.
    take(reads)
    give(writes)
    all_back(reads, 2)


def left():
    """A child takes two, and ends.  We look on without an end to write."""
    def work(_say):
        reads, _ = connect()
        take(reads)
        take(reads)

    pid, _ = child(work)
    assert reap(pid) == 0
    path = re.findall(r"auth=fifo:(\S+)", os.environ["MAKEFLAGS"])[-1]
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    all_back(fd, 2)


def leave():
    """As a daemon does: a session of its own, and none of the caller's files."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def daemon():
    """A process that stays, and reads a byte when the server is long gone."""
    server = os.getppid()

    def work(say):
        leave()
        say()
        while os.path.exists(f"/proc/{server}"):
            time.sleep(0.002)
        with open(__file__, "rb", buffering=0) as file:
            byte = os.read(file.fileno(), 1)
        with open("said.part", "wb") as file:
            file.write(byte)
        os.rename("said.part", "said")

    _, ear = child(work)
    assert os.read(ear, 9) == b"said"


def stays():
    """A process that stays until it is told, with nothing of the caller's."""
    os.close(int(os.environ["MOUTH"]))

    def work(say):
        leave()
        say()
        while not os.path.exists("go"):
            time.sleep(0.002)
        os.close(os.open("gone", os.O_CREAT | os.O_WRONLY))

    _, ear = child(work)
    assert os.read(ear, 9) == b"said"


def reader():
    """Reads, and nobody has an end to write."""
    reads, writes = connect()
    os.close(writes)
    os.read(reads, 1)


{"killed": killed, "nonblocking": nonblocking, "excess": excess, "interrupted": interrupted,
 "handed": handed, "left": left, "daemon": daemon,
 "stays": stays, "reader": reader}[sys.argv[1]]()
