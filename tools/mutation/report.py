# SPDX-License-Identifier: MIT
"""The results of a run, for readers and as lines of evidence."""
from collections import Counter

NO_MUTANTS = ("not compiled", "identical", "duplicate")


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole if whole else 0:.1f} %)"


def line(m):
    return "\t".join((m.how, f"{m.seconds:.1f}", str(m), m.at, m.detail))


def save(path, chosen):
    with open(path, "w") as file:
        file.writelines(line(m) + "\n" for m in chosen)


def show_files(real):
    print(f"{'':24}{'mutants':>8}{'killed':>8}{'equivalent':>12}{'survive':>9}")
    for path in sorted({m.path for m in real}):
        count = Counter(m.how for m in real if m.path == path)
        all_ = sum(count.values())
        same, left = count["equivalent"], count["survives"]
        print(f"{path:24}{all_:8}{all_ - same - left:8}{same:12}{left:9}")


def show_unkilled_orders(real):
    found = [m for m in real if m.is_order and m.how == "equivalent"]
    if found:
        print("Memory orders that can be weakened without detection:")
    for m in found:
        print(f"  {m} in {m.function}\n      {m.detail}")


def evidence(what, figure):
    print(f"evidence: {what} | {figure}")


def show_evidence(kind, mutants, tools, listed):
    """listed: the description of the mutants in tools/mutate.equivalent."""
    count = Counter(m.how for m in mutants)
    same, left = count["equivalent"], count["left to GenMC"]
    killed = len(mutants) - same - left - count["survives"]
    evidence(kind, len(mutants))
    evidence(f"{kind}, killed", share(killed, len(mutants) - same - left))
    for name in tools:
        evidence(f"{kind}, killed by {name}", count[name])
    if left:
        evidence(f"{kind}, left to make genmc (tests/genmc/orders)", left)
    evidence(f"{kind}, {listed}", same)


def show_target(target, chosen, tools, scope):
    for kind, what, listed in (
            ("logic", "mutants", "equivalent (each with a reason)"),
            ("order", "memory orders weakened", "not detected (each with a reason)")):
        title = f"{target}: {what}{scope}"
        count = Counter(m.how for m in chosen if m.kind == kind)
        if count:
            show_evidence(title, [m for m in chosen if m.kind == kind and
                                  m.how not in NO_MUTANTS],
                          tools[target, kind], listed)
        if count and kind == "logic":
            evidence(f"{title}, not counted: they make the same machine code",
                     count["identical"] + count["duplicate"])


def write(every, chosen, listed, tools, scope):
    """Returns the numbers of passed and failed mutants."""
    keys = {m.key for m in every}
    stale = [key for key in listed if key not in keys]
    real = [m for m in chosen if m.how not in NO_MUTANTS]
    # Whether a change is a mutant depends on the compiler.
    wrong = [m for m in real if m.key in listed and m.how != "equivalent"]
    survivors = [m for m in real if m.how == "survives"]

    show_files(real)
    show_unkilled_orders(real)
    for m in survivors:
        print(f"SURVIVES {m} in {m.function}\n    {m.at}")
    for m in wrong:
        print(f"LISTED but not equivalent: {m} in {m.function}\n    {m.at}\n"
              f"    {m.how}: {m.detail}")
    for key in stale:
        print("LISTED but no mutant: " + " | ".join(key))

    for target in sorted({m.target for m in chosen}):
        show_target(target, [m for m in chosen if m.target == target], tools, scope)
    failed = len(survivors) + len(wrong) + len(stale)
    return len(real) - len(survivors) - len(wrong), failed
