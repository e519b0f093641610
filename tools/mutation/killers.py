# SPDX-License-Identifier: MIT
"""The tools that detect a mutant.  Each is built when it is first needed.

attack(mutant, where) returns a description of the failure, or None.
"""
import glob
import os
import re
import shutil
import threading

from . import build, genmc, means

QUICK_S = 0.03

# Programs that are run with environment variables, once for each setting.
SETTINGS = {"fault-load": ("WEIR_FAULT_AT_LOAD=pthread_atfork",
                           "WEIR_FAULT_AT_LOAD=sched_getaffinity"),
            "diag-every": ("WEIR_DIAG=all",),
            "diag-lockorder": ("WEIR_DIAG=order",)}


class Lazy:
    """A value that is computed at its first use."""

    def __init__(self, make):
        self.make, self.lock, self.value = make, threading.Lock(), None

    def __call__(self):
        with self.lock:
            if self.value is None:
                self.value = self.make()
        return self.value


class Killer:
    is_fast = False     # used by tools/mutate -q

    def __init__(self, name, prepare):
        self.name, self.prepared = name, Lazy(prepare)

    def attack(self, mutant, where):
        program = f"{where}/program"
        try:
            self.try_all(mutant, where, program, self.prepared())
        except means.Killed as killed:
            return str(killed)
        finally:
            if os.path.exists(program):
                os.remove(program)
        return None


def wraps_of(text):
    """The linker's options for the functions of libc that `text` wraps."""
    return [f"-Wl,--wrap={name}" for name in
            sorted(set(re.findall(r"\b__wrap_(\w+)", text)))]


class Group:
    """Test programs that are linked and run as one program."""

    def __init__(self, name, files):
        self.name, self.files = name, [*files, "tests/support/check.c"]


def groups_of(name, files, apart):
    """Programs that wrap a libc function (all programs if `apart`) are separate groups;
    the rest is one group."""
    texts = {f: build.read(f) for f in files}
    programs = [f for f in files if re.search(r"^\w*TEST\(", texts[f], re.M)]
    helpers = [f for f in files if f not in programs]
    alone = [f for f in programs if apart or "__wrap_" in texts[f]]
    together = [f for f in programs if f not in alone]
    return [Group(n, m + helpers) for n, m in
            [(name, together)] * bool(together) +
            [(f"{name}-{os.path.basename(f)[:-2]}", [f]) for f in alone]]


class Tests(Killer):
    """Test programs.

    suites: [(name, files, apart)].  The programs of a suite are combined into one, so
    that one link is enough; programs that wrap functions of libc stay separate.
    """

    def __init__(self, name, suites, library, workshop, wrapper=()):
        super().__init__(name, self.build)
        self.suites, self.library, self.workshop = suites, library, workshop
        self.wrapper = wrapper

    def build(self):
        library = self.library()
        groups = [g for s in self.suites for g in groups_of(*s)]
        for group in groups:
            objects = list(self.workshop.builders.map(
                lambda f: build.compile_(
                    f, f"{library.where}/{f[:-2]}.o",
                    (*library.includes, "tests/support", os.path.dirname(f),
                     "tests/unit"),
                    (*library.flags, "-fexceptions")), group.files))
            group.object = build.merge(objects,
                                       f"{library.where}/{group.name}.o")
            group.wraps = wraps_of(build.symbols(group.object))
            program = self.link(group, library.objects,
                                f"{library.where}/{group.name}")
            group.settings = [s.split() for s in
                              SETTINGS.get(group.name, ("",))]
            group.tests = means.measure(self.command(group, 0, program),
                                        self.workshop.env)
            self.check_parts(group, program)
        return groups

    def check_parts(self, group, program):
        """A test may need an earlier test of its program, and fail in a part of them:
        it would kill every mutant."""
        for quick in (True, False):
            try:
                means.try_tests(self.command(group, 0, program),
                                [t for t in group.tests if (t[1] < QUICK_S) == quick],
                                self.workshop.env)
            except means.Killed as killed:
                raise RuntimeError(f"{group.name} fails without a mutant if a part "
                                   f"of its tests is run: {killed}") from killed

    def command(self, group, i, program):
        return ["env", *group.settings[i], *self.wrapper, program]

    def link(self, group, objects, target):
        return build.link([*objects.values(), group.object], target,
                          [*group.wraps, *self.library().flags])

    def try_all(self, mutant, where, program, groups):
        """First the quick tests of all groups, then the slow ones."""
        objects, linked = self.library().rebuilt(mutant, where), set()
        for quick in (True, False):
            for group in groups:
                tests = [t for t in group.tests if (t[1] < QUICK_S) == quick]
                own = f"{program}-{group.name}"
                if tests and own not in linked:
                    self.link(group, objects, own)
                    linked.add(own)
                for i in range(len(group.settings)):
                    means.try_tests(self.command(group, i, own), tests,
                                    self.workshop.env)


class Explorer(Killer):
    """The schedule explorer.  attempts: [(options, seconds)]; flags: for the linker."""

    def __init__(self, name, library, engine, attempts, workshop, flags=()):
        super().__init__(name, engine)
        self.library, self.attempts, self.workshop = library, attempts, workshop
        self.flags = flags
        self.lock, self.fails_unbroken = threading.Lock(), {}

    def is_find(self, options, saw, engine):
        """Returns false if the scenario fails without the mutant as well."""
        library, scenario = self.library(), saw.split()[0]
        which = (options, scenario)
        program = f"{library.where}/unbroken-{id(self)}"
        with self.lock:
            if which not in self.fails_unbroken:
                build.link([*library.objects.values(), *engine], program,
                           self.flags)
                bad = any(means.explore([program, *options, scenario], 600,
                                        self.workshop.env))
                self.fails_unbroken[which] = bad
                if bad:
                    self.workshop.complaints.append(
                        f"the explorer ({' '.join(options)}) fails without a mutant: "
                        f"{saw}")
            return not self.fails_unbroken[which]

    def try_all(self, mutant, where, program, engine):
        library = self.library()
        if not library.users_of(mutant.path):
            return
        build.link([*library.rebuilt(mutant, where).values(), *engine], program,
                   self.flags)
        for options, seconds in self.attempts:
            for saw in means.explore([program, *options], seconds,
                                     self.workshop.env):
                if self.is_find(options, saw, engine):
                    raise means.Killed(saw)


def fast(killer):
    killer.is_fast = True
    return killer


class GenMC:
    """The programs of tests/genmc under RC11; first the programs that tests/genmc/orders
    names for the mutant."""
    name = "GenMC"
    is_fast = False
    LIMIT_S = 120

    def __init__(self, workshop):
        self.workshop, self.lock, self.unbroken = workshop, threading.Lock(), {}

    def is_right_unbroken(self, name):
        where = f"{self.workshop.where}/genmc"
        with self.lock:
            if name not in self.unbroken:
                genmc.copy_core(where)
                result, _ = genmc.check("rc11", name, where, self.LIMIT_S)
                self.unbroken[name] = result == "ok"
                if result != "ok":
                    self.workshop.complaints.append(
                        f"GenMC: {name} without a mutant: {result}")
            return self.unbroken[name]

    def attack(self, mutant, where):
        where += "/genmc"
        first = genmc.programs_for(mutant)
        try:
            genmc.copy_core(where, {mutant.path: mutant.text})
            for name in dict.fromkeys([*first, *genmc.programs()]):
                result, _ = genmc.check("rc11", name, where, self.LIMIT_S)
                if result == "FAIL" and self.is_right_unbroken(name):
                    return name
        finally:
            shutil.rmtree(where, ignore_errors=True)
        return None
