#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a test that kills processes, so that no process outside the test is signalled and
none of its processes is left behind.

    contain.py COMMAND...

If the system allows it, the command runs in a PID namespace.  Otherwise (in a container,
in a chroot) it runs as a child of this process, and orphans of the test are reparented to
this process, which kills them when the command has ended.

WEIR_CONTAINED is "namespace", or the PID of this process.  The test sends signals
with send_signal.
"""
import ctypes
import os
import signal
import subprocess
import sys

CONTAINED = "WEIR_CONTAINED"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def parent(pid):
    """The PID of pid's parent; 0 if pid has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def is_ours(pid):
    """Returns True if pid is a descendant of the process that contains this test."""
    root = os.environ.get(CONTAINED)
    if root == "namespace":
        return pid > 1
    while pid > 1 and pid != os.getpid():
        pid = parent(pid)
        if pid in (os.getpid(), int(root or 0)):
            return True
    return False


def send_signal(pid, sig):
    """Signal a process of this test.  Raises ProcessLookupError if it has ended.

    A pidfd refers to one process, also if its PID is used again.  The descent is
    checked after the descriptor was opened: if the PID was used again in between,
    either the check fails, or the descriptor's process has ended.
    """
    fd = os.pidfd_open(pid)
    try:
        if not is_ours(pid):
            raise ProcessLookupError(f"{pid} is not a process of this test")
        signal.pidfd_send_signal(fd, sig)
    finally:
        os.close(fd)


def namespace_command():
    """The unshare(1) command that works here, or None."""
    pid = ["--pid", "--fork", "--kill-child", "--mount-proc"]
    for options in ([], ["--user", "--map-current-user"]):
        command = ["unshare", *options, *pid]
        try:
            if subprocess.run([*command, "true"], stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            return None
    return None


def kill_children():
    """Kill and reap until this process has no child; orphans become children."""
    me = os.getpid()
    while True:
        with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as file:
            pids = [int(word) for word in file.read().split()]
        for pid in pids:
            # A child that was not reaped keeps its PID.
            fd = os.pidfd_open(pid)
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.close(fd)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def stop(number, _frame):
    sys.exit(128 + number)


def reap_for(command):
    """Run the command as a child, adopt its orphans; returns its exit status."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit(f"contain: prctl: {os.strerror(ctypes.get_errno())}")
    env = {**os.environ, CONTAINED: str(os.getpid())}
    child = os.fork()
    if child == 0:
        # The kernel sends SIGHUP to a group with a stopped process when the last member
        # with a parent in another group ends.  This parent stays in another group.
        os.setpgid(0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.execvpe(command[0], command, env)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == child:
                break
    finally:
        kill_children()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    unshare = namespace_command()
    if not unshare:
        sys.exit(reap_for(command))
    os.environ[CONTAINED] = "namespace"
    # The shell is the first process of the namespace and reaps.
    os.execvp("unshare", [*unshare, "sh", "-c", '"$@"; exit $?', "sh", *command])


if __name__ == "__main__":
    main()
