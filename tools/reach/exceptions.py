# SPDX-License-Identifier: MIT
"""The exceptions of tools/coverage.except, whose head describes the format."""
import os
import re

from .place import ROOT, give_up

FILE = "tools/coverage.except"


def read():
    """Return {item: reason}."""
    found, pending, last, where = {}, [], [], None
    with open(os.path.join(ROOT, FILE)) as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip()
            item = re.fullmatch(r"\t(line|true|false|pair) (.*?)(?: #(\d+))?",
                                line)
            if not line or line.startswith("#"):
                pass
            elif not line.startswith("\t") and not pending and \
                    len(line.split()) == 2:
                where = tuple(line.split())
            elif item and where:
                pending.append((*where, item[1], item[2], int(item[3] or 1)))
            elif line.startswith("\t- ") and pending:
                found.update((entry, line[3:]) for entry in pending)
                last, pending = pending, []
            elif line.startswith("\t  ") and last and not pending:
                found.update((entry, f"{found[entry]} {line.strip()}")
                             for entry in last)
            else:
                give_up(f"{FILE}:{number}: cannot be read: {line}")
    if pending:
        give_up(f"{FILE}: no reason at the end")
    return found
