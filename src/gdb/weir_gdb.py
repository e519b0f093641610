# SPDX-License-Identifier: MIT
"""gdb: printers for weir_sem, weir_permit and weir_ctx, and the command weir-explain.

load.py loads this module.  gdb runs load.py by itself when it loads libweir.so, if weir
is installed below gdb's own prefix.  Otherwise, and for a program that contains
libweir.a:

    (gdb) source /usr/share/weir/gdb/load.py

The printers need debug information of the program, in which the public structs are
described, and none of the library.  `print/r` shows the fields.  The printers only read
memory: they work on core files as well, and call no function of the program.
"""
import os
import re
import shutil
import subprocess
import time

import gdb
import gdb.printing

# src/core/sem_word.h
DOORS = ("open", "spinning", "shut", "locked")
LOCKED = 3
SHUT = 2
UNBOUNDED, BARGING, CLOSED, DRAIN, TRACKED, DESTROYED = 1, 2, 4, 8, 32, 64
BOUND_SHIFT = 8

# src/core/ctx.c
CTX_DESTROYED = 0x64656164
CANCELED, TIMEDOUT = -1, -2

NAME_MOST = 64          # bytes of a name that are shown
RING_MOST = 1000000     # nodes of a list that are counted


def decode(word):
    """Returns the door and the value of word_."""
    marked = word >> 62 == 2 and word & LOCKED == SHUT
    if marked:
        word ^= 1 << 63
    if word >> 63:
        word -= 1 << 64
    return "open" if marked else DOORS[word & LOCKED], word >> 2


def name_at(address):
    """Returns the string at this address, quoted; None if there is none."""
    if not address:
        return None
    text = b""
    try:
        while len(text) < NAME_MOST and b"\0" not in text:
            text += bytes(gdb.selected_inferior().read_memory(address + len(text), 1))
    except gdb.MemoryError:
        if not text:
            return f"<name at {address:#x} cannot be read>"
    text = text.split(b"\0")[0].decode("utf-8", "replace")
    if not text:
        return None
    return '"' + "".join(c if c.isprintable() else "?" for c in text) + '"'


def length(first):
    """Returns the number of nodes of a ring, as text: a node may be unreadable."""
    count = 0
    node = first
    try:
        while int(node) and count < RING_MOST:
            count += 1
            node = node.dereference()["next_"]
            if int(node) == int(first):
                break
    except gdb.MemoryError:
        return f"at least {count}"
    return str(count) if count < RING_MOST else f"at least {count}"


def duration(ns):
    return f"{ns / 1e9:.3f} s"


def connection():
    """Returns "native", "core", "remote", ...; None if the program does not run."""
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        return None
    found = getattr(inferior, "connection", None)
    if found is not None:
        return found.type
    return "core" if core_file() else "native"


def core_file():
    """Returns the path of the core file that gdb has open; None if there is none."""
    found = re.search(r"core dump file:\s*`(.*)', file type",
                      gdb.execute("info files", to_string=True))
    return found.group(1) if found else None


class Sem:
    """weir_sem "db_pool": 3 of 20 free, 2 waiting, fifo, not closed, door shut, watched"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        sem = self.value
        state = int(sem["state_"])
        name = name_at(int(sem["name_"]))
        door, free = decode(int(sem["word_"]))
        head = "weir_sem" + (f" {name}" if name else "") + ": "
        if state & DESTROYED:
            return head + "destroyed"
        if state & UNBOUNDED:
            parts = [f"{free} free, unbounded"]
        else:
            parts = [f"{max(free, 0)} of {int(sem['capacity_'])} free"]
        if free < 0:
            parts.append(f"debt {-free}")
        parts.append(f"{int(sem['waiters_'])} waiting")
        if int(sem["oversized_"]):
            parts.append(f"{length(sem['oversized_'])} oversized")
        if int(sem["granted_"]):
            parts.append(f"{int(sem['granted_'])} granted")
        parts.append(f"barging within {state >> BOUND_SHIFT} us" if state & BARGING else "fifo")
        if state & CLOSED:
            parts.append("closed (drain)" if state & DRAIN else "closed")
        else:
            parts.append("not closed")
        # The door shows whether the fast paths can be used.
        parts.append(f"door {door}")
        if state & TRACKED:
            parts.append("watched")
        return head + ", ".join(parts)


class Permit:
    """weir_permit: 2 permits of "db_pool" at 0xaaaa..."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        sem = self.value["sem_"]
        n = int(self.value["n_"])
        if not int(sem):
            return "weir_permit: empty" if not n else "weir_permit: not initialised"
        try:
            name = name_at(int(sem.dereference()["name_"]))
        except gdb.MemoryError:
            name = None
        return (f"weir_permit: {n} permit{'s' if n != 1 else ''} of "
                f"{(name or 'weir_sem')} at {int(sem):#x}" +
                (", owned" if int(self.value["owned_"]) else ""))


class Ctx:
    """weir_ctx: not ended, 2.500 s left, 1 waiting, 2 children"""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        ctx = self.value
        ended = int(ctx["ended_"])
        deadline = int(ctx["deadline_"])
        parts = []
        if int(ctx["state_"]) == CTX_DESTROYED:
            return "weir_ctx: destroyed"
        # Only a program that runs on this machine has the clock of this
        # machine.
        left = deadline - time.monotonic_ns() if deadline and connection() == "native" else None
        if ended == CANCELED:
            parts.append("cancelled" + (f" with cause {int(ctx['cause_']):#x}"
                                        if int(ctx["cause_"]) else ""))
        elif ended == TIMEDOUT or (not ended and left is not None and left <= 0):
            parts.append("deadline passed")
        elif ended:
            parts.append(f"ended with error {ended}")
        else:
            parts.append("not ended")
        if not deadline:
            parts.append("no deadline")
        elif left is not None and left > 0:
            parts.append(f"{duration(left)} left")
        else:
            parts.append(f"deadline at {duration(deadline)} of CLOCK_MONOTONIC")
        parts.append(f"{length(ctx['waiters_'])} waiting")
        parts.append(f"{length(ctx['children_'])} children")
        if int(ctx["parent_"]):
            parts.append(f"parent at {int(ctx['parent_']):#x}")
        return "weir_ctx: " + ", ".join(parts)


class Command(gdb.Parameter):
    """The path of the command `weir` that weir-explain runs.

Empty: the one that was installed with this file, else the one in PATH."""

    set_doc = "Set the path of the command weir for weir-explain."
    show_doc = "Show the path of the command weir for weir-explain."

    def __init__(self):
        super().__init__("weir-command", gdb.COMMAND_FILES, gdb.PARAM_STRING)
        self.value = ""

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return f"weir-explain runs {self.path() or 'nothing: weir was not found'}"

    def path(self):
        if self.value:
            return self.value
        # This file is PREFIX/share/weir/gdb/weir_gdb.py.
        beside = os.path.join(os.path.realpath(__file__), "../../../../bin/weir")
        beside = os.path.normpath(beside)
        return beside if os.access(beside, os.X_OK) else shutil.which("weir")


class Explain(gdb.Command):
    """Print the holders and waiters of the watched semaphores, and the verdict.

    weir-explain [NAME] [--json]

Runs `weir explain` on the process that gdb has attached or started, or on the core file
that gdb has open.  The process is not resumed."""

    def __init__(self, command):
        super().__init__("weir-explain", gdb.COMMAND_STATUS)
        self.command = command

    def invoke(self, argument, _from_tty):
        kind = connection()
        if kind is None:
            raise gdb.GdbError("weir-explain: no process and no core file")
        if kind == "core":
            target = core_file()
        elif kind == "native":
            target = str(gdb.selected_inferior().pid)
        else:
            raise gdb.GdbError("weir-explain: the process is on another machine; write a "
                               "core file with generate-core-file and open that")
        path = self.command.path()
        if not path:
            raise gdb.GdbError("weir-explain: the command weir was not found; "
                               "see help set weir-command")
        try:
            done = subprocess.run([path, "explain", target, *gdb.string_to_argv(argument)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
        except OSError as error:
            raise gdb.GdbError(f"weir-explain: {path}: {error.strerror}")
        gdb.write(done.stdout.decode("utf-8", "replace"))
        said = done.stderr.decode("utf-8", "replace").strip()
        # Status 1: the verdict is grave, and the text shows it.
        if done.returncode not in (0, 1):
            raise gdb.GdbError(said or f"weir-explain: {path}: status {done.returncode}")
        if said:
            gdb.write(said + "\n", gdb.STDERR)


def printers():
    found = gdb.printing.RegexpCollectionPrettyPrinter("weir")
    found.add_printer("weir_sem", "^weir_sem$", Sem)
    found.add_printer("weir_permit", "^weir_permit$", Permit)
    found.add_printer("weir_ctx", "^weir_ctx$", Ctx)
    return found


# Register for every object file: the file of the program describes the structs.
gdb.printing.register_pretty_printer(None, printers(), replace=True)
Explain(Command())
