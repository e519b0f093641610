# SPDX-License-Identifier: MIT
"""The USDT probes: their notes in the library, and the events that tracers see.

    probes.py TARGET LIBRARY notes|gdb|bpftrace

notes: readelf lists the probes.  gdb, bpftrace: the tracer prints the events of target.c.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

TARGET, LIBRARY, WHICH = sys.argv[1:]
NAMES = ("queued", "acquired", "left", "released", "resized", "closed")

# event, name, n, err.  The order is that of target.c; an event of another thread may
# come earlier or later.  A close does not pass the name: the semaphore may be gone.
EVENTS = sorted([
    ("queued", "probe_pool", 1, 0), ("left", "probe_pool", 1, -2),
    ("queued", "probe_pool", 1, 0), ("queued", "probe_pool", 2, 0),
    ("released", "probe_pool", 3, 0), ("acquired", "probe_pool", 1, 0),
    ("acquired", "probe_pool", 2, 0), ("resized", "probe_pool", 7, 0),
    ("closed", "", 0, 0)])


def fail(text):
    sys.exit(f"FAIL {WHICH}: {text}")


def skip(reason):
    print(f"skipped: probes {WHICH}: {reason}")
    sys.exit(77)


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=120)


def notes():
    said = run("readelf", "-n", LIBRARY).stdout
    found = re.findall(r"Provider: weir\s+Name: (\w+)\s+Location: \w+, Base: \w+, "
                       r"Semaphore: (\w+)\s+Arguments: (.*)", said)
    if sorted({name for name, _, _ in found}) != sorted(NAMES):
        fail(f"{found}\n{said}")
    for name, semaphore, arguments in found:
        # A tracer would have to write to the process if a probe had a semaphore.
        if int(semaphore, 16):
            fail(f"{name} has a semaphore")
        # Four sizes: pointers, a count of 8 bytes with a sign, an error of 4 with a sign.
        sizes = re.findall(r"(?:^| )(-?\d+)@", arguments)
        if [sizes[2], sizes[3]] != ["-8", "-4"] or len(sizes) != 4:
            fail(f"{name}: {arguments}")


def check_events(said, more, may_miss=False):
    """The lines are "event <name> n err object".  Returns false if events are missing and
    the tracer may miss them."""
    lines = re.findall(r"^PROBE (\w+) <(.*)> (-?\d+) (-?\d+) (0x[0-9a-f]+)$", said, re.M)
    events = sorted((event, name, int(n), int(err)) for event, name, n, err, _ in lines)
    objects = re.findall(r"^0x[0-9a-f]+$", said, re.M)
    if may_miss and events != EVENTS and all(events.count(e) <= EVENTS.count(e) for e in events):
        return False
    if events != EVENTS or {line[4] for line in lines} != set(objects):
        fail(f"{events}\n{objects}\n{said}\n{more}")
    return True


# A breakpoint whose stop() returns False: with the command "continue" instead, gdb misses
# events more often.
GDB = """
set breakpoint pending on
set pagination off
python
class Probe(gdb.Breakpoint):
    def __init__(self, name):
        super().__init__("-probe-stap weir:" + name)
        self.event = name
    def stop(self):
        object, name, n, err = (gdb.parse_and_eval("$_probe_arg%d" % i) for i in range(4))
        # A close has no name.
        text = "" if self.event == "closed" else name.cast(CHARS).string()
        gdb.write("PROBE %s <%s> %d %d %#x\\n" % (self.event, text, n, err, object))
        return False
CHARS = gdb.lookup_type("char").pointer()
for name in NAMES: Probe(name)
end
"""


def with_gdb():
    """gdb takes all breakpoints out to step over one.  On some machines the step is lost if
    the thread loses its CPU there, and then gdb sees no later event.  So a run that only
    misses events is repeated; an event that is wrong or too many is a failure at once."""
    for attempt in range(8):
        if trace_with_gdb(attempt < 7):
            return


def trace_with_gdb(may_miss):
    script = [GDB.replace("NAMES", repr(NAMES))]
    # Not to the standard output of gdb, whose lines it would interrupt.
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file, \
            tempfile.NamedTemporaryFile("r") as address:
        file.write("\n".join([*script, f"run >{address.name}"]) + "\n")
        file.flush()
        done = run("gdb", "-nx", "-q", "-batch", "-x", file.name, TARGET)
        said = done.stdout + address.read()
    if "ptrace: Operation not permitted" in done.stdout + done.stderr:
        skip("needs the right to trace a process")
    return check_events(said, done.stderr, may_miss)


def with_bpftrace():
    """The events of every process that has the library; those of the target count."""
    script = 'BEGIN { printf("ready\\n"); } ' + "".join(
        f'usdt:{os.path.abspath(LIBRARY)}:weir:{name} {{ printf("%d PROBE {name} <%s> %ld %d 0x%lx\\n", '
        "pid, str(arg1), (int64)arg2, (int32)arg3, arg0); } " for name in NAMES)
    tracer = subprocess.Popen(["bpftrace", "-B", "line", "-e", script], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in tracer.stdout:
        if line == "ready\n":
            break
    else:
        reason = tracer.communicate()[1].strip().split("\n")
        skip(f"bpftrace cannot run here: {reason[-1]}")
    target = subprocess.Popen([TARGET], stdout=subprocess.PIPE, text=True)
    address = target.communicate(timeout=120)[0]
    # If a signal ends bpftrace, then it drops the events that it has not printed.
    said = ""
    signal.signal(signal.SIGALRM, lambda *_: tracer.terminate())
    signal.alarm(60)
    while said.count("\n") < len(EVENTS):
        line = tracer.stdout.readline()
        if not line:
            break
        if line.startswith(f"{target.pid} "):
            said += line.split(" ", 1)[1]
    signal.alarm(0)
    tracer.send_signal(signal.SIGINT)
    more = tracer.communicate(timeout=120)[1]
    check_events(said + address, more)


{"notes": notes, "gdb": with_gdb, "bpftrace": with_bpftrace}[WHICH]()
print(f"ok {WHICH}")
