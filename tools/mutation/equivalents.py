# SPDX-License-Identifier: MIT
"""tools/mutate.equivalent: surviving mutants that change no behaviour, and why.

A paragraph gives one reason for one or more mutants:

    in FILE FUNCTION
    at LINE OF SOURCE
    do MUTATION
    why REASON
        CONTINUED, INDENTED

`do` names a mutant of the line above it, `at` a line of the function above it.
There are no line numbers, so edits elsewhere do not matter.
"""


class Wrong(Exception):
    pass


def parse(text):
    """Return {key of the mutant: reason}."""
    found = {}
    for paragraph in text.split("\n\n"):
        keys, where, at, why = [], None, None, ""
        for line in paragraph.splitlines():
            word, _, rest = line.partition(" ")
            if line.startswith("#") or not line:
                continue
            if line[0].isspace():
                why += " " + line.strip()
            elif word == "in":
                where = rest.split()
            elif word == "at":
                at = rest.strip()
            elif word == "do":
                keys.append((*where, at, rest.strip()))
            elif word == "why":
                why = rest.strip()
            else:
                raise Wrong(f"cannot read: {line}")
        if keys and not why:
            raise Wrong(f"no reason: {keys[0]}")
        for key in keys:
            if key in found:
                raise Wrong(f"twice: {key}")
            found[key] = why
    return found
