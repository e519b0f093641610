# SPDX-License-Identifier: MIT
"""The tools that mutants are tried with: tests and explorers, in order."""
import glob
import os
import re
from concurrent.futures import ThreadPoolExecutor

from . import build, means
from .killers import Explorer, GenMC, Lazy, Tests

# As in tests/model/meson.build, without the patterns: these use the core, and their
# scenarios would add time without testing more of the core.
EXPLORED = sorted(glob.glob("src/core/*.c") + glob.glob("src/async/*.c")) + \
    ["src/base/lock.c", "src/base/timer.c"]
NOT_EXPLORED = [f"src/base/{name}.c" for name in ("err", "hook", "lse",
                                                     "panic")]
PATTERNS = ("chan", "chan_async", "group", "pool", "pool_async", "rate", "rwlock")
MODEL = ("tests/model/seam", "tests/model/engine", "tests/model")
THREAD = ("-fsanitize=thread",)
FEW = ("-DWEIR_BATCH_=2",)      # small batches, as in tests/model


def scenarios(path):
    return re.findall(r"^SCENARIO\((\w+)", build.read(path), re.M)


def suite(name, apart=False):
    return name, sorted(f for f in glob.glob(f"tests/{name}/*.c")
                        if "/between" not in f), apart


# The core with a hook before each access: tests/unit/between.h.
BETWEEN = "between", sorted(glob.glob("tests/unit/between*.c")) + \
    ["tests/unit/job.c"], False


class Workshop:
    def __init__(self, where, seed):
        self.where, self.env = where, means.environment(seed)
        self.complaints, self.engines = [], {}
        self.builders = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        orders = build.all_orders(where)
        self.plain = self.library("plain", includes=(orders,))
        self.thread = self.library("thread", includes=(orders,), flags=THREAD)
        self.seam = self.library("between", includes=("tests/unit/seam",))
        self.model = self.library("model", EXPLORED, MODEL, FEW)
        self.instrumented = self.library("instrumented", EXPLORED, MODEL,
                                         THREAD + FEW)

    def library(self, name, sources=None, includes=(), flags=()):
        return Lazy(lambda: build.Library(f"{self.where}/{name}", self.builders,
                                          sources, includes, flags))

    def engine(self, name, main_flags):
        """The explorer without the sources that it explores: built once, for all
        explorers that use the library `name`."""
        def make():
            left_out = ["tests/model/engine/main.c"] + \
                [f"tests/model/{name}_scenarios.c" for name in PATTERNS]
            files = NOT_EXPLORED + [f for f in
                                    sorted(glob.glob("tests/model/*.c") +
                                           glob.glob("tests/model/engine/*.c"))
                                    if f not in left_out]
            objects = list(self.builders.map(
                lambda f: build.compile_(f, f"{self.where}/{name}/{f[:-2]}.o",
                                         () if f in NOT_EXPLORED else MODEL),
                files))
            return objects + [build.compile_(
                "tests/model/engine/main.c", f"{self.where}/{name}/main.o",
                MODEL, main_flags)]
        return self.engines.setdefault(name, Lazy(make))

    def explorer(self, name, *attempts):
        return Explorer(name, self.model, self.engine("model", ()), attempts,
                        self)

    def races(self, name, *attempts):
        return Explorer(name, self.instrumented,
                        self.engine("instrumented", ("-DEX_RACES=1",)),
                        attempts, self)

    def for_logic(self):
        """Cheapest first."""
        return [
            self.explorer("explorer", (("--at-most", "0", "--random", "0"), 20),
                          (("--spin", "2", "--at-most", "0", "--random", "0"),
                           20)),
            Tests("unit tests", [suite("unit"), suite("permit")], self.plain,
                  self),
            Tests("unit tests", [BETWEEN], self.seam, self),
            self.explorer("explorer", (("--at-most", "1", "--random", "0"), 20),
                          (("--spin", "2", "--at-most", "1", "--random", "0"),
                           20)),
            Tests("other tests", [suite("fault", True), suite("refmodel"),
                                  suite("regress"), suite("stress")],
                  self.plain, self),
            self.explorer("explorer", (("--at-most", "2", "--random", "1000"),
                                       120)),
        ]

    def for_orders(self):
        return [
            self.races("explorer, races",
                       (("--at-most", "0", "--random", "300"), 120)),
            self.races("explorer, stores delayed",
                       (("--delays", "--at-most", "1", "--random", "500"), 30),
                       (("--delays", "--random", "0",
                         *scenarios("tests/model/order_scenarios.c")), 60)),
            self.races("explorer, stale reads",
                       (("--stale", "--at-most", "1", "--enough", "1000",
                         "--random", "200"), 90),
                       (("--stale", "--random", "0", "--enough", "100000",
                         *scenarios("tests/model/order_scenarios.c")), 60)),
            Tests("ThreadSanitizer", [suite("unit"), suite("permit"),
                                      suite("stress")], self.thread, self),
            Tests("this machine", [suite("stress"), suite("regress")],
                  self.plain, self),
        ] + ([GenMC(self)] if os.environ.get("GENMC") else [])
