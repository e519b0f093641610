# SPDX-License-Identifier: MIT
"""A client of the job server protocol, in place of a make: client.py SCENARIO

It finds the server in MAKEFLAGS and exits with 0 if the scenario went as expected.  Reads
block, except in "nonblocking".
"""
import fcntl
import os
import re
import resource
import select
import signal
import struct
import sys
import termios
import time


def connect():
    """The descriptors for reading and for writing."""
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
    """Wait until `count` tokens are in the pipe, and check that there are no more."""
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
    """Run work(report) in a child.  Returns its pid, and a descriptor that has a message
    after the child has called report()."""
    reports, sends = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work(lambda: os.write(sends, b"done"))
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(sends)
    return pid, reports


def signal_child(pid, sig):
    """Signal a child that was not reaped."""
    fd = os.pidfd_open(pid)
    signal.pidfd_send_signal(fd, sig)
    os.close(fd)


def reap(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed():
    """A child takes two of three tokens and is killed.  The parent reads all three."""
    def work(report):
        reads, _ = connect()
        take(reads)
        take(reads)
        report()
        signal.pause()

    pid, reports = child(work)
    assert os.read(reports, 9) == b"done"
    reads, writes = connect()
    take(reads)
    assert in_pipe(reads) == 0
    assert pid > 1
    signal_child(pid, signal.SIGKILL)
    # These reads are pending in the server until the tokens are put back.
    take(reads)
    take(reads)
    assert reap(pid) == -signal.SIGKILL
    for _ in range(3):
        give(writes)
    all_back(reads, 3)


def nonblocking():
    """Two non-blocking descriptors and a poll, as in ninja, which returns the byte it read."""
    def opened():
        path = re.findall(r"auth=fifo:(\S+)", os.environ["MAKEFLAGS"])[-1]
        return (os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC),
                os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def work(report):
        reads, _ = opened()
        take(reads)
        take(reads)
        report()
        signal.pause()

    pid, reports = child(work)
    assert os.read(reports, 9) == b"done"
    reads, writes = opened()
    try:
        os.read(reads, 1)
        sys.exit("an unexpected token")
    except BlockingIOError:
        pass
    assert pid > 1
    signal_child(pid, signal.SIGKILL)
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
    """Raised by SIGALRM, once in each attempt."""
    wanted = False


def on_alarm(_number, _frame):
    if Alarm.wanted:
        Alarm.wanted = False
        raise Alarm


def interrupted():
    """A child has the only token.  Reads of the parent are interrupted by signals."""
    def work(report):
        reads, writes = connect()
        take(reads)
        report()
        # Wait until the parent has made all its attempts.
        signal.sigwait({signal.SIGUSR1})
        give(writes)

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    pid, reports = child(work)
    assert os.read(reports, 9) == b"done"
    reads, writes = connect()
    signal.signal(signal.SIGALRM, on_alarm)
    # Repeatedly: a signal just before the read does not interrupt it.
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    for _ in range(20):
        try:
            Alarm.wanted = True
            os.read(reads, 1)
            sys.exit("an unexpected token")
        except Alarm:
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal_child(pid, signal.SIGUSR1)
    assert reap(pid) == 0
    take(reads)
    assert in_pipe(reads) == 0
    give(writes)
    all_back(reads, 1)


def handed():
    """A child reads a token, the parent returns it, and the child is killed."""
    def work(report):
        reads, _ = connect()
        take(reads)
        report()
        signal.pause()

    pid, reports = child(work)
    assert os.read(reports, 9) == b"done"
    reads, writes = connect()
    give(writes)
    all_back(reads, 2)
    assert pid > 1
    signal_child(pid, signal.SIGKILL)
    reap(pid)
    # When the server has answered another call, it has handled the death.
    take(reads)
    give(writes)
    all_back(reads, 2)


def left():
    """A child takes two tokens and exits.  The parent has no write end open."""
    def work(_report):
        reads, _ = connect()
        take(reads)
        take(reads)

    pid, _ = child(work)
    assert reap(pid) == 0
    path = re.findall(r"auth=fifo:(\S+)", os.environ["MAKEFLAGS"])[-1]
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    all_back(fd, 2)


def no_descriptors():
    """A read is pending when the server runs out of descriptors.

    The server cannot find out then which process a call belongs to.
    """
    def work(report):
        take(reads)
        report()

    def is_reading():
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            words = file.read().split()
        return words[0] != "running" and int(words[1], 16) == reads

    server = os.getppid()
    soft, hard = resource.prlimit(server, resource.RLIMIT_NOFILE)
    reads, writes = connect()
    take(reads)
    pid, reports = child(work)
    while not is_reading():
        time.sleep(0.002)
    # Calls are answered in order: after this one, the server has the read of the child.
    with open(__file__, "rb", buffering=0) as file:
        take(file.fileno())
    # poll(2) allows no more entries than the limit; the server uses four here.
    resource.prlimit(server, resource.RLIMIT_NOFILE, (4, hard))
    give(writes)
    if not select.select([reports], [], [], 60)[0]:
        signal_child(pid, signal.SIGKILL)
        sys.exit("the read was not answered")
    resource.prlimit(server, resource.RLIMIT_NOFILE, (soft, hard))
    assert reap(pid) == 0
    give(writes)
    all_back(reads, 1)


def leave():
    """Detach as a daemon: a new session, and no inherited standard streams."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def daemon():
    """A process outlives the server and then reads one byte of a file."""
    server = os.getppid()

    def work(report):
        leave()
        report()
        while os.path.exists(f"/proc/{server}"):
            time.sleep(0.002)
        with open(__file__, "rb", buffering=0) as file:
            byte = os.read(file.fileno(), 1)
        with open("read.part", "wb") as file:
            file.write(byte)
        os.rename("read.part", "read")

    _, reports = child(work)
    assert os.read(reports, 9) == b"done"


def stays():
    """A process outlives the server, without inherited descriptors, until a file exists."""
    os.close(int(os.environ["INHERITED"]))

    def work(report):
        leave()
        report()
        while not os.path.exists("go"):
            time.sleep(0.002)
        os.close(os.open("gone", os.O_CREAT | os.O_WRONLY))

    _, reports = child(work)
    assert os.read(reports, 9) == b"done"


def reader():
    """A read of an empty pipe that no process has open for writing."""
    reads, writes = connect()
    os.close(writes)
    os.read(reads, 1)


{"killed": killed, "nonblocking": nonblocking, "excess": excess, "interrupted": interrupted,
 "handed": handed, "left": left, "no_descriptors": no_descriptors, "daemon": daemon,
 "stays": stays, "reader": reader}[sys.argv[1]]()
