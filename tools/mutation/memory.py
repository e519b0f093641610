# SPDX-License-Identifier: MIT
"""What killed a mutant stays true while the core is compiled to the same code.

So a run after tests or tools/mutate.equivalent have changed asks only for the
rest.  Remove build-mutate to ask for everything again.
"""
import json
import os


class Memory:
    """path: a line that says for which code, then one for each mutant killed."""

    def __init__(self, path, code):
        self.path, self.code, self.known = path, code, {}
        if not os.path.exists(path):
            return
        with open(path) as file:
            if file.readline().strip() == code:
                for line in file:
                    key, how, detail = json.loads(line)
                    self.known[tuple(key)] = how, detail

    def of(self, mutant):
        """(how, detail), or None."""
        return self.known.get(mutant.key)

    def save(self, killed):
        self.known.update((m.key, (m.how, m.detail)) for m in killed)
        with open(self.path + ".new", "w") as file:
            print(self.code, file=file)
            for key, value in self.known.items():
                print(json.dumps([key, *value]), file=file)
        os.replace(self.path + ".new", self.path)
