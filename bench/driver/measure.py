# SPDX-License-Identifier: MIT
"""One measurement: one process on given CPUs, with a time limit."""
import ctypes
import json
import os
import resource
import subprocess
import time

from . import machine, stats

CANNOT = 3              # exit status: the peer does not support the workload
DISTURBED = 0.05        # share of the CPUs that other processes may use
TRIES = 4
PR_SET_TIMERSLACK = 29

libc = ctypes.CDLL(None, use_errno=True)


class Cpus:
    """CPU sets: all, one, two.  On a machine with two CPUs, two means all."""

    def __init__(self):
        every = sorted(os.sched_getaffinity(0))
        self.sets = {'free': every, 'one': every[-1:], 'two': every[-2:]}

    def __getitem__(self, mode):
        return set(self.sets[mode])


def prepare(cpus):
    """Runs in the child, before the program."""
    os.sched_setaffinity(0, cpus)
    # By default the kernel may extend a sleep by 50 us; a storm of short timeouts
    # would measure that.
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)


def own_seconds():
    total = 0
    for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


def attempt(command, cpus, limit):
    """Returns a result; 'share' is the share of the CPUs that other processes used."""
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
    """Returns the share of the CPUs that other processes use at present."""
    busy = machine.busy_ticks(cpus)
    own = own_seconds()
    time.sleep(seconds)
    return stats.others_share(machine.busy_ticks(cpus) - busy,
                              own_seconds() - own, seconds, len(cpus),
                              machine.TICK_HZ)


class Repeats:
    """
    Repeats disturbed measurements.  All repetitions together have a limit in seconds,
    so that a run ends even on a machine that is never idle.
    """

    def __init__(self, seconds):
        self.left = seconds
        self.made = 0

    def measure(self, command, cpus, limit):
        found = None
        for _ in range(TRIES):
            start = time.monotonic()
            again = attempt(command, cpus, limit)
            # A single hang may be an accident: try once more.
            if again['status'] == 'hung':
                again = attempt(command, cpus, limit)
            if found:
                self.made += 1
                self.left -= time.monotonic() - start
            # Keep the least disturbed result.
            if not found or again['share'] < found['share']:
                found = again
            if found['share'] <= DISTURBED or self.left <= 0:
                break
        found['disturbed'] = found['share'] > DISTURBED
        return found
