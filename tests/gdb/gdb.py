# SPDX-License-Identifier: MIT
"""gdb's printers and weir-explain, on a live process and on a core file.

    gdb.py WEIR TARGET LIBRARY [TEST...]

TARGET is the program of target.c, linked with LIBRARY, the file of libweir.so.
"""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Not this folder: its gdb.py is not a module.
sys.path[0] = os.path.join(HERE, "../cmd")
from support import *  # noqa: E402
import support  # noqa: E402

SOURCE = os.path.join(HERE, "../../src/gdb")
if "WEIR_GDB_TARGET" not in os.environ:
    os.environ["WEIR_GDB_TARGET"] = os.path.abspath(sys.argv.pop(2))
    os.environ["WEIR_GDB_LIBRARY"] = os.path.realpath(sys.argv.pop(2))
TARGET = os.environ["WEIR_GDB_TARGET"]
LIBRARY = os.environ["WEIR_GDB_LIBRARY"]

# The output of `print` for each variable of target.c.
SAID = {
    "watched": r'weir_sem "db_pool": 3 of 5 free, 1 waiting, fifo, not closed, door shut, watched',
    # The word of this one has the marked form.
    "quiet": r'weir_sem "quiet": 4 of 5 free, 0 waiting, fifo, not closed, door open, watched',
    "unwatched": r"weir_sem: 2 of 3 free, 0 waiting, 1 oversized, fifo, not closed, door shut",
    "ready": r"weir_sem: 0 free, unbounded, 0 waiting, fifo, not closed, door open",
    "barging": r"weir_sem: 7 of 7 free, 0 waiting, barging within 1000 us, not closed, door open",
    "debt": r'weir_sem "debt\?": 0 of 1 free, debt 3, 0 waiting, fifo, not closed, door \w+, watched',
    "closed": r"weir_sem: 2 of 2 free, 0 waiting, fifo, closed, door shut",
    "draining": r"weir_sem: 2 of 2 free, 0 waiting, fifo, closed \(drain\), door shut",
    "ended": r"weir_sem: destroyed",
    "held": r'weir_permit: 2 permits of "db_pool" at 0x[0-9a-f]+',
    "empty": r"weir_permit: empty",
    "root": r"weir_ctx: not ended, no deadline, 1 waiting, 1 children",
    "cancelled": r"weir_ctx: cancelled, no deadline, 0 waiting, 0 children",
}
CHILD = r", 1 waiting, 0 children, parent at 0x[0-9a-f]+"
CHILD_LIVE = r"weir_ctx: not ended, \d+\.\d{3} s left" + CHILD
CHILD_CORE = r"weir_ctx: not ended, deadline at \d+\.\d{3} s of CLOCK_MONOTONIC" + CHILD


def install():
    """Lay out the files as an installation does.  Returns options that make gdb look there."""
    share = path("share")
    folder = share + "/gdb/auto-load" + os.path.dirname(LIBRARY)
    if not os.path.exists(folder):
        os.makedirs(folder)
        os.makedirs(share + "/weir/gdb")
        os.makedirs(path("bin"))
        shutil.copy(SOURCE + "/load.py", share + "/weir/gdb")
        shutil.copy(SOURCE + "/weir_gdb.py", share + "/weir/gdb")
        shutil.copy(SOURCE + "/load.py", f"{folder}/{os.path.basename(LIBRARY)}-gdb.py")
        os.symlink(support.WEIR, path("bin/weir"))
    return ["-iex", f"add-auto-load-scripts-directory {share}/gdb/auto-load",
            "-iex", f"add-auto-load-safe-path {share}"]


def gdb(where, *commands):
    """Run the commands.  Returns the text between this and the next mark, for each."""
    words = ["gdb", "-nx", "-q", "-batch", *install(), *where]
    for command in commands:
        words += ["-ex", r"echo \n<<<", "-ex", command]
    # Without PATH: the command is found beside the module.
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, env={**support.ENV, "PATH": "/nonexistent"},
                          executable=shutil.which("gdb"))
    if "ptrace: Operation not permitted" in done.stderr:
        raise Skipped("needs the right to trace a process")
    said = done.stdout.split("\n<<<")[1:]
    same(len(said), len(commands), done.stdout + done.stderr)
    return said, done.stderr


class target:
    def __enter__(self):
        self.process = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=support.ENV)
        same(self.process.stdout.readline(), b"ready\n", "the target")
        return ["-p", str(self.process.pid)]

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def core():
    """Write a core file with gdb.  Returns the arguments that open it."""
    with target() as live:
        gdb(live, f"generate-core-file {path('core')}")
    return [TARGET, path("core")]


def check_printers(where, child):
    wants = {**SAID, "child": child}
    said, err = gdb(where, *(f"print {name}" for name in wants))
    for (name, want), text in zip(wants.items(), said):
        check(re.fullmatch(r"\$\d+ = " + want, text.split("\n")[0]), f"{name}: {text!r}\n{err}")
    # A pointer and a field, as people use them; and without the printer.
    said, err = gdb(where, "print *held.sem_", "print held", "print/r unwatched")
    check(re.search(SAID["watched"], said[0]), said[0])
    check("capacity_ = 3" in said[2], said[2])


def test_printers_live():
    with target() as live:
        check_printers(live, CHILD_LIVE)


def test_printers_core():
    check_printers(core(), CHILD_CORE)


def check_explain(where, kind):
    said, err = gdb(where, "weir-explain", "weir-explain left --json", "weir-explain nobody")
    check("DEADLOCK  2 contexts" in said[0], said[0] + err)
    check("left" in said[0] and "right" in said[0] and "db_pool" in said[0], said[0])
    same(json.loads(said[1])["verdict"], "DEADLOCK", kind)
    check("nobody" in err, err)


def test_explain_live():
    with target() as live:
        check_explain(live, "live")


def test_explain_core():
    check_explain(core(), "core")


def test_explain_errors():
    load = f"source {SOURCE}/load.py"
    _, err = gdb([TARGET], load, "weir-explain")
    check("no process and no core file" in err, err)
    # The module in the source folder has no command beside it.
    with target() as live:
        _, err = gdb([*live, "-iex", "set auto-load python-scripts off"], load, "weir-explain")
        check("the command weir was not found" in err, err)
        _, err = gdb(live, "set weir-command /nonexistent/weir", "weir-explain")
        check("/nonexistent/weir: No such file" in err, err)
        said, err = gdb(live, "show weir-command")
        check(path("bin/weir") in said[0], said[0] + err)


def test_broken_memory():
    """Addresses that cannot be read are named; the printer does not fail."""
    with target() as live:
        said, err = gdb(live, "set var unwatched.name_ = (char *)8", "print unwatched",
                        "set var unwatched.oversized_ = (void *)8", "print unwatched",
                        "set var held.sem_ = (void *)8", "print held")
        check("<name at 0x8 cannot be read>: 2 of 3 free" in said[1], said[1] + err)
        check("at least 1 oversized" in said[3], said[3] + err)
        check("2 permits of weir_sem at 0x8" in said[5], said[5] + err)


if __name__ == "__main__":
    probe = subprocess.run(["gdb", "-nx", "-batch", "-ex", "python print(6 * 7)"],
                           capture_output=True, text=True)
    if probe.stdout != "42\n":
        print("skipped: gdb: needs a gdb with Python")
        sys.exit(77)
    main()
