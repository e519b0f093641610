# SPDX-License-Identifier: MIT
"""Helpers for the tests of the command.

A test program is `PROGRAM.py WEIR [TEST...]`.  It runs again under
tests/support/contain.py, which kills the processes that are left over, and calls each
function whose name begins with test_, each with its own folder as WEIR_DIR.
The last line is "N passed, N failed".
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
CONTAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support")
sys.path.insert(1, CONTAIN)
import contain  # noqa: E402

LIMIT = int(os.environ.get("WEIR_TEST_LIMIT", "120"))
FULL = bool(os.environ.get("WEIR_FULL"))
WEIR = None
DIR = None
ENV = {}

# A shell ignores these signals in background jobs.  The processes under test would
# inherit that.
for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)


class Failed(Exception):
    pass


class Skipped(Exception):
    """The environment cannot run this test; the text is the reason."""


def check(condition, what="not so"):
    if not condition:
        raise Failed(what)


def same(got, want, what=""):
    if got != want:
        raise Failed(f"{what}: got {got!r}, not {want!r}")


def until(condition, what):
    """Poll until the condition is true."""
    end = time.monotonic() + LIMIT
    pause = 0.0005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"never: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def path(name):
    return os.path.join(DIR, name)


def read(name):
    try:
        with open(path(name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def weir(*args, env=None, **more):
    """Run weir to its end.  Returns (status, stdout, stderr)."""
    done = subprocess.run([WEIR, *args], env={**ENV, **(env or {})},
                          stdin=more.pop("stdin", subprocess.DEVNULL),
                          capture_output=True, text=True, timeout=LIMIT, **more)
    return done.returncode, done.stdout, done.stderr


def start(*args, env=None, **more):
    """Start weir.  Returns a Popen with text streams."""
    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([WEIR, *args], env={**ENV, **(env or {})}, text=True,
                            **more)


def finish(process):
    """Wait for the end.  Returns (status, stdout, stderr), as weir() does."""
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def stat(name):
    status, out, err = weir("stat", name, "--json")
    same(status, 0, f"stat {name}: {err}")
    return json.loads(out)


def roles(name, role):
    return [one for one in stat(name)["entries"] if one["role"] == role]


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def guardian(process):
    """The pid of the guardian of a `weir run`."""
    found = until(lambda: children(process.pid), "a guardian")
    same(len(found), 1, "children of the wrapper")
    return found[0]


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_stopped(pid):
    """All threads of the process are stopped."""
    return all(state(f"{pid}/task/{one}") == "T" for one in os.listdir(f"/proc/{pid}/task"))


def is_gone(pid):
    """The process has ended, and its files are closed.

    Its first thread may be a zombie while another thread still has the files open.
    """
    if state(pid) not in (None, "Z", "X"):
        return False
    try:
        return len(os.listdir(f"/proc/{pid}/task")) < 2
    except (FileNotFoundError, ProcessLookupError):
        return True


def pending(pid):
    """The signals that are pending for a process, as a set of bits."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = [line.split() for line in file]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line[1], 16) for line in lines if line[0] == "ShdPnd:")


def kill(pid, sig=signal.SIGKILL):
    check(pid > 1, f"will not signal {pid}")
    contain.send_signal(pid, sig)


# Offset of the lock word in the file, and the number of bits for the slot in its lower
# half.  The upper half counts critical sections.
LOCK_AT, LOCK_SLOT_BITS = 128, 13


def lock_is_held(name):
    """A process is inside the lock of the semaphore."""
    with open(path(name + ".weir"), "rb", buffering=0) as file:
        word = os.pread(file.fileno(), 8, LOCK_AT)
    return bool(int.from_bytes(word, sys.byteorder) & 0xffffffff)


def lock_as(name, entry):
    """Lock the semaphore, as if the process of this entry of stat were inside the lock."""
    slot, generation = entry["id"] & 0xffff, entry["id"] >> 16
    owner = (slot + 1 | generation << LOCK_SLOT_BITS) & 0xffffffff
    until(lambda: not lock_is_held(name), "the lock is free")
    with open(path(name + ".weir"), "r+b", buffering=0) as file:
        lock = int.from_bytes(os.pread(file.fileno(), 8, LOCK_AT), sys.byteorder)
        os.pwrite(file.fileno(), (lock | owner).to_bytes(8, sys.byteorder), LOCK_AT)


def unlock(name):
    """Release the lock of lock_as.  Contenders examine it again by themselves."""
    with open(path(name + ".weir"), "r+b", buffering=0) as file:
        count = int.from_bytes(os.pread(file.fileno(), 8, LOCK_AT), sys.byteorder) >> 32
        os.pwrite(file.fileno(), (count + 1 << 32).to_bytes(8, sys.byteorder), LOCK_AT)


def mount(*args):
    """Run mount(8) in this test's own mount namespace."""
    if os.environ[contain.CONTAINED] != "namespace" or subprocess.run(
            ["mount", *args], stderr=subprocess.DEVNULL).returncode:
        raise Skipped("needs the right to mount, and a mount namespace")


def own_group():
    """The folder of our control group of version 2."""
    with open("/proc/self/cgroup") as file:
        paths = [line[3:].strip() for line in file if line.startswith("0::")]
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        for own in paths:
            if os.path.exists(f"{folder}{own}/cgroup.procs"):
                return folder + own
    raise Skipped("needs control groups of version 2")


def write(file, text):
    with open(file, "w") as out:
        out.write(text)


@contextlib.contextmanager
def frozen(pid):
    """Freeze a process in a new control group below our own, to which it returns."""
    own = own_group()
    group = f"{own}/{os.path.basename(DIR)}"

    def events():
        with open(f"{group}/cgroup.events") as file:
            return file.read()
    try:
        os.mkdir(group)
        write(f"{group}/cgroup.procs", str(pid))
        write(f"{group}/cgroup.freeze", "1")
    except OSError as error:
        if os.path.isdir(group):
            os.rmdir(group)
        raise Skipped(f"needs the right to freeze: {error.strerror}")
    try:
        until(lambda: "frozen 1\n" in events(), "the process is frozen")
        yield
    finally:
        write(f"{group}/cgroup.freeze", "0")
        write(f"{own}/cgroup.procs", str(pid))
        os.rmdir(group)


# A job that writes its pid to the file `name` and ends after let_end(name).
def held_job(name):
    fifo = path(name + ".fifo")
    if not os.path.exists(fifo):
        os.mkfifo(fifo)
    return ["sh", "-c", 'echo $$ >"$1.tmp"; mv "$1.tmp" "$1"; read line <"$2"; exit 0',
            "job", path(name), fifo]


def job_pid(name):
    return int(until(lambda: read(name).strip(), f"job {name} runs"))


def let_end(name):
    with open(path(name + ".fifo"), "w") as fifo:
        fifo.write("\n")


# A referee checks the limit without using weir.  There are as many files as permits.
# Each job locks one of them, and has the locked file as descriptor 9; the lock lasts until
# all processes that inherit the descriptor have ended.  A job that finds all files locked
# exceeds the limit, unless a process that has been killed is about to release its lock: the
# kernel closes its descriptors one after another, and may release the permit first.  Such a
# process has no entries in /proc/PID/fd any more.  The job exceeds the limit if each file
# has a holder with an entry, and still has it after all the others were found.
REFEREE = """
n=$1 dir=$2
shift 2

lock_one() {
	i=0
	while [ $i -lt $n ]; do
		# Not as 9 yet: another job that is trying this file is not its holder.
		exec 8>>"$dir/referee.$i"
		flock -n 8 && exec 9>&8 8>&- && return
		i=$((i + 1))
	done
	exec 8>&-
	return 1
}

# Set "seen" to the holders of all files; empty: a file has none.
holders_seen() {
	all=
	seen=
	i=0
	while [ $i -lt $n ]; do
		found=
		for fd in /proc/[0-9]*/fd/9; do
			[ "$fd" -ef "$dir/referee.$i" ] && found="$found $fd"
		done
		[ "$found" ] || return
		all="$all$found"
		i=$((i + 1))
	done
	seen=$all
}

until lock_one; do
	holders_seen
	[ "$seen" ] || continue
	before=$seen
	holders_seen
	if [ "$seen" = "$before" ]; then
		echo "over the limit" >>"$dir/over"
		break
	fi
done
exec "$@"
"""


def refereed(limit, *job):
    """A job that the referee watches."""
    return ["sh", "-c", REFEREE, "referee", str(limit), DIR, *job]


def check_referee():
    same(read("over"), "", "the referee")


def run_one(name, test):
    global DIR
    before = signal.getsignal(signal.SIGALRM)
    DIR = tempfile.mkdtemp(prefix="weir-test-")
    ENV.clear()
    ENV.update(PATH=os.environ["PATH"], WEIR_DIR=DIR, LC_ALL="C")
    for key, value in os.environ.items():
        if key.endswith("SAN_OPTIONS"):
            ENV[key] = value
    try:
        test()
        print(f"ok {name}", flush=True)
        return True
    except Skipped as reason:
        print(f"skipped: {name}: {reason}", flush=True)
        return True
    except Exception:  # any exception is a failure of the test
        traceback.print_exc(file=sys.stdout)
        print(f"FAIL {name}", flush=True)
        return False
    finally:
        signal.signal(signal.SIGALRM, before)
        shutil.rmtree(DIR, ignore_errors=True)


def main():
    global WEIR
    if not os.environ.get(contain.CONTAINED):
        os.execv(sys.executable, [sys.executable, contain.__file__, sys.executable, *sys.argv])
    WEIR = os.path.abspath(sys.argv[1])
    every = {name: value for name, value in vars(sys.modules["__main__"]).items()
             if name.startswith("test_")}
    chosen = sys.argv[2:] or list(every)
    passed = sum(run_one(name, every[name]) for name in chosen)
    print(f"{passed} passed, {len(chosen) - passed} failed")
    sys.exit(0 if passed == len(chosen) and passed else 1)
