# SPDX-License-Identifier: MIT
"""tools/mutate.equivalent: which survivors change nothing, and why not.

A paragraph is one reason for one mutant or several:

    in FILE FUNCTION
    at LINE AS IT STANDS THERE
    do MUTATION
    why REASON
        GOES ON, INDENTED

`do` stands for a mutant of the line above it, `at` for a line of the function
above it.  Neither knows line numbers, so edits elsewhere do no harm.
"""


class Wrong(Exception):
    pass


def parse(text):
    """{mutant's key: reason}"""
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
