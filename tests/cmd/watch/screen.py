# SPDX-License-Identifier: MIT
"""A minimal terminal emulator: puts the output of curses for TERM=xterm on a grid."""
import re
import unicodedata

CSI = re.compile(rb"\x1b\[([?>]?)([0-9;]*)([@A-Za-z`])")
OTHER = re.compile(rb"\x1b(?:[()][0-9A-B]|[=>78cM])|\x1b\][^\x07]*\x07")


class Screen:
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.grid = self.blank()
        self.y = self.x = 0
        self.top, self.bottom = 0, rows - 1  # of the lines that scroll
        self.left = b""
        self.modes = set()
        self.cleared = 0
        self.last = " "
        self.unknown = []

    def blank(self):
        return [[" "] * self.columns for _ in range(self.rows)]

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.grid = self.blank()
        self.y = self.x = 0
        self.top, self.bottom = 0, rows - 1

    def scroll(self, top, count):
        """Move the lines from top to the bottom margin up, or down if count < 0."""
        for _ in range(abs(count)):
            self.grid.pop(top if count > 0 else self.bottom)
            self.grid.insert(self.bottom if count > 0 else top, [" "] * self.columns)

    def line_feed(self):
        if self.y == self.bottom:
            self.scroll(self.top, 1)
        else:
            self.y = min(self.y + 1, self.rows - 1)

    def reverse_index(self):
        if self.y == self.top:
            self.scroll(self.top, -1)
        else:
            self.y = max(self.y - 1, 0)

    def lines(self):
        return ["".join(row).rstrip() for row in self.grid]

    def text(self):
        return "\n".join(self.lines())

    def feed(self, data):
        data = self.left + data
        at = 0
        while at < len(data):
            used = self.step(data, at)
            if not used:
                break
            at += used
        self.left = data[at:]

    def step(self, data, at):
        """Process one character or escape sequence.  Returns its length; 0: incomplete."""
        byte = data[at]
        if byte == 0x1b:
            found = CSI.match(data, at)
            if found:
                self.control(*found.groups())
                return found.end() - at
            found = OTHER.match(data, at)
            if found:
                if found.group() == b"\x1bM":
                    self.reverse_index()
                return found.end() - at
            if len(data) - at > 40:
                raise AssertionError(f"unknown: {data[at:at + 40]!r}")
            return 0
        if byte == 0x0d:
            self.x = 0
        elif byte == 0x0a:
            self.line_feed()
        elif byte == 0x08:
            self.x = max(self.x - 1, 0)
        elif byte >= 0x20:
            size = 1 if byte < 0x80 else 2 if byte < 0xe0 else 3 if byte < 0xf0 else 4
            if at + size > len(data):
                return 0
            self.put(data[at:at + size].decode("utf-8", "replace"))
            return size
        elif byte not in (0x07, 0x0e, 0x0f):
            raise AssertionError(f"unknown byte {byte}")
        return 1

    def put(self, char):
        # Automatic margins: after the last column, the wrap is deferred to the next character.
        if self.x >= self.columns:
            self.x = 0
            self.line_feed()
        self.grid[self.y][self.x] = char
        self.x += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        self.last = char

    def control(self, private, numbers, final):
        args = [int(n) if n else 0 for n in numbers.split(b";")]
        one = max(args[0], 1)
        row = self.grid[self.y] if self.y < self.rows else []
        final = final.decode()
        if private:
            for mode in args:
                (self.modes.add if final == "h" else self.modes.discard)(mode)
        elif final in "Hf":
            self.y = min(one, self.rows) - 1
            self.x = min(max(args[1] if len(args) > 1 else 1, 1), self.columns) - 1
        elif final == "A":
            self.y = max(self.y - one, 0)
        elif final in "Be":
            self.y = min(self.y + one, self.rows - 1)
        elif final in "Ca":
            self.x = min(self.x + one, self.columns - 1)
        elif final == "D":
            self.x = max(self.x - one, 0)
        elif final in "G`":
            self.x = min(one, self.columns) - 1
        elif final == "d":
            self.y = min(one, self.rows) - 1
        elif final == "J":
            self.cleared += 1
            start = 0 if args[0] == 2 else self.y
            for y in range(start, self.rows):
                for x in range(self.x if y == self.y and args[0] == 0 else 0, self.columns):
                    self.grid[y][x] = " "
        elif final == "K":
            first, last = {0: (self.x, self.columns), 1: (0, self.x + 1)}.get(
                args[0], (0, self.columns))
            row[first:last] = " " * (min(last, self.columns) - first)
        elif final == "X":
            last = min(self.x + one, self.columns)
            row[self.x:last] = " " * (last - self.x)
        elif final == "P":
            self.grid[self.y] = (row[:self.x] + row[self.x + one:] + [" "] * one)[:self.columns]
        elif final == "@":
            self.grid[self.y] = (row[:self.x] + [" "] * one + row[self.x:])[:self.columns]
        elif final == "b":
            for _ in range(one):
                self.put(self.last)
        elif final in "LM":
            if self.top <= self.y <= self.bottom:
                self.scroll(self.y, one if final == "M" else -one)
        elif final in "ST":
            self.scroll(self.top, one if final == "S" else -one)
        elif final == "r":
            self.top = min(one, self.rows) - 1
            self.bottom = min((args[1] if len(args) > 1 else 0) or self.rows, self.rows) - 1
            self.y = self.x = 0
        elif final not in "mhlt":
            self.unknown.append((numbers, final))
