# SPDX-License-Identifier: MIT
"""weir explain and weir dump: a process, a dump, a core file, names, and errors.

    commands.py WEIR TARGET REAL [TEST...]

TARGET is the program of target.c: its registry is filled in by hand.  REAL is the program
of real.c: the library fills its registry in.
"""
import ctypes
import glob
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cmd"))
from support import *  # noqa: E402
import support  # noqa: E402

TARGET = os.path.abspath(os.environ.get("WEIR_DIAG_TARGET") or sys.argv.pop(2))
os.environ["WEIR_DIAG_TARGET"] = TARGET
REAL = os.path.abspath(os.environ.get("WEIR_DIAG_REAL") or sys.argv.pop(2))
os.environ["WEIR_DIAG_REAL"] = REAL

# Bytes that a terminal interprets; tabs are not printed either.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class target:
    """A process with a registry."""

    def __init__(self, *args, program=TARGET, **more):
        self.process = subprocess.Popen([program, *args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, **more)
        same(self.process.stdout.readline(), b"ready\n", "the target")
        self.pid = str(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def dump(pid, name="dump"):
    with open(path(name), "wb") as file:
        done = subprocess.run([support.WEIR, "dump", pid], env=support.ENV, stdout=file,
                              stderr=subprocess.PIPE, timeout=LIMIT)
    same((done.returncode, done.stderr), (0, b""), "dump")
    return path(name)


def without_ages(text):
    return re.sub(r"\d+(\.\d)? (s|ms|us)|\d+m\d\ds", "AGE", text)


def test_c50_explain_a_process():
    for scenario, verdict, want in (
            ("deadlock", "DEADLOCK", 1), ("nested", "SELF-NESTED", 1),
            ("leaked", "LEAKED", 1), ("unsatisfiable", "UNSATISFIABLE", 1),
            ("signal", "NO KNOWN RELEASER", 0), ("handed", "NO KNOWN RELEASER", 0),
            ("slow", "SLOW", 0)):
        with target(scenario) as t:
            status, out, err = weir("explain", t.pid)
            same((status, err), (want, ""), scenario)
            check(f"verdict  {verdict}" in out, out)
            same(f"weir: {verdict}  " in out, scenario != "slow", out)
            status, out, err = weir("explain", t.pid, "--json")
            same((status, err), (want, ""), scenario)
            same(json.loads(out)["verdict"], verdict, "json")


def test_explain_one_name():
    with target("deadlock") as t:
        status, out, err = weir("explain", t.pid, "smtp_conn")
        same((status, err), (1, ""))
        check("\nsmtp_conn: semaphore" in out and "\ndb_pool: " not in out, out)
        status, out, err = weir("explain", t.pid, "nothing")
        same(status, 69)
        check("no watched object has the name nothing" in err, err)


def test_c50_a_lock_has_readers_and_a_writer():
    """The report names the roles, not the permits of which the lock consists, and does not
    advise to raise a capacity that cannot be raised."""
    with target("lock") as t:
        status, out, err = weir("explain", t.pid)
        same((status, err), (1, ""))
        check("holds table as a reader (" in out, out)
        check("waits for table as the writer (" in out, out)
        check("; 1 reader inside\n" in out, out)
        check(re.search(r"ways out  any of: end the wait of tid \d+ one\n", out), out)
        check("\ntable: reader-writer lock, 1 reader inside;" in out, out)
        check(re.search(r"\n  held  by 1 context:\nreader  tid \d+ one", out), out)
        check(re.search(r"\n  queue 1 waiting:\nwriter  tid \d+ one", out), out)
        check("10737418" not in out and "permit" not in out, out)
        out = json.loads(weir("explain", t.pid, "--json")[1])
        same([list(way) for way in out["groups"][0]["ways_out"]], [["end_wait_of"]], "ways out")
        out = weir("top", t.pid, "--once")[1]
        same(out.splitlines()[1].split()[:4], [t.pid, "readers", "1", "1"], out)
    with target("writer") as t:
        status, out, err = weir("explain", t.pid)
        same((status, err), (1, ""))
        check("weir: LEAKED  1 context waits for 1 writer whose thread has ended\n" in out, out)
        check("waits for table as a reader (" in out, out)
        check("\ntable: reader-writer lock, 1 writer inside;" in out, out)
        check(re.search(r"\n  held  by 1 context:\nwriter  tid \d+ one", out), out)
        check("verdict  LEAKED; 1 writer is inside for good\n" in out, out)
        check("10737418" not in out and "permit" not in out, out)
        out = weir("top", t.pid, "--once")[1]
        same(out.splitlines()[1].split()[:4], [t.pid, "writer", "1", "1"], out)


def test_explain_judges_the_named_object():
    """A deadlock of other objects is no finding about the one that is named."""
    with target("beside") as t:
        for name, want, verdict in (("cache", 0, "-"), ("db_pool", 1, "DEADLOCK")):
            status, out, err = weir("explain", t.pid, name)
            same((status, err), (want, ""), name)
            same("DEADLOCK" in out, want == 1, out)
            status, out, err = weir("explain", t.pid, name, "--json")
            same((status, err), (want, ""), name)
            if want:
                same(json.loads(out)["verdict"], verdict, name)
            else:
                check(json.loads(out)["verdict"] != "DEADLOCK", out)


def test_explain_without_an_open_descriptor():
    with target("deadlock", "closed") as t:
        status, out, err = weir("explain", t.pid)
        if status == 69 and os.getuid():
            raise Skipped("the system refuses process_vm_readv")
        same((status, err), (1, ""))
        check("DEADLOCK" in out, out)


def test_dump_and_explain_agree():
    with target("deadlock") as t:
        _, live, _ = weir("explain", t.pid)
        file = dump(t.pid)
    status, out, err = weir("explain", file)
    same((status, err), (1, ""))
    same(without_ages(out), without_ages(live), "the dump")
    # A dump of a dump is the same.
    same(weir("explain", dump(file, "copy")), (status, out, err), "the copy")


def leave_out_code(core):
    """Remove the executable segments from the program header of a core file."""
    load, executable = 1, 1
    with open(core, "r+b") as file:
        offset, = struct.unpack_from("=Q", file.read(64), 32)
        file.seek(56)
        for i in range(struct.unpack("=H", file.read(2))[0]):
            file.seek(offset + 56 * i)
            kind, flags = struct.unpack("=II", file.read(8))
            if kind == load and flags & executable:
                file.seek(offset + 56 * i)
                file.write(struct.pack("=I", 0))


def test_core_file():
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        raise Skipped(f"core files go to {pattern}")
    for scenario in "deadlock", "none":
        folder = path(scenario)
        os.mkdir(folder)
        with target(scenario, "abort", cwd=folder) as t:
            t.process.stdin.write(b"\n")
            t.process.stdin.flush()
            t.process.wait()
        files = glob.glob(folder + "/*core*")
        if scenario == "none":
            continue
        if not files:
            raise Skipped("the system writes no core files")
        status, out, err = weir("explain", files[0])
        same((status, err), (1, ""))
        check("weir: DEADLOCK  5 contexts" in out, out)
        # The beginning of a core file.  The registry may be anywhere behind it.
        os.truncate(files[0], 4096)
        status, out, err = weir("explain", files[0])
        check(status == 65 and err, (status, out, err))


def test_core_file_without_code():
    """gcore leaves out the mappings of files that were not written to."""
    folder = path("real")
    os.mkdir(folder)
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    with target(program=REAL, cwd=folder) as t:
        resource.prlimit(t.process.pid, resource.RLIMIT_CORE, (hard, hard))
        t.process.send_signal(signal.SIGABRT)
        t.process.wait()
    files = glob.glob(folder + "/*core*")
    if not files:
        raise Skipped("the system writes no core files here")
    status, out, err = weir("explain", files[0])
    same((status, err), (1, ""))
    # Without tail calls the call site lies inside the library.
    check(re.search(r"real\.c:\d+ take|diag-real\+0x|[(]take, |[(]weir_sem_acquire", out), out)
    leave_out_code(files[0])
    found = weir("explain", files[0])
    same((found[0], without_ages(found[1]), found[2]), (1, without_ages(out), ""), "without code")


def core_without_registry(name):
    """A core file with one segment of zeros, and no notes."""
    ident = b"\x7fELF\x02" + (b"\x01" if sys.byteorder == "little" else b"\x02") + b"\x01"
    machine = machine_of_the_command()
    header = struct.pack("=16sHHIQQQIHHHHHH", ident, 4, machine, 1, 0, 64, 0, 0, 64, 56, 1,
                         0, 0, 0)
    segment = struct.pack("=IIQQQQQQ", 1, 6, 4096, 0x10000, 0, 8192, 8192, 4096)
    with open(path(name), "wb") as file:
        file.write((header + segment).ljust(4096 + 8192, b"\0"))
    return path(name)


def machine_of_the_command():
    """The machine of an ELF file, from the header of the command itself."""
    with open(support.WEIR, "rb") as file:
        return struct.unpack_from("=H", file.read(20), 18)[0]


def test_c49_core_file_without_registry():
    core = core_without_registry("empty.core")
    want = (69, "", f"weir: {core}: the core file has no registry: the process had no watched"
            " semaphores, or coredump_filter left shared memory out\n")
    same(weir("explain", core), want, "explain")
    same(weir("explain", "--json", core), want, "explain --json")
    same(weir("explain", core, "name"), want, "explain NAME")
    same(weir("dump", core), want, "dump")
    # The end of the file is missing, as with ulimit -c.
    os.truncate(core, 4096 + 8191)
    want = (65, "", f"weir: {core}: the core file is truncated, and has no registry; see ulimit -c,"
            " and whether the disk was full\n")
    same(weir("explain", core), want, "truncated")
    same(weir("dump", core), want, "truncated")
    # A file that ends in its headers is damaged.
    os.truncate(core, 80)
    status, out, err = weir("explain", core)
    same((status, out), (65, ""))
    check("not a core file that can be read" in err, err)


def test_two_copies_of_the_library_in_a_process():
    with target("slow", "twice") as t:
        want = (f"weir: {t.pid}: the process contains 2 copies of libweir, and the semaphores of one"
                " of them are shown; a thread may wait for a semaphore of another one\n")
        for command in ("explain",), ("explain", "--json"), ("dump", "--json"):
            status, out, err = weir(*command, t.pid)
            same((status, err), (0, want), command)
            check(out, command)
        dump_of_one = subprocess.run([support.WEIR, "dump", t.pid], env=support.ENV, timeout=LIMIT,
                                     capture_output=True)
        same((dump_of_one.returncode, dump_of_one.stderr.decode()), (0, want), "dump")


def test_c49_a_process_with_thousands_of_mappings():
    """The reader examines some of them."""
    with target("deadlock", "crowded") as t:
        status, out, err = weir("explain", t.pid)
        same((status, out), (69, ""))
        check("the process has no watched semaphores" in err, err)


def registry_of(t):
    for fd in glob.glob(f"/proc/{t.pid}/fd/*"):
        if "memfd:weir-diag" in os.readlink(fd):
            with open(fd, "rb") as file:
                return file.read()
    raise AssertionError("no registry")


def core_with_registries(name, pid, parent, *registries):
    """A core file of a process, which maps these registries."""
    core = core_without_registry(name)
    note = struct.pack("=III8s", 5, 136, 3, b"CORE") + struct.pack("=24xII104x", pid, parent)
    segments = [struct.pack("=IIQQQQQQ", 4, 0, 2048, 0, 0, len(note), 0, 4)]
    at = 8192
    with open(core, "r+b") as file:
        for data in registries:
            segments.append(struct.pack("=IIQQQQQQ", 1, 6, at, at, 0, len(data), len(data), 4096))
            file.seek(at)
            file.write(data)
            at += len(data)
        file.seek(56)
        file.write(struct.pack("=H", len(segments)))
        file.seek(64)
        file.write(b"".join(segments))
        file.seek(2048)
        file.write(note)
    return core


def test_c49_core_file_of_a_child():
    """The child of a fork maps the registry of its parent, too."""
    with target("deadlock") as parent, target("slow") as child:
        pid, parent_pid = int(child.pid), int(parent.pid)
        own, others = registry_of(child), registry_of(parent)
    core = core_with_registries("two.core", parent_pid, 1, others, others)
    status, out, err = weir("explain", core)
    check(status == 1 and "contains 2 copies of libweir" in err, (status, err))
    core = core_with_registries("child.core", pid, parent_pid, others, own)
    status, out, err = weir("explain", core)
    same((status, err), (0, ""))
    check(f"weir: pid {pid} " in out and "DEADLOCK" not in out, out)
    # The child has no watched semaphores.
    core = core_with_registries("other.core", pid, parent_pid, others)
    status, out, err = weir("explain", core)
    same((status, out), (69, ""), "without a registry of its own")
    check("the core file has no registry" in err, err)
    # gcore writes the ID that the process has outside of its container.
    core = core_with_registries("outside.core", 1, 1, others)
    status, out, err = weir("explain", core)
    same((status, err), (1, ""), "another PID namespace")
    check(f"weir: pid {parent_pid} " in out and "DEADLOCK" in out, out)


def test_c50_a_reader_that_has_become_the_writer():
    with target("upgraded") as t:
        out = weir("explain", t.pid)[1]
        check("\ntable: reader-writer lock, 1 writer inside;" in out, out)
        check(re.search(r"\nreader  tid \d+ one", out) and
              re.search(r"\nwriter  tid \d+ one", out), out)
        check("10737418" not in out, out)
        out = weir("top", t.pid, "--once")[1]
        same(out.splitlines()[1].split()[:3], [t.pid, "writer", "1"], out)


def test_c50_a_lock_whose_holder_is_not_known():
    with target("unknown") as t:
        out = weir("explain", t.pid)[1]
        check("\ntable: reader-writer lock, 1 reader inside;" in out, out)
        check("\nreader  held by no known context\n" in out, out)
        out = weir("top", t.pid, "--once")[1]
        same(out.splitlines()[1].split()[:3], [t.pid, "readers", "1"], out)


def test_explain_without_arguments_says_where_it_looked():
    """Without a PID it shows the names of the folder; the semaphores inside processes are
    elsewhere."""
    status, out, err = weir("explain")
    same((status, out), (0, "weir: 0 watched objects, 0 contexts\n"))
    check(f"no semaphore in {support.ENV['WEIR_DIR']}; \"weir explain PID\" shows" in err, err)
    status, out, err = weir("explain", "--json")
    same((status, err), (0, ""), "json")
    same(json.loads(out)["objects"], [], "json")
    same(weir("open", "-n", "1", "one")[0], 0)
    status, out, err = weir("explain")
    same((status, err), (0, ""), "one name")


def test_explain_without_arguments_counts_the_names_that_it_cannot_read():
    """A semaphore that cannot be read is not "no semaphore"."""
    folder = support.ENV["WEIR_DIR"]
    message = f"weir: {folder}: %s cannot be read; \"weir ls\" shows why\n"
    with open(path("bad.weir"), "w") as file:
        file.write("no semaphore")
    status, out, err = weir("explain")
    same((status, err), (0, message % "1 semaphore"), "one")
    same(out, "weir: 0 watched objects, 0 contexts\n", "one")
    same(weir("open", "-n", "1", "good")[0], 0)
    os.mkdir(path("folder.weir"))
    status, out, err = weir("explain")
    same((status, err), (0, message % "2 semaphores"), "two")
    check("\ngood: semaphore" in out, out)
    status, out, err = weir("explain", "--json")
    same((status, err), (0, ""), "json")


def test_c50_nested_runs_of_two_names_are_a_deadlock():
    for name in "one", "two":
        same(weir("open", "-n", "1", name)[0], 0)
    runs = []
    for first, second in (("one", "two"), ("two", "one")):
        script = (f"touch {path(first + '.up')}; while [ ! -e {path('go')} ]; do sleep 0.01;"
                  f" done; {support.WEIR} run {second} true; true")
        runs.append(start("run", first, "--", "sh", "-c", script))
        until(lambda: os.path.exists(path(first + ".up")), first)
    status, out, err = weir("explain")
    same((status, err), (0, ""), "before")
    check("DEADLOCK" not in out, out)
    open(path("go"), "w").close()
    for name in "one", "two":
        until(lambda: roles(name, "waits"), f"a waiter of {name}")
    # A shell may have started its waiter and not yet wait for it; till then it could do
    # something else, and no deadlock is reported.
    until(lambda: weir("explain")[0] == 1, "both shells wait")
    status, out, err = weir("explain")
    same((status, err), (1, ""), "after")
    check("weir: DEADLOCK  2 contexts can never proceed" in out, out)
    check("raise one by 1 | raise two by 1" in out, out)
    # The process that waits, and the one of weir stat, which holds.
    for name in "one", "two":
        holder = roles(name, "holds")[0]["pid"]
        check(re.search(rf"pid \d+ in {holder} true  holds {name} 1 ", out), out)
    same(weir("resize", "one", "2")[0], 0, "a way out")
    for run in runs:
        same(finish(run)[0], 0, "the jobs")
    same(weir("explain")[0], 0)


def test_c50_runs_that_are_the_jobs_of_runs_are_a_deadlock():
    """Their guardians await them in sigwaitinfo(2), not in wait(2): they are known by their program."""
    for name in "one", "two":
        same(weir("open", "-n", "1", name)[0], 0)
    runs = []
    for first, second in (("one", "two"), ("two", "one")):
        script = (f"touch {path(first + '.up')}; while [ ! -e {path('go')} ]; do sleep 0.01;"
                  f" done; exec {support.WEIR} run {second} true")
        runs.append(start("run", first, "--", "sh", "-c", script))
        until(lambda: os.path.exists(path(first + ".up")), first)
    open(path("go"), "w").close()
    for name in "one", "two":
        until(lambda: roles(name, "waits"), f"a waiter of {name}")
    until(lambda: weir("explain")[0] == 1, "both guardians wait")
    status, out, err = weir("explain")
    same((status, err), (1, ""))
    check("weir: DEADLOCK  2 contexts can never proceed" in out, out)
    same(weir("resize", "one", "2")[0], 0, "a way out")
    for run in runs:
        same(finish(run)[0], 0, "the jobs")


def test_c50_a_job_that_waits_in_the_background_is_no_deadlock():
    for name in "one", "two":
        same(weir("open", "-n", "1", name)[0], 0)
    runs = []
    for first, second in (("one", "two"), ("two", "one")):
        script = (f"touch {path(first + '.up')}; while [ ! -e {path('go')} ]; do sleep 0.01;"
                  f" done; {support.WEIR} run {second} true & read x < {path('end')}")
        if not runs:
            os.mkfifo(path("end"))
        runs.append(start("run", first, "--", "sh", "-c", script))
        until(lambda: os.path.exists(path(first + ".up")), first)
    open(path("go"), "w").close()
    for name in "one", "two":
        until(lambda: roles(name, "waits"), f"a waiter of {name}")
    status, out, err = weir("explain")
    same((status, err), (0, ""))
    check("DEADLOCK" not in out, out)
    for run in runs:
        run.kill()
        finish(run)


def has_libdw():
    try:
        return bool(ctypes.CDLL("libdw.so.1"))
    except OSError:
        return False


def test_c50_a_real_deadlock_with_call_sites():
    with target(program=REAL) as t:
        status, out, err = weir("explain", t.pid)
        same((status, err), (1, ""))
        file = dump(t.pid)
        check("weir: DEADLOCK  2 contexts can never proceed (exact;" in out, out)
        check("raise orders by 1 | raise mails by 1" in out, out)
        sites = set(re.findall(r"\((\S+ ?\w*), ", out))
        # Without tail calls the call site lies inside the library.
        sites -= {"acquire_again", "weir_sem_acquire_long_"}
        if any(site.startswith("real.c:") for site in sites):
            check(all(re.fullmatch(r"real\.c:\d+ take", site) for site in sites), sites)
        else:
            check(not has_libdw() or sites == {"take"} or
                  all("+0x" in site for site in sites), sites)
            check(all("+0x" in site or site == "take" for site in sites), sites)
    same(without_ages(weir("explain", file)[1]).split("behind")[0],
         without_ages(out).split("behind")[0], "the dump")


def test_a_process_whose_first_thread_has_ended():
    """Then /proc/PID shows neither mappings nor descriptors."""
    with target("ends", program=REAL) as t:
        until(lambda: state(t.process.pid) == "Z", "the end of the first thread")
        status, out, err = weir("explain", t.pid)
        same((status, err), (1, ""))
        check("weir: DEADLOCK  2 contexts can never proceed" in out, out)
        # The call sites have names; without tail calls they lie inside the library.
        check(re.search(r"\(take|take, |\+0x|acquire_again|weir_sem_acquire_long_", out), out)
        check("orders" in weir("top", "--once")[1])
        same(json.loads(weir("dump", t.pid, "--json")[1])["verdict"], "DEADLOCK")


def test_c48_threads_that_have_vanished():
    """They ended without the destructors of their keys."""
    with target("slow", "vanished") as t:
        status, out, err = weir("explain", t.pid)
        same((status, err), (1, ""))
        check("weir: LEAKED  1 context waits for permits of threads" in out, out)
        check("THREAD EXITED: LEAKED\n" in out, out)
        contexts = json.loads(weir("explain", t.pid, "--json")[1])["contexts"]
        check(any(one["ended"] for one in contexts), contexts)
        # A file does not tell which threads exist.
        same(weir("explain", dump(t.pid))[0], 0)
    with target("slow") as t:
        same(weir("explain", t.pid)[0], 0)


# The first process of a PID namespace, with the /proc of the outer one.  It starts the
# program with the same ID in both, which may need several attempts.
SAME_ID = """
import os, sys
last = 0
for _ in range(3000):
    if last:
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(last))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        outer = os.readlink("/proc/self")
        if outer == str(os.getpid()):
            os.write(2, outer.encode() + b"\\n")
            os.execv(sys.argv[1], sys.argv[1:])
        os.write(write, outer.encode())
        os._exit(77)
    os.close(write)
    last = int(os.read(read, 16) or 0)
    os.close(read)
    status = os.waitpid(child, 0)[1]
    if os.waitstatus_to_exitcode(status) != 77:
        sys.exit(0)
"""


def test_c40_threads_of_another_pid_namespace():
    """Their IDs there are not those here, also if the process has the same ID in both."""
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
               sys.executable, "-c", SAME_ID, TARGET, "slow", "vanished"]
    try:
        outer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise Skipped("needs unshare") from None
    with outer:
        if outer.stdout.readline() != b"ready\n":
            raise Skipped("the system allows no PID namespace, or no choice of IDs in it")
        status, out, err = weir("explain", outer.stderr.readline().decode().strip())
        outer.stdin.close()
        same((status, err), (0, ""))
        check("LEAKED" not in out, out)


def test_c40_a_process_of_another_pid_namespace_has_its_id_of_this_one():
    """weir top lists processes of several namespaces, and its user passes an ID on."""
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child",
               TARGET, "deadlock"]
    try:
        outer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise Skipped("needs unshare") from None
    with outer:
        if outer.stdout.readline() != b"ready\n":
            raise Skipped("the system allows no PID namespace")
        pid, = (str(child) for child in children(outer.pid))
        check(weir("explain", pid)[1].startswith(f"weir: pid {pid} "), "explain")
        same(weir("top", pid, "--once")[1].splitlines()[1].split()[0], pid, "top PID")
        lines = weir("top", "--once")[1].splitlines()
        check(any(line.split()[0] == pid for line in lines), lines)
        same(json.loads(weir("top", pid, "--json", "--once")[1])["pid"], int(pid), "json")
        outer.stdin.close()


def test_explain_a_name_that_is_shown_otherwise():
    """A name is cut after 47 bytes, and its control characters are replaced."""
    for name, shown in (("x" * 60, "x" * 47), ("x" * 46 + "\u00e9", "x" * 46 + "?"),
                        ("\x1b[31m", "?[31m"), ("\u202ename", "?name"),
                        ("\u061cname", "?name")):
        with target(name, program=REAL, env={**os.environ, "LC_ALL": "C.UTF-8"}) as t:
            until(lambda: state(t.process.pid) == "Z", "the end of the first thread")
            for given in (name, shown):
                status, out, err = weir("explain", t.pid, given)
                same((status, err), (0, ""), given)
                check(f"\n{shown}: semaphore, 1 of 1 free" in out, out)
                objects = json.loads(weir("explain", t.pid, given, "--json")[1])["objects"]
                same([one["name"] for one in objects], [shown])


def test_a_process_that_has_ended():
    with target("none") as t:
        t.process.kill()
        until(lambda: state(t.process.pid) == "Z", "the end")
        same(weir("explain", t.pid), (69, "", f"weir: {t.pid}: the process has ended\n"))


# A libdw that finds nothing, and counts the look-ups.
COUNTING = """
#include <stdio.h>
#include <stdlib.h>
static int count;
__attribute__((destructor)) static void report(void)
{
	FILE *out = fopen(getenv("WEIR_TEST_COUNT"), "w");
	fprintf(out, "%d", count);
	fclose(out);
}
void *dwfl_addrmodule(void) { count++; return 0; }
void *dwfl_begin(void) { return &count; }
""" + "".join(f"void *{name}(void) {{ return 0; }}\n" for name in (
    "dwarf_diename", "dwarf_getscopes", "dwarf_tag", "dwfl_build_id_find_elf", "dwfl_end",
    "dwfl_lineinfo", "dwfl_module_addrdie", "dwfl_module_addrinfo", "dwfl_module_addrname",
    "dwfl_module_getsrc", "dwfl_module_info", "dwfl_report_begin", "dwfl_report_elf", "dwfl_report_end", "dwfl_standard_find_debuginfo"))


def explain_counted(pid):
    """The output of explain, and the number of its look-ups."""
    if not shutil.which("cc"):
        raise Skipped("needs cc")
    with open(path("dw.c"), "w") as file:
        file.write(COUNTING)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path("libdw.so.1"), path("dw.c")], check=True)
    out = subprocess.run([support.WEIR, "explain", "--json", pid], capture_output=True,
                         text=True, timeout=LIMIT,
                         env=dict(support.ENV, LD_LIBRARY_PATH=os.path.dirname(path("dw.c")),
                                  WEIR_TEST_COUNT=path("count"))).stdout
    if not os.path.exists(path("count")):
        raise Skipped("the command is built without libdw")
    return out, int(open(path("count")).read())


def test_a_call_site_is_looked_up_once():
    with target(program=REAL) as t:
        out, count = explain_counted(t.pid)
    same(count, len(set(re.findall(r'[\w.-]+\+0x[0-9a-f]+', out))), out)


# A process must not keep the reader of its registry busy: weir web has one thread.
def test_a_full_registry_has_a_limited_number_of_look_ups():
    with target("full") as t:
        out, count = explain_counted(t.pid)
    same(count, 4096, "look-ups")
    # The others have an address.
    check(out.count('"site":"') > 200000, out.count('"site":"'))
    same(out.count('"name":"object-'), 4096, "objects")


def test_top_once():
    with target(program=REAL) as t:
        status, out, err = weir("top", t.pid, "--once")
        same((status, err), (0, ""))
        lines = out.splitlines()
        same(lines[0].split()[:3], ["PID", "FREE", "HELD"], "the heading")
        same(len(lines), 3, out)
        for line in lines[1:]:
            words = line.split()
            same(words[:4], [t.pid, "0/1", "1", "1"], line)
            check("DEADLOCK" in words, line)
        status, out, err = weir("top", "--once")
        same(status, 0, err)
        check(t.pid in out, "all processes")
        status, out, err = weir("top", t.pid, "--once", "--json")
        same(json.loads(out)["verdict"], "DEADLOCK", "json")
        for one in json.loads(out)["objects"]:
            same([(times["sum_ns"], len(times["buckets"])) for times in (one["waits"], one["holds"])],
                 [(0, 18), (0, 18)], one["name"])
        file = dump(t.pid)
    same(weir("top", t.pid, "--once")[0], 69, "the process has ended")
    status, out, err = weir("top", file, "--once")
    same((status, out.count("DEADLOCK")), (0, 2), err)


def test_top_says_why_its_table_is_empty():
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc",
               support.WEIR, "top", "--once"]
    try:
        done = subprocess.run(command, env=support.ENV, capture_output=True, text=True, timeout=LIMIT)
    except FileNotFoundError:
        raise Skipped("needs unshare") from None
    if "unshare" in done.stderr:
        raise Skipped("the system allows no PID namespace")
    same((done.returncode, len(done.stdout.splitlines())), (0, 1), done.stderr)
    check("no process that this user may read has watched semaphores" in done.stderr, done.stderr)


def test_top_shows_no_permits_of_a_rate_limit():
    """The semaphore inside has one, which the first of the calls that wait holds."""
    with target("rate") as t:
        words = weir("top", t.pid, "--once")[1].splitlines()[1].split()
        same(words[1:4] + words[5:7], ["-", "0", "2", "-", "-"], words)
        # These are counts of the semaphore inside, which a call takes only if it has to wait.
        for text in weir("explain", t.pid)[1], weir("export", "--once")[1]:
            check("mail" in text, text)
            for part in "calls ", "waits all", "holds ", 'acquires_total{semaphore="mail"', \
                        'duration_seconds_count{semaphore="mail"':
                check(part not in text, text)


class top:
    """weir top on a terminal of 80 columns."""

    def __init__(self, *args, rows=24, wrapper=()):
        command = [*wrapper, support.WEIR, "top", *args, "-i", "50ms"]
        self.child, self.fd = pty.fork()
        if not self.child:
            os.execvpe(command[0], command,
                       {**support.ENV, "TERM": "vt100", "LINES": str(rows), "COLUMNS": "80",
                        "LC_ALL": "C.UTF-8"})
        self.seen = b""
        while b"weir top:" not in self.seen and b"printing tables" not in self.seen:
            self.read()
        if b"built without ncurses" in self.seen:
            self.__exit__()
            raise Skipped("weir was built without ncurses")

    def read(self):
        if not select.select([self.fd], [], [], 0.1)[0]:
            return
        try:
            self.seen += os.read(self.fd, 4096)
        except OSError:
            raise Failed(f"weir top has ended: {self.seen!r}") from None

    def shows(self, text):
        """Wait until the text was written since the last keys."""
        until(lambda: self.read() or text in self.seen, f"{text} in {self.seen}")

    def press(self, keys):
        self.seen = b""
        os.write(self.fd, keys)

    def status(self):
        """Wait for the end."""
        try:
            while more := os.read(self.fd, 4096):
                self.seen += more
        except OSError:
            pass
        return os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOWAIT).si_status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.fd)


def test_top_on_a_terminal():
    with target(program=REAL) as t, top(t.pid) as view:
        view.shows(b"2 objects in 1 process")
        # The names are inside the 80 columns.
        view.shows(b"orders")
        view.shows(b"sorted by verdict")
        for key in b"waiting", b"oldest wait", b"oldest hold", b"rate", b"name", b"verdict":
            # Curses writes what has changed; control-L writes all.
            view.press(b"s\x0c")
            view.shows(b"sorted by " + key)
        view.press(b"p")
        view.shows(b"paused")
        view.press(b" \x0c")
        view.shows(b"p pause")
        view.press(b"\r")
        view.shows(b"1 permit by 1 context")
        view.press(b"q")
        view.shows(b"weir top:")
        view.press(b"q")
        same(view.status(), 0)


def test_top_cuts_a_row_between_characters():
    with target("accents") as t, top(t.pid) as view:
        view.shows(b"1 object in 1 process")
        view.shows("caféééééééééé".encode()[:21])
        # 12 characters of the name are inside the 80 columns.
        check("caf" + 10 * "é" not in view.seen.decode(), view.seen)


def test_top_on_a_terminal_says_why_its_table_is_empty():
    wrapper = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*wrapper, "true"], capture_output=True,
                                                     timeout=LIMIT).returncode:
        raise Skipped("the system allows no PID namespace")
    with top(wrapper=wrapper) as view:
        view.shows(b"0 objects in 0 processes")
        view.shows(b"no process that this user may read has watched semaphores")
        view.press(b"q")
        same(view.status(), 0)


def test_top_ends_with_a_signal_or_its_process():
    with target(program=REAL) as t, top(t.pid) as view:
        view.shows(b"orders")
        os.kill(view.child, signal.SIGTERM)
        same(view.status(), 128 + signal.SIGTERM)
    with target(program=REAL) as t, top(t.pid) as view:
        view.shows(b"orders")
        t.process.kill()
        same(view.status(), 69)
        check(b"the process has ended" in view.seen or b"no such process" in view.seen, view.seen)


def test_top_scrolls_the_object_that_is_open():
    with target("deadlock") as t, top(t.pid, rows=6) as view:
        view.press(b"\r")
        view.shows(b"db_pool: semaphore")
        view.shows(b"scroll")
        check(b"verdict  DEADLOCK" not in view.seen, view.seen)
        view.press(b"j" * 40)
        view.shows(b"verdict  DEADLOCK")
        # The keys have not selected another object.
        view.press(b"k" * 40)
        view.shows(b"db_pool: semaphore")


def test_top_does_not_open_another_object():
    """The object that is open is destroyed.  Its place in the table belongs to another one then."""
    with target("beside", "destroys") as t, top(t.pid) as view:
        view.press(b"\r")
        view.shows(b"db_pool: semaphore")
        view.seen = b""
        t.process.stdin.write(b"\n")
        t.process.stdin.flush()
        view.shows(b"does not exist any more")
        view.press(b"q")
        view.shows(b"2 objects in 1 process")


def other_version(what, version):
    return (f"weir: {what}: its registry has version {version}, and this command reads version 2;"
            " use the command weir of the library that the program has\n")


def test_c49_files_of_another_version():
    """A dump and a core file that were written when the registry had version 1."""
    with target("deadlock") as t:
        data = bytearray(open(dump(t.pid), "rb").read())
    header = data.index(b"weirdiag")
    struct.pack_into("=I", data, header + 8, 1)
    with open(path("old"), "wb") as file:
        file.write(data)
    core = core_without_registry("old.core")
    with open(core, "r+b") as file:
        file.seek(4096)
        file.write(data[header:header + 4096])
    for file in path("old"), core:
        want = (65, "", other_version(file, 1))
        for command in ("explain",), ("explain", "--json"), ("dump",), ("top", "--once"):
            same(weir(*command, file), want, command)


def test_c49_errors():
    with target("none") as t:
        status, out, err = weir("explain", t.pid)
        same((status, out), (69, ""))
        check(f"weir: {t.pid}: the process has no watched semaphores" in err, err)
        gone = t.pid
    same(weir("explain", gone), (69, "", f"weir: {gone}: no such process\n"))
    same(weir("dump", gone), (69, "", f"weir: {gone}: no such process\n"))
    with target("deadlock", "old") as t:
        same(weir("explain", t.pid), (65, "", other_version(t.pid, 99)))
    with target("deadlock", "short") as t:
        status, out, err = weir("explain", t.pid)
        same((status, out), (65, ""))
        check("truncated" in err, err)
    same(weir("explain", path("nothing"))[::2],
         (69, f"weir: {path('nothing')}: no such file\n"))
    with open(path("text"), "w") as file:
        file.write("some text\n")
    status, out, err = weir("explain", path("text"))
    same(status, 65)
    check("neither a dump of weir nor a core file" in err, err)
    shutil.copy(support.WEIR, path("program"))
    same(weir("explain", path("program"))[0], 65, "a program is no core file")
    same(weir("explain", "1", "2", "3")[0], 64, "too many arguments")
    same(weir("dump")[0], 64)


def test_the_name_of_a_semaphore_is_not_a_source():
    """The message names the command that takes a semaphore."""
    def fails(status, text, *args, **more):
        for command in (["explain"], ["dump"], ["top", "--once"], ["top", "--json"]):
            same(weir(*command, *args, **more), (status, "", f"weir: {args[0]}: {text}\n"), command)

    for number in ("99999999999", "2147483647", "0", "9" * 30):
        fails(69, "no such process", number)
    # A file and a semaphore may have a number as their name.
    weir("open", "3000000000", "-n", "1")
    fails(69, 'no such process; "weir stat 3000000000" shows the semaphore of this name',
          "3000000000")
    same(weir("stat", "3000000000")[0], 0, "the advice")
    with open(path("3000000000"), "w") as file:
        file.write("some text\n")
    fails(69, 'no such process; "./3000000000" is the file of this name', "3000000000",
          cwd=support.DIR)
    fails(65, "it is neither a dump of weir nor a core file", "./3000000000",
          cwd=support.DIR)
    fails(69, "it is neither a process ID nor a file", "builds")
    weir("open", "builds", "-n", "1")
    fails(69, 'no such file; "weir stat builds" shows the semaphore of this name', "builds")
    file = path("builds.weir")
    fails(65, f'it is a semaphore; "weir stat {file}" shows it', file)
    same(weir("stat", file)[0], 0, "the advice")
    url = "redis://host/builds"
    for command in (["dump"], ["top", "--once"], ["top", "--json"]):
        same(weir(*command, url), (69, "", f'weir: {url}: no such file; "weir explain {url}" shows '
                                   "the semaphore of this name\n"), command)
    # With WEIR_URL the server is not asked, and a local semaphore is not meant.
    fails(69, "it is neither a process ID nor a file; if it is a semaphore, "
          '"weir stat builds" shows it', "builds", env={"WEIR_URL": "redis://host"})
    # This is the mistyped name of a file.
    fails(69, "it is neither a process ID nor a file", "x.dump", env={"WEIR_URL": "redis://host"})
    fails(69, "no such file", "./builds", env={"WEIR_URL": "redis://host"})


def is_foreign(pid):
    """Returns true if the process belongs to another user, and has not ended."""
    try:
        return os.stat(f"/proc/{pid}").st_uid != os.getuid()
    except FileNotFoundError:
        return False


def test_c49_other_users_are_refused():
    if os.getuid():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if is_foreign(pid):
                status, out, err = weir("explain", pid)
                # Otherwise it has ended meanwhile.
                if is_foreign(pid):
                    break
        else:
            raise Skipped("no process of another user is visible")
        same((status, out), (77, ""))
        check("permission denied" in err, err)
        return
    with target("deadlock") as t:
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534",
                               "--clear-groups", support.WEIR, "explain", t.pid],
                              capture_output=True, text=True, timeout=LIMIT)
        if done.returncode == 127:
            raise Skipped("another user cannot execute the command")
        same((done.returncode, done.stdout), (77, ""), done.stderr)
        check("permission denied" in done.stderr, done.stderr)


def test_c49_a_process_that_is_not_dumpable_is_for_root():
    user = [] if os.getuid() else ["setpriv", "--reuid", "65534", "--regid", "65534",
                                   "--clear-groups"]
    try:
        process = subprocess.Popen([*user, TARGET, "deadlock", "hidden"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
    except FileNotFoundError:
        raise Skipped("needs setpriv") from None
    with process:
        if process.stdout.readline() != b"ready\n":
            raise Skipped("another user cannot execute the target")
        pid = str(process.pid)
        done = subprocess.run([*user, support.WEIR, "explain", pid], capture_output=True, text=True,
                              timeout=LIMIT)
        same((done.returncode, done.stdout), (77, ""), done.stderr)
        check("unless it is not dumpable" in done.stderr, done.stderr)
        if user:
            status, out, err = weir("explain", pid)
            check(status == 1 or "CAP_SYS_PTRACE" in err, (status, out, err))
        process.stdin.close()


def test_c49_root_ignores_debug_information_beside_a_program():
    """A process may have put it there, here a FIFO, which would block the command."""
    if os.getuid() or not shutil.which("objcopy"):
        raise Skipped("needs root and objcopy")
    program, beside = path("stripped"), path("beside.debug")
    shutil.copy(REAL, beside)
    subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink", beside, REAL, program],
                   check=True)
    os.remove(beside)
    os.mkfifo(beside)
    with target(program=program) as t:
        status, out, err = weir("explain", t.pid)
        same((status, err), (1, ""))
        check("(stripped+0x" in out, out)


def test_c49_damaged_dumps():
    rng = random.Random(int(os.environ.get("WEIR_SEED", "1")))
    with target("deadlock") as t:
        whole = open(dump(t.pid), "rb").read()
    for cut in [*range(0, 400, 24), len(whole) // 3, len(whole) - 1]:
        with open(path("cut"), "wb") as file:
            file.write(whole[:cut])
        status, out, err = weir("explain", path("cut"))
        check(status in (65, 69) and err and not out, (cut, status, out, err))
    for i in range(150):
        bad = bytearray(whole)
        for _ in range(rng.choice((1, 4, 40, 400))):
            at = rng.choice((rng.randrange(min(900, len(bad))),
                             rng.randrange(len(bad))))
            bad[at] = rng.choice((0, 1, 255, 27, rng.randrange(256)))
        with open(path("bad"), "wb") as file:
            file.write(bad)
        status, out, err = weir("explain", path("bad"), *rng.choice(([], ["--json"])))
        check(status in (0, 1, 65), (i, status, out, err))
        check(not CONTROL.search(out + err), (i, out, err))


HEAD = struct.Struct("=8s6Iq32x")       # struct dump_head of src/cmd/diag/file.c


def modules_of(data):
    """The range of a dump that has the modules, and the size of a module."""
    _, _, _, extents, modules, extent_size, module_size, _ = HEAD.unpack_from(data)
    at = HEAD.size + extents * extent_size
    return at, at + modules * module_size, module_size


def test_an_empty_module_of_a_dump_is_ignored():
    """The build ID of an empty module does not replace that of the module before it."""
    with target("deadlock") as t:
        data = bytearray(open(dump(t.pid), "rb").read())
    begin, end, size = modules_of(data)
    check(end > begin, "the dump has no module")
    modules = bytes(data[begin:end])
    empty = bytearray(data[end - size:end])
    empty[8:16] = empty[:8]             # end = start
    empty[-64:] = b"0123abcd".ljust(64, b"\0")
    data[end:end] = empty
    struct.pack_into("=I", data, 20, (end - begin) // size + 1)
    # The bytes of the registry follow the modules.
    for at in range(HEAD.size, begin, 32):
        offset, = struct.unpack_from("=Q", data, at + 16)
        struct.pack_into("=Q", data, at + 16, offset + size)
    with open(path("longer"), "wb") as file:
        file.write(data)
    same(weir("explain", path("longer"))[0], 1)
    copy = open(dump(path("longer"), "copy"), "rb").read()
    begin, end, _ = modules_of(copy)
    check(copy[begin:end] == modules, "the modules have changed")


def test_a_bad_word_does_not_end_a_program_whose_standard_error_is_closed():
    read, write = os.pipe()
    os.close(read)
    with target(program=REAL, env={**os.environ, "WEIR_DIAG": "nonsense"}, stderr=write) as t:
        same(weir("explain", t.pid)[0], 1)
    os.close(write)


def test_c49_a_registry_that_changes():
    with target("deadlock", "changing") as t:
        for i in range(40):
            status, out, err = weir("explain", t.pid, *([], ["--json"])[i % 2])
            check(status in (0, 1, 65), (status, out, err))
            check(not CONTROL.search(out + err), (out, err))


def test_c49_no_system_call_in_the_target():
    strace = shutil.which("strace")
    if not strace:
        raise Skipped("needs strace")
    log = path("strace")
    with target("deadlock") as t:
        tracer = subprocess.Popen([strace, "-f", "-o", log, "-p", t.pid],
                                  stderr=subprocess.PIPE, text=True)
        line = tracer.stderr.readline()
        if "attached" not in line:
            tracer.wait()
            raise Skipped(f"strace: {line}")
        # The calls in which the threads of the target sleep.
        threads = len(os.listdir(f"/proc/{t.pid}/task"))
        until(lambda: len(open(log).readlines()) >= threads, "the log of strace")
        before = open(log).read()
        for i in range(20):
            same(weir("explain", t.pid)[0], 1)
            dump(t.pid)
        same(open(log).read(), before, "system calls of the target")
        # The log works: the end of the target is in it.
        t.process.stdin.close()
        tracer.wait()
        check("exit" in open(log).read()[len(before):], "the log has no end")
        t.process.stdin = open(os.devnull, "wb")


if __name__ == "__main__":
    main()
