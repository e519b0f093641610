#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of weir jobserver: run.py WEIR [TEST...]

The tests run under tests/support/contain.py, because clients are killed.  They wait for
conditions that can be observed: a file, a message, the end of a process.
"""
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(HERE, "../../support"))
import contain  # noqa: E402

CLIENT = os.path.join(HERE, "client.py")
LIMIT = int(os.environ.get("WEIR_TEST_LIMIT", "120"))  # timeout of every wait, in seconds


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


def wait_for(what, text):
    end = time.monotonic() + LIMIT
    while not what():
        if time.monotonic() > end:
            raise Failed("waited too long for: " + text)
        time.sleep(0.002)


def run(*args, **more):
    """Run weir jobserver to its end.  Returns (status, stdout, stderr)."""
    env = dict(os.environ, **more.pop("env", {}))
    done = subprocess.run([WEIR, "jobserver", *args], env=env, text=True,
                          capture_output=True, timeout=LIMIT, **more)
    return done.returncode, done.stdout, done.stderr


class Running:
    """weir jobserver in the background, with access to the messages so far."""

    def __init__(self, *args, folder=None, before=(), weir=None):
        self.error = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*before, weir or WEIR, "jobserver", *args], cwd=folder,
                                        stdout=subprocess.PIPE, text=True,
                                        stderr=self.error)

    def messages(self):
        return os.pread(self.error.fileno(), 1 << 20, 0).decode()

    def prints(self, text):
        wait_for(lambda: text in self.messages(), repr(text))

    def end(self):
        try:
            out, _ = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed("it does not end; its messages: " + self.messages()) from None
        return self.process.returncode, out, self.messages()


def exit_codes():
    check(run("-n", "2", "--", "sh", "-c", "exit 7")[0] == 7, "the status of the command")
    check(run("-n", "2", "sh", "-c", "exit 3")[0] == 3, "without --")
    check(run("-n", "2", "--", "sh", "-c", "kill -TERM $$")[0] == 143, "128 + 15")
    check(run("--", "/no/such/command")[0] == 127, "does not exist")
    check(run("--", "/etc/passwd")[0] == 126, "cannot be run")
    for wrong in ([], ["-n", "0", "true"], ["-n", "x", "true"], ["--style", "x", "true"],
                  ["-n", "99999", "true"], ["--nonsense", "true"]):
        status, _, text = run(*wrong)
        check(status == 64 and "weir help jobserver" in text, f"{wrong}: {text}")
    status, text, _ = run("--help")
    check(status == 0 and text.startswith("usage: weir jobserver"), text)


def flags():
    """MAKEFLAGS, for several previous values."""
    def made(old, *args):
        env = {} if old is None else {"MAKEFLAGS": old}
        return run(*args, "--", "sh", "-c", 'printf "[%s]" "$MAKEFLAGS"', env=env)[1]

    ours = "-j4 --jobserver-auth=100,101"
    for old, new in ((None, f"[ {ours}]"), ("", f"[ {ours}]"), ("k", f"[k {ours}]"),
                     ("kw -l3", f"[kw -l3 {ours}]"),
                     ("k -j9 --jobserver-auth=3,4 -- CC=tcc X=-j3", f"[k {ours} -- CC=tcc X=-j3]"),
                     # A quoted space does not end a word.
                     ("k -- A=x\\ ", f"[k {ours} -- A=x\\ ]"),
                     ("--eval=A:=x\\ -j3\\ --\\ y -j3", f"[--eval=A:=x\\ -j3\\ --\\ y {ours}]"),
                     (" --jobserver-auth=fifo:/x -j", f"[ {ours}]")):
        got = made(old, "-n", "4")
        check(got == new, f"{old!r} became {got}, not {new}")
    got = made(None, "-n", "4", "--style", "fifo")
    check("--jobserver-auth=fifo:/" in got and got.endswith("/fifo]"), got)
    path = got.split("fifo:")[1][:-1]
    check(not os.path.exists(os.path.dirname(path)), "the fifo's folder is still there")


def inside_another():
    """The outer job server does not count the jobs of the inner one, and a message says so."""
    warning = "weir: jobserver: true: the outer job server does not count these jobs\n"
    for old, text in (("k -j9 --jobserver-auth=3,4", warning), ("--jobserver-fds=3,4 -j", warning),
                      ("k -j9", ""), ("", ""), ("k -- A=x\\ --jobserver-auth=3", ""),
                      (" ", ""), ("-- --jobserver-auth=3", "")):
        done = run("-n", "2", "--", "true", env={"MAKEFLAGS": old})
        check(done == (0, "", text), f"{old!r}: {done}")
    done = run("-n", "2", "--", WEIR, "jobserver", "-n", "3", "--", "true")
    check(done == (0, "", warning), done)
    # A build script of cargo: with this variable, a cargo below ignores MAKEFLAGS.
    outer = {"CARGO_MAKEFLAGS": "-j --jobserver-fds=3,4 --jobserver-auth=3,4"}
    status, out, text = run("-n", "2", "--", "sh", "-c", "echo ${CARGO_MAKEFLAGS-unset}", env=outer)
    check((status, out, text) == (0, "unset\n", warning.replace("true", "sh")), (out, text))


def fifo_in_tmpdir():
    """A long TMPDIR is used; one that a word of MAKEFLAGS cannot hold is not."""
    show = 'test -p "${MAKEFLAGS#*fifo:}" && printf "[%s]" "${MAKEFLAGS#*fifo:}"'
    with tempfile.TemporaryDirectory() as folder:
        for name, used in (("x" * 200, True), ("-=,:'", True), ("a b", False),
                           ("a\tb", False), ("a$(b)", False), ("a\\b", False)):
            base = os.path.join(folder, name)
            os.mkdir(base)
            status, out, text = run("-n", "2", "--style", "fifo", "--", "sh", "-c", show,
                                    env={"TMPDIR": base})
            check(status == 0, f"{base}: {text}")
            check(out.startswith(f"[{base}/weir-jobs-" if used else "[/tmp/weir-jobs-"),
                  f"{base}: {out}")
            check(not os.listdir(base), os.listdir(base))
        status, out, text = run("-n", "2", "--style", "fifo", "--", "true",
                                env={"TMPDIR": "/" + "y" * 5000})
        # glibc writes "File name too long", musl "Filename too long".
        check(status == 125 and re.search("TMPDIR: File ?name too long", text), text)


def few_descriptors():
    """The descriptor numbers are lower if the limit does not allow 100 and above."""
    done = subprocess.run(["sh", "-c", 'ulimit -n 50 && exec "$0" jobserver -n 4 -- '
                           'sh -c "echo \\$MAKEFLAGS"', WEIR],
                          text=True, capture_output=True, timeout=LIMIT, check=False)
    check(done.returncode == 0 and "--jobserver-auth=" in done.stdout, str(done))


def script(path, text, version):
    """Write a program that prints a version, or runs the text."""
    with open(path, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nif [ "$1" = --version ]; then\n\techo "%s"\nelse\n\t%s\nfi\n'
                   % (version, text))
    os.chmod(path, 0o755)


def arguments():
    """-j is removed from the arguments of make and ninja, not of other commands."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("make", "ninja", "other"):
            script(os.path.join(folder, name), 'echo "$@ |$MAKEFLAGS"', "1.13.0")
        make = os.path.join(folder, "make")
        for given, left, jobs in ((["-j8"], "", 8), (["-j", "8", "x"], "x", 8),
                                  (["-kj8", "x"], "-k x", 8), (["--jobs=8"], "", 8),
                                  (["--jobs", "8"], "", 8), (["a", "-C", "j8"], "a -C j8", None),
                                  (["-fj8"], "-fj8", None), (["-jx"], "-jx", None),
                                  (["-j", "x"], "x", None), (["--", "-j8"], "-- -j8", None)):
            out = run("--", make, *given)[1]
            args, _, environment = out.strip("\n").partition(" |")
            check(args == left, f"{given}: {args!r} is left")
            if jobs:
                check(f"-j{jobs} " in environment, f"{given}: {environment}")
        status, out, text = run("-n", "2", "--", make, "-j8")
        check(status == 0 and "the limit is 2 jobs" in text and "-j2 " in out, text + out)
        out = run("-n", "3", "--", os.path.join(folder, "other"), "-j8")[1]
        check(out.startswith("-j8 |"), out)
        out = run("--", os.path.join(folder, "ninja"), "-j", "5")[1]
        check(out.startswith(" | -j5 --jobserver-auth=fifo:/"), out)


def old_ninja():
    """A ninja that takes no tokens keeps its -j, within the limit, and weir says so."""
    count = ("import os, select, sys; fd = os.open(sys.argv[1], os.O_RDWR); "
             "print(len(os.read(fd, 99)) if select.select([fd], [], [], 0)[0] else 0)")
    show = f'echo "$@ |$MAKEFLAGS|`python3 -c \'{count}\' "${{MAKEFLAGS#*fifo:}}"`"'
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ninja", "ninja-build"):
            ninja = os.path.join(folder, name)
            for version, given, left, tokens in (
                    ("1.11.1", ["-j1", "x"], "-j1 x", 2), ("1.12.1", ["-v"], "-j3 -v", 0),
                    ("1.9", ["-j9"], "-j3", 0), ("1.11.1", ["-j2"], "-j2", 1),
                    ("1.11.1", ["-j"], "-j3", 0), ("what", ["-j3"], "-j3", 0),
                    ("1.13.2", ["-j3"], "", 2), ("2.0", [], "", 2), ("1.14.0.git", ["x"], "x", 2),
                    ("1.10.2.g51db2.kitware.jobserver-1", ["-j2"], "", 2)):
                script(ninja, show, version)
                status, out, text = run("-n", "3", "--", ninja, *given)
                args, flags_of, left_tokens = out.strip("\n").split("|")
                check(status == 0 and args == left + " ", f"{version} {given}: {args!r} {text}")
                check("-j3 --jobserver-auth=fifo:" in flags_of, flags_of)
                check(int(left_tokens) == tokens, f"{version} {given}: {left_tokens} tokens")
                check(("takes no tokens" in text) == left.startswith("-j"), text)
        # With SIGCHLD ignored, the kernel would discard the status of --version.
        script(ninja, 'echo "$@"', "1.13.2")
        done = subprocess.run([WEIR, "jobserver", "-n", "3", "--", ninja, "-j3"], text=True,
                              capture_output=True, timeout=LIMIT, check=False,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        check((done.stdout, done.stderr) == ("\n", ""), str(done))
        # Ninja takes tokens from a fifo only.
        script(ninja, 'echo "$@"', "1.13.2")
        out, text = run("-n", "3", "--style=pipe", "--", ninja, "-j2")[1:]
        check(out == "-j2\n" and "does not support pipe job servers" in text, out + text)
        check(run("--", os.path.join(folder, "none", "ninja"))[0] == 127, "no ninja")


# Each job records how many jobs run.
NINJA = """
rule job
  command = mkdir slot.a 2>/dev/null && slot=a || { mkdir slot.b 2>/dev/null && slot=b; } || $
    echo $out >>over; sleep 0.05; [ -z "$$slot" ] || rmdir slot.$$slot; touch $out
build 1: job
build 2: job
build 3: job
build 4: job
"""


def real_ninja():
    """The limit holds for the ninja of this system, whether it takes tokens or not."""
    if not shutil.which("ninja"):
        print("skipped: there is no ninja")
        return
    for args in (["-j2"], ["-j8"], []):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "build.ninja"), "w", encoding="ascii") as file:
                file.write(NINJA)
            status, out, text = run("-n", "2", "--", "ninja", *args, cwd=folder)
            check(status == 0, out + text)
            check(not os.path.exists(os.path.join(folder, "over")), f"{args}: above the limit")


# "meet" makes jobs wait for each other until the given number of them runs.  If a token
# is lost, they never meet; the file "over" ends their wait.
MAKEFILE = """
meet = touch met.$(1).$@; while [ `ls | grep -c "^met\\.$(1)\\."` -lt $(2) ] && \
\t! [ -e over ]; do sleep 0.01; done
wait = while ! [ -e $(1) ] && ! [ -e over ]; do sleep 0.01; done
all: a b c d
a b c d: first
\t@$(call meet,late,4)
first:
\t@+$(MAKE) -f below; touch first.is.over
"""
BELOW = """
include Makefile
.DEFAULT_GOAL = below
below: 1 2 3
2 3:
\t@$(call meet,below,3); $(call wait,go)
1:
\t@$(call meet,below,3); echo $$PPID >below.tmp; mv below.tmp below.pid; $(call wait,go)
"""


def folder_with(**files):
    folder = tempfile.mkdtemp()
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    return folder


def met(folder, which):
    return sum(name.startswith(f"met.{which}.") for name in os.listdir(folder))


def touch(folder, name):
    with open(os.path.join(folder, name), "w", encoding="ascii"):
        pass


def real_make():
    """Exactly four jobs of a make -j4 with two levels run at the same time."""
    folder = folder_with(Makefile="""
all: x y
x y:
\t@+$(MAKE) -f below NAME=$@
""", below="""
all: 1 2 3 4
1 2 3 4:
\t@echo + >>log; touch here.$(NAME).$@; while [ `ls | grep -c "^here"` -lt 4 ]; \\
\tdo sleep 0.01; done; echo - >>log
""")
    status, _, text = run("-n", "4", "--", "make", "-j4", cwd=folder)
    check(status == 0 and text == "", text)
    with open(os.path.join(folder, "log"), encoding="ascii") as file:
        steps = file.read().split()
    now = most = 0
    for step in steps:
        now += 1 if step == "+" else -1
        most = max(most, now)
    check(len(steps) == 16 and most == 4, f"{most} at once in {steps}")
    shutil.rmtree(folder)


def kill_a_make(folder, **more):
    server = Running("-n", "4", "-v", "--", "make", "-j4", "-k", folder=folder, **more)
    try:
        pid = os.path.join(folder, "below.pid")
        wait_for(lambda: os.path.exists(pid), "the make below")
        with open(pid, encoding="ascii") as file:
            contain.send_signal(int(file.read()), signal.SIGKILL)
        server.prints("ended with 2 tokens")
        # The upper make continues with two jobs: one without a token, one with a token.
        wait_for(lambda: met(folder, "late") == 2, "two late jobs")
        check("put back" not in server.messages(), "put back while the orphans run")
        touch(folder, "go")
        # The command ends only if all four late jobs meet.
        status, _, text = server.end()
    finally:
        touch(folder, "over")
    check(status == 0, f"status {status}: {text}")
    check(met(folder, "late") == 4, "four late jobs")
    back = sum(int(line.split()[4]) for line in text.split("\n") if "put back" in line)
    check(back == 2, f"{back} put back: {text}")


def killed_make():
    """A make with two tokens is killed: the tokens are put back when its jobs have ended."""
    folder = folder_with(Makefile=MAKEFILE, below=BELOW)
    kill_a_make(folder)
    shutil.rmtree(folder)


def killed_make_of_a_user():
    """The same for a user other than root, which needs no_new_privs."""
    folder = folder_with(Makefile=MAKEFILE, below=BELOW)
    if os.geteuid() != 0:
        # The caller is such a user, so killed_make was this test.
        shutil.rmtree(folder)
        return
    weir = shutil.copy(WEIR, os.path.join(folder, "weir"))
    for name in ("", "Makefile", "below", "weir"):
        os.chown(os.path.join(folder, name), 65534, 65534)
    kill_a_make(folder, weir=weir, before=(
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    shutil.rmtree(folder)


def killed_recipe():
    """A recipe is killed: its make has the token and returns it."""
    folder = folder_with(Makefile="""
meet = touch met.$(1).$@; while [ `ls | grep -c "^met\\.$(1)\\."` -lt $(2) ]; do sleep 0.01; done
all: a b c
a b c: 1 2 3
\t@$(call meet,late,3)
1 2 3:
\t-@$(call meet,early,3); kill -9 $$$$
""")
    status, _, text = run("-n", "3", "-v", "--", "make", "-j3", "-k", cwd=folder)
    check(status == 0, f"status {status}: {text}")
    check(met(folder, "late") == 3, "three at once after three were killed")
    check("tokens" not in text, text)
    shutil.rmtree(folder)


def client(what, style, *more):
    """Run a scenario of client.py as the command."""
    return run("-v", "--style", style, *more, "--", sys.executable, CLIENT, what)


def killed_client(style):
    status, out, text = client("killed", style, "-n", "4")
    check(status == 0, f"{style}: {status}: {out}{text}")
    check("ended with 2 tokens" in text and "put back 2 tokens" in text, text)


def killed_client_pipe():
    """A client with two tokens is killed; pending reads get the tokens."""
    killed_client("pipe")


def killed_client_fifo():
    killed_client("fifo")


def earlier_children():
    """A script started a process and then executed weir: the process is not an orphan."""
    script = 'sleep 1000 >&- 2>&- & echo $! >&2; exec "$@"'
    server = Running("-v", "-n", "4", "--", sys.executable, CLIENT, "killed",
                     before=("sh", "-c", script, "sh"))
    status, out, text = server.end()
    other = int(text.split("\n")[0])
    check(other > 1, text)
    contain.send_signal(other, signal.SIGKILL)
    check(status == 0, f"{status}: {out}{text}")
    check("put back 2 tokens" in text, text)


def killed_ninja():
    """The same with non-blocking reads and poll, as in ninja."""
    status, out, text = client("nonblocking", "fifo", "-n", "3")
    check(status == 0, f"{status}: {out}{text}")
    check("put back 2 tokens" in text, text)


def excess():
    """A client returns more tokens than it took: the excess is discarded."""
    for style in ("pipe", "fifo"):
        status, out, text = client("excess", style, "-n", "3")
        check(status == 0, f"{style}: {status}: {out}{text}")
        check("returned a token, but none is missing" in text, text)


def interrupted():
    """Signals interrupt pending reads: no token is lost."""
    for style in ("pipe", "fifo"):
        status, out, text = client("interrupted", style, "-n", "2")
        check(status == 0, f"{style}: {status}: {out}{text}")


def handed_over():
    """A token is returned by another process: the reader's death does not put it back again."""
    status, out, text = client("handed", "pipe", "-n", "3")
    check(status == 0, f"{status}: {out}{text}")
    check("put back" not in text, text)


def no_descriptors():
    """A pending read is answered if the server has no free descriptor."""
    status, out, text = client("no_descriptors", "pipe", "-n", "2")
    check(status == 0, f"{status}: {out}{text}")


def plain():
    """Without the filter, tokens are put back when no process has the pipe open for writing."""
    status, out, text = client("left", "fifo", "-n", "3", "--plain")
    check(status == 0, f"{status}: {out}{text}")
    check("put back 2 tokens" in text, text)


def signals():
    """SIGTERM is passed on; the exit status is that of the command."""
    server = Running("-n", "2", "--", "sh", "-c",
                     'trap "exit 5" TERM; echo ready; while :; do sleep 0.01; done')
    check(server.process.stdout.readline() == "ready\n", "not ready")
    server.process.send_signal(signal.SIGTERM)
    check(server.end()[0] == 5, "the trap's status")


def wrapper_killed():
    """weir is killed: the command gets SIGTERM."""
    server = Running("-n", "2", "--", "sh", "-c",
                     'trap "echo ended; exit 5" TERM; echo ready; while :; do sleep 0.01; done')
    check(server.process.stdout.readline() == "ready\n", "not ready")
    server.process.kill()
    check(server.process.stdout.readline() == "ended\n", "the command continues")
    server.end()


def outlives_the_command():
    """A process that outlives the command can read a byte, and does not delay the exit."""
    folder = tempfile.mkdtemp()
    status, _, text = run("-n", "2", "--style", "fifo", "--", sys.executable, CLIENT,
                          "daemon", cwd=folder)
    check(status == 0, text)
    result = os.path.join(folder, "read")
    wait_for(lambda: os.path.exists(result), "the result of the daemon")
    with open(result, encoding="ascii") as file:
        check(file.read() == "#", "the daemon read something else")
    shutil.rmtree(folder)


def inherited_descriptors():
    """The server's child that stays behind keeps no inherited descriptor open."""
    folder = tempfile.mkdtemp()
    reads, inherited = os.pipe()
    status, _, text = run("-n", "2", "--style", "fifo", "--", sys.executable, CLIENT,
                          "stays", cwd=folder, pass_fds=[inherited],
                          env={"INHERITED": str(inherited)})
    check(status == 0, text)
    os.close(inherited)
    # End of file: no process has the write end open.
    check(select.select([reads], [], [], LIMIT)[0] and os.read(reads, 1) == b"", "kept open")
    os.close(reads)
    with open(os.path.join(folder, "go"), "w", encoding="ascii"):
        pass
    wait_for(lambda: os.path.exists(os.path.join(folder, "gone")), "the end of the process")
    shutil.rmtree(folder)


def proc(pid, what):
    with open(f"/proc/{pid}/{what}", encoding="ascii") as file:
        return file.read()


def no_writers():
    """The server sleeps while a read is pending and no process can write."""
    server = Running("-n", "1", "--style", "pipe", "--", sys.executable, CLIENT, "reader")
    pid = server.process.pid

    def reads(child):
        words = proc(child, "syscall").split()
        return words[0] != "running" and int(words[1], 16) >= 100

    wait_for(lambda: proc(pid, f"task/{pid}/children"), "the client")
    child = int(proc(pid, f"task/{pid}/children"))
    wait_for(lambda: reads(child), "its read")

    # 20 samples: a single one may be from before the server has received the call.
    def sleeps():
        for _ in range(20):
            if proc(pid, "stat").rsplit(")", 1)[1].split()[0] != "S":
                return False
            time.sleep(0.001)
        return True

    wait_for(sleeps, "the server to sleep")
    contain.send_signal(child, signal.SIGKILL)
    check(server.end()[0] == 128 + signal.SIGKILL, "the client's end")


TESTS = (exit_codes, flags, inside_another, fifo_in_tmpdir, few_descriptors, arguments, old_ninja,
         real_ninja, real_make, killed_make, killed_make_of_a_user, killed_recipe, killed_client_pipe, killed_client_fifo,
         earlier_children, killed_ninja, excess,
         interrupted, handed_over, no_descriptors, plain, signals, wrapper_killed,
         outlives_the_command, inherited_descriptors, no_writers)


def main():
    failed = 0
    chosen = [test for test in TESTS if not sys.argv[2:] or test.__name__ in sys.argv[2:]]
    for name in ("MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS", "MAKELEVEL"):
        os.environ.pop(name, None)
    for test in chosen:
        try:
            test()
            print("ok", test.__name__, flush=True)
        except (Failed, subprocess.TimeoutExpired, OSError) as error:
            failed += 1
            print(f"FAIL {test.__name__}: {error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    if not os.environ.get(contain.CONTAINED):
        os.execv(sys.executable, [sys.executable, contain.__file__, sys.executable,
                                  os.path.abspath(__file__), *sys.argv[1:]])
    WEIR = os.path.abspath(sys.argv[1])
    sys.exit(main())
