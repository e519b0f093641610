# SPDX-License-Identifier: MIT
"""Messages that name the path, the rule or the limit, and small defects of the command."""
import os
import resource
import socket
import subprocess
import sys
import time

from support import *
import support


def may_mount():
    """Returns true if this process may mount in a mount namespace of its own."""
    return not subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/proc"],
                              capture_output=True).returncode


def runs_without_proc():
    """Returns true if the command can be run where /proc is hidden; prints why not."""
    if not may_mount():
        print("skipped: may not mount")
        return False
    with open(support.WEIR, "rb") as file:
        if b"__asan_init" in file.read():
            print("skipped: AddressSanitizer needs /proc")
            return False
    return True


def test_a_foreign_folder_in_dev_shm():
    """The message names the folder and its owner.  In a mount namespace: /dev/shm is private."""
    def run(setup, *args):
        script = ('mount -t tmpfs none /dev/shm && unset WEIR_DIR && folder=/dev/shm/weir-`id -u` '
                  f'&& {{ {setup}; }} && exec "$0" "$@"')
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, support.WEIR, *args],
                              env=ENV, capture_output=True, text=True)
        return done.returncode, done.stderr

    if os.path.isdir("/run/weir") or os.geteuid() or not may_mount():
        print("skipped: needs root, mounts, and no /run/weir")
        return
    foreign = "mkdir $folder && chown 12345 $folder"
    for args in (["run", "a", "-n", "1", "--", "true"], ["stat", "a"], ["ls"], ["doctor"]):
        status, err = run(foreign, *args)
        same(status, 77, args)
        check("the folder /dev/shm/weir-0 belongs to user 12345, not to user 0" in err, err)
    check("/dev/shm/weir-0 is not a folder" in run("touch $folder", "open", "a", "-n", "1")[1])
    status, err = run("mkdir -m 777 $folder", "open", "a", "-n", "1")
    check("other users may write to the folder /dev/shm/weir-0 (mode 777)" in err, err)


def test_ulimit_f():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for args in (["run", "a", "-n", "1", "--", "true"], ["open", "a", "-n", "1"]):
        status, _, err = weir(*args, preexec_fn=limit)
        same(status, 125, err)
        check("the file size limit (ulimit -f) is 4096 bytes" in err, err)
    weir("open", "a", "-n", "1")
    same(weir("run", "a", "--", "true", preexec_fn=limit)[0], 0)


def claim_all_slots(name):
    """Mark all slots of the file as live: the generation of each one is 1.

    The owner of such a slot is dead for weir, so the liveness word gets the thread ID of
    this process: bit 31 set, not ended.
    """
    with open(path(name + ".weir"), "r+b") as file:
        for i in range(4096):
            file.seek(4096 + 256 * i)
            file.write((6).to_bytes(4, sys.byteorder))
            file.seek(4096 + 256 * i + 24)
            file.write((os.getpid() | 1 << 31).to_bytes(4, sys.byteorder))
        file.seek(192)
        file.write((4096).to_bytes(4, sys.byteorder))


def test_all_handles_are_open():
    """The subcommands that only look need no handle."""
    weir("open", "a", "-n", "2")
    claim_all_slots("a")
    status, _, err = weir("run", "a", "--", "true")
    check(status == 125 and "is open in 4096 processes, the maximum" in err, err)
    same(stat("a")["participants"], 4096)
    check("a " in weir("ls")[1] and "2" in weir("ls")[1], weir("ls")[1])
    same(weir("doctor", "a")[0], 0)
    same(weir("watch", "a", "--lines", "-c", "1")[0], 0)


def test_a_missing_weir_dir():
    missing = path("missing")
    for command in ("ls", "doctor"):
        same(weir(command, env={"WEIR_DIR": missing}),
             (69, "", f"weir: {command}: {missing}: No such file or directory\n"))
        same(weir(command)[0], 0)
    same(weir("explain", env={"WEIR_DIR": missing}),
         (69, "", f"weir: {missing}: No such file or directory\n"))


def test_orphan_kill_without_proc():
    """If weir is killed, the whole job ends, and weir says that this takes long."""
    if not may_mount():
        print("skipped: may not mount")
        return
    weir("open", "a", "-n", "1")
    script = ('mount -t tmpfs none /proc && exec "$0" run a -- sh -c \'setsid sleep 1000 & '
              'echo $! $$ >"$0.tmp"; mv "$0.tmp" "$0"; sleep 1000\' "$1"')
    runner = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, support.WEIR, path("x")],
                              env=ENV, stderr=subprocess.PIPE, text=True)
    pids = [int(word) for word in until(lambda: read("x"), "the job").split()]
    kill(runner.pid)
    until(lambda: all(is_gone(pid) for pid in pids), "the end of the job")
    until(lambda: stat("a")["free"] == 1, "the permit is free")
    check("/proc is not usable" in runner.stderr.read())
    runner.wait()


def test_a_variable_that_is_no_url():
    """The message names the variable, and has no password."""
    for value, shown in (("abc", "abc"), ("me:word@host", "me@host"), ("redis:/", "redis:/")):
        for args in (["ls"], ["stat", "a"], ["run", "a", "-n", "1", "true"], ["doctor", "a"]):
            same(weir(*args, env={"WEIR_URL": value}),
                 (64, "", f'weir: WEIR_URL: "{shown}" is not a URL such as redis://host\n'), args)


def test_explain_without_proc():
    """The process may exist; what is missing is /proc."""
    if not runs_without_proc():
        return
    script = 'mount -t tmpfs none /proc && exec "$0" "$@"'
    for command in (["explain", "1"], ["dump", "1"], ["top", "1", "--once"]):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, support.WEIR, *command],
                              env=ENV, capture_output=True, text=True, timeout=LIMIT)
        same((done.returncode, done.stdout, done.stderr),
             (125, "", "weir: 1: processes cannot be read: /proc is not mounted\n"), command[0])


def test_top_without_proc():
    """An empty table would mean that no process has a watched semaphore."""
    if not runs_without_proc():
        return
    script = 'mount -t tmpfs none /proc && exec "$0" top --once "$@"'
    for options in ((), ("--json",)):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, support.WEIR, *options],
                              env=ENV, capture_output=True, text=True, timeout=LIMIT)
        same((done.returncode, done.stdout, done.stderr),
             (125, "", "weir: top: processes cannot be read: /proc is not mounted\n"), options)


def test_hold_and_jobserver_without_proc():
    if not runs_without_proc():
        return
    script = """
        mount -t tmpfs none /proc || exit
        sleep 1000 &
        token=$("$0" hold a -n 1 --while-pid $!) && "$0" run a --try -q -- true
        echo "busy: $?"
        "$0" release "$token"
        echo "released: $?"
        "$0" run a --try -- echo free
        "$0" hold a --while-pid $! >"$WEIR_DIR/token"
        kill $!
        "$0" wait a --idle && echo idle
        for style in pipe fifo; do
            "$0" jobserver -n 3 --style=$style -- sh -c 'echo "${MAKEFLAGS%%=*}"'
            echo "jobserver: $?"
        done
        "$0" jobserver -n 3 -- make -s -f "$1" one two three | sort
    """
    with open(path("Makefile"), "w") as file:
        file.write("one two three:\n\t@echo $@\n")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, support.WEIR,
                           path("Makefile")], env=ENV, capture_output=True, text=True,
                          timeout=LIMIT)
    flags = " -j3 --jobserver-auth\njobserver: 0\n"
    same((done.stdout.replace("\n -j3", "\n-j3"), done.stderr),
         ("busy: 75\nreleased: 0\nfree\nidle\n" + 2 * flags.lstrip() + "one\nthree\ntwo\n", ""))


def test_a_refused_name_says_which_rule_it_breaks():
    for name, rule in (("", "must not be empty"), ("x" * 129, "at most 128 bytes"),
                       (".x", "must not begin with a dot"), ("a b", "must not contain spaces"),
                       ("a\tb", "must not contain spaces")):
        status, _, err = weir("open", name, "-n", "1")
        check(status == 64 and rule in err, err)


def test_an_empty_argument_is_visible():
    weir("open", "a", "-n", "1")
    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if ".so" in line)
    for args in ([""], ["help", ""], ["stat", ""], ["run", "", "-n", "1", "true"], ["run", "a", ""],
                 ["rm", "", "-f"], ["rm", ""], ["hold", "", "--while-pid", "1"], ["explain", ""],
                 ["top", "", "--once"], ["jobserver", ""], ["posix", ""], ["doctor", ""],
                 ["watch", "", "--lines"]):
        # Not every build has libweir-posix, so this preloads another library.
        status, out, err = weir(*args, env={"WEIR_POSIX_LIBRARY": library})
        check(status in (64, 69, 127) and "weir: : " not in err + out, (args, out, err))
        check('weir: "": ' in err or '""' in out, (args, out, err))


def test_run_without_a_name():
    for args, where in ((["-n", "2", "--", "true"], ' before "true"'), (["-n", "2"], "")):
        status, _, err = weir("run", *args)
        check(status == 64 and f"weir: run: NAME is missing{where}\n" in err, err)
    same(os.listdir(support.DIR), [], "created")
    same(weir("run", "a")[2].splitlines()[0], "weir: run: COMMAND is missing")


def test_doctor_moves_only_semaphores():
    for name, content in (("./notes.weir", b"my notes"), ("./notes", b"")):
        with open(path(name), "wb") as file:
            file.write(content)
        status, out, _ = weir("doctor", path(name))
        check(status == 65 and "does not look like a semaphore" in out, out)
        with open(path(name), "rb") as file:
            same(file.read(), content)
    # A damaged semaphore is moved, with or without a "/" in its name.
    weir("open", path("b"), "-n", "1")
    os.truncate(path("b"), 5000)
    same(weir("doctor", path("b"))[0], 0)
    check(os.path.exists(path("b.damaged")))
    with open(path("c.weir"), "wb"):
        pass
    same(weir("doctor", "c")[0], 0)
    check(os.path.exists(path("c.weir.damaged")))


def test_doctor_removes_unfinished_sockets():
    """A hold daemon was killed between bind and rename."""
    for name, age in ((".weir-new-old", 100), (".weir-new-new", 0)):
        one = socket.socket(socket.AF_UNIX)
        one.bind(path(name))
        one.close()
        os.utime(path(name), (time.time() - age, time.time() - age))
    with open(path(".weir-new-file"), "w"):
        os.utime(path(".weir-new-file"), (1, 1))
    status, out, _ = weir("doctor")
    check(status == 0 and "removed .weir-new-old" in out, out)
    same(sorted(os.listdir(support.DIR)), [".weir-new-file", ".weir-new-new"])


def test_open_and_close_do_not_wait_for_themselves():
    weir("open", "a", "-n", "1")
    status, _, err = weir("run", "a", "--", support.WEIR, "close", "a", "--drain", "1h")
    check(status == 64 and "could wait for itself; --nested allows it" in err, err)
    same(stat("a")["closed"], False, "nothing has changed")
    same(weir("run", "a", "--", support.WEIR, "close", "a", "--drain", "1ms", "--nested")[0], 124)
    weir("open", "a")
    status, _, err = weir("run", "a", "--", "sh", "-c", '"$0" close a && "$0" open a', support.WEIR)
    check(status == 64 and "open: already running under a permit of a" in err, err)
    weir("open", "a")
    same(weir("run", "a", "--", "sh", "-c", '"$0" close a && "$0" open a -t 1ms --nested',
              support.WEIR)[0], 124)
    # An open semaphore is not waited for.
    weir("open", "a")
    same(weir("run", "a", "--", support.WEIR, "open", "a")[0], 0)


def test_the_ending_of_files_is_documented():
    weir("open", "a", "-n", "1")
    same(os.listdir(support.DIR), ["a.weir"])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for page in ("weir.1", "weir_named.3"):
        with open(os.path.join(root, "man", page)) as file:
            check(".Pa .weir" in file.read(), page)


if __name__ == "__main__":
    main()
