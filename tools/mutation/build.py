# SPDX-License-Identifier: MIT
"""Objects of the library and of the tests, and programs linked from them.

A mutant needs one compilation and one link: everything else is built once.
"""
import filecmp
import glob
import hashlib
import os
import re
import subprocess
import threading

CC = os.environ.get("CC", "gcc").split()
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-O2", "-pthread",
         "-w", "-DLIBRARY_HAS_TAIL_CALLS"]
# A change that the project's own build refuses with an error is not a mutant.
FLAGS += ["-Werror=" + name for name in
          ("implicit-function-declaration", "implicit-int", "int-conversion",
           "incompatible-pointer-types", "return-type", "uninitialized",
           "maybe-uninitialized")]


class Failed(Exception):
    pass


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed(" ".join(command) + "\n" + done.stdout)


def compile_(source, target, includes=(), flags=()):
    """Several tools compile the same object.  Rename it into place: another thread may be
    linking the target, and a partly written object lacks symbols."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    part = f"{target[:-2]}.{threading.get_ident()}.o"
    run([*CC, *FLAGS, *flags, *("-I" + i for i in includes), "-Isrc",
         "-Iinclude", "-c", source, "-o", part])
    os.replace(part, target)
    return target


def merge(objects, target):
    run([*CC, "-r", "-nostdlib", *objects, "-o", target])
    return target


def symbols(file):
    return subprocess.run(["nm", file], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def link(objects, target, flags=()):
    run([*CC, *objects, "-pthread", "-o", target, *flags])
    return target


def read(path):
    with open(path) as file:
        return file.read()


def rooms(*names):
    """The sources of these folders of src."""
    return sorted(sum((glob.glob(f"src/{name}/*.c") for name in names), []))


def all_orders(where):
    """Write a base/atomic.h with every order of every access; return its folder.  An access
    that names no order of the compiler, such as a pair of stores, has one form only."""
    text = read("src/base/atomic.h")
    known = re.findall(r"^#define (at_\w+?_)(relaxed|acquire|release|acq_rel)"
                       r"(\(.*)$", text, re.M)
    have = {name + order for name, order, _ in known}
    more = ""
    for name, order, rest in known:
        for other in ("relaxed", "acquire", "release"):
            if name + other not in have and "__ATOMIC_" in rest:
                have.add(name + other)
                more += f"#define {name}{other}" + rest.replace(
                    "__ATOMIC_" + order.upper(),
                    "__ATOMIC_" + other.upper()) + "\n"
    os.makedirs(f"{where}/orders/base", exist_ok=True)
    with open(f"{where}/orders/base/atomic.h", "w") as file:
        file.write(text + more)
    return f"{where}/orders"


class Library:
    """The objects of the unchanged sources, built with certain flags."""

    def __init__(self, where, pool, sources, includes=(), flags=()):
        self.where, self.includes, self.flags = where, includes, flags
        self.sources = sources
        self.objects = {s: f"{where}/{s[4:-2]}.o" for s in self.sources}
        list(pool.map(lambda s: compile_(
            s, self.objects[s], includes,
            (*flags, "-MMD", "-MF", self.objects[s][:-2] + ".d")), self.sources))
        self.uses = {s: set(read(self.objects[s][:-2] + ".d").split())
                     for s in self.sources}

    def users_of(self, path):
        return [s for s in self.sources if path in self.uses[s]]

    def rebuilt(self, mutant, where):
        """All objects; those that include the mutated file are compiled again."""
        if self in mutant.built:
            return mutant.built[self]
        objects = dict(self.objects)
        broken = f"{where}/" + mutant.path.split("/", 1)[1]
        os.makedirs(os.path.dirname(broken), exist_ok=True)
        with open(broken, "w") as file:
            file.write(mutant.text)
        try:
            for source in self.users_of(mutant.path):
                # Code that a header's mutant does not reach need not be compiled again.
                if mutant.changed is not None and source not in mutant.changed:
                    continue
                objects[source] = compile_(
                    broken if source == mutant.path else source,
                    f"{where}/{os.path.basename(self.where)}-"
                    f"{os.path.basename(source)[:-2]}.o",
                    (*self.includes, where), self.flags)
        finally:
            os.remove(broken)
        mutant.built[self] = objects
        return objects

    def code(self):
        """A hash that identifies this library."""
        total = hashlib.sha256()
        for source in self.sources:
            with open(self.objects[source], "rb") as file:
                total.update(file.read())
        return total.hexdigest()

    def differing(self, mutant, objects):
        """The sources whose objects the mutant changes."""
        return {source for source in self.users_of(mutant.path)
                if not filecmp.cmp(objects[source], self.objects[source],
                                   shallow=False)}

    def digest(self, mutant, objects):
        """A hash of the objects that the mutant affects; unchanged if it has no effect."""
        total = hashlib.sha256()
        for source in self.users_of(mutant.path):
            with open(objects[source], "rb") as file:
                total.update(file.read())
        return total.digest()
