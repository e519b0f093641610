# SPDX-License-Identifier: MIT
"""C37, C38, C40: containers that share only the folder share the limit, or get a clear error.

A container is a process with its own PID, mount, UTS, IPC, time and user namespace, its own boot
id, and its own /proc, which may be read-only or missing.
"""
import os
import shutil
import signal
import subprocess
import uuid

from support import *
import support

# Prepare /proc, then run the command.  $1: own, readonly or missing; $2: a boot id.
SETUP = """
set -e
proc=$1 boot=$2
shift 2
mount -t proc proc /proc
if [ $proc != missing ]; then
	echo $boot >"$WEIR_DIR/boot-$boot"
	mount --bind "$WEIR_DIR/boot-$boot" /proc/sys/kernel/random/boot_id
	[ "$(cat /proc/sys/kernel/random/boot_id)" = $boot ]
fi
[ $proc != readonly ] || mount -o remount,ro,bind /proc
[ $proc != missing ] || mount -t tmpfs none /proc
hostname container
exec "$@"
"""
USER = ["--user", "--map-root-user"]
SPACES = ["--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--time",
          "--monotonic", "100000", "--boottime", "100000"]
PROCS = ("own", "readonly", "missing")


def container(*command, proc="own", user=True):
    """The command line that runs `command` in a new container."""
    return ["unshare", *(USER if user else []), *SPACES, "sh", "-c", SETUP, "container", proc,
            str(uuid.uuid4()), *command]


def need_containers(user=True):
    for proc in PROCS:
        done = subprocess.run(container("true", proc=proc, user=user), env=ENV,
                              capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"cannot create a container: {done.stderr.strip()}")


def spawn(*args, proc="own", user=True):
    """Start weir in a new container."""
    return subprocess.Popen(container(support.WEIR, *args, proc=proc, user=user), env=ENV,
                            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def kinds():
    return [(proc, user) for proc in PROCS for user in ((True, False) if not os.getuid() else
                                                        (True,))]


def test_c37_they_share_the_limit():
    need_containers()
    same(weir("open", "a", "-n", "2")[0], 0)
    inode = os.stat(path("a.weir")).st_ino
    jobs = [spawn("run", "a", "-n", "2", "--", *refereed(2, "sleep", "0.02"), proc=proc,
                  user=user) for _ in range(4) for proc, user in kinds()]
    jobs += [start("run", "a", "--", *refereed(2, "sleep", "0.02")) for _ in range(4)]
    for job in jobs:
        status, _, err = finish(job)
        same((status, err), (0, ""))
    check_referee()
    same(os.stat(path("a.weir")).st_ino, inode, "the semaphore was replaced")
    same((stat("a")["free"], stat("a")["capacity"]), (2, 2))


def test_c38_any_container_creates_it_for_the_others():
    need_containers()
    for proc, user in kinds():
        creator = spawn("run", "b", "-n", "1", "--", *held_job("x"), proc=proc, user=user)
        until(lambda: read("x"), "the job runs")
        inode = os.stat(path("b.weir")).st_ino
        # The others see the holder, and wait for it.
        same(weir("run", "b", "-n", "1", "--try", "--", "true")[0], 75)
        for other, other_user in kinds():
            same(finish(spawn("run", "b", "-n", "1", "--try", "--", "true", proc=other,
                              user=other_user))[0], 75, f"{proc} {other}")
            status, out, err = finish(spawn("stat", "b", proc=other, user=other_user))
            same(status, 0, err)
            check(out.startswith("b: 0 of 1 free"), out)
        waiting = spawn("run", "b", "--", "true", proc="own")
        until(lambda: stat("b")["waiting"] == 1, "one waits")
        let_end("x")
        same(finish(creator)[0], 0)
        same(finish(waiting)[0], 0)
        same(os.stat(path("b.weir")).st_ino, inode, "the semaphore was replaced")
        same(weir("rm", "b")[0], 0)
        os.unlink(path("x"))


def test_c37_a_container_that_is_killed():
    """The permits of its processes are free, and its place in the queue is given up."""
    need_containers()
    same(weir("open", "a", "-n", "1")[0], 0)
    for proc, user in kinds():
        holder = spawn("run", "a", "--", *held_job("x"), proc=proc, user=user)
        until(lambda: read("x"), "the job runs")
        waiter = spawn("run", "a", "--", "true", proc=proc, user=user)
        until(lambda: stat("a")["waiting"] == 1, "one waits")
        last = spawn("run", "a", "--", "true", proc="own")
        until(lambda: stat("a")["waiting"] == 2, "two wait")
        # The init process of a container takes all others with it.
        for one in (waiter, holder):
            kill(until(lambda: children(one.pid), "init")[0])
            one.wait()
        same(finish(last)[0], 0)
        until(lambda: stat("a")["free"] == 1, "the permit is free")
        os.unlink(path("x"))


def test_c38_a_folder_that_is_read_only():
    """A container that may not write gets an error that names the path."""
    need_containers()
    same(weir("open", "a", "-n", "1")[0], 0)
    script = 'mount --bind "$WEIR_DIR" "$WEIR_DIR" && mount -o remount,ro,bind "$WEIR_DIR" && ' \
             'exec "$@"'
    for args, status, text in ((["run", "a", "--", "true"], 77, "Read-only file system"),
                               (["run", "b", "-n", "1", "--", "true"], 77,
                                "Read-only file system"),
                               (["stat", "a"], 0, "")):
        done = subprocess.run(container("sh", "-c", script, "sh", support.WEIR, *args,
                                        proc="missing"),
                              env=ENV, capture_output=True, text=True)
        same(done.returncode, status, done.stderr)
        check(text in done.stderr, done.stderr)


def test_c38_a_container_of_another_user():
    """Another user gets an error, and with --shared the limit."""
    if os.getuid() or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv(1)")
    need_containers()
    os.chmod(support.DIR, 0o777)
    other = ["setpriv", "--reuid=12345", "--clear-groups"]

    def run(*args):
        done = subprocess.run([*other, *container(support.WEIR, *args)], env=ENV,
                              capture_output=True, text=True)
        return done.returncode, done.stderr

    same(weir("open", "private", "-n", "1")[0], 0)
    status, err = run("run", "private", "--", "true")
    same(status, 77, err)
    check("Permission denied" in err, err)
    same(weir("open", "shared", "-n", "1", "--shared")[0], 0)
    status, err = run("run", "shared", "--", "true")
    same(status, 77, err)
    check("--shared" in err, err)
    holder = start("run", "shared", "--shared", "--", *held_job("x"))
    job_pid("x")
    same(run("run", "shared", "--shared", "--try", "--", "true")[0], 75)
    let_end("x")
    same(finish(holder)[0], 0)
    same(run("run", "shared", "--shared", "--", "true"), (0, ""))


def test_the_trial_of_the_guide():
    """The commands of docs/guide/containers.md, with another folder and a shorter job."""
    need_containers()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "docs", "guide", "containers.md")) as file:
        trial = file.read().split("## A trial\n")[1]
    lines = "\n".join(line[4:] for line in trial.splitlines() if line.startswith("    "))
    same((lines.count("/tmp/names"), lines.count("sleep 5")), (3, 1), lines)
    script = lines.replace("/tmp/names", path("names")).replace("sleep 5", "true")
    folder = os.path.dirname(support.WEIR)
    done = subprocess.run(["sh", "-c", script + "; wait"], capture_output=True, text=True,
                          env={**ENV, "PATH": folder + ":" + os.environ["PATH"]}, timeout=LIMIT)
    same((done.returncode, done.stdout, done.stderr), (0, "after five seconds\n", ""))


def test_stat_and_doctor_do_not_confuse_processes():
    """The pid of a process of another container is not looked up in this one."""
    need_containers()
    same(weir("open", "a", "-n", "1")[0], 0)
    holder = spawn("run", "a", "--", *held_job("x"))
    until(lambda: read("x"), "the job runs")
    status, out, _ = weir("doctor", "a")
    same((status, out), (0, "a\nok: 0 of 1 free, 0 waiting\n"))
    let_end("x")
    same(finish(holder)[0], 0)


if __name__ == "__main__":
    main()
