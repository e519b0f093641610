# SPDX-License-Identifier: MIT
"""The items to reach, and whether each was reached, from llvm-cov's output."""
import glob
import json
import os
import re

from .place import (BUILD, LLVM, ROOT, SOURCES, give_up, is_measured, relative,
                    said)

# Of a process with unfinished calls (flush.c) only these files count: the end of a
# panic, which never returns, and frames of calls that are left without a return.
LAST_CALLS = ("src/base/panic.c", "src/base/frame.c")


class Texts:
    """The text of the sources, by line and column."""

    def __init__(self):
        self.files = {}

    def lines(self, file):
        if file not in self.files:
            with open(os.path.join(ROOT, file)) as source:
                self.files[file] = source.read().split("\n")
        return self.files[file]

    def line(self, file, number):
        return " ".join(self.lines(file)[number - 1].split())

    def between(self, file, line, column, end_line, end_column):
        lines = self.lines(file)[line - 1:end_line]
        rest = "\n".join([lines[-1][end_column - 1:]] +
                         self.lines(file)[end_line:])
        lines[-1] = lines[-1][:end_column - 1]
        lines[0] = lines[0][column - 1:]
        text = "\n".join(lines)
        # For llvm the use of a macro ends before its arguments.
        if rest.startswith("(") and re.search(r"\w$", text):
            depth = 0
            for char in rest:
                depth += (char == "(") - (char == ")")
                text += char
                if not depth:
                    break
        return " ".join(text.split())


class Items:
    """All items that can be reached, and whether each was.

    An item is (file, function, kind, text, which) where kind is "line", "true",
    "false" or "pair" (MC/DC: the condition alone decided, both ways) and which
    numbers items with equal text, from 1.
    """

    def __init__(self):
        self.reached = {}    # (file, function, kind, place): bool
        self.names = {}      # the same key: text
        self.spans = {}      # file: {line: function}
        self.texts = Texts()

    def note(self, file, function, kind, place, text, reached):
        key = (file, function, kind, place)
        self.reached[key] = self.reached.get(key, False) or bool(reached)
        self.names.setdefault(key, text)

    def add_function(self, record):
        files = [relative(path) for path in record["filenames"]]
        file, name = files[0], re.split("[:;]", record["name"])[-1]
        if not is_measured(file):
            return
        first, last = record["regions"][0][0], record["regions"][0][2]
        for line in range(first, last + 1):
            self.spans.setdefault(file, {})[line] = name
        # Number of a macro's body: the place of its use in the function.
        sites = {region[6]: region for region in record["regions"]
                 if region[7] == 1}
        conditions = []
        for branch in record["branches"]:
            place, number = branch, branch[6]
            inner, text = (), ""
            while number:
                # An atomic access is one item, for every seam.
                if not files[number].endswith("/atomic.h"):
                    inner = (*place[:2], *inner)
                    text = " " + self.texts.between(files[number], *place[:4])
                place, number = sites[number], sites[number][5]
            at = (*place[:2], *inner)
            text = self.texts.between(file, *place[:4]) + text
            self.note(file, name, "true", at, text, branch[4])
            self.note(file, name, "false", at, text, branch[5])
            if branch[8] == 6:
                conditions.append((at, text))
        self.add_pairs(file, name, record["mcdc_records"], conditions)

    def add_pairs(self, file, name, records, conditions):
        decisions = [(tuple(m[:2]), tuple(m[2:4]), m[6]) for m in records]
        for start, end, pairs in decisions:
            # Leave out the conditions of nested decisions.
            inner = [(s, e) for s, e, _ in decisions
                     if start <= s and e <= end and (s, e) != (start, end)]
            own = sorted(c for c in conditions if start <= c[0][:2] < end and
                         not any(s <= c[0][:2] < e for s, e in inner))
            # A condition that the compiler evaluates is left out; then the
            # others count together.
            if len(own) < len(pairs):
                pairs = [sum(pairs) >= len(own)] * len(own)
            # The seam of a test may have conditions in its macros; then the
            # numbers differ, and only the library's own build counts.
            for (at, text), reached in zip(own, pairs):
                self.note(file, name, "pair", at, text,
                          reached and len(own) == len(pairs))

    def add_lines(self, file, counts):
        for line, count in counts.items():
            function = self.spans.get(file, {}).get(line)
            # The body of a macro counts at the place of its use.
            if function:
                self.note(file, function, "line", (line,),
                          self.texts.line(file, line), count)

    def listed(self):
        """Return [(item, place, reached)], in the order of the sources."""
        seen, result = {}, []
        for key in sorted(self.reached, key=lambda k: (k[0], k[3], k[2])):
            file, function, kind, place = key
            same = (file, function, kind, self.names[key])
            seen[same] = seen.get(same, 0) + 1
            result.append(((*same, seen[same]), place, self.reached[key]))
        return result


def export(kind, programs):
    """The output of llvm-cov: functions, and counts of lines by file."""
    raw = sorted(glob.glob(os.path.join(BUILD, kind, "*.profraw")))
    if not raw:
        return [], {}
    merged = os.path.join(BUILD, kind + ".profdata")
    said("llvm-profdata" + LLVM, "merge", "-o", merged, *raw)
    # The library has every function; a test program may have compiled some again.
    command = ["llvm-cov" + LLVM, "export", "-instr-profile=" + merged]
    for program in programs:
        command += ["-object", program]
    functions = json.loads(said(*command))["data"][0]["functions"]
    lines = {}
    for record in said(*command, "-format=lcov").split("\n"):
        if record.startswith("SF:"):
            counts = lines.setdefault(relative(record[3:]), {})
        elif record.startswith("DA:"):
            number, count = record[3:].split(",")[:2]
            counts[int(number)] = int(count)
    return functions, {f: c for f, c in lines.items() if is_measured(f)}


def measure(programs):
    items = Items()
    functions, lines = export("counts", programs)
    for record in functions:
        items.add_function(record)
    for file, counts in lines.items():
        items.add_lines(file, counts)
    functions, lines = export("unfinished", programs)
    for record in functions:
        if relative(record["filenames"][0]) in LAST_CALLS:
            items.add_function(record)
    for file in LAST_CALLS:
        items.add_lines(file, lines.get(file, {}))
    for path in SOURCES:
        for file in glob.glob(path + "*.c", root_dir=ROOT):
            if is_measured(file) and file not in items.spans:
                give_up(f"{file} is not part of the library")
    return items.listed()
