# SPDX-License-Identifier: MIT
"""Confinement of a run as root, in a mount and a PID namespace of its own.

A mutant executes wrong code with the rights of the user.  As root, a lost check lets it
change the mode of /dev/null or write into a folder of another user.  So every mount is
read-only, except the folder of the run; /tmp and /dev/shm are private.  A read-only mount
of a device still permits to write to the device, but not to change its mode.  The PID
namespace hides other processes, so that a mutant cannot signal them, and ends what a
mutant leaves running.
"""
import os
import subprocess
import sys

INSIDE = "WEIR_MUTATE_INSIDE"
PRIVATE = ("/tmp", "/dev/shm")


def mount(*args):
    subprocess.run(["mount", *args], check=True)


def mount_points():
    """From the root down.  The last mount on a folder covers earlier ones."""
    with open("/proc/self/mounts") as file:
        return list(dict.fromkeys(
            line.split()[1].encode().decode("unicode_escape") for line in file))


def mount_all(where):
    for point in mount_points():
        if not (point + "/").startswith("/proc/"):
            mount("-o", "remount,bind,ro", point)
    # A bind mount has the flags of the mount that it is made from.
    mount("--bind", where, where)
    mount("-o", "remount,bind,rw", where)
    for point in PRIVATE:
        mount("-t", "tmpfs", "-o", "mode=1777", "weir-mutate", point)


def init():
    """Return in a child.  The first process of the namespace reaps orphans, and signals
    without a handler do not reach it, so it does nothing else."""
    child = os.fork()
    if not child:
        return
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def enter(where):
    """Does nothing for other users: a mutant can change what its user can change."""
    if os.geteuid():
        return
    os.makedirs(where, exist_ok=True)
    where = os.path.realpath(where)
    for point in PRIVATE:
        if where.startswith(point + "/"):
            sys.exit(f"tools/mutate: as root, the repository must not be in {point}")
    if os.environ.pop(INSIDE, None) is None:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                              "--mount-proc", sys.executable,
                              os.path.realpath(sys.argv[0]), *sys.argv[1:]])
    mount_all(where)
    init()
