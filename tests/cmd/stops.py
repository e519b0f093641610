# SPDX-License-Identifier: MIT
"""Stop points: run weir until its Nth stop at a system call, with ptrace(2).

Every entry and every return of a system call is a stop.  A stopped process has done
exactly what it did before, so a signal that is sent then arrives at a known place.
"""
import ctypes
import os
import signal

from support import ENV, Failed, Skipped
import support

TRACEME, CONT, SYSCALL, DETACH, SETOPTIONS, GETEVENTMSG = 0, 7, 24, 17, 0x4200, 0x4201
WALL = 0x40000000
EXIT_GROUP = "231" if os.uname().machine == "x86_64" else "94"
SYSGOOD, FORK, VFORK, EXITKILL = 1, 2, 4, 0x100000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, None, data) < 0 and request != DETACH:
        raise OSError(ctypes.get_errno(), f"ptrace({request})")


def is_allowed():
    """Returns true if the system allows what Stopped does.

    An unprivileged container or a security module may refuse it.
    """
    pid = os.fork()
    if not pid:
        if libc.ptrace(TRACEME, 0, None, None) == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(1)
    status = os.waitpid(pid, WALL)[1]
    try:
        if os.WIFSTOPPED(status):
            ptrace(SETOPTIONS, pid, SYSGOOD | EXITKILL | FORK | VFORK)
            ptrace(SYSCALL, pid)
            status = os.waitpid(pid, WALL)[1]
    except OSError:
        pass
    if not os.WIFSTOPPED(status):
        return False
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, WALL)
    return os.WSTOPSIG(status) == signal.SIGTRAP | 0x80


def need_ptrace():
    """Skip the test if ptrace is refused."""
    if not is_allowed():
        raise Skipped("ptrace is refused")


class Stopped:
    """weir, stopped at the Nth stop of its wrapper, or of its guardian and job.

    `reached` is false if it made fewer stops; it has ended then.
    """

    def __init__(self, number, args, wrapper=False, fork=os.fork):
        self.number = number
        self.stops = 0
        self.reached = False
        self.status = None
        self.last = None
        self.pid = fork()
        if not self.pid:
            libc.ptrace(TRACEME, 0, None, None)
            os.execve(support.WEIR, ["weir", *args], ENV)
        os.waitpid(self.pid, WALL)
        self.wrapper = wrapper
        self.known = {self.pid}
        ptrace(SETOPTIONS, self.pid, SYSGOOD | EXITKILL | FORK | (0 if wrapper else VFORK))
        ptrace(SYSCALL if wrapper else CONT, self.pid)
        while not self.reached and self.status is None:
            self.step()

    def step(self):
        """Handle one event of a process, and let the process continue."""
        pid, status = os.waitpid(-1, WALL)
        if not os.WIFSTOPPED(status):
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)
            return
        sig, event = os.WSTOPSIG(status), status >> 16
        counted = self.wrapper == (pid == self.pid)
        if pid not in self.known:
            # The first stop of a child, before the stop of its parent.  The child must
            # not make its Nth stop while its parent has not returned from its fork.
            self.known.add(pid)
            return
        if event:
            self.take_child(pid)
            sig = 0
        elif sig == signal.SIGTRAP:
            sig = 0
        elif sig == signal.SIGTRAP | 0x80:
            sig = 0
            self.stops += 1
            if self.stops == self.number:
                self.reached = True
                self.last = pid
                return
        if not counted and (event or pid != self.pid):
            ptrace(DETACH, pid)
        else:
            ptrace(SYSCALL if counted and not self.reached else CONT, pid, sig)

    def exits(self):
        """Returns true if the process is stopped at the entry of exit_group(2)."""
        with open(f"/proc/{self.last}/syscall") as file:
            return file.read().split()[0] == EXIT_GROUP

    def forked(self):
        """Returns true if weir has forked."""
        return len(self.known) > 1

    def take_child(self, parent):
        """A process has forked.  Its child continues from its first stop."""
        child = ctypes.c_ulong()
        ptrace(GETEVENTMSG, parent, ctypes.addressof(child))
        if child.value not in self.known:
            self.known.add(child.value)
            os.waitpid(child.value, WALL)
        ptrace(DETACH if self.wrapper else SYSCALL, child.value)

    def go(self):
        """Let all processes continue.  Returns the exit status of weir."""
        if self.last:
            ptrace(CONT, self.last)
        signal.signal(signal.SIGALRM, self.fail)
        signal.alarm(support.LIMIT)
        while self.status is None:
            self.step()
        signal.alarm(0)
        return self.status

    def fail(self, *_):
        raise Failed(f"stop {self.number}: weir does not end")
