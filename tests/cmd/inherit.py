# SPDX-License-Identifier: MIT
"""C43: a job cannot damage the semaphore through the descriptors that it inherits."""
import json
import os
import shutil
import subprocess
import sys

from support import *
import support

# A job that does its worst to each inherited descriptor, reports what had an effect, and
# waits for let_end.
ATTACK = r"""
import fcntl, os, signal, struct, sys

# The kernel sends it when another process opens a file with a lease.
signal.signal(signal.SIGIO, signal.SIG_IGN)

def attempt(what, fd, action):
    try:
        action()
        effects.append(f"{what} {fd}")
    except (OSError, IndexError):
        pass

def lock(command, kind):
    # struct flock of 64-bit Linux: type, whence, start, length 0 (to the end), pid
    return lambda: fcntl.fcntl(fd, command, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))

effects = []
OFD_SETLK, SETLEASE = 37, 1024
inherited = sorted(int(one) for one in os.listdir("/proc/self/fd"))
for fd in inherited:
    if fd < 3 or not os.path.exists(f"/proc/self/fd/{fd}"):
        continue
    attempt("truncate", fd, lambda: os.ftruncate(fd, 0))
    attempt("grow", fd, lambda: os.ftruncate(fd, 1 << 30))
    attempt("write", fd, lambda: os.pwrite(fd, b"\xff" * 65536, 0))
    attempt("append", fd, lambda: os.write(fd, b"\xff" * 16))
    attempt("read", fd, lambda: os.pread(fd, 1, 0)[0])
    attempt("reopen", fd, lambda: os.ftruncate(os.open(f"/proc/self/fd/{fd}", os.O_RDWR), 0))
    attempt("list", fd, lambda: os.listdir(fd))
    attempt("lock", fd, lock(OFD_SETLK, fcntl.F_WRLCK))
    lock_read = lock(OFD_SETLK, fcntl.F_RDLCK)
    try:
        lock_read()
        lock(fcntl.F_SETLK, fcntl.F_RDLCK)()
    except OSError:
        pass
    for action in (lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
                   lambda: fcntl.fcntl(fd, SETLEASE, fcntl.F_WRLCK),
                   lambda: os.fchmod(fd, 0)):
        try:
            action()
        except OSError:
            pass
with open(sys.argv[1] + ".tmp", "w") as file:
    file.write("\n".join([str(os.getpid()), *effects]))
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
with open(sys.argv[2]) as fifo:
    fifo.readline()
"""


def attack(name, *prefix):
    """The command of a job that attacks, writes the file `name`, and waits for let_end."""
    folder = path("out")
    if not os.path.exists(folder):
        os.mkdir(folder)
        os.chmod(folder, 0o777)
    if not os.path.exists(path(name + ".fifo")):
        os.mkfifo(path(name + ".fifo"))
        os.chmod(path(name + ".fifo"), 0o666)
    return [*prefix, sys.executable, "-c", ATTACK, os.path.join(folder, name),
            path(name + ".fifo")]


def effects(name):
    """The pid of the job, and what it could do."""
    lines = until(lambda: read("out/" + name), f"{name} has attacked").split("\n")
    return int(lines[0]), lines[1:]


def as_nobody():
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv(1)")
    # Only search permission: the files of the semaphores are private.
    os.chmod(support.DIR, 0o711)
    return ["setpriv", "--reuid=65534", "--clear-groups"]


def use(name, capacity, held):
    """Others can use the semaphore, and the limit holds."""
    now = stat(name)
    same((now["capacity"], now["held"], now["free"]), (capacity, held, capacity - held))
    for _ in range(3):
        same(weir("run", name, "--", "true"), (0, "", ""), "another job")
    same(weir("run", name, "--try", "-w", str(capacity - held + 1), "--", "true")[0],
         75 if held else 64)
    same(weir("resize", name, str(capacity + 1))[0], 0)
    same(weir("resize", name, str(capacity))[0], 0)
    status, out, err = weir("doctor", name)
    same(status, 0, out + err)


def attacked(*prefix):
    runner = start("run", "v", "-n", "3", "--", *attack("x", *prefix))
    _, done = effects("x")
    # Root may open the lent file for writing.  That file has no content.
    same([one for one in done if not one.startswith("reopen") or prefix], [], "effects")
    use("v", 3, 1)
    # A second victim, whose guardian is killed: its permit returns although the first job
    # has locked what it could.
    victim = start("run", "v", "--", *held_job("y"))
    job = job_pid("y")
    kill(guardian(victim))
    same(finish(victim)[0], 76)
    until(lambda: is_gone(job), "the job of the victim ends")
    until(lambda: stat("v")["held"] == 1, "the permit of the victim is free")
    let_end("x")
    same(finish(runner), (0, "", ""))
    use("v", 3, 0)
    same([one for one in os.listdir(support.DIR) if one.startswith(".")], [], "files left over")


def test_c43_a_job_of_the_same_user():
    attacked()


def test_c43_a_job_of_another_user():
    attacked(*as_nobody())


def test_c43_a_hostile_job_holds_its_permit_after_its_guardian():
    """The permit stays held while a job lives whose wrapper and guardian are killed."""
    runner = start("run", "v", "-n", "1", "--orphan", "keep", "--", *attack("x"))
    job, _ = effects("x")
    holder = guardian(runner)
    kill(runner.pid)
    kill(holder)
    runner.wait()
    until(lambda: is_gone(holder), "the guardian ends")
    check(not is_gone(job), "the job was killed")
    same(weir("run", "v", "--try", "--", "true")[0], 75)
    let_end("x")
    same(weir("run", "v", "--", "true")[0], 0)
    same([one for one in os.listdir(support.DIR) if one.startswith(".")], [], "files left over")


# A job that removes the locks of all inherited descriptors, and is then a held_job.
UNLOCK = r"""
import fcntl, os, struct, sys
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 0, 0))
    except OSError:
        pass
os.execvp(sys.argv[1], sys.argv[1:])
"""


def test_c43_a_job_that_unlocks():
    """The limit holds while the guardian lives.  The job can give away its own permit only, and
    only with --orphan=keep."""
    for orphan in ("kill", "keep"):
        name = orphan
        runner = start("run", name, "-n", "1", "--orphan", orphan, "--", sys.executable, "-c",
                       UNLOCK, *held_job(name + "-job"))
        job = job_pid(name + "-job")
        same(weir("run", name, "--try", "--", "true")[0], 75)
        holder = guardian(runner)
        kill(runner.pid)
        kill(holder)
        runner.wait()
        if orphan == "kill":
            until(lambda: is_gone(job), "the job ends")
        until(lambda: stat(name)["free"] == 1, "the permit is free")
        if orphan == "keep":
            check(not is_gone(job), "the job was killed")
            let_end(name + "-job")
            until(lambda: is_gone(job), "the job ends")
        same(weir("doctor", name)[0], 0)


def test_a_folder_that_cannot_be_written():
    """Nothing can be lent then.  The job runs, and ends with its guardian."""
    nobody = as_nobody()
    os.chmod(support.DIR, 0o755)
    same(weir("open", "v", "-n", "1", "--shared")[0], 0)
    done = subprocess.run([*nobody, support.WEIR, "run", "v", "--shared", "--", "echo", "ran"],
                          env=ENV, capture_output=True, text=True)
    same((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))
    os.mkdir(path("out"))
    os.chmod(path("out"), 0o777)
    runner = subprocess.Popen([*nobody, support.WEIR, "run", "v", "--shared", "--orphan", "keep",
                               "--", "sh", "-c", 'echo $$ >"$0.tmp"; mv "$0.tmp" "$0"; '
                               "exec sleep 1000", path("out/x")], env=ENV,
                              stderr=subprocess.DEVNULL)
    job = job_pid("out/x")
    kill(guardian(runner))
    same(runner.wait(), 76)
    until(lambda: is_gone(job), "the job ends")
    until(lambda: stat_shared("v")["free"] == 1, "the permit is free")


def test_a_folder_in_which_only_the_owner_removes():
    """The mode 1777.  The message states the reason; nothing has changed."""
    nobody = as_nobody()
    os.chmod(support.DIR, 0o1777)
    same(weir("open", "v", "-n", "1", "--shared")[0], 0)
    for command in (["rm", "v", "--shared"], ["rm", "-f", "v"], ["close", "v", "--shared"],
                    ["open", "v", "--shared"]):
        done = subprocess.run([*nobody, support.WEIR, *command], env=ENV, capture_output=True,
                              text=True)
        if command[0] == "close":
            same((done.returncode, done.stderr), (0, ""))
        else:
            same((done.returncode, done.stderr),
                 (77, "weir: v: the folder lets only the owner of the file remove it\n"), command)
    same(stat_shared("v")["closed"], True)
    same(weir("open", "v", "--shared")[0], 0)


def stat_shared(name):
    return json.loads(weir("stat", name, "--json", "--shared")[1])


def test_the_descriptors_of_a_job():
    """A job inherits the standard streams and the lent descriptor, nothing else."""
    status, out, _ = weir("run", "v", "-n", "1", "--", "sh", "-c",
                          'for one in /proc/$$/fd/*; do echo "${one##*/} $(readlink $one)"; done')
    same(status, 0)
    inherited = [line.split() for line in out.splitlines()]
    inherited = [one for one in inherited if len(one) > 1 and int(one[0]) > 2
                 and "/proc/" not in one[1] and "pipe:" not in one[1]]
    same(len(inherited), 1, str(inherited))
    check("/.weir-lent-" in inherited[0][1], str(inherited))


if __name__ == "__main__":
    main()
