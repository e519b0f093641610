# SPDX-License-Identifier: MIT
"""One run of tools/mutate: choose, build, attack, judge, report."""
import os
import random
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import build, confine, equivalents, genmc, memory, mutants, report, workshop

WHERE = "build-mutate"
KNOWN = f"{WHERE}/known-"       # and the name of the target
LISTED = "tools/mutate.equivalent"
SAMPLE = 60


def choose(every, words, full, seed):
    """-o as the first word: memory orders only."""
    if words[:1] == ["-o"]:
        return choose([m for m in every if m.is_order], words[1:], True, seed)
    if words:
        # In the order of the words, so that the first results come from the first one.
        return list(dict.fromkeys(m for w in words for m in every
                                  if w in " ".join(m.key) + f":{m.line}" or
                                  f"{m} ".startswith(w + ":")))
    if full:
        return every
    return random.Random(seed).sample([m for m in every if not m.is_order],
                                      SAMPLE)


def compile_all(chosen, shop, pool):
    """Find changes that are not mutants: they do not compile, or make no difference."""
    def one(mutant):
        library = shop.compiled(mutant.target)
        try:
            objects = library.rebuilt(mutant, f"{WHERE}/m/{mutant.number}")
            mutant.hash = library.digest(mutant, objects)
            # A weaker order may compile to other code in another library only.
            if not mutant.is_order:
                mutant.changed = library.differing(mutant, objects)
        except build.Failed:
            mutant.how = "not compiled"

    list(pool.map(one, chosen))
    first = {}
    for mutant in chosen:
        # A weaker order may compile to equal code on this machine and not on others.
        if mutant.how or mutant.is_order:
            continue
        library = shop.compiled(mutant.target)
        if mutant.hash == library.digest(mutant, library.objects):
            mutant.how = "identical"
        elif mutant.hash in first:
            mutant.how = "duplicate"
            mutant.detail = str(first[mutant.hash])
        first.setdefault(mutant.hash, mutant)


def attack(mutant, tools, listed, known):
    """Try one tool after another; a listed mutant is tried with the first tool only,
    unless it is a memory order."""
    where = f"{WHERE}/m/{mutant.number}"
    if not mutant.how and known.of(mutant) and mutant.key not in listed:
        mutant.how, mutant.detail = known.of(mutant)
    if mutant.how:
        mutant.built.clear()
        shutil.rmtree(where, ignore_errors=True)
        return
    begun = time.monotonic()
    names = genmc.programs_for(mutant) if mutant.is_order else []
    if names and not os.environ.get("GENMC"):
        # Few of these are noticed by another tool, and only after minutes.
        mutant.how, mutant.detail = "left to GenMC", ", ".join(names)
        tools = []
    for tool in tools if mutant.is_order or mutant.key not in listed else tools[:1]:
        saw = tool.attack(mutant, where)
        if saw:
            mutant.how, mutant.detail = tool.name, saw
            known.add(mutant)
            break
    if not mutant.how:
        mutant.how = "equivalent" if mutant.key in listed else "survives"
        mutant.detail = listed.get(mutant.key, "")
    mutant.seconds = time.monotonic() - begun
    mutant.built.clear()
    shutil.rmtree(where, ignore_errors=True)
    with open(f"{WHERE}/done", "a") as file:
        print(report.line(mutant), file=file)


def by_file(chosen):
    """The mutants in groups, one for each file."""
    files = {}
    for mutant in chosen:
        files.setdefault(mutant.path, []).append(mutant)
    return files.values()


def main(args):
    listing, quick = args[:1] == ["-l"], args[:1] == ["-q"]
    words = args[1:] if listing or quick else args
    misplaced = {"-l", "-o", "-q"}.intersection(words[words[:1] == ["-o"]:])
    if misplaced:
        # As a WORD it would select nothing, and the run would try the mutants of the others.
        sys.exit(f"tools/mutate: {misplaced.pop()} must be the first argument")
    full = os.environ.get("WEIR_FULL") == "1"
    seed = int(os.environ.get("WEIR_SEED", "1"), 0)
    every = mutants.all_mutants()
    chosen = choose(every, words, full or listing or quick, seed)
    if quick:
        chosen = [m for m in chosen if not m.is_order]
    for number, mutant in enumerate(chosen):
        mutant.number = number
    if listing:
        for mutant in chosen:
            print(f"{mutant}\n    {mutant.at}")
        return 0
    confine.enter(WHERE)
    try:
        listed = equivalents.parse(build.read(LISTED))
    except equivalents.Wrong as wrong:
        print(f"{LISTED}: {wrong}\n0 passed, 1 failed")
        return 1
    for old in os.listdir(WHERE) if os.path.isdir(WHERE) else ():
        old = f"{WHERE}/{old}"
        if os.path.isdir(old):
            shutil.rmtree(old)
        elif not old.startswith(KNOWN):
            os.remove(old)
    os.makedirs(WHERE, exist_ok=True)
    shop = workshop.Workshop(WHERE, seed)
    tools = shop.tools()
    if quick:
        tools = {key: [tool for tool in some if tool.is_fast]
                 for key, some in tools.items()}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1) as pool:
        known = {target: memory.Memory(KNOWN + target, shop.compiled(target).code())
                 for target in {m.target for m in chosen}}
        attacks = []
        # The next file is compiled while the last mutants of a file are attacked.
        for group in by_file(chosen):
            compile_all(group, shop, pool)
            attacks += [pool.submit(attack, m, tools[m.target, m.kind], listed,
                                    known[m.target]) for m in group]
        try:
            for done, future in enumerate(attacks, 1):
                future.result()
                if sys.stdout.isatty() and done % 10 == 0:
                    print(f"{done} of {len(chosen)}", end="\r")
        except BaseException:
            # A tool that fails without a mutant would let every other mutant wait.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    report.save(f"{WHERE}/mutants", chosen)
    names = {key: list(dict.fromkeys(tool.name for tool in some))
             for key, some in tools.items()}
    passed, failed = report.write(every, chosen, listed, names,
                                  "" if full else " (a sample)")
    for line in shop.complaints:
        print(line)
    failed += len(shop.complaints)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1
