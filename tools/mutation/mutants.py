# SPDX-License-Identifier: MIT
"""All mutants of the core, each with a name that survives edits elsewhere."""
import glob

from . import operators
from .source import Source


# No behaviour of the core: the orders' names, and how long to look or to wait
# before looking again, which changes no outcome; and what loops, named semaphores
# and groups alone ask of the kernel.
LEFT_OUT = {"src/base/atomic.h", "src/base/helgrind.h", "src/base/cpu.h",
            "src/base/cpu.c", "src/base/spin.h", "src/base/spin.c",
            "src/base/lse.c", "src/base/shared.h", "src/base/shared.c",
            "src/base/event.h", "src/base/event.c", "src/base/thread.h",
            "src/base/thread.c",
            "src/core/last_cpu.h"}


class Mutant:
    def __init__(self, path, function, line, at, what, is_order, text):
        self.path = path            # of the file that is broken
        self.function = function    # where
        self.line = line            # number, for people
        self.at = at                # that line, as it was
        self.what = what            # what is done to it
        self.is_order = is_order    # a memory order, weakened
        self.text = text            # the broken file
        self.built = {}             # library: objects made from the mutant
        self.hash = None            # of those objects
        self.how = None             # what became of it
        self.detail = ""
        self.seconds = 0            # that it took to find out

    @property
    def key(self):
        return self.path, self.function, self.at, self.what

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}"


def of_file(path):
    with open(path) as file:
        source = Source(path, file.read())
    edits = sorted((edit, function.name, kind is operators.orders)
                   for function in source.functions
                   for kind in operators.LOGIC + (operators.orders,)
                   for edit in kind(source, function))
    seen, found = {}, []
    for (start, end, new, what), function, is_order in edits:
        line, at = source.line_of(start)
        # The same again on the same line, or on one that reads alike.
        place = (function, at, what)
        seen[place] = seen.get(place, 0) + 1
        if seen[place] > 1:
            what += f" (#{seen[place]})"
        found.append(Mutant(path, function, line, at, what, is_order,
                            source.text[:start] + new + source.text[end:]))
    return found


def all_mutants():
    paths = sorted(glob.glob("src/core/*.[ch]") + glob.glob("src/base/*.[ch]") +
                   ["include/weir/inline.h"])
    return [mutant for path in paths if path not in LEFT_OUT
            for mutant in of_file(path)]
