# SPDX-License-Identifier: MIT
"""Run the programs of tests/genmc with GenMC on a copy of the core."""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess

# Instruction caching gives two live stack objects one address.
OPTIONS = ["--disable-mm-detector", "--disable-estimation",
           "--disable-instruction-caching"]

# (file, pattern, replacement, count).  GenMC does not copy structs through pointers.  The
# attempts of stat without the lock are alike, so one is enough.  A store to a bit-field
# reads its byte, and GenMC refuses to read a byte to which nothing was stored.
CHANGES = [
    ("sem_admin.c", r"\*sem = \(weir_sem\)(\{.*?\n\t\};)",
     r"weir_sem made = \1 copy_sem(sem, &made);", 1),
    ("sem_stat.c", r"\*info = \(weir_sem_info\)(\{.*?\n\t\};)",
     r"weir_sem_info made = \1 copy_info(info, &made);", 1),
    ("ctx.c", r"\*ctx = fresh;", r"copy_ctx(ctx, &fresh);", 2),
    ("notify.c", r"\*to_notify = \(struct weir_to_notify_\)\{ \.first = NULL \};",
     r"to_notify->first = NULL; to_notify->last = NULL; "
     r"to_notify->granted = NULL; to_notify->roused = NULL;", 1),
    ("sem_stat.c", r"#define ATTEMPTS 4", r"#define ATTEMPTS 1", 1),
    ("waiter.h", r"(\tbool woken_to_retry : 1;.*?\tbool shown : 1;.*?\n)",
     r"\tunion { uint8_t bits; struct {\n\1\t}; };\n", 1),
    ("sem_wait.c", r"(\tw->woken_to_retry = w->counted = )", r"\tw->bits = 0;\n\1", 1),
]


class Wrong(Exception):
    pass


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def copy_core(where, changed=()):
    """Copy the core to `where`; changed: {path: text} replaces files of it."""
    for folder in ("src/base", "src/core", "src/record", "include"):
        shutil.copytree(folder, f"{where}/{folder}", dirs_exist_ok=True)
    for path in changed:
        write(f"{where}/{path}", changed[path])
    for name, pattern, replacement, count in CHANGES:
        path = f"{where}/src/core/{name}"
        text, found = re.subn(pattern, replacement, read(path), flags=re.S)
        if found != count:
            raise Wrong(f"{name}: {found} of {count} places found for: {pattern}")
        write(path, text)


def programs():
    """{name: [flag, ..., file]}: each PROGRAM(name), with the flags in its comment."""
    return {name: [*flags.split(), path]
            for path in sorted(glob.glob("tests/genmc/*.c"))
            for flags, name in re.findall(
                r"(?:^/\* flags: (.*?) \*/\n)?^PROGRAM\((\w+)\)", read(path), re.M)}


def orders():
    """tests/genmc/orders: [(file, line, nth, from, to, [program])]."""
    found = []
    for line in read("tests/genmc/orders").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "in":
            path = rest
        elif word == "at":
            at = rest
        elif word == "do":
            old, _, new = rest.partition(" to ")
            new, _, nth = new.partition(" #")
            order = path, at, int(nth or 1), old, new
        elif word == "by":
            found.append((*order, rest.split()))
    return found


def programs_for(mutant):
    """The programs that tests/genmc/orders names for a mutant."""
    found = []
    for path, at, nth, old, new, names in orders():
        what = f"{old} to {new}" + (f" (#{nth})" if nth > 1 else "")
        if (path, at, what) == (mutant.path, mutant.at, mutant.what):
            found += names
    return found


def weakened(path, at, nth, old, new):
    """The text of the file with that order weakened."""
    lines = read(path).split("\n")
    places = [i for i, text in enumerate(lines) if text.strip() == at]
    if len(places) < nth or old not in lines[places[nth - 1]]:
        raise Wrong(f"tests/genmc/orders: not in {path}: {at}")
    lines[places[nth - 1]] = lines[places[nth - 1]].replace(old, new, 1)
    return "\n".join(lines)


def includes(where):
    return ["-Itests/genmc/seam", f"-I{where}/src", f"-I{where}/include",
            "-Itests/genmc"]


def compilations(where):
    """The commands that compile each file of programs with each set of its flags,
    without GenMC."""
    found = {tuple(arguments): name for name, arguments in programs().items()}
    return [[os.environ.get("CC", "cc"), "-std=gnu11", "-fsyntax-only", "-w",
             "-Itests/genmc/alone", *includes(where), f"-DMAIN={name}", *arguments]
            for arguments, name in found.items()]


def check(model, name, where, limit):
    """Return (result, text): ok, FAIL, unfinished, or broken if GenMC did not run.
    limit: seconds of CPU time."""
    command = [os.environ["GENMC"], "--" + model, *OPTIONS, "--", "-w",
               *includes(where), f"-DMAIN={name}", *programs()[name]]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "unfinished", ""
    if "No errors were detected" in done.stdout:
        number = re.search(r"complete executions explored: (\d+)", done.stdout)
        return "ok", number.group(1)
    # A program that does not compile proves nothing.
    found = "Verification unsuccessful" in done.stdout
    return "FAIL" if found else "broken", done.stdout
