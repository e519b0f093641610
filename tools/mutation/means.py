# SPDX-License-Identifier: MIT
"""Run a program with a mutant, and detect failures and hangs.

Test programs print a line per test.  A test hangs if its line does not come within a
multiple of its usual time; the time is scaled down while the CPUs are overloaded.
"""
import math
import os
import resource
import select
import signal
import subprocess
import tempfile
import time

PATIENCE_S = 1.5
SLOWER = 20
HANGS = "hangs"


class Killed(Exception):
    """The mutant was detected; the text names the test and the failure."""


def environment(seed):
    env = dict(os.environ, WEIR_SEED=str(seed), WEIR_TEST_LIMIT="600",
               TSAN_OPTIONS="halt_on_error=1:die_after_fork=0",
               MALLOC_PERTURB_="165")
    # Always use the short forms of the tests.
    for name in ("WEIR_FULL", "WEIR_TEST_SCALE"):
        env.pop(name, None)
    return env


class Clock:
    """Time scaled by the share of the CPUs that a program gets."""

    def __init__(self):
        self.cpus = len(os.sched_getaffinity(0))
        self.restart()

    def restart(self):
        self.seen, self.passed_s = time.monotonic(), 0

    def tick(self):
        with open("/proc/loadavg") as file:
            running = int(file.read().split()[3].split("/")[0])
        now = time.monotonic()
        self.passed_s += (now - self.seen) * min(1, self.cpus / running)
        self.seen = now
        return self.passed_s


def exit_status(pid):
    """The status as in subprocess, or None while it runs.  Does not reap the process:
    its process ID must not be reused before its group has been killed."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED \
        else -ended.si_status


def lines_of(command, limit, env):
    """Yield the lines that command prints, with the time each took.

    limit() is the longest time for the next line.  The last item is (None, exit
    status), with HANGS as the status if a line was late.
    """
    # A test that is killed leaves its semaphores here.
    files = tempfile.TemporaryDirectory(prefix="weir-mutate-", dir="/dev/shm",
                                        ignore_cleanup_errors=True)
    # Tests that become another user must be able to enter it.
    os.chmod(files.name, 0o711)
    # Not /dev/null: a mutant that runs as root may change the mode of its input.
    empty = tempfile.TemporaryFile()
    process = subprocess.Popen(
        command, stdin=empty, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env={**env, "WEIR_TEST_SHM": files.name},
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    fd, rest, clock = process.stdout.fileno(), b"", Clock()
    begun, status, open_ = time.monotonic(), None, True
    try:
        while status is None:
            if open_ and select.select([fd], [], [], 0.1)[0]:
                data = os.read(fd, 65536)
                open_ = bool(data)
                now = time.monotonic()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    yield line.decode(errors="replace"), now - begun
                    begun = now
                    clock.restart()
            elif clock.tick() > limit():
                status = HANGS
            if not open_:
                if status is None:
                    status = exit_status(process.pid)
                time.sleep(0.001 if status is None else 0)
    finally:
        # Kills processes that a test has forked, too.
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
        empty.close()
        files.cleanup()
    yield None, status


def measure(command, env):
    """The tests of a program in the order of execution: [(name, seconds)]."""
    times, said = [], []
    for line, value in lines_of(command, lambda: 60, env):
        if line is None and value != 0:
            raise RuntimeError(f"{command} fails without a mutant: {value}\n" +
                               "\n".join(said[-5:]))
        said.append(line)
        if line and line.startswith("ok "):
            times.append((line[3:], value))
    return times


def try_tests(command, tests, env):
    """Run these tests of a program; raise Killed if a test fails or hangs."""
    passed = 0

    def limit():
        return PATIENCE_S + SLOWER * (tests[passed][1] if passed < len(tests)
                                      else 0)

    if not tests:
        return
    names = sorted({name for name, _ in tests})
    for line, value in lines_of([*command, *names], limit, env):
        if line is not None:
            passed += line.startswith("ok ")
        elif value != 0:
            name = tests[passed][0] if passed < len(tests) else "the end"
            how = value if value == HANGS else "fails" if value > 0 \
                else signal.Signals(-value).name
            raise Killed(f"{name} {how}")


def explore(command, seconds, env):
    """Yield the explorer's message for each scenario that fails."""
    whole = Clock()

    def limit():
        return 0 if whole.tick() > seconds else math.inf

    for line, value in lines_of(command, limit, env):
        if line is None:
            # A search that does not end in time is not a failure.
            if value not in (0, 1, HANGS):
                yield f"explorer ends with {value}"
        elif line.startswith("FAIL "):
            yield line[5:]
