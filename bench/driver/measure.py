# SPDX-License-Identifier: MIT
"""One measurement: a process of its own, on given CPUs, with a time limit."""
import ctypes
import json
import os
import resource
import subprocess
import time

from . import machine, stats

CANNOT = 3              # a program's exit status: the peer has no such thing
DISTURBED = 0.05        # part of the CPUs that somebody else may use
TRIES = 4
PR_SET_TIMERSLACK = 29

libc = ctypes.CDLL(None, use_errno=True)


class Cpus:
    """The three ways to run: all, one, two; on a machine of two the last are all."""

    def __init__(self):
        every = sorted(os.sched_getaffinity(0))
        self.sets = {'free': every, 'one': every[-1:], 'two': every[-2:]}

    def __getitem__(self, mode):
        return set(self.sets[mode])


def prepare(cpus):
    """Runs in the child, before the program."""
    os.sched_setaffinity(0, cpus)
    # Threads otherwise sleep 50 us longer than they ask; a storm of short
    # timeouts would measure that.
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)


def own_seconds():
    total = 0
    for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


def attempt(command, cpus, limit):
    """Returns a result; 'share' is what others used of the CPUs."""
    busy = machine.busy_ticks(cpus)
    own = own_seconds()
    start = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, preexec_fn=lambda: prepare(cpus))
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return {'status': 'hung', 'limit': limit, 'share': 0}
    elapsed = time.monotonic() - start
    share = stats.others_share(machine.busy_ticks(cpus) - busy,
                               own_seconds() - own, elapsed, len(cpus),
                               machine.TICK_HZ)
    if child.returncode == CANNOT:
        return {'status': 'cannot', 'share': 0}
    try:
        values = json.loads(out) if child.returncode == 0 else None
    except ValueError:
        values = None
    if values is None:
        words = (err or out).strip().splitlines()
        return {'status': 'failed', 'share': share,
                'why': f'status {child.returncode}: {words[-1] if words else ""}'}
    return {'status': 'ok', 'share': share, 'values': values}


def others_now(cpus, seconds=0.5):
    """What part of the CPUs others use while we do nothing."""
    busy = machine.busy_ticks(cpus)
    own = own_seconds()
    time.sleep(seconds)
    return stats.others_share(machine.busy_ticks(cpus) - busy,
                              own_seconds() - own, seconds, len(cpus),
                              machine.TICK_HZ)


class Repeats:
    """
    A disturbed measurement is made again, but a machine that is never quiet must
    not keep a run from ending: all repeats together have a limit in seconds.
    """

    def __init__(self, seconds):
        self.left = seconds
        self.made = 0

    def measure(self, command, cpus, limit):
        found = None
        for _ in range(TRIES):
            start = time.monotonic()
            again = attempt(command, cpus, limit)
            # Twice is no accident.
            if again['status'] == 'hung':
                again = attempt(command, cpus, limit)
            if found:
                self.made += 1
                self.left -= time.monotonic() - start
            # Of the disturbed ones the least disturbed.
            if not found or again['share'] < found['share']:
                found = again
            if found['share'] <= DISTURBED or self.left <= 0:
                break
        found['disturbed'] = found['share'] > DISTURBED
        return found
