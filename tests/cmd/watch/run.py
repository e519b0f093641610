#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of weir watch: run.py WEIR lines|screen [TEST...]

The tests wait for conditions that can be observed: on the screen, or in a line.
"""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from screen import Screen  # noqa: E402

LIMIT = int(os.environ.get("WEIR_TEST_LIMIT", "120"))  # timeout of every wait, in seconds


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class Holder:
    """weir run, holding permits (or waiting for them) until end()."""

    def __init__(self, name, *options, weight=1, label="holder"):
        self.process = subprocess.Popen(
            [WEIR, "run", name, "-q", "-w", str(weight), "-l", label, *options, "--", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def holds(self):
        self.process.stdin.write(b"x\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == b"x\n", "it does not run")
        return self

    def end(self):
        self.process.stdin.close()
        check(self.process.wait(LIMIT) == 0, "weir run failed")
        self.process.stdout.close()


class Lines:
    """weir watch with a pipe as its output."""

    def __init__(self, *args):
        self.process = subprocess.Popen([WEIR, "watch", *args], stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL)
        self.rest = b""

    def line(self):
        end = time.monotonic() + LIMIT
        while b"\n" not in self.rest:
            check(select.select([self.process.stdout], [], [], end - time.monotonic())[0],
                  "no line")
            more = os.read(self.process.stdout.fileno(), 65536)
            check(more, "it ended")
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def until(self, text):
        """Returns the first line that contains text."""
        for _ in range(1000):
            line = self.line()
            if text in line:
                return line
        raise Failed(f"no line has {text!r}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(LIMIT) == -signal.SIGTERM, "it did not end by the signal")
        self.process.stdout.close()


class Terminal:
    """weir watch on a new terminal."""

    def __init__(self, *args, rows=24, columns=80, stderr=subprocess.PIPE, **env):
        self.master, slave = pty.openpty()
        self.screen = Screen(rows, columns)
        self.size(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.bytes = 0
        self.raw = b""
        self.process = subprocess.Popen(
            [WEIR, "watch", *args], stdin=slave, stdout=slave, stderr=stderr,
            env=dict(os.environ, **{"TERM": "xterm", "LC_ALL": "C.UTF-8", **env}),
            start_new_session=True,
            preexec_fn=self.set_up_terminal)

    @staticmethod
    def set_up_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # A shell ignores these signals in background jobs.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    def size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.drain()
        self.screen.resize(rows, columns)
        self.size(rows, columns)

    def drain(self, wait=0.0):
        if select.select([self.master], [], [], wait)[0]:
            data = os.read(self.master, 65536)
            self.bytes += len(data)
            self.raw += data
            self.screen.feed(data)
            return True
        return False

    def shows(self, *texts):
        end = time.monotonic() + LIMIT
        while not all(text in self.screen.text() for text in texts):
            if time.monotonic() > end:
                raise Failed(f"{texts} not on the screen:\n{self.screen.text()}")
            self.drain(0.1)

    def hides(self, text):
        end = time.monotonic() + LIMIT
        while text in self.screen.text():
            check(time.monotonic() < end, f"{text} stays:\n{self.screen.text()}")
            self.drain(0.1)

    def comes(self, get, want):
        """Wait until get() returns want."""
        end = time.monotonic() + LIMIT
        while get() != want:
            check(time.monotonic() < end, f"{get()}, not {want}:\n{self.screen.text()}")
            self.drain(0.1)

    def line(self, number):
        return self.screen.lines()[number]

    def key(self, key):
        os.write(self.master, key.encode())

    def ends(self, status):
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            check(time.monotonic() < end, "it does not end")
            self.drain(0.02)
        while self.drain():
            pass
        error = ""
        if self.process.stderr:
            error = self.process.stderr.read().decode()
            self.process.stderr.close()
        check(self.process.returncode == status, f"{self.process.returncode}: {error}")
        check(termios.tcgetattr(self.slave) == self.before, "the terminal is not restored")
        check(1049 not in self.screen.modes, "still on the alternate screen")
        # Mode 25: the cursor is visible.
        check(25 in self.screen.modes, "the cursor is hidden")
        check(not self.screen.unknown, f"screen.py does not support {self.screen.unknown}")
        os.close(self.master)
        os.close(self.slave)
        return error


def fresh(capacity):
    """A new semaphore with one holder."""
    fresh.number += 1
    name = f"w{fresh.number}"
    return name, Holder(name, "-n", str(capacity), label="first one").holds()


fresh.number = 0


def lines_show_changes():
    name, holder = fresh(3)
    watch = Lines(name)
    line = watch.line()
    check(f"{name}: 1 of 3 in use, 0 waiting; " in line and line.endswith(" first one"), line)
    other = Holder(name, weight=2, label="heavy").holds()
    line = watch.until("3 of 3 in use")
    check(line.endswith(" heavy (2)"), line)
    third = Holder(name, label="late")
    watch.until("1 waiting")
    other.end()
    watch.until("2 of 3 in use, 0 waiting")
    third.holds().end()
    holder.end()
    watch.until("0 of 3 in use, 0 waiting")
    watch.end()


def lines_in_an_interval():
    name, holder = fresh(2)
    watch = subprocess.run([WEIR, "watch", name, "-i", "20ms", "--count", "5"],
                           capture_output=True, text=True, timeout=LIMIT, check=True,
                           stdin=subprocess.DEVNULL)
    check(watch.stdout.count("1 of 2 in use") == 5, watch.stdout)
    holder.end()


def count_prints_lines_on_a_terminal():
    name, holder = fresh(2)
    watch = Terminal(name, "--count", "1")
    end = time.monotonic() + LIMIT
    while watch.process.poll() is None and time.monotonic() < end:
        watch.drain(0.02)
    check(watch.process.poll() == 0, "it does not end")
    watch.shows("1 of 2 in use, 0 waiting")
    check(1049 not in watch.screen.modes, "a view")
    watch.process.stderr.close()
    os.close(watch.master)
    os.close(watch.slave)
    holder.end()


def weir(*args):
    subprocess.run([WEIR, *args], timeout=LIMIT, check=True, stdin=subprocess.DEVNULL,
                   capture_output=True)


def lines_show_capacity_and_name():
    name, holder = fresh(2)
    watch = Lines(name)
    watch.until("1 of 2 in use")
    weir("resize", name, "0")
    watch.until("1 of 0 in use, 0 waiting, debt 1")
    weir("resize", name, "3")
    watch.until("1 of 3 in use, 0 waiting;")
    weir("close", name)
    watch.until("1 of 3 in use, 0 waiting, closed;")
    weir("rm", "-f", name)
    watch.until("closed, name removed;")
    # The watch switches to the new semaphore of that name.
    other = Holder(name, "-n", "5", label="another").holds()
    line = watch.until("1 of 5 in use, 0 waiting;")
    check(line.endswith(" another"), line)
    other.end()
    holder.end()
    watch.end()


def json_objects():
    name, holder = fresh(2)
    watch = Lines(name, "--json")
    first = json.loads(watch.line())
    check(first["name"] == name and first["capacity"] == 2 and first["held"] == 1, str(first))
    check(first["entries"][0]["label"] == "first one", str(first))
    holder.end()
    while json.loads(watch.line())["held"]:
        pass
    watch.end()


def json_and_lines():
    """--json implies --lines, in both orders."""
    name, holder = fresh(2)
    for args in (("--json", "--lines"), ("--lines", "--json")):
        watch = Lines(name, *args)
        check(json.loads(watch.line())["name"] == name, str(args))
        watch.end()
    holder.end()


def no_line_without_a_change():
    name, holder = fresh(2)
    watch = Lines(name, "--json")

    def state():
        text = watch.line()
        now = json.loads(text)
        for entry in now["entries"]:
            del entry["age_ms"]
        return text, now

    text, last = state()
    # Several snapshots of the same state.
    time.sleep(0.5)
    holder.end()
    while last["held"]:
        before, (text, now) = text, state()
        check(now != last, f"printed again:\n{before}\n{text}")
        last = now
    watch.end()


def misuse():
    for args, status in (([], 64), (["a", "b"], 64), (["--count", "0", "a"], 64),
                         (["-i", "x", "a"], 64), (["nothing-of-this-name"], 69)):
        done = subprocess.run([WEIR, "watch", *args], capture_output=True, timeout=LIMIT,
                              check=False, stdin=subprocess.DEVNULL)
        check(done.returncode == status and done.stderr, f"{args}: {done}")


def closed_output():
    name, holder = fresh(2)
    done = subprocess.run(f"'{WEIR}' watch {name} >/dev/full", shell=True, timeout=LIMIT,
                          check=False, stdin=subprocess.DEVNULL, capture_output=True)
    check(done.returncode == 125 and b"cannot write" in done.stderr, str(done))
    holder.end()


def reader_ends():
    """It ends when the reader of its output has ended, without a change."""
    name, holder = fresh(2)
    for options in ([], ["-i", "1h"], ["--json"]):
        watch = subprocess.Popen([WEIR, "watch", name, *options], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(watch.stdout.readline(), "no line")
        watch.stdout.close()
        check(watch.wait(LIMIT) == -signal.SIGPIPE, f"{options}: {watch.returncode}")
        check(watch.stderr.read() == b"", "a message")
        watch.stderr.close()
    # If SIGPIPE is ignored, as after a failed write.
    watch = subprocess.Popen([WEIR, "watch", name], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False)
    check(watch.stdout.readline(), "no line")
    watch.stdout.close()
    check(watch.wait(LIMIT) == 125 and b"Broken pipe" in watch.stderr.read(), "ignored")
    watch.stderr.close()
    holder.end()


def lines_instead(terminal, reason):
    name, holder = fresh(2)
    watch = Terminal(name, TERM=terminal)
    end = time.monotonic() + LIMIT
    while "1 of 2 in use" not in watch.screen.text() and time.monotonic() < end:
        watch.drain(0.1)
    watch.process.send_signal(signal.SIGTERM)
    watch.process.wait(LIMIT)
    error = watch.process.stderr.read().decode()
    watch.process.stderr.close()
    check(reason in error and "printing lines instead" in error, error)
    check("1 of 2 in use" in watch.screen.text(), watch.screen.text())
    os.close(watch.master)
    os.close(watch.slave)
    holder.end()


def unknown_terminal():
    # The reason is another one if weir was built without curses.
    lines_instead("no-such-terminal", "")


def dumb_terminal():
    """curses starts on it, but a screen needs a cursor that moves."""
    lines_instead("dumb", "the terminal ($TERM) cannot move the cursor")


def bar_is(watch, full, rest):
    end = time.monotonic() + LIMIT
    while watch.line(1) != "now [" + "#" * full + "-" * rest + "]":
        check(time.monotonic() < end, watch.screen.text())
        watch.drain(0.1)


def screen_shows_all_parts():
    name, holder = fresh(4)
    watch = Terminal(name, "-i", "20ms")
    watch.shows(f"{name}  1 of 4 in use, 0 waiting", "use  ", "\u2582", "first one", "q quit")
    check(1049 in watch.screen.modes and 25 not in watch.screen.modes, "no view")
    bar_is(watch, 18, 56)
    row = [line for line in watch.screen.lines() if "first one" in line][0].split()
    check(row[:2] == ["holds", "1"] and int(row[2]) > 1, str(row))
    heavy = Holder(name, weight=3, label="heavy").holds()
    waits = [Holder(name, weight=2, label="waits a"), None]
    watch.shows("1 waiting", "waits a")
    waits[1] = Holder(name, label="waits b")
    watch.shows("4 of 4 in use, 2 waiting", "waits a", "waits b")
    bar_is(watch, 74, 0)
    # A process that is inside the lock has one more line.
    watch.comes(lambda: [line.split()[0] for line in watch.screen.lines() if "waits" in line],
                ["1", "2"])
    # The use over time reaches the highest level.
    watch.shows("\u2588")
    heavy.end()
    watch.shows("0 waiting")
    for other in waits:
        other.holds().end()
    holder.end()
    watch.shows("0 of 4 in use")
    bar_is(watch, 0, 74)
    watch.key("q")
    watch.ends(0)


def screen_sorts_and_pauses():
    name, holder = fresh(9)
    others = [Holder(name, weight=w, label=l).holds() for w, l in ((3, "zz"), (2, "aa"))]
    watch = Terminal(name, "-i", "20ms")
    watch.shows("sorted by age", "zz", "aa")

    def order():
        return [line.split("  ")[-1] for line in watch.screen.lines()
                if line.startswith("holds")]

    watch.key("s")
    watch.shows("sorted by weight")
    watch.comes(order, ["zz", "aa", "first one"])
    watch.key("s")
    watch.shows("sorted by process")
    watch.key("s")
    watch.shows("sorted by label")
    watch.comes(order, ["aa", "first one", "zz"])
    watch.key("p")
    watch.shows("paused", "p continue")
    others[0].end()
    # Another key redraws the view, without an update.
    watch.key("s")
    watch.shows("sorted by age", "6 of 9 in use", "zz")
    watch.key("p")
    watch.shows("3 of 9 in use", "p pause")
    watch.hides("zz")
    others[1].end()
    holder.end()
    watch.key("q")
    watch.ends(0)


def screen_resizes():
    name, holder = fresh(2)
    watch = Terminal(name, "-i", "20ms")
    watch.shows("1 of 2 in use", "]")
    for rows, columns in ((30, 120), (10, 40), (7, 30), (3, 20), (1, 5), (2, 1), (24, 80)):
        watch.resize(rows, columns)
        if columns >= 30:
            # The bar ends in the last column.
            end = time.monotonic() + LIMIT
            while len(watch.line(1)) != columns or not watch.line(1).endswith("]"):
                check(time.monotonic() < end, f"{rows}x{columns}:\n{watch.screen.text()}")
                watch.drain(0.1)
            watch.shows("1 of 2 in use")
    watch.shows("first one")
    holder.end()
    watch.key("q")
    watch.ends(0)


def screen_scrolls():
    name, holder = fresh(40)
    others = [Holder(name, label=f"label{i:02}").holds() for i in range(8)]
    watch = Terminal(name, "-i", "20ms", rows=10, columns=60)
    watch.shows("9 of 40 in use", "up down scroll", "first one")
    check("label07" not in watch.screen.text(), watch.screen.text())
    watch.key("\x1bOB" * 20)
    watch.shows("label07")
    watch.hides("first one")
    watch.key("k" * 20)
    watch.shows("first one")
    for other in others:
        other.end()
    holder.end()
    watch.key("q")
    watch.ends(0)


def clock(watch):
    """The time in the first line, in seconds."""
    hours, minutes, seconds = (int(part) for part in watch.line(0)[-8:].split(":"))
    return hours * 3600 + minutes * 60 + seconds


def screen_does_not_flicker():
    """Without changes, few bytes are written, and the screen is not cleared."""
    name, holder = fresh(2)
    watch = Terminal(name, "-i", "20ms")
    watch.shows("1 of 2 in use", "first one")
    # Wait until the line of use over time is full and does not change any more.
    end = time.monotonic() + LIMIT
    while watch.line(2) != "use  " + "\u2584" * 74:
        check(time.monotonic() < end, watch.line(2))
        watch.drain(0.1)
    cleared, before = watch.screen.cleared, watch.bytes
    # At least two seconds, by the clock in the view; more if this process was not scheduled.
    start = clock(watch)
    passed = 0
    while passed < 2:
        check(time.monotonic() < end, "the clock does not advance: " + watch.line(0))
        watch.drain(0.1)
        passed = (clock(watch) - start) % 86400
    check(watch.screen.cleared == cleared, "cleared")
    check(watch.bytes - before < 400 * (passed + 1),
          f"{watch.bytes - before} bytes without a change in {passed} s")
    holder.end()
    watch.key("q")
    watch.ends(0)


def signals_restore_the_terminal():
    name, holder = fresh(2)
    for sig, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), ("\x03", 130),
                        ("\x1c", 131)):
        watch = Terminal(name)
        watch.shows("1 of 2 in use")
        if isinstance(sig, str):
            watch.key(sig)
        else:
            watch.process.send_signal(sig)
        watch.ends(status)
    holder.end()


def errors_restore_the_terminal_first():
    if not shutil.which("strace"):
        print("skipped: there is no strace")
        return
    name, holder = fresh(2)
    # Standard error is the terminal as well.
    watch = Terminal(name, "-i", "20ms", stderr=subprocess.STDOUT)
    watch.shows("1 of 2 in use")
    # The file cannot be read any more.
    with subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-e", "inject=pread64:error=EIO",
                           "-p", str(watch.process.pid)]):
        watch.ends(125)
    left = watch.raw.rindex(b"\x1b[?1049l")
    check(b"Input/output error" in watch.raw[left:], f"{watch.raw[left - 200:]!r}")
    holder.end()


def screen_with_a_long_interval():
    """An interval that overflows a clock."""
    name, holder = fresh(4)
    watch = Terminal(name, "-i", "9999999999d")
    watch.shows("1 of 4 in use", "sorted by age")
    other = Holder(name, label="later").holds()
    # A key redraws the view, without an update.
    watch.key("s")
    watch.shows("sorted by weight", "1 of 4 in use")
    watch.key("q")
    watch.ends(0)
    other.end()
    holder.end()


def screen_replaces_control_characters():
    name, holder = fresh(3)
    hostile = Holder(name, label="a\x1b[2Jb\tc\nd").holds()
    foreign = Holder(name, label="gr\u00fc\u00df \u6f22").holds()
    watch = Terminal(name, "-i", "20ms")
    watch.shows("a?[2Jb?c?d", "gr\u00fc\u00df \u6f22")
    watch.key("q")
    watch.ends(0)
    watch = Terminal(name, "-i", "20ms", LC_ALL="C")
    watch.shows("gr???? ???")
    watch.shows("#" * 74)
    watch.key("q")
    watch.ends(0)
    for other in (hostile, foreign, holder):
        other.end()


LINES = (lines_show_changes, lines_show_capacity_and_name, lines_in_an_interval,
         count_prints_lines_on_a_terminal, json_objects, json_and_lines, no_line_without_a_change, misuse, closed_output,
         reader_ends, unknown_terminal)
SCREEN = (screen_shows_all_parts, screen_sorts_and_pauses, screen_resizes, screen_scrolls,
          screen_does_not_flicker, signals_restore_the_terminal,
          errors_restore_the_terminal_first, screen_with_a_long_interval,
          screen_replaces_control_characters, dumb_terminal)


def main():
    failed = 0
    tests = LINES + (SCREEN if sys.argv[2] == "screen" else ())
    chosen = [test for test in tests if not sys.argv[3:] or test.__name__ in sys.argv[3:]]
    folder = tempfile.mkdtemp()
    os.environ["WEIR_DIR"] = folder
    os.environ.pop("NO_COLOR", None)
    for test in chosen:
        try:
            test()
            print("ok", test.__name__, flush=True)
        except (Failed, AssertionError, subprocess.SubprocessError, OSError) as error:
            failed += 1
            print(f"FAIL {test.__name__}: {error}", flush=True)
    shutil.rmtree(folder)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    WEIR = os.path.abspath(sys.argv[1])
    sys.exit(main())
