# SPDX-License-Identifier: MIT
"""weir ls, stat, wait, resize, close, open, rm and doctor."""
import json
import os
import re
import signal
import struct
import subprocess

from support import *
import support


def held(name="a", job="x", *options):
    holder = start("run", name, *options, "-l", f"job {job}", "--", *held_job(job))
    job_pid(job)
    return holder


def plain(text):
    """Replace pids and ages, which differ from run to run."""
    age = r"(?:\d+m?s|\d+m \d+s)"
    text = re.sub(rf" +\d+ +(\d+) +{age} ", r" PID \1 AGE ", text)
    return re.sub(rf"pid \d+ for {age}", "pid PID for AGE", text)


def test_stat_table():
    same(weir("open", "a", "-n", "3")[0], 0)
    same(weir("stat", "a"), (0, "a: 3 of 3 free, 0 waiting\n", ""))
    first = held("a", "x", "-w", "2")
    second = start("run", "a", "-w", "3", "-l", "evil \x1b[31m\t", "--", "true")
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    # A process that is inside the lock has one more line.
    until(lambda: state(guardian(second)) == "S", "it sleeps")
    same(plain(weir("stat", "a")[1]), """\
a: 1 of 3 free, 1 waiting
ROLE     PLACE      PID   WEIGHT     SINCE  LABEL
holds PID 2 AGE  job x
waits        1 PID 3 AGE  evil ?[31m?
""")
    let_end("x")
    finish(first)
    finish(second)


def test_control_characters_in_labels_are_replaced():
    """So are bytes that are not UTF-8: the last two, of which one is a control character of a
    terminal that expects Latin-1."""
    evil = "\x1b[31m\n\u009b31m\u00e9\udc9b31m\udcda!"
    holder = start("run", "a", "-n", "1", "-l", evil, "--", *held_job("x"),
                   env={"LC_ALL": "C.UTF-8"})
    job_pid("x")
    for args in (["run", "a", "--try", "--", "true"], ["wait", "a", "--idle", "-t", "0"],
                 ["rm", "a"], ["close", "a", "--drain", "0"], ["stat", "a"]):
        status, out, err = weir(*args)
        check("?[31m??31m\u00e9?31m?!" in out + err, (args, out, err))
        check("\x1b" not in out + err and "\u009b" not in out + err, (args, out, err))
        same(err.count("\n"), 0 if args[0] == "stat" else 1, args)
    # File names may contain control characters as well.
    with open(path("\x1b[31m.weir"), "w"):
        pass
    for args in (["doctor"], ["ls"]):
        status, out, err = weir(*args)
        check("\x1b" not in out + err and "?[31m" in out, (args, out, err))
    let_end("x")
    finish(holder)


def test_characters_that_reorder_a_line_are_replaced():
    """A label of another user must not change what the rest of a line says."""
    evil = "a\u202eb\u2066c\u200bd\ufeffe\u2069\u061c\u2010\u203a\u061d"
    weir("open", "a", "-n", "1")
    holder = start("run", "a", "-l", evil, "--", *held_job("x"), env={"LC_ALL": "C.UTF-8"})
    job_pid("x")
    for args in (["run", "a", "--try", "--", "true"], ["stat", "a"], ["watch", "a", "-c", "1"]):
        status, out, err = weir(*args)
        check("a?b?c?d?e??\u2010\u203a\u061d" in out + err, (args, out, err))
    same(stat("a")["entries"][0]["label"], evil)
    let_end("x")
    finish(holder)


def test_control_characters_in_a_name_are_replaced():
    name = path("a\033[31m")
    weir("open", name, "-n", "1")
    same(weir("stat", name)[1], path("a?[31m") + ": 1 of 1 free, 0 waiting\n")


def test_ls_counts_granted_permits():
    holder = held("a", "x", "-n", "1")
    waiter = start("wait", "a", "--free", "1")
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    # It must not be stopped inside the lock.
    until(lambda: state(waiter.pid) == "S", "it sleeps")
    kill(waiter.pid, signal.SIGSTOP)
    until(lambda: state(waiter.pid) == "T", "the process is stopped")
    let_end("x")
    finish(holder)
    same(stat("a")["granted"], 1)
    check(weir("ls")[1].endswith(" busy\n"))
    kill(waiter.pid, signal.SIGCONT)
    same(finish(waiter)[0], 0)
    check(weir("ls")[1].endswith(" idle\n"))


def test_ls_with_large_numbers():
    most = str(1 << 60)
    for name, capacity in (("a", "1"), ("b", most), ("c", "12345678901")):
        same(weir("open", name, "-n", capacity)[0], 0)
    head, *lines = weir("ls")[1].splitlines()
    same([line.split() for line in lines],
         [["a", "1", "1", "0", "0", "idle"], ["b", most, most, "0", "0", "idle"],
          ["c", "12345678901", "12345678901", "0", "0", "idle"]])
    for column in ("CAPACITY", "FREE", "HELD", "WAITING"):
        end = head.index(column) + len(column)
        check(all(line[end - 1].isdigit() and line[end] == " " for line in lines), (head, lines))
    weir("rm", "b")
    weir("rm", "c")
    same(weir("ls")[1].splitlines()[0],
         "NAME                       CAPACITY       FREE       HELD  WAITING  STATE")


def test_labels():
    weir("open", "a", "-n", "9")
    for words, want in ((["sh", "-c", "\n\tread  line\n"], "sh -c read line "),
                        (["sh", "-c", "read x", "\u00e9" * 40], "sh -c read x " + "\u00e9" * 25),
                        (["sh", "-c", "read x", "x" + "\u00e9" * 40],
                         "sh -c read x x" + "\u00e9" * 24),
                        (["sh", "-c", "read x", "x" + "\u20ac" * 40],
                         "sh -c read x x" + "\u20ac" * 16)):
        runner = start("run", "a", "--", *words, stdin=subprocess.PIPE)
        until(lambda: roles("a", "holds"), "it runs")
        same(roles("a", "holds")[0]["label"], want)
        finish(runner)


def test_stat_json():
    first = held("a", "x", "-n", "1")
    second = start("run", "a", "-l", 'q"\\\x01\u00e9\udcff', "--", "true",
                   env={"LC_ALL": "C.UTF-8"})
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    # A process that is inside the lock has one more entry.
    until(lambda: state(guardian(second)) == "S", "it sleeps")
    status, out, err = weir("stat", "a", "--json")
    same(out.count("\n"), 1, "one line")
    tool = subprocess.run(["python3", "-m", "json.tool"], input=out, text=True,
                          capture_output=True)
    same(tool.returncode, 0, tool.stderr)
    seen = json.loads(out)
    same(list(seen), ["name", "capacity", "free", "held", "granted", "debt", "waiting",
                      "waiting_permits", "participants", "policy", "closed", "paused", "renamed",
                      "inconsistent", "entries"])
    same((seen["name"], seen["capacity"], seen["free"], seen["held"], seen["waiting"],
          seen["participants"], seen["policy"], seen["closed"]),
         ("a", 1, 0, 1, 1, 2, "strict", False))
    holds, waits = seen["entries"]
    same(list(holds), ["role", "place", "pid", "pid_namespace", "id", "weight", "age_ms", "dead",
                       "label"])
    same((holds["role"], holds["place"], holds["label"]), ("holds", 0, "job x"))
    same((waits["role"], waits["place"], waits["label"]), ("waits", 1, 'q"\\\x01\u00e9\ufffd'))
    same(holds["pid"], guardian(first))
    let_end("x")
    finish(first)
    finish(second)


def test_ls():
    same(weir("ls"), (0, "", ""))
    same(weir("ls", env={"WEIR_DIR": path("nosuch")})[:2], (69, ""))
    weir("open", "beta", "-n", "2")
    weir("open", "alpha", "-n", "1")
    weir("close", "alpha")
    with open(path("bad.weir"), "w"):
        pass
    os.chmod(path("bad.weir"), 0o600)
    holder = held("beta")
    status, out, err = weir("ls")
    same(out, f"""\
NAME                       CAPACITY       FREE       HELD  WAITING  STATE
alpha                             1          1          0        0  closed
bad                      {path("bad.weir")} is not a semaphore, or is damaged: its size is wrong
beta                              2          1          1        0  busy
""")
    lines = [json.loads(line) for line in weir("ls", "--json")[1].splitlines()]
    same([one["name"] for one in lines], ["alpha", "bad", "beta"])
    check("damaged" in lines[1]["error"])
    same(lines[2]["entries"][0]["label"], "job x")
    let_end("x")
    finish(holder)


def test_c20_wait_idle():
    holder = held("a", "x", "-n", "1")
    status, out, err = weir("wait", "a", "--idle", "-t", "1ms")
    same((status, plain(err)),
         (124, "weir: a: timed out after 1ms; held by job x, pid PID for AGE\n"))
    same(weir("wait", "a", "--idle", "-t", "1ms", "-E", "3")[0], 3)
    waiter = start("wait", "a", "--idle")
    until(lambda: roles("a", "idle"), "a waiter for idle")
    let_end("x")
    same(finish(waiter), (0, "", ""))
    finish(holder)
    same(weir("wait", "a", "--idle")[0], 0)
    same(weir("wait", "a", "--idle", env={"WEIR_TIMEOUT": "x"})[0], 64)
    same(weir("wait", "a", "--idle", "-t", "1h", env={"WEIR_TIMEOUT": "x"})[0], 0, "-t goes first")
    same(weir("wait", "--help", env={"WEIR_TIMEOUT": "x"})[0], 0)
    # C14: a timeout of 0 succeeds if the semaphore is idle.
    same(weir("wait", "a", "--idle", "-t", "0"), (0, "", ""))
    same(weir("wait", "a", "--idle", env={"WEIR_TIMEOUT": "0"}), (0, "", ""))
    same(weir("close", "a", "--drain", "0"), (0, "", ""))
    same(weir("open", "a", "-t", "0"), (0, "", ""))
    same(weir("wait", "nosuch", "--idle")[0], 69)


def test_wait_free():
    holder = held("a", "x", "-n", "2")
    same(weir("wait", "a", "--free", "1")[0], 0)
    same(weir("wait", "a", "--free", "2", "-t", "1ms")[0], 124)
    same(weir("wait", "a", "--free", "3")[0], 64, "C11")
    waiter = start("wait", "a", "--free", "2")
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    let_end("x")
    same(finish(waiter)[0], 0)
    finish(holder)
    same(stat("a")["free"], 2)


def test_c21_resize():
    weir("open", "a", "-n", "1")
    first, second = held("a", "x"), start("run", "a", "--", *held_job("y"))
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    same(weir("resize", "a", "2"), (0, "", ""))
    job_pid("y")
    status, out, err = weir("resize", "a", "1")
    same((status, err), (0, "weir: a: 1 held above the new capacity; nothing is granted until "
                            "that many are released\n"))
    check(" debt 1" in weir("stat", "a")[1])
    for name, process in (("x", first), ("y", second)):
        let_end(name)
        same(finish(process)[0], 0)
    same((stat("a")["free"], stat("a")["debt"]), (1, 0))
    same(weir("resize", "nosuch", "1")[0], 69)


def test_c19_close_and_drain():
    holder = held("a", "x", "-n", "1")
    status, out, err = weir("close", "a", "--drain", "1ms")
    same((status, plain(err)), (124, "weir: a: in use; held by job x, pid PID for AGE\n"))
    same(weir("run", "a", "--", "true")[0], 69)
    drain = start("close", "a", "--drain", "1h")
    until(lambda: roles("a", "idle"), "a waiter for idle")
    let_end("x")
    same(finish(drain), (0, "", ""))
    same(finish(holder)[0], 0)
    same(weir("close", "a")[0], 0, "twice is harmless")


def test_open():
    status, out, err = weir("open", "a")
    same(status, 69)
    same(weir("open", "a", "-n", "2"), (0, "", ""))
    same(oct(os.stat(path("a.weir")).st_mode & 0o777), "0o600")
    same(weir("open", "a"), (0, "", ""), "there and open")
    same(weir("open", "a", "-n", "2"), (0, "", ""))
    check("capacity is 2, not 5" in weir("open", "a", "-n", "5")[2])
    weir("open", "b", "-n", "1", "--fast", "--shared")
    same(stat_of("b")["policy"], "fast")
    same(oct(os.stat(path("b.weir")).st_mode & 0o777), "0o666")


def stat_of(name):
    """The statistics of a semaphore that other users may write to."""
    return json.loads([line for line in weir("ls", "--json")[1].splitlines()
                       if f'"name":"{name}"' in line][0])


def test_c19_a_closed_semaphore_is_replaced_when_it_is_idle():
    weir("open", "a", "-n", "2", "--fast")
    holder = held("a", "x")
    weir("close", "a")
    status, out, err = weir("open", "a", "-t", "1ms")
    same((status, plain(err)), (124, "weir: a: in use; held by job x, pid PID for AGE\n"))
    opener = start("open", "a")
    until(lambda: roles("a", "idle"), "a waiter for idle")
    let_end("x")
    same(finish(opener), (0, "", ""))
    finish(holder)
    now = stat("a")
    same((now["capacity"], now["closed"], now["policy"]), (2, False, "fast"), "as it was")
    same(weir("run", "a", "--", "true")[0], 0)
    weir("close", "a")
    same(weir("open", "a", "-n", "7"), (0, "", ""), "no warning: the new capacity is 7")
    same(stat("a")["capacity"], 7)


def test_a_reopened_semaphore_has_the_same_permissions():
    weir("open", "a", "-n", "1", "--shared")
    os.chmod(path("a.weir"), 0o660)
    weir("close", "a", "--shared")
    same(weir("open", "a", "--shared"), (0, "", ""))
    same(oct(os.stat(path("a.weir")).st_mode & 0o777), "0o660")
    # Unless --shared is given for a semaphore that only its owner can use.
    for args, mode in (([], "0o600"), (["--shared"], "0o666"), (["--shared"], "0o666")):
        weir("open", "b", "-n", "1")
        weir("close", "b", *args)
        same(weir("open", "b", *args), (0, "", ""))
        same(oct(os.stat(path("b.weir")).st_mode & 0o777), mode, str(args))


def test_the_policy_of_a_reopened_semaphore():
    weir("open", "a", "-n", "1")
    for args, policy in ((["--fast"], "fast"), ([], "fast")):
        weir("close", "a")
        same(weir("open", "a", *args), (0, "", ""))
        same(stat("a")["policy"], policy, str(args))


def test_many_open_at_once():
    for _ in range(5):
        weir("open", "a", "-n", "1")
        weir("close", "a")
        openers = [start("open", "a") for _ in range(8)]
        for one in openers:
            same(finish(one)[0], 0)
        same(weir("run", "a", "--", "true")[0], 0)


def test_rm():
    same(weir("rm", "a")[0], 69)
    same(weir("rm", "-f", "a")[0], 0)
    holder = held("a", "x", "-n", "1")
    status, out, err = weir("rm", "a")
    same((status, plain(err)), (75, "weir: a: in use; held by job x, pid PID for AGE\n"))
    weir("close", "a")
    same(weir("rm", "a")[0], 75, "closed, and in use")
    let_end("x")
    finish(holder)
    same(weir("rm", "a"), (0, "", ""))
    check(not os.path.exists(path("a.weir")))
    holder = held("a", "y", "-n", "1")
    same(weir("rm", "-f", "a"), (0, "", ""))
    check(not os.path.exists(path("a.weir")))
    let_end("y")
    same(finish(holder)[0], 0, "the holder continues")
    weir("open", "b", "-n", "0")
    same(weir("rm", "b")[0], 0)


def test_rm_races_with_a_request_that_creates():
    """Each of them has one of its two results; without -n the request may be refused."""
    job = ["--while-pid", str(os.getpid())]
    for i in range(200):
        same(weir("open", "a", "-n", "1")[0], 0)
        args = ("hold", "a", *job, "-n", "1") if i % 4 == 0 else ("run", "a", "-n", "1", "--", "true")
        request, removal = start(*args), start("rm", "a")
        status, out, err = finish(request)
        same((status, err), (0, ""), f"the request {i}")
        status, _, err = finish(removal)
        check(status in (0, 69, 75), (status, err))
        if out:
            same(weir("release", out.strip()), (0, "", ""))


def test_a_request_whose_semaphore_is_removed():
    """"weir open" does not open a removed semaphore again, and the message does not claim it."""
    for job, reopened in ("x", False), ("y", True):
        holder = held("a", job, "-n", "1")
        waiter = start("run", "a", "--", "true")
        until(lambda: stat("a")["waiting"] == 1, "one waiter")
        who = guardian(waiter)
        # It must not be stopped inside the lock.
        until(lambda: state(who) == "S", "it sleeps")
        kill(who, signal.SIGSTOP)
        until(lambda: is_stopped(who), "the guardian is stopped")
        same(weir("close", "a"), (0, "", ""))
        let_end(job)
        finish(holder)
        same(weir("rm", "a"), (0, "", ""))
        if reopened:
            same(weir("open", "a", "-n", "1"), (0, "", ""))
        kill(who, signal.SIGCONT)
        same(finish(waiter), (69, "", "weir: a: the semaphore was removed or replaced while this "
                              "request waited\n"))


def test_rm_force_explains_a_name_that_is_not_valid():
    for name, why in (("", "a name must not be empty"), (".a", "a name must not begin with a dot"),
                      ("a b", "a name must not contain spaces or control characters")):
        shown = name or '""'
        same(weir("rm", "-f", name), (64, "", f"weir: {shown}: {why}\n"))


def test_rm_force_leaves_other_files():
    for name, text in (("Makefile", "all:\n"), ("empty", "")):
        with open(path(name), "w") as file:
            file.write(text)
        same(weir("rm", "-f", path(name)), (65, "", f"weir: {path(name)}: the file does not look "
                                            "like a semaphore, and is not removed\n"))
        same(read(name), text)
        check(os.path.exists(path(name)), name)
    os.symlink(path("Makefile"), path("link"))
    same(weir("rm", "-f", path("link"))[0], 77)
    check(os.path.lexists(path("link")), "the link")
    # A semaphore in use, by its path; and a path that does not exist.
    holder = held(path("s"), "x", "-n", "1")
    same(weir("rm", "-f", path("s")), (0, "", ""))
    check(not os.path.exists(path("s")))
    same(weir("rm", "-f", path("s")), (0, "", ""))
    let_end("x")
    same(finish(holder)[0], 0)


def test_c21_rm_after_a_resize_to_0():
    # With a capacity of 0, acquiring all permits succeeds while permits are held.
    holder = held("a", "x", "-n", "1")
    weir("resize", "a", "0")
    status, out, err = weir("rm", "a")
    same((status, plain(err)), (75, "weir: a: in use; held by job x, pid PID for AGE\n"))
    check(os.path.exists(path("a.weir")), "the name is removed")
    same(weir("stat", "a")[1].split("\n")[0], "a: 0 of 0 free, 0 waiting, debt 1")
    let_end("x")
    finish(holder)
    same(weir("rm", "a"), (0, "", ""))


def test_rm_that_fails_changes_nothing():
    weir("open", "a", "-n", "2")
    # A mount point cannot be unlinked.  Without root: a file in a read-only folder.
    if os.geteuid() == 0:
        mount("--bind", path("a.weir"), path("a.weir"))
        status = weir("rm", "a")[0]
        subprocess.run(["umount", path("a.weir")], check=True)
        same(status, 125)
    else:
        os.chmod(path("."), 0o555)
        status = weir("rm", "a")[0]
        os.chmod(path("."), 0o755)
        same(status, 77)
    same((stat("a")["closed"], stat("a")["free"]), (False, 2))
    same(weir("rm", "a"), (0, "", ""))


def test_doctor():
    status, out, err = weir("doctor", "a")
    same((status, out), (69, f"a\nproblem: no such semaphore: {path('a.weir')}\n"))
    holder = held("a", "x", "-n", "1")
    same(weir("doctor", "a"), (0, "a\nok: 0 of 1 free, 0 waiting\n", ""))
    who = guardian(holder)
    kill(who, signal.SIGSTOP)
    until(lambda: state(who) == "T", "the process is stopped")
    out = weir("doctor", "a")[1]
    check(f"note: process {who} (job x) is stopped; it has held 1 for" in out, out)
    kill(who, signal.SIGCONT)
    let_end("x")
    finish(holder)
    weir("resize", "a", "0")
    check("the capacity is 0" in weir("doctor", "a")[1])


def test_the_doctor_removes_files_of_killed_processes():
    same(weir("open", "a", "-n", "1")[0], 0)
    for name in (".weir-lent-0123456789abcdef", ".weir-temp-0123456789abcdef"):
        open(path(name), "w").close()
    # New files may belong to processes that are not ready yet.
    same(weir("doctor")[1], "a\nok: 1 of 1 free, 0 waiting\n")
    for name in (".weir-lent-0123456789abcdef", ".weir-temp-0123456789abcdef"):
        os.utime(path(name), (0, 0))
    holder = held("a", "x")
    lent, = [one for one in os.listdir(path(".")) if one.startswith(".weir-lent-")
             and one != ".weir-lent-0123456789abcdef"]
    os.utime(path(lent), (0, 0))
    out = weir("doctor")[1].splitlines()
    same(out[:2], ["a", "ok: 0 of 1 free, 0 waiting"])
    same(sorted(out[2:]), [f"repaired: removed .weir-{kind}-0123456789abcdef; its process was "
                           "killed" for kind in ("lent", "temp")])
    check(os.path.exists(path(lent)), "a lent file in use is removed")
    let_end("x")
    same(finish(holder)[0], 0)


def test_the_doctor_examines_shared_semaphores():
    weir("open", "a", "-n", "2", "--shared")
    same(weir("doctor", "a"), (0, "a\nok: 2 of 2 free, 0 waiting\n", ""))
    same(weir("doctor")[0], 0, "all")


def test_c39_the_doctor_and_damaged_files():
    holder = held("a", "x", "-n", "1")
    with open(path("a.weir"), "r+b") as file:
        magic = file.read(8)
        file.seek(0)
        file.write(b"nonsense")
    status, out, err = weir("doctor", "a")
    same((status, out), (65, f"a\nproblem: {path('a.weir')} is not a semaphore\n"
                             "not repaired: the file is in use; end the processes that have it "
                             "open, and try again\n"))
    let_end("x")
    finish(holder)
    status, out, err = weir("doctor", "a")
    same((status, out), (0, f"a\nproblem: {path('a.weir')} is not a semaphore\n"
                            f"repaired: moved the file to {path('a.weir')}.damaged; "
                            "\"weir open a -n N\" creates a new one\n"))
    same(weir("run", "a", "-n", "1", "--", "true"), (0, "", ""))
    same(magic, b"weir sem")


def change_boot_id(name):
    """Let the file of a semaphore have another boot id than this machine."""
    with open(path(name + ".weir"), "r+b") as file:
        file.seek(48)
        file.write(bytes(range(1, 17)))


def test_c38_a_semaphore_from_before_the_last_boot_is_used_as_it_is():
    weir("open", "a", "-n", "3")
    holder = held("a", "x")
    holder_id = roles("a", "holds")[0]["id"]
    change_boot_id("a")
    same((stat("a")["held"], roles("a", "holds")[0]["dead"]), (1, False))
    # A live process has it open: its permit counts, and the name is not replaced.
    before = os.stat(path("a.weir")).st_ino
    same(weir("run", "a", "-n", "3", "--", "true"), (0, "", ""))
    same(weir("run", "a", "--try", "-w", "3", "--", "true")[0], 75)
    same(os.stat(path("a.weir")).st_ino, before)
    same(weir("doctor", "a")[0], 0)
    let_end("x")
    finish(holder)
    # A participant of another boot: a live slot whose owner has no lock.
    slot = 4096 + 256 * (holder_id & 0xffff)
    with open(path("a.weir"), "r+b") as file:
        file.seek(slot)
        state = struct.unpack("=I", file.read(4))[0]
        file.seek(slot)
        file.write(struct.pack("=IIq", (state & ~3) + 2, 0, 2))
        file.seek(slot + 24)
        file.write(struct.pack("=I", 1 << 31 | 4711))
        file.seek(144)
        file.write(struct.pack("=q", 1))
    same((stat("a")["free"], stat("a")["held"]), (3, 0), "an observer")
    same(weir("run", "a", "--try", "-w", "3", "--", "true"), (0, "", ""))
    same(stat("a")["capacity"], 3)


def test_the_columns_of_ls():
    """The width of a name is its number of characters, not of bytes."""
    names = ["a", "\u00e4\u00f6\u00fc\u20ac", b"b\xff".decode(errors="surrogateescape"), "x" * 100]
    for name in names:
        weir("open", name, "-n", "1")
    lines = subprocess.run([support.WEIR, "ls"], env=ENV, stdout=subprocess.PIPE, timeout=LIMIT,
                           check=True).stdout.decode(errors="replace").splitlines()
    same(len(lines), 5, lines)
    same({line.rindex(" ") for line in lines}, {100 + 43}, lines)


def test_ls_and_doctor_print_the_reason():
    os.symlink("/etc/passwd", path("a.weir"))
    cannot = f"cannot open {path('a.weir')}: "
    # The messages of glibc and of musl.
    why = (cannot + "Too many levels of symbolic links\n",
           cannot + "Symbolic link loop\n")
    out = weir("ls")[1]
    check(out.endswith(tuple(" " + text for text in why)), out)
    status, out, err = weir("doctor", "a")
    same((status, err), (77, ""))
    check(out in ["a\nproblem: " + text for text in why], out)


def test_c39_times_and_counts_of_a_damaged_file():
    holder = held("a", "x", "-n", "1")
    slot = roles("a", "holds")[0]["id"] & 0xffff
    with open(path("a.weir"), "r+b") as file:
        file.seek(4096 + 256 * slot + 16)
        file.write(struct.pack("=q", -1 << 63))
    same(roles("a", "holds")[0]["age_ms"], 0)
    same(weir("run", "a", "--try", "--", "true")[0], 75)
    same(weir("doctor", "a")[0], 0)
    let_end("x")
    finish(holder)
    with open(path("a.weir"), "r+b") as file:
        file.seek(144)
        file.write(struct.pack("=qq", (1 << 63) - 1, -1 << 63))
    check(weir("doctor", "a")[0] in (0, 65))


def test_c39_the_doctor_does_not_move_other_files():
    with open(path("letter"), "w") as file:
        file.write("dear reader\n")
    os.chmod(path("letter"), 0o600)
    status, out, err = weir("doctor", path("letter"))
    same(status, 65)
    check("not repaired: the file does not look like a semaphore" in out, out)
    same(read("letter"), "dear reader\n")
    # A file without the suffix is recognised by its first bytes.
    same(weir("open", path("sem"), "-n", "1")[0], 0)
    os.truncate(path("sem"), 4096)
    same(weir("doctor", path("sem"))[0], 0)
    check(os.path.exists(path("sem.damaged")))


if __name__ == "__main__":
    main()
