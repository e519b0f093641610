# SPDX-License-Identifier: MIT
"""Cache of killed mutants of a target, valid while it is compiled to the same code.

An interrupted run continues where it stopped, and a run after a change of the tests
or of tools/mutate.equivalent tries only the remaining mutants.  Remove build-mutate to
try all mutants again.
"""
import json
import os
import threading


class Memory:
    """The file has a line with the hash of the code, then one line per killed mutant."""

    def __init__(self, path, code):
        self.path, self.known, self.lock = path, {}, threading.Lock()
        if os.path.exists(path):
            with open(path) as file:
                if file.readline().strip() == code:
                    self.known = {tuple(key): (how, detail)
                                  for key, how, detail in map(json.loads, file)}
        if not self.known:
            with open(path, "w") as file:
                print(code, file=file)

    def of(self, mutant):
        """Return (how, detail), or None."""
        return self.known.get(mutant.key)

    def add(self, mutant):
        with self.lock, open(self.path, "a") as file:
            print(json.dumps([mutant.key, mutant.how, mutant.detail]), file=file)
