# SPDX-License-Identifier: MIT
"""All mutants, each with a key that does not depend on line numbers."""
import glob

from . import operators
from .source import Source


# The mutated files.  workshop.py has the tools that attack each target.
TARGETS = {
    "core": ("src/core/*.[ch]", "src/base/*.[ch]", "include/weir/inline.h"),
    "named": ("src/named/*.[ch]",),
}
# Files without behaviour of the core: the names of the memory orders; the lengths of
# spins and backoffs, which change no outcome; and system calls that only loops, named
# semaphores, groups, the recorder and the POSIX functions use.
LEFT_OUT = {"src/base/atomic.h", "src/base/helgrind.h", "src/base/cpu.h",
            "src/base/cpu.c", "src/base/spin.h", "src/base/spin.c",
            "src/base/lse.c", "src/base/shared.h", "src/base/shared.c",
            "src/base/ticks.h", "src/base/ticks.c",
            "src/base/event.h", "src/base/event.c", "src/base/thread.h",
            "src/base/thread.c", "src/base/memfd.h", "src/base/memfd.c",
            "src/base/realtime.h", "src/base/realtime.c",
            "src/core/last_cpu.h"}


class Mutant:
    def __init__(self, target, path, function, line, at, what, is_order, text):
        self.target = target        # name of the target
        self.path = path            # of the mutated file
        self.function = function    # that contains the mutation
        self.line = line            # number, for messages
        self.at = at                # text of the original line
        self.what = what            # the mutation
        self.is_order = is_order    # a weakened memory order
        self.text = text            # the mutated file
        self.built = {}             # library: objects of the mutant
        self.hash = None            # of those objects
        self.changed = None         # sources whose code differs; None: not known yet
        self.how = None             # the result
        self.detail = ""
        self.seconds = 0            # time of the attempts

    @property
    def kind(self):
        return "order" if self.is_order else "logic"

    @property
    def key(self):
        return self.path, self.function, self.at, self.what

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}"


def of_file(target, path):
    with open(path) as file:
        source = Source(path, file.read())
    edits = sorted((edit, function.name, kind is operators.orders)
                   for function in source.functions
                   for kind in operators.LOGIC + (operators.orders,)
                   for edit in kind(source, function))
    seen, found = {}, []
    for (start, end, new, what), function, is_order in edits:
        line, at = source.line_of(start)
        # Number equal mutations of one line, or of lines with equal text.
        place = (function, at, what)
        seen[place] = seen.get(place, 0) + 1
        if seen[place] > 1:
            what += f" (#{seen[place]})"
        found.append(Mutant(target, path, function, line, at, what, is_order,
                            source.text[:start] + new + source.text[end:]))
    return found


def all_mutants():
    return [mutant for target, patterns in TARGETS.items()
            for path in sorted(sum(map(glob.glob, patterns), []))
            if path not in LEFT_OUT
            for mutant in of_file(target, path)]
