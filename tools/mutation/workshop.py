# SPDX-License-Identifier: MIT
"""The tools that mutants are tried with: tests and explorers, in order."""
import glob
import os
import re
from concurrent.futures import ThreadPoolExecutor

from . import build, means
from .killers import Explorer, GenMC, Lazy, Tests, fast, wraps_of

THREAD = ("-fsanitize=thread",)
# Small batches and few sleeps, as in tests/model.
FEW = ("-DWEIR_BATCH_=2", "-DWEIR_SLEEPS_=1")

# The explorer of the core.  As in tests/model/meson.build, without the patterns: these
# use the core, and their scenarios would add time without testing more of the core.
EXPLORED = build.rooms("async", "core") + ["src/base/lock.c", "src/base/timer.c"]
NOT_EXPLORED = [f"src/base/{name}.c" for name in ("err", "hook", "lse",
                                                     "panic")]
PATTERNS = ("chan", "chan_async", "group", "pool", "pool_async", "rate", "rwlock",
            "sharded")
MODEL = ("tests/model/seam", "tests/model/engine", "tests/model")
SCENARIOS = [f for f in sorted(glob.glob("tests/model/*.c"))
             if f not in [f"tests/model/{p}_scenarios.c" for p in PATTERNS]]
ENGINE = [f for f in sorted(glob.glob("tests/model/engine/*.c"))
          if not f.endswith("/process.c")]

# The explorer of src/named, as in tests/model/named/meson.build: files.c stands for the
# sources that call the file system.
PROCESSES = [f for f in build.rooms("named") if os.path.basename(f) not in
             ("bytes.c", "create.c", "file.c", "lent.c", "place.c")]
PROCESSES_MODEL = ("tests/model/named/seam", "tests/model/named", *MODEL[:2])
PROCESSES_FLAGS = FEW + ("-DEX_PROCESSES=1", "-DEX_HEAP_LINES=250")
PROCESSES_ENGINE = sorted(glob.glob("tests/model/engine/*.c") +
                          glob.glob("tests/model/named/*.c")) + \
    build.rooms("core") + ["src/base/lock.c", "src/base/timer.c"]
PROCESSES_LINK = wraps_of(build.read("tests/model/named/libc.c")) + ["-Wl,-z,now"]

# The explorer with src/record, as in tests/model/registry/meson.build.
REGISTRY = EXPLORED + [f"src/record/{name}.c" for name in (
    "change", "context", "flow", "object", "ops", "permit", "record", "registry",
    "release", "slot", "thread", "wait", "wait_table")] + \
    [f"src/pattern/{name}.c" for name in (
        "chan", "chan_admin", "chan_count", "chan_ring", "chan_wait", "ready")]
REGISTRY_MODEL = ("tests/model/registry/seam", "tests/model/registry",
                  "tests/model/engine")
REGISTRY_FLAGS = FEW + (
    "-DWEIR_OPS_=1u", "-DWEIR_UNUSED_MAX_=0u", "-Dpthread_key_create=ex_key_create",
    "-Dpthread_key_delete=ex_key_delete", "-Dpthread_setspecific=ex_key_set")


def scenarios(path, macro="SCENARIO"):
    return re.findall(rf"^{macro}\((\w+)", build.read(path), re.M)


# The scenarios of memory orders, which are explored at their own bounds.
ORDERS = [name for file in ("order", "shown")
          for name in scenarios(f"tests/model/{file}_scenarios.c")] + [
    "stat_meets_grant_before_another_waiter", "stat_meets_close"]


def suite(name, apart=False):
    return name, sorted(f for f in glob.glob(f"tests/{name}/*.c")
                        if "/between" not in f), apart


# Without the sharded semaphore, which is a pattern.
STRESS = "stress", [f"tests/stress/{p}.c" for p in (
    "conserve", "ctxtree", "mixed", "soak")], False

# The core with a hook before each access: tests/unit/between.h.
BETWEEN = "between", sorted(glob.glob("tests/unit/between*.c")) + \
    ["tests/unit/job.c"], False


# Operations, and what the core records of a watched semaphore.  The other programs of
# these folders need more rooms, or seconds.
ASYNC = "operations", [f"tests/async/{p}.c" for p in (
    "calls", "end", "epoll", "fork", "late", "loop", "multi", "op", "regress")] + \
    ["tests/unit/job.c"], False
DIAG = "diag", [f"tests/diag/{p}.c" for p in (
    "begins", "every", "holders", "lives", "lockorder", "look", "waits")], True


def named(*programs):
    return "named-" + programs[0], \
        [f"tests/named/{p}.c" for p in (*programs, "puppet", "file",
                                        "private")] + \
        ["tests/support/process.c"], False


class Workshop:
    def __init__(self, where, seed):
        self.where, self.env = where, means.environment(seed)
        self.complaints, self.engines = [], {}
        self.builders = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        orders = build.all_orders(where)
        # Operations are not mutated, but tests of the core use them.
        core = build.rooms("async", "base", "core")
        whole = core + build.rooms("diag", "record")
        shared = whole + build.rooms("named")
        self.plain = self.library("plain", whole, (orders,))
        self.thread = self.library("thread", whole, (orders,), THREAD)
        self.seam = self.library("between", core, ("tests/unit/seam",))
        self.model = self.library("model", EXPLORED, MODEL, FEW)
        self.registry = self.library("registry", REGISTRY, REGISTRY_MODEL,
                                     REGISTRY_FLAGS)
        self.instrumented = self.library("instrumented", EXPLORED, MODEL,
                                         THREAD + FEW)
        self.named = self.library("named", shared, (orders,))
        self.named_thread = self.library("named-thread", shared, (orders,), THREAD)
        # The compiler reports plain stores: a process may be killed before each.
        self.processes = self.library("processes", PROCESSES, PROCESSES_MODEL,
                                      THREAD + PROCESSES_FLAGS)

    def library(self, name, sources, includes, flags=()):
        return Lazy(lambda: build.Library(f"{self.where}/{name}", self.builders,
                                          sources, includes, flags))

    def compiled(self, target):
        """The library that shows whether a mutant differs from the source."""
        return {"core": self.plain, "named": self.named}[target]()

    def engine(self, name, sources, includes, flags=()):
        """The explorer without the sources that it explores: built once, for all
        explorers that use the library `name`."""
        def one(file):
            plain = file in NOT_EXPLORED
            return build.compile_(file, f"{self.where}/{name}/{file[:-2]}.o",
                                  () if plain else includes,
                                  () if plain else flags)
        return self.engines.setdefault(name, Lazy(lambda: list(
            self.builders.map(one, [*sources, *NOT_EXPLORED]))))

    def explorer(self, *attempts):
        return Explorer("explorer", self.model,
                        self.engine("model", SCENARIOS + ENGINE, MODEL),
                        attempts, self)

    def registry_explorer(self, *attempts):
        return Explorer("explorer, registry", self.registry, self.engine(
            "registry", glob.glob("tests/model/registry/*.c") + ENGINE,
            REGISTRY_MODEL, REGISTRY_FLAGS), attempts, self)

    def races(self, name, *attempts):
        return Explorer(name, self.instrumented,
                        self.engine("instrumented", SCENARIOS + ENGINE, MODEL,
                                    ("-DEX_RACES=1",)),
                        attempts, self)

    def processes_explorer(self, *attempts):
        return Explorer("explorer", self.processes,
                        self.engine("processes", PROCESSES_ENGINE,
                                    PROCESSES_MODEL, PROCESSES_FLAGS),
                        attempts, self, PROCESSES_LINK)

    def processes_races(self, name, *attempts):
        return Explorer(name, self.processes,
                        self.engine("processes-races", PROCESSES_ENGINE,
                                    PROCESSES_MODEL,
                                    PROCESSES_FLAGS + ("-DEX_RACES=1",)),
                        attempts, self, PROCESSES_LINK)

    def tools(self):
        """{(target, kind of mutant): the tools that attack it, cheapest first}"""
        return {
            ("core", "logic"): [
                fast(self.explorer(
                    (("--at-most", "0", "--random", "0"), 20),
                    (("--spin", "2", "--at-most", "0", "--random", "0"), 20))),
                fast(Tests("unit tests", [suite("unit"), suite("permit"), ASYNC, DIAG],
                           self.plain, self)),
                fast(Tests("unit tests", [BETWEEN], self.seam, self)),
                self.explorer((("--at-most", "1", "--random", "0"), 20),
                              (("--spin", "2", "--at-most", "1", "--random", "0"),
                               20)),
                self.registry_explorer(
                    (("--spin", "2", "--at-most", "1", "--random", "0"), 30)),
                Tests("other tests", [suite("fault", True), suite("refmodel"),
                                      suite("regress"), STRESS],
                      self.plain, self),
                self.explorer((("--at-most", "2", "--random", "1000"), 120)),
            ],
            ("core", "order"): [
                self.races("explorer, races",
                           (("--at-most", "0", "--random", "300"), 120)),
                self.races("explorer, stores delayed",
                           (("--delays", "--at-most", "1", "--random", "500"), 30),
                           (("--delays", "--random", "0", *ORDERS), 60)),
                self.races("explorer, stale reads",
                           (("--stale", "--at-most", "1", "--enough", "1000",
                             "--random", "200"), 90),
                           (("--stale", "--random", "0", "--enough", "100000",
                             *ORDERS), 60)),
                Tests("ThreadSanitizer", [suite("unit"), suite("permit"), STRESS],
                      self.thread, self),
                Tests("this machine", [STRESS, suite("regress")], self.plain, self),
            ] + ([GenMC(self)] if os.environ.get("GENMC") else []),
            ("named", "logic"): [
                # A few scenarios have most of the schedules at bound 1, so the first
                # attempt stops each after 1000.
                fast(self.processes_explorer(
                    (("--at-most", "0", "--random", "0"), 20),
                    (("--at-most", "1", "--enough", "1000", "--random", "0"), 20))),
                # basic to fault take less than a second of CPU time together.
                fast(Tests("tests", [named("basic", "counts", "death", "image", "joins",
                                           "lend", "open", "pause", "queue",
                                           "records", "repair", "rounds", "slots"),
                                     named("forked", "fault", "lent", "place", "revoke")],
                           self.named, self)),
                fast(Tests("tests", [named("wait", "foreign", "hard")], self.named,
                           self)),
                self.processes_explorer((("--at-most", "1", "--random", "0"), 20)),
                # Races for the lock need more schedules than other scenarios.
                self.processes_explorer((("--at-most", "2", "--enough", "150000",
                                          "--random", "0", *scenarios(
                                              "tests/model/named/lock_scenarios.c",
                                              "PROCESSES")), 60)),
                Tests("tests", [named("corrupt")], self.named, self),
                self.processes_explorer((("--at-most", "2", "--enough", "20000",
                                          "--random", "0"), 120)),
                self.processes_races("explorer",
                                     (("--delays", "--at-least", "3", "--random",
                                       "0", "unlock_meets_contender",
                                       "unlock_without_membarrier"), 60),
                                     (("--stale", "--at-most", "1", "--enough",
                                       "50000", "--random", "3000",
                                       "lock_owner_dies"), 60),
                                     (("--stale", "--at-most", "1", "--enough",
                                       "300", "--random", "0"), 60)),
            ],
            ("named", "order"): [
                # These scenarios have few schedules.
                self.processes_races("explorer, stale reads",
                                     (("--stale", "--at-most", "2", "--enough",
                                       "30000", "--random", "0",
                                       "number_of_a_new_lender",
                                       "newcomer_is_not_buried"), 30),
                                     (("--stale", "--at-most", "1", "--enough",
                                       "30000", "--random", "0",
                                       "cancel_of_a_newcomer"), 30),
                                     (("--stale", "--at-least", "4", "--only-random",
                                       "--random", "10000", "cancel_of_a_newcomer",
                                       *scenarios("tests/model/named/"
                                                  "order_scenarios.c",
                                                  "PROCESSES")), 60)),
                self.processes_races("explorer, races",
                                     (("--at-most", "0", "--random", "300"), 60)),
                self.processes_races("explorer, stores delayed",
                                     (("--delays", "--at-most", "1", "--random",
                                       "100"), 60)),
                self.processes_races("explorer, stale reads",
                                     (("--stale", "--at-most", "1", "--enough",
                                       "300", "--random", "100"), 60)),
                Tests("ThreadSanitizer", [named("basic", "wait", "pause", "lend")],
                      self.named_thread, self),
            ],
        }
