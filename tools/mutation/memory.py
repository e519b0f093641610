# SPDX-License-Identifier: MIT
"""What killed a mutant stays true while the core is compiled to the same code.

So a run that was interrupted goes on where it was, and one after tests or
tools/mutate.equivalent have changed asks only for the rest.  Remove build-mutate
to ask for everything again.
"""
import json
import os
import threading


class Memory:
    """path: a line that says for which code, then one for each mutant killed."""

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
        """(how, detail), or None."""
        return self.known.get(mutant.key)

    def add(self, mutant):
        with self.lock, open(self.path, "a") as file:
            print(json.dumps([mutant.key, mutant.how, mutant.detail]), file=file)
