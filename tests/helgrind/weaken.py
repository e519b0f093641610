#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weaken each memory order of src by one step and check that helgrind reports it.

    weaken.py WORK OBJECT... -- COMPILER FLAG...

Run from the root of the tree.  OBJECT... are the objects of tests/helgrind/pairs.c and
of the harness; COMPILER FLAG... compile a source of the library in the same way.
tests/helgrind/unseen.txt lists the orders that helgrind cannot report, with the reason;
it must report all others.  The last line is "SEEN LISTED WRONG": the number of reported
orders, of listed orders that were not reported, and of mismatches.
"""
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

ORDER = re.compile(r"\b(?:weir_)?at_(\w+?)_(acquire|release|acq_rel)_?\(")
Site = collections.namedtuple("Site", "path line start end text op weaker")
RACE = 9	# exit status if helgrind reports a race
# A report may need a schedule that helgrind does not always choose.  One report shows
# that it sees the order; an order that it cannot see stays unseen in every run.
RUNS = 3


def weaker(op, order):
    """The next weaker orders: acquire and release below acq_rel, else relaxed."""
    if order == "acq_rel" and op == "cas_weak":
        return ["acquire", "release"]
    return ["relaxed"]


def sites():
    paths = sorted(glob.glob("src/core/*.[ch]") + glob.glob("src/base/*.c") +
                   ["include/weir/inline.h"])
    for path in paths:
        with open(path, encoding="utf-8") as source:
            for number, text in enumerate(source, 1):
                if text.startswith("#define"):
                    continue
                for found in ORDER.finditer(text):
                    for order in weaker(*found.groups()):
                        yield Site(path, number, found.start(2), found.end(2),
                                   text, found.group(1), order)


def key_of(site):
    return site.path, site.text.strip(), site.weaker


def listed():
    """The reasons, by key_of."""
    reasons = {}
    with open("tests/helgrind/unseen.txt", encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                *key, reason = [part.strip() for part in line.split(" | ")]
                reasons[tuple(key)] = reason
    return reasons


def compile_source(path, root, work, command):
    target = os.path.join(work, path.replace("/", "-") + ".o")
    subprocess.run([*command, "-I" + root + "/src", "-I" + root + "/include",
                    "-c", os.path.join(root, path), "-o", target], check=True)
    return target


def weaken(site, root):
    """Copy the sources and weaken this order in the copy."""
    for part in ("src", "include"):
        shutil.copytree(part, os.path.join(root, part))
    path = os.path.join(root, site.path)
    with open(path, encoding="utf-8") as source:
        lines = source.readlines()
    text = lines[site.line - 1]
    lines[site.line - 1] = text[:site.start] + site.weaker + text[site.end:]
    with open(path, "w", encoding="utf-8") as source:
        source.writelines(lines)


def try_site(site, runs, root, objects, library, command):
    """Run pairs with this order weakened, up to so many times until helgrind reports a
    race; returns the exit status of the last run."""
    shutil.rmtree(root, ignore_errors=True)
    weaken(site, root)
    changed = [site.path]
    if site.path.endswith(".h"):
        changed = [path for path in library if path.startswith("src/core/")]
    built = dict(library)
    for path in changed:
        built[path] = compile_source(path, root, root, command)
    program = os.path.join(root, "pairs")
    subprocess.run([command[0], "-pthread", *objects, *built.values(),
                    "-o", program], check=True)
    # As tools/helgrind: programs are slow under valgrind, and slower on a loaded machine.
    status = 0
    with open(root + ".log", "w", encoding="utf-8") as log:
        while runs and not status:
            runs -= 1
            status = subprocess.run(
                ["valgrind", "--tool=helgrind", "--fair-sched=yes", "-q",
                 f"--error-exitcode={RACE}", program],
                stdout=log, stderr=log, check=False,
                env=dict(os.environ, WEIR_TEST_LIMIT="900")).returncode
    shutil.rmtree(root)
    return status


def main():
    split = sys.argv.index("--")
    work, *objects = sys.argv[1:split]
    command = sys.argv[split + 1:]
    reasons = listed()
    seen = unseen = wrong = 0

    os.makedirs(work, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = sorted(path for room in ("base", "record", "diag", "core", "async")
                       for path in glob.glob(f"src/{room}/*.c"))
        library = dict(zip(paths, pool.map(
            lambda path: compile_source(path, ".", work, command), paths)))
        all_sites = list(sites())
        statuses = pool.map(
            lambda pair: try_site(pair[1], 1 if key_of(pair[1]) in reasons else RUNS,
                                  os.path.join(work, str(pair[0])), objects, library,
                                  command),
            enumerate(all_sites))
        for site, status in zip(all_sites, statuses):
            reason = reasons.get(key_of(site))
            what = f"{site.path}:{site.line} {site.weaker}"
            if status == RACE and not reason:
                seen += 1
            elif status == 0 and reason:
                unseen += 1
                print(f"not seen: {what}: {reason}")
            else:
                wrong += 1
                print(f"FAIL {what}: exit status {status}, "
                      f"listed as unseen: {'yes' if reason else 'no'}")
        stale = set(reasons) - set(map(key_of, all_sites))
        for key in sorted(stale):
            wrong += 1
            print(f"FAIL unseen.txt lists a line that is not in the source: {' | '.join(key)}")
    print(seen, unseen, wrong)


main()
