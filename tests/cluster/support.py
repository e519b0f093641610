# SPDX-License-Identifier: MIT
"""Helpers of the tests: the programs, and a runner for functions test_*."""
import ast
import os
import re
import subprocess
import sys
import time
import traceback

from servers import Skip, await_

PROGRAMS = os.environ.get("WEIR_TEST_PROGRAMS", ".")
CLIENT = PROGRAMS + "/cluster-client"
TOOL = PROGRAMS + "/cluster-tool"
STEPS = PROGRAMS + "/cluster-steps"


def redis_script():
    """The script for Redis, as the library embeds it."""
    with open(PROGRAMS + "/../../src/cluster/redis_script.c", encoding="ascii") as file:
        return "".join(ast.literal_eval(line) for line in file if line.startswith('"'))


def tool(url, *words, check=True, timeout=60, env=None):
    # The time limit of a request is for the calls under test, not for the calls that
    # prepare and look.
    if check and words[0] in ("create", "resize", "stat"):
        url = re.sub(r"[?&]timeout=\w+$|timeout=\w+&", "", url)
        url += ("&" if "?" in url else "?") + "timeout=30s"
    done = subprocess.run([TOOL, url, *map(str, words)], stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                          env=dict(os.environ, **(env or {})))
    text = done.stdout.decode(errors="replace")
    assert done.returncode >= 0, f"killed by a signal: {text}"
    assert not check or done.returncode == 0, text
    return text


def stat(url):
    words = tool(url, "stat").split("\n", 1)[0].split()
    return {k: int(v) for k, v in zip(words[::2], words[1::2])}


def creator(url):
    """For Storm: create a semaphore."""
    return lambda name, capacity: tool(url + name, "create", capacity)


class Holder:
    """A process that takes permits and holds them until release()."""

    program = TOOL

    def __init__(self, url, weight=1, verb="take", env=None, where=(), more=()):
        """where: words before the command, which run it on another machine."""
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([*where, self.program, url, verb, str(weight),
                                         *map(str, more)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=dict(os.environ, **(env or {})))
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def output(self):
        self.text += (self.process.stdout.read() or b"").decode()
        return self.text

    def says(self, word):
        return word in self.output()

    def await_(self, word, seconds=60):
        try:
            await_(lambda: self.says(word), word, seconds)
        except AssertionError:
            raise AssertionError(f"never: {word!r} in {self.text!r}") from None
        return self

    def number(self, word):
        words = self.output().split()
        return int(words[words.index(word) + 1])

    def time_of(self, event):
        """Microseconds at which an event was printed."""
        for line in self.output().splitlines():
            if line.startswith(event):
                words = line.split()
                return int(words[words.index("time") + 1])
        raise AssertionError(event)

    def release(self):
        self.process.stdin.close()
        self.process.stdin = open(os.devnull, "wb")     # pylint: disable=consider-using-with
        self.process.wait(60)
        return self.output()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Steps(Holder):
    """A process that makes calls in several steps: steps.c."""
    program = STEPS

    def go(self):
        """Make the next step."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()


def main(module):
    """Run the functions test_* of the module, or those named as arguments."""
    failed = skipped = passed = 0
    tests = {n: f for n, f in vars(module).items() if n.startswith("test_")}
    for name in sys.argv[1:] or tests:
        started = time.monotonic()
        try:
            tests[name]()
            passed += 1
            print(f"ok {name} ({time.monotonic() - started:.1f} s)", flush=True)
        except Skip as why:
            skipped += 1
            print(f"skipped: {name}: {why}", flush=True)
        except Exception as problem:   # pylint: disable=broad-except
            failed += 1
            traceback.print_exc()
            print(f"FAIL {name}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 77 if not passed else 0)
