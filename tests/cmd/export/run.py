# SPDX-License-Identifier: MIT
"""weir export: run.py WEIR http|once HOLDER [TEST...]

The formats, the values for semaphores with holders and waiters, the options, and the
server with clients that are slow or hostile.
"""
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The program runs again in a PID namespace, without these arguments.
if len(sys.argv) > 3 and sys.argv[2] in ("http", "once"):
    os.environ["WEIR_TEST_EXPORT"] = sys.argv.pop(2)
    os.environ["WEIR_TEST_HOLDER"] = os.path.abspath(sys.argv.pop(2))
sys.path[1:1] = [os.path.dirname(HERE), HERE]
from support import *  # noqa: E402
import support  # noqa: E402
from exposition import Wrong, parse, values  # noqa: E402
from server import COARSE, HAS_HTTP, Server, answer, end_staged, let_a_tick_pass, staged  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
HOLDER = os.environ.get("WEIR_TEST_HOLDER")
OPEN = "application/openmetrics-text"
PREFIX = "weir_semaphore_"
GAUGES = ("permits", "permits_available", "waiters", "waiting_permits",
          "oldest_waiter_seconds", "oldest_holder_seconds")


def once(*args):
    status, out, err = weir("export", "--once", *args)
    same((status, err), (0, ""), "export --once")
    return parse(out, "--openmetrics" in args)


def is_closed(connection):
    """The server has closed the connection, with or without an answer."""
    connection.settimeout(LIMIT)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


# The formats and the values.

def unreadable(families, scope="host"):
    return families["weir_export_unreadable"].samples[
        "weir_export_unreadable", frozenset({("scope", scope)})]



def check_staged(families):
    same(values(families, PREFIX + "permits"), {"builds": 3, "idle": 5}, "permits")
    same(values(families, PREFIX + "permits_available"), {"builds": 1, "idle": 5}, "available")
    same(values(families, PREFIX + "waiters"), {"builds": 2, "idle": 0}, "waiters")
    same(values(families, PREFIX + "waiting_permits"), {"builds": 3, "idle": 0}, "wanted")
    for age in ("oldest_waiter_seconds", "oldest_holder_seconds"):
        found = values(families, PREFIX + age)
        same(found["idle"], 0, age)
        check(0 < found["builds"] < LIMIT, (age, found))
    held = values(families, PREFIX + "oldest_holder_seconds")["builds"]
    check(held > values(families, PREFIX + "oldest_waiter_seconds")["builds"], "the order")
    same(values(families, PREFIX + "newest_holder_seconds"), {"builds": held}, "one hold")
    for name in GAUGES:
        same(families[PREFIX + name].type, "gauge", name)
        for _, labels in families[PREFIX + name].samples:
            labels = dict(labels)
            labels.pop("semaphore")
            check(labels["scope"] == "process" or
                  labels == {"policy": "fifo", "scope": "host"}, labels)


def test_values_in_both_formats():
    jobs = staged()
    text, opened = once(), once("--openmetrics")
    for families in (text, opened):
        check_staged(families)
        # The source does not know these.
        for unknown in ("leaked_permits", "releases", "releases_total", "acquires",
                        "acquires_total", "wait_duration_seconds", "hold_duration_seconds"):
            same(values(families, PREFIX + unknown), {}, unknown)
        same(values(families, PREFIX + "deadlocked_waiters"), {"builds": 0, "idle": 0})
        same(unreadable(families), 0)
    version = weir("--version")[1].split()[1]
    info = {("weir_build_info", frozenset({("version", version)})): 1}
    same((text["weir_build_info"].samples, text["weir_build_info"].type), (info, "gauge"))
    same((opened["weir_build"].samples, opened["weir_build"].type), (info, "info"))
    same(opened[PREFIX + "oldest_waiter_seconds"].unit, "seconds")
    end_staged(jobs)
    after = once()
    same(values(after, PREFIX + "permits_available"), {"builds": 3, "idle": 5}, "at the end")
    same(values(after, PREFIX + "newest_holder_seconds"), {}, "there is no hold")


def test_the_newest_hold():
    jobs = []
    for name in ("x", "y"):
        jobs.append(start("run", "a", "-n", "2", "--", *held_job(name)))
        job_pid(name)
        let_a_tick_pass()
    found = once()
    check(0 < values(found, PREFIX + "newest_holder_seconds")["a"] <
          values(found, PREFIX + "oldest_holder_seconds")["a"], "ages")
    for name, job in zip(("x", "y"), jobs):
        let_end(name)
        same(finish(job)[0], 0)


def test_no_semaphores():
    for args in ((), ("--openmetrics",)):
        families = once(*args)
        check(not any(values(families, name) for name in families
                      if name.startswith(PREFIX)), "a family")


def test_names_are_escaped():
    names = ['a"b', "back\\slash", "a\\nb", "comma,a=b}", "\u00e4\u20ac\U0001f600", "{}"]
    for name in names:
        same(weir("open", name, "-n", "1")[0], 0, name)
    for args in ((), ("--openmetrics",)):
        same(sorted(values(once(*args), PREFIX + "permits")), sorted(names), "names")


def test_names_that_are_not_utf8():
    """Two such names may get the same label; then there is one sample, the sum."""
    folder = os.fsencode(support.DIR)
    weir("open", "a", "-n", "2")
    with open(path("a.weir"), "rb") as file:
        data = file.read()
    for name in (b"x\xff", b"x\xfe", b"\xc3", b"y\xc2\x85z"):
        with open(folder + b"/" + name + b".weir", "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
    found = values(once(), PREFIX + "permits")
    same(found["x\ufffd"], 4, "the sum")
    same(found["\ufffd"], 2, "one byte")
    # weir refuses the name with a control character.
    check("y\x85z" not in found, found)


def test_an_unreadable_semaphore():
    weir("open", "good", "-n", "1")
    with open(path("bad.weir"), "w") as file:
        file.write("no semaphore")
    os.chmod(path("bad.weir"), 0o600)
    found = once()
    same(values(found, PREFIX + "permits"), {"good": 1})
    same(unreadable(found), 1)


def test_ten_thousand():
    weir("open", "s0", "-n", "7")
    with open(path("s0.weir"), "rb") as file:
        head, size = file.read(4096), os.fstat(file.fileno()).st_size
    for i in range(1, 10000):
        with open(path(f"s{i}.weir"), "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(head)
            file.truncate(size)
    same(len(values(once(), PREFIX + "permits")), 10000)
    with Server() as server:
        found = values(parse(server.get_whole()), PREFIX + "permits_available")
        same((len(found), set(found.values())), (10000, {7}), "over HTTP")


def test_the_parser_is_strict():
    good = "# HELP a_total b\n# TYPE a_total counter\na_total{x=\"y\"} 1\n"
    parse(good)
    for wrong in (good[:-1], good + "b 1\n", good.replace("TYPE", "TYPF"), good * 2,
                  good + good.splitlines()[2] + "\n", good.replace('"y"', '"\\y"'),
                  good.replace("x=", "pid="), good.replace(" 1", " one")):
        try:
            parse(wrong)
        except Wrong:
            continue
        raise Failed(f"accepted: {wrong!r}")
    try:
        parse(good, True)
    except Wrong:
        return
    raise Failed("accepted text as OpenMetrics")


def test_deadlock_between_processes():
    """Two nested `weir run` that take two names in opposite order."""
    jobs = []
    for name in ("a", "b"):
        weir("open", name, "-n", "1")
        os.mkfifo(path(name + ".go"))
    for outer, inner in (("a", "b"), ("b", "a")):
        jobs.append(start("run", outer, "--", "sh", "-c", 'read x <"$1"; exec "$2" run "$3" -- true',
                          "sh", path(outer + ".go"), support.WEIR, inner))
        until(lambda: roles(outer, "holds"), "a holder")
    same(values(once(), PREFIX + "deadlocked_waiters"), {"a": 0, "b": 0}, "before")
    for name in ("a", "b"):
        with open(path(name + ".go"), "w") as file:
            file.write("go\n")
    until(lambda: roles("a", "waits") and roles("b", "waits"), "two waiters")
    until(lambda: values(once(), PREFIX + "deadlocked_waiters") == {"a": 1, "b": 1}, "deadlock")
    jobs[0].send_signal(signal.SIGTERM)
    for job in jobs:
        finish(job)
    same(values(once(), PREFIX + "deadlocked_waiters"), {"a": 0, "b": 0}, "after")


# Processes with watched semaphores.

# Processes outside the test may be seen, too; they have other names.
POOL = f"pool{os.getpid()}"


class Holder:
    """The program holder: watched semaphores in a process."""

    def __init__(self, name=POOL, capacity=4, program=HOLDER):
        self.process = subprocess.Popen([program, name, str(capacity)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=ENV, text=True)
        same(self.process.stdout.readline(), "ok\n", "the holder")

    def do(self, *commands):
        for command in commands:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            same(self.process.stdout.readline(), "ok\n", command)

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.process.kill()
        self.process.communicate()


def of_process(families, name, semaphore=POOL):
    return values(families, PREFIX + name, "process").get(semaphore)


def outcomes(families, semaphore=POOL):
    """{outcome: count}, without those of 0."""
    return {dict(labels)["outcome"]: value for (_, labels), value
            in families[PREFIX + "acquires_total"].samples.items()
            if value and {("semaphore", semaphore), ("scope", "process")} <= labels}


def histogram(families, name, semaphore=POOL):
    """(count, sum, {bound: cumulative count})."""
    family = families[PREFIX + name]
    mine = {key: value for key, value in family.samples.items()
            if {("semaphore", semaphore), ("scope", "process")} <= key[1]}
    one = {key[0][len(PREFIX + name):]: value for key, value in mine.items()}
    return one["_count"], one["_sum"], {dict(labels)["le"]: value
                                        for (full, labels), value in mine.items()
                                        if full.endswith("_bucket")}


def test_a_process():
    with Holder() as holder:
        holder.do("pairs 5", "hold 1")
        let_a_tick_pass()
        holder.do("leak 2", "wait 2", "try 1", "timeout 2")
        for args in ((), ("--openmetrics",)):
            found = once(*args)
            for name, want in (("permits", 4), ("permits_available", 1), ("waiters", 1),
                               ("waiting_permits", 2), ("leaked_permits", 2),
                               ("deadlocked_waiters", 0)):
                same(of_process(found, name), want, name)
            check(0 < of_process(found, "newest_holder_seconds") <
                  of_process(found, "oldest_holder_seconds") < LIMIT, "ages")
            check(0 < of_process(found, "oldest_waiter_seconds") < LIMIT, "ages")
        found = once()
        same(of_process(found, "releases_total"), 5)
        same(outcomes(found), {"immediate": 7, "timeout": 1, "would_block": 1})
        count, total, buckets = histogram(found, "hold_duration_seconds")
        same(count, 5, "holds")
        check(0 <= total < LIMIT and "1e-05" in buckets and "1e-06" not in buckets, buckets)
        count, total, buckets = histogram(found, "wait_duration_seconds")
        same((count, buckets["0.3"], buckets["100.0"]), (1, 0, 1), "the wait of 2 s")
        check(2 <= total < LIMIT, total)
        holder.do("release 1")
        until(lambda: outcomes(once()).get("queued") == 1, "the waiter was granted")


def exemplars(families, name, semaphore=POOL):
    """{bound: (call site, value, time)}"""
    return {dict(labels)["le"]: (found["site"], value, at)
            for (_, labels), (found, value, at)
            in families[PREFIX + name].exemplars.items()
            if {("semaphore", semaphore), ("scope", "process")} <= labels}


def test_exemplars():
    """A bucket names the call site of a recent wait or hold: only in OpenMetrics."""
    def check_one(found):
        (bound, (site, value, at)), = found.items()
        # Without libdw or debug information: the module and the offset.  A compiler may
        # inline the function; without tail calls the call site lies inside the library.
        check(re.fullmatch(r"(holder\.c:\d+ )?(execute|take|main)|export-holder\+0x[0-9a-f]+"
                           r"|.*weir.*", site), site)
        check(begin - 1 < at < time.time() + 1, at)
        return bound, value
    begin = time.time()
    with Holder() as holder:
        holder.do("hold 4", "wait 1")
        same(exemplars(once("--openmetrics"), "wait_duration_seconds"), {}, "it still waits")
        same(exemplars(once("--openmetrics"), "hold_duration_seconds"), {}, "it still holds")
        holder.do("timeout 3")
        found = once("--openmetrics")
        bound, value = check_one(exemplars(found, "wait_duration_seconds"))
        check(bound == "3.0" and 1.9 < value < 3 or value >= 3, (bound, value))
        # A release that grants is a slow one, and an event.
        holder.do("release 4")
        until(lambda: outcomes(once()).get("queued") == 1, "the waiter was granted")
        found = once("--openmetrics")
        bound, value = check_one(exemplars(found, "hold_duration_seconds"))
        check(value >= 1.9, value)
        # They are stable: no new time series of exemplars with each scrape.
        same(exemplars(once("--openmetrics"), "hold_duration_seconds"),
             exemplars(found, "hold_duration_seconds"))
        check(" # " not in weir("export", "--once")[1], "in text 0.0.4")


def test_no_exemplar_of_an_uncertain_hold():
    """The thread has acquired the semaphore at two places: the release may be of either."""
    with Holder() as holder:
        holder.do("pairs 1", "hold 4", "wait 1", "timeout 1", "release 4")
        until(lambda: outcomes(once()).get("queued") == 1, "the waiter was granted")
        found = once("--openmetrics")
        check(exemplars(found, "wait_duration_seconds"), "the waits are certain")
        holds = exemplars(found, "hold_duration_seconds")
        # Without tail calls both have one call site, which lies inside the library.
        check(all("weir" in site for site, _, _ in holds.values()), holds)


def test_no_exemplar_of_an_uncertain_wait():
    """Two operations were submitted by one line; the first one is granted by a release of the
    thread.  No event says which of the two has ended."""
    with Holder() as holder:
        holder.do("hold 4", "submit", "release 1")
        until(lambda: outcomes(once()).get("queued") == 1, "the first one is granted")
        same(exemplars(once("--openmetrics"), "wait_duration_seconds"), {}, "two operations")


def test_an_exemplar_of_a_program_with_a_long_name():
    """OpenMetrics limits the length: the name of the program is cut, and not the offset."""
    program = os.path.join(os.path.dirname(HOLDER), "n" * 200 + os.urandom(4).hex())
    try:
        shutil.copy(HOLDER, program)
        if subprocess.run(["strip", program], stderr=subprocess.PIPE).returncode:
            raise Skipped("needs strip for programs of this machine")
        with Holder(program=program) as holder:
            holder.do("hold 4", "timeout 1")
            (site, _, _), = exemplars(once("--openmetrics"), "wait_duration_seconds").values()
        check(re.fullmatch(r"n{101}\+0x[0-9a-f]{3,}|.*weir.*", site), site)
    finally:
        os.unlink(program)


def test_no_exemplar_at_an_impossible_time():
    """A process has written a false time of its start into its registry."""
    offset = 96
    with open(os.path.join(ROOT, "src", "record", "layout.h")) as file:
        fields = re.search(r"struct rg_header \{\n(.*?)\tint64_t start_realtime_ns;", file.read(),
                           re.DOTALL)[1]
    sizes = {"uint32_t": 4, "uint64_t": 8, "int64_t": 8}
    same(8 + sum(sizes[kind] * (names.count(",") + 1) for kind, names in
                 re.findall(r"^\t(\w+) ([^;\[]+);", fields, re.MULTILINE)), offset, "the offset")
    with Holder() as holder:
        holder.do("hold 4", "wait 1", "timeout 1")
        check(exemplars(once("--openmetrics"), "wait_duration_seconds"), "before")
        with open(f"/proc/{holder.process.pid}/maps") as file:
            start, = re.findall(r"^(\w+)-.* 00000000 .*memfd:weir-diag", file.read(), re.MULTILINE)
        for time_ns in -(1 << 63), -(1 << 62), (1 << 63) - 1:
            with open(f"/proc/{holder.process.pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(int(start, 16) + offset)
                memory.write(time_ns.to_bytes(8, sys.byteorder, signed=True))
            same(exemplars(once("--openmetrics"), "wait_duration_seconds"), {}, time_ns)


def misuses(families, semaphore=POOL, scope="process"):
    """{kind: count}"""
    return {dict(labels)["kind"]: value for (_, labels), value
            in families[PREFIX + "misuse_total"].samples.items()
            if {("semaphore", semaphore), ("scope", scope)} <= labels}


def test_misuse_in_a_process():
    with Server() as server, Holder() as holder:
        def count():
            return misuses(parse(server.get()[2]))
        until(lambda: count() == {"over_release": 0, "busy_destroy": 0}, "none")
        holder.do("over 1", "hold 1", "over 2", "hold 3", "wait 2", "busy")
        until(lambda: count() == {"over_release": 2, "busy_destroy": 1}, "three")
        same(misuses(once("--openmetrics") | once()), {"over_release": 2, "busy_destroy": 1})
        holder.do("release 4")
        holder.__exit__()
        # The counts of a process that has ended stay in the sum.
        until(lambda: server.get()[2].find('waiters{semaphore="' + POOL) < 0, "the end")
        same(count(), {"over_release": 2, "busy_destroy": 1})


def test_a_new_semaphore_has_no_misuses():
    with Holder() as holder:
        holder.do("over 1", "renew")
        same(misuses(once()), {"over_release": 0, "busy_destroy": 0})


def reclaimed():
    families = once()
    same({dict(labels)["reason"] for _, labels in
          families[PREFIX + "reclaimed_permits_total"].samples}, {"death"}, "reasons")
    return values(families, PREFIX + "reclaimed_permits_total")


def test_permits_of_the_dead():
    """A killed holder is counted, with and without a process that notices the death."""
    with subprocess.Popen(["sleep", "1000"]) as owner:
        for name in "a", "b":
            same(weir("open", name, "-n", "3")[0], 0)
        same(reclaimed(), {"a": 0, "b": 0})
        for name, weight in ("a", 2), ("a", 1), ("b", 3):
            same(weir("hold", name, "-w", str(weight), "--while-pid", str(owner.pid))[0], 0)
        holders = {entry["weight"]: entry["pid"] for entry in stat("a")["entries"]}
        waiter = start("run", "b", "--", "true")
        until(lambda: roles("b", "waits"), "a waiter")
        os.kill(holders[2], signal.SIGKILL)
        until(lambda: reclaimed() == {"a": 2, "b": 0}, "a killed hold")
        os.kill(stat("b")["entries"][0]["pid"], signal.SIGKILL)
        same(finish(waiter)[0], 0)
        until(lambda: reclaimed() == {"a": 2, "b": 3}, "noticed by the waiter")
        same(weir("run", "a", "-w", "2", "--", "true")[0], 0)
        # A hold that ends with its process is a release.
        owner.kill()
        owner.wait()
    same(weir("wait", "a", "--idle")[0], 0)
    same(reclaimed(), {"a": 2, "b": 3})


def test_a_call_that_waits_for_idle_is_no_waiter():
    with Holder() as holder:
        holder.do("hold 1", "idle")
        found = once()
        same([of_process(found, name) for name in
              ("waiters", "waiting_permits", "oldest_waiter_seconds")], [0, 0, 0])


def test_a_wait_for_idle_may_be_deadlocked():
    """So are two groups whose tasks wait for the end of each other's."""
    with Holder() as holder:
        holder.do("stuck")
        found = once()
        same([of_process(found, name) for name in ("waiters", "deadlocked_waiters")], [0, 1])


def test_deadlock_in_a_process():
    with Holder() as holder:
        holder.do("deadlock")
        found = once()
        same([of_process(found, "deadlocked_waiters", f"{POOL}-{x}") for x in "ab"], [1, 1])
        same(of_process(found, "deadlocked_waiters"), 0)


def test_the_policy_is_a_label():
    with Holder() as holder:
        holder.do("barging")
        policies = {dict(labels)["semaphore"]: dict(labels)["policy"] for _, labels
                    in once()[PREFIX + "permits"].samples}
        same((policies[POOL], policies[POOL + "-b"]), ("fifo", "barging"))


def test_processes_are_summed():
    with Holder() as one, Holder(capacity=3) as other:
        begin = time.clock_gettime(COARSE)
        one.do("pairs 5", "hold 2")
        let_a_tick_pass()
        other.do("pairs 7", "hold 1", "wait 3")
        found = once()
        # Not the sum of the ages.
        check(of_process(found, "newest_holder_seconds") <
              of_process(found, "oldest_holder_seconds") <= time.monotonic() - begin, "ages")
        same([of_process(found, name) for name in
              ("permits", "permits_available", "waiters", "releases_total")], [7, 4, 1, 12])
        same(outcomes(found), {"immediate": 14})
        same(histogram(found, "hold_duration_seconds")[0], 12)


def test_counters_never_decrease():
    """A process that ends, and a semaphore that is destroyed, stay in the sums."""
    with Server() as server, Holder() as one:
        def count():
            found = parse(server.get()[2])
            same(histogram(found, "hold_duration_seconds")[0], of_process(found, "releases_total"))
            return of_process(found, "releases_total"), of_process(found, "permits")
        one.do("pairs 5")
        with Holder() as other:
            other.do("pairs 7")
            until(lambda: count() == (12, 8), "both")
        until(lambda: count() == (12, 4), "the other has ended")
        one.do("renew", "pairs 2")
        until(lambda: count() == (14, 4), "it was initialised again")
        with Holder() as other:
            other.do("pairs 1")
            until(lambda: count() == (15, 8), "another one")
        same(server.get()[0], 200)


def test_a_process_with_a_false_registry():
    """A process that fills its registry with false data is counted and does no harm."""
    script = """
import ctypes, mmap, os, sys
fd = os.memfd_create("weir-diag")
os.write(fd, b"weirdiag" + os.urandom(1 << 20))
memory = mmap.mmap(fd, 1 << 20)
# The header names this process: only then the registry is taken for its own.
offset = int(sys.argv[1])
memory[offset:offset + 4] = os.getpid().to_bytes(4, sys.byteorder)
print("ok", flush=True)
sys.stdin.read()
"""
    with open(os.path.join(ROOT, "src", "record", "layout.h")) as file:
        check("uint32_t objects, contexts, waits, events;\n\tuint32_t pid;" in file.read(), "pid")

    def count():
        return unreadable(once(), "process")

    # Without a PID namespace, the processes of other tests are counted as well.  Compare with
    # the counts before and after, until none of them starts or ends in between.
    def one_more():
        before = count()
        with subprocess.Popen([sys.executable, "-c", script, "52"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=ENV, text=True) as process:
            same(process.stdout.readline(), "ok\n")
            during = count()
            process.kill()
        return (during, count()) == (before + 1, before)
    until(one_more, "it is counted")


# The options.

def test_usage():
    for args, want in ((["--listen", "nowhere"],
                        "is not an address such as 127.0.0.1:9464, [::1]:9464 or 9464"),
                       (["--listen", "127.0.0.1:65536"], "is not an address"),
                       (["--listen", "127.0.0.1:"], "is not an address"),
                       (["--listen", ":9464"], "is not an address"),
                       (["--listen", "::1:9464"], "is not an address"),
                       (["--listen", "[::1]9464"], "is not an address"),
                       (["--listen", "[::1"], "is not an address"),
                       (["--listen", "example.org:80"], "is not an address"),
                       (["--listen", "127.0.0.1:-1"], "is not an address"),
                       (["--listen", "1" * 300 + ":1"], "is not an address"),
                       (["--listen", "0.0.0.0:0"], "--allow-remote permits that"),
                       (["--listen", "[::]:0"], "--allow-remote permits that"),
                       (["--listen", "192.0.2.1:0"], "--allow-remote permits that"),
                       (["--once", "--listen", "127.0.0.1:0"], "--once does not listen"),
                       (["--openmetrics"], "needs --once"),
                       (["--url", "builds"], "is not a URL such as redis://host/"),
                       (["builds"], "unexpected argument"),
                       (["--", "builds"], "unexpected argument")):
        status, out, err = weir("export", *args)
        same((status, out), (64, ""), args)
        check(want in err and 'try "weir help export"' in err, err)


def test_a_missing_folder():
    for args in (["--once"], ["--listen", "127.0.0.1:0"]):
        if not HAS_HTTP and "--listen" in args:
            continue
        status, out, err = weir("export", *args, env={"WEIR_DIR": path("nosuch")})
        same((status, out), (69, ""), err)
        check("nosuch" in err, err)


def test_full_output():
    with open("/dev/full", "w") as full:
        done = subprocess.run([support.WEIR, "export", "--once"], env=ENV, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    same(done.returncode, 125)
    check("cannot write the output" in done.stderr, done.stderr)


def test_without_the_library():
    """A build without libmicrohttpd, and a host without it."""
    if not HAS_HTTP:
        status, out, err = weir("export")
        same((status, out), (69, ""))
        check("built without libmicrohttpd" in err, err)
        return
    with open(path("libmicrohttpd.so.12"), "w") as file:
        file.write("no library")
    status, out, err = weir("export", "--listen", "127.0.0.1:0",
                            env={"LD_LIBRARY_PATH": support.DIR})
    if status == 0:
        raise Skipped("the loader ignores a file that is no library")
    same((status, out), (69, ""), err)
    check("libmicrohttpd" in err and "--once" in err, err)


# HTTP.

def test_negotiation():
    weir("open", "a", "-n", "1")
    text, opened = "text/plain; version=0.0.4; charset=utf-8", \
        OPEN + "; version=1.0.0; charset=utf-8"
    with Server() as server:
        for accept, want in (
                (None, text), ("", text), ("*/*", text), ("text/plain", text),
                (OPEN, opened), (OPEN.upper(), opened),
                # Prometheus 2.42, then 3.0.
                (f"{OPEN};version=1.0.0,{OPEN};version=0.0.1;q=0.75,"
                 "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", opened),
                (f"{OPEN};version=1.0.0;escaping=allow-utf-8;q=0.6,"
                 f"{OPEN};version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                 "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", opened),
                (f'{OPEN} ; version="1.0.0" , text/plain', opened),
                (f"{OPEN};q=0.4,text/plain;q=0.5", text), (f"{OPEN};q=0,*/*", text),
                (f"{OPEN};version=2.0.0", text), (f"{OPEN};version=2.0.0,{OPEN};q=0.1", opened),
                (f"{OPEN};q=1.5", text), (f"{OPEN};q=x", text), ("image/png", text),
                (",;=,;q=,", text), (OPEN + "x", text)):
            status, headers, body = server.get(accept=accept)
            same((status, headers["content-type"]), (200, want), accept)
            same(headers["content-length"], str(len(body.encode())))
            families = parse(body, want == opened)
            same(values(families, PREFIX + "permits"), {"a": 1}, accept)


def test_paths_and_methods():
    with Server() as server:
        same(server.get("/")[0], 200)
        check("/metrics" in server.get("/")[2])
        same(server.get("/nosuch")[0], 404)
        same(server.get("/metrics/../etc")[0], 404)
        same(server.get("/metrics?name=x")[0], 200)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, headers, _ = server.get(method=method)
            same((status, headers["allow"]), (405, "get, head"), method)
        status, headers, body = server.get(method="HEAD")
        same((status, body), (200, ""))
        check(int(headers["content-length"]) > 0, headers)
        # One request per connection.
        same(server.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 2)[1]["connection"], "close")


def test_the_values_are_those_of_the_moment():
    weir("open", "a", "-n", "2")
    with Server() as server:
        def free():
            return values(parse(server.get()[2]), PREFIX + "permits_available")["a"]
        same(free(), 2)
        job = start("run", "a", "--", *held_job("x"))
        job_pid("x")
        until(lambda: free() == 1, "a holder is seen")
        let_end("x")
        same(finish(job)[0], 0)
        until(lambda: free() == 2, "the release is seen")


def test_a_folder_that_is_removed():
    names = path("names")
    os.mkdir(names)
    ENV["WEIR_DIR"] = names
    with Server() as server:
        same(server.get()[0], 200)
        os.rmdir(names)
        until(lambda: server.get()[0] == 500, "an error")
        os.mkdir(names)
        until(lambda: server.get()[0] == 200, "it works again")


def test_addresses():
    with Server(address="localhost:0") as server:
        same(server.get()[0], 200)
        status, out, err = weir("export", "--listen", str(server.port))
        same((status, out), (75, ""), "the port is in use")
        check(f"cannot listen on {server.port}: another process uses this port" in err, err)
    # The port can be used again at once.  Other programs use 127.0.0.1, and might take it.
    with Server(address="127.77.0.1:0") as server:
        same(server.get()[0], 200)
    with Server(address=f"127.77.0.1:{server.port}") as again:
        same(again.get()[0], 200)
    try:
        with socket.socket(socket.AF_INET6) as six:
            six.bind(("::1", 0))
    except OSError:
        print("skipped: no IPv6 on this host")
    else:
        with Server(address="[::1]:0") as server:
            same((server.host, server.get()[0]), ("::1", 200))
    status, _, err = weir("export", "--listen", "192.0.2.1:1", "--allow-remote")
    if HAS_HTTP:
        same(status, 125, err)
        check("192.0.2.1:1" in err, err)


def test_a_privileged_port():
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as file:
        first = int(file.read())
    if not HAS_HTTP or first < 2:
        raise Skipped("needs libmicrohttpd and a privileged port")
    args = [support.WEIR, "export", "--listen", "127.0.0.1:1"]
    if not os.geteuid():
        args = ["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service", *args]
    done = subprocess.run(args, env=ENV, capture_output=True, text=True, timeout=LIMIT)
    same(done.returncode, 77, done.stderr)
    check("cannot listen on 127.0.0.1:1" in done.stderr, done.stderr)


def test_signals_end_it():
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = Server()
        # Also with clients that are connected.
        with server.connect(), server.connect() as other:
            other.sendall(b"GET /met")
            server.end(sig)


def test_a_client_that_never_asks_is_cut_off():
    """No byte, half a request, and an answer that is not read: all end."""
    with Server() as server:
        silent, half, endless = (server.connect() for _ in range(3))
        half.sendall(b"GET /metrics HTTP/1.1\r\nHost:")
        # A byte now and then does not prolong it.
        endless.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            # This is the behaviour of the client under test, not a synchronisation.
            if select.select([endless], [], [], 0.2)[0]:
                break
            try:
                endless.send(b"x")
            except OSError:
                break
        else:
            raise Failed("the client that sends a byte now and then stays connected")
        check(is_closed(silent) and is_closed(half) and is_closed(endless))
        same(server.get()[0], 200)


def test_slow_clients_do_not_keep_others_out():
    """All places are taken by clients that do not ask; another one is served."""
    weir("open", "a", "-n", "1")
    with Server() as server:
        slow = [server.connect() for _ in range(60)]
        for one in slow[:40]:
            one.sendall(b"GET /metrics HTTP/1.1\r\n")
        same(values(parse(server.get()[2]), PREFIX + "permits"), {"a": 1})
        for one in slow:
            one.close()


def memory_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1])


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(") ")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_without_a_descriptor_for_a_client():
    """accept fails while no connection is open.  The server sleeps until a descriptor is free."""
    with Server() as server:
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
        with server.connect() as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            check(select.select([server.process.stderr], [], [], LIMIT)[0], "no message")
            line = server.process.stderr.readline()
            check("weir: export: no descriptor is free for a client: " in line, line)
            start, cpu = time.monotonic(), cpu_seconds(pid)
            until(lambda: time.monotonic() - start > 0.5, "some time")
            check(cpu_seconds(pid) - cpu < (time.monotonic() - start) / 2, "busy")
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
            same(answer(client)[0], 200, "the status")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, before[1]))
        with server.connect():
            server.process.stderr.readline()
            # A signal ends it in this state, too.


def test_memory_stays_bounded():
    """Endless headers, a large body, and clients that do not read a large answer."""
    weir("open", "s0", "-n", "7")
    with open(path("s0.weir"), "rb") as file:
        head, size = file.read(4096), os.fstat(file.fileno()).st_size
    for i in range(1, 2000):
        with open(path(f"s{i}.weir"), "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(head)
            file.truncate(size)
    with Server() as server:
        length = len(server.get_whole())
        check(length > 900000, "a large answer")
        before = memory_of(server.process.pid)
        request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
        for _ in range(3):
            unread = []
            for _ in range(40):
                one = socket.socket()
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.connect((server.host, server.port))
                one.sendall(request)
                unread.append(one)
            server.get_whole()
            for one in unread:
                one.close()
        with server.connect() as flood:
            try:
                while flood.send(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 65536):
                    pass
            except OSError:
                pass
        with server.connect() as flood:
            try:
                flood.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n")
                while flood.send(b"y" * 65536):
                    pass
            except OSError:
                pass
        server.get_whole()
        # 32 connections, each with an answer of its own at most; and 64 MiB more.
        check(memory_of(server.process.pid) < before + 33 * length // 1024 + 65536,
              (before, memory_of(server.process.pid)))


def test_hostile_requests():
    with Server() as server:
        open_now = []
        for request in (b"\0" * 1000, b"\r\n" * 100, b"GET\r\n\r\n", b"GET /metrics\r\n\r\n",
                        b"GET /metrics HTTP/9.9\r\n\r\n", b"\xff\xfe /metrics HTTP/1.1\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\nAccept: " + b"a/b;q=1," * 1500 + b"\r\n\r\n",
                        b"GET " + b"/x" * 20000 + b" HTTP/1.1\r\n\r\n",
                        b"GET /%00metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                        b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            open_now.append(server.connect())
            try:
                open_now[-1].sendall(request)
                open_now[-1].shutdown(socket.SHUT_WR)
            except OSError:
                pass
        check(all(is_closed(one) for one in open_now))
        same(server.get()[0], 200)


def test_nothing_happens_between_requests():
    """The server's only system call is the poll that waits for the next request."""
    with Server() as server:
        same(server.get()[0], 200)

        def switches():
            with open(f"/proc/{server.process.pid}/status") as file:
                return re.findall(r"ctxt_switches:\s+(\d+)", file.read())

        def is_quiet():
            until(lambda: state(server.process.pid) == "S", "it sleeps")
            before = switches()
            # The time that it is watched is part of the test.
            select.select([], [], [], 1)
            return switches() == before
        # It may sleep for a moment before it has closed the connection, and the system may
        # wake it.  A server that polls is woken in every second.
        check(any(is_quiet() for _ in range(3)), "it is woken up in every second")


# The files that are installed.

def test_the_dashboard_uses_existing_metrics():
    with open(os.path.join(ROOT, "src", "cmd", "export", "metrics.c")) as file:
        known = set(re.findall(r'"(weir_semaphore_\w+)"', file.read()))
    check(len(known) > 10, known)
    known |= {name + suffix for name in known for suffix in ("_total", "_bucket", "_sum", "_count")}
    known |= {"weir_export_unreadable", "weir_export_server_up", "weir_build_info"}
    with open(os.path.join(ROOT, "share", "weir-dashboard.json")) as file:
        dashboard = json.load(file)
    used = set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            used |= set(re.findall(r"\bweir_\w+", target["expr"]))
    with open(os.path.join(ROOT, "share", "weir-alerts.yml")) as file:
        used |= set(re.findall(r"\bweir_\w+", file.read()))
    same(used - known, set(), "unknown metrics")
    check(len(used) >= 12, used)
    same(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]), "ids")


if __name__ == "__main__":
    main()
