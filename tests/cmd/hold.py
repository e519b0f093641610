# SPDX-License-Identifier: MIT
"""weir hold and weir release."""
import ctypes
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading

from support import *
import support

ME = str(os.getpid())


def sockets():
    return [name for name in os.listdir(path(".")) if name.startswith(".weir-hold")]


def test_hold_and_release():
    status, token, err = weir("hold", "a", "-n", "2", "-w", "2", "--while-pid", ME, "-l", "me")
    same((status, err), (0, ""))
    token = token.strip()
    check(len(token) == 34 and token.endswith("@a"), token)
    one, = roles("a", "holds")
    same((one["weight"], one["label"]), (2, "me"))
    same(weir("run", "a", "--try", "--", "true")[0], 75)
    same(weir("release", token), (0, "", ""))
    same(stat("a")["free"], 2, "released when weir release exits")
    same(sockets(), [])
    status, out, err = weir("release", token)
    same((status, err), (69, "weir: a: this token holds no permit (any more)\n"))


def test_in_a_script():
    # The shell waits for the end of the output; the hold daemon must not keep it open.
    script = """
        token=$("$0" hold a -n 1 --while-pid $$) || exit
        "$0" run a --try -- true && exit 1
        [ $? -eq 75 ] || exit 2
        "$0" release "$token" || exit 3
        "$0" run a --try -- true || exit 4
    """
    done = subprocess.run(["sh", "-ec", script, support.WEIR], env=ENV, capture_output=True,
                          timeout=support.LIMIT)
    same(done.returncode, 0, done.stderr)


def test_the_hold_ends_with_the_process():
    script = '"$0" hold a -n 1 --while-pid $$ >"$1"; exit 0'
    same(subprocess.run(["sh", "-c", script, support.WEIR, path("token")], env=ENV).returncode, 0)
    until(lambda: stat("a")["free"] == 1, "the permit is released")
    until(lambda: not sockets(), "the socket is removed")


def test_hold_waits_in_the_queue():
    first = weir("hold", "a", "-n", "1", "--while-pid", ME)[1].strip()
    second = start("hold", "a", "--while-pid", ME)
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    same(weir("release", first)[0], 0)
    status, token, err = finish(second)
    same(status, 0)
    same(len(roles("a", "holds")), 1)
    same(weir("release", token.strip())[0], 0)


def test_a_thread_and_a_zombie_are_no_processes():
    stop, ids = threading.Event(), []
    thread = threading.Thread(target=lambda: (ids.append(threading.get_native_id()), stop.wait()))
    thread.start()
    until(lambda: ids, "the thread")
    same(weir("hold", "a", "-n", "1", "--while-pid", str(ids[0])),
         (64, "", f"weir: hold: --while-pid: {ids[0]} is a thread of another process, not a "
          "process\n"))
    stop.set()
    thread.join()
    zombie = subprocess.Popen(["true"])
    until(lambda: state(zombie.pid) == "Z", "a zombie")
    same(weir("hold", "a", "-n", "1", "--while-pid", str(zombie.pid)),
         (64, "", f"weir: hold: --while-pid: process {zombie.pid} has ended\n"))
    zombie.wait()
    check(not os.path.exists(path("a.weir")), "the semaphore was created")


def test_the_process_ends_while_hold_waits():
    first = weir("hold", "a", "-n", "1", "--while-pid", ME)[1].strip()
    brief = subprocess.Popen(["sleep", "1000"])
    second = start("hold", "a", "--while-pid", str(brief.pid))
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    kill(brief.pid)
    brief.wait()
    status, out, err = finish(second)
    same((status, out), (125, ""))
    check("has ended" in err, err)
    until(lambda: stat("a")["waiting"] == 0, "the waiter has left")
    weir("release", first)


def test_a_token_that_cannot_be_printed_holds_nothing():
    with open("/dev/full", "w") as full:
        done = subprocess.run([support.WEIR, "hold", "a", "-n", "1", "--while-pid", ME], env=ENV,
                              stdout=full, stderr=subprocess.DEVNULL)
    same(done.returncode, 125)
    until(lambda: stat("a")["free"] == 1, "the permit is released")
    until(lambda: not sockets(), "no socket")


def test_no_such_process():
    gone = subprocess.Popen(["true"])
    gone.wait()
    status, out, err = weir("hold", "a", "-n", "1", "--while-pid", str(gone.pid))
    same((status, err), (64, f"weir: hold: --while-pid: process {gone.pid} does not exist\n"))
    check(not os.path.exists(path("a.weir")), "the semaphore was created")


def test_77_no_socket_in_the_folder():
    # A user without write permission for the folder gets the error before the wait.
    weir("open", "a", "-n", "1", "--shared")
    holder = start("run", "a", "--shared", "--", *held_job("x"))
    job_pid("x")
    own = shutil.copy(support.WEIR, path("weir"))
    if os.geteuid() == 0:
        os.chmod(path("."), 0o755)
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    else:
        # Without root there is no other user; this user gives up the right to write.
        os.chmod(path("."), 0o555)
        other = []
    done = subprocess.run([*other, own, "hold", "a", "--shared", "-t", "1ms", "--while-pid", ME],
                          env=ENV, capture_output=True, text=True)
    os.chmod(path("."), 0o755)
    same((done.returncode, done.stderr),
         (77, "weir: a: cannot create a socket in its folder: Permission denied\n"))
    let_end("x")
    finish(holder)


def test_silent_connections():
    # Neither the end of the process nor a release is delayed by them.
    for ends in (False, True):
        process = subprocess.Popen(["sleep", "1000"])
        token = weir("hold", "a", "-n", "1", "--while-pid", str(process.pid))[1].strip()
        silent = []
        for said in (b"", token[:9].encode(), *[b""] * 9):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path(sockets()[0]))
            one.send(said)
            silent.append(one)
        if ends:
            kill(process.pid)
            until(lambda: stat("a")["free"] == 1, "the permit is released")
            until(lambda: not sockets(), "the socket is removed")
        else:
            same(weir("release", token)[0], 0)
            kill(process.pid)
        process.wait()
        for one in silent:
            one.close()


def test_few_descriptors():
    # poll refuses a list that is longer than the limit of descriptors, and accept needs
    # a free one.  The hold daemon keeps working, and does not spin.
    for ends in (False, True):
        process = subprocess.Popen(["sleep", "1000"])
        token = weir("hold", "a", "-n", "1", "--while-pid", str(process.pid))[1].strip()
        one, = roles("a", "holds")
        daemon = one["pid"]
        # Silent clients use up the descriptors.
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, (9, 9))
        silent = []
        for _ in range(5):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path(sockets()[0]))
            silent.append(one)
        if ends:
            kill(process.pid)
            until(lambda: stat("a")["free"] == 1, "the permit is released")
        else:
            same(weir("release", token)[0], 0)
            kill(process.pid)
        process.wait()
        until(lambda: is_gone(daemon), "the hold daemon ends")
        for one in silent:
            one.close()
    # No client can be accepted at all.
    process = subprocess.Popen(["sleep", "1000"])
    weir("hold", "a", "--while-pid", str(process.pid))
    one, = roles("a", "holds")
    resource.prlimit(one["pid"], resource.RLIMIT_NOFILE, (3, 3))
    client = socket.socket(socket.AF_UNIX)
    client.connect(path(sockets()[0]))
    until(lambda: state(one["pid"]) == "S", "the hold daemon sleeps")
    kill(process.pid)
    process.wait()
    until(lambda: stat("a")["free"] == 1, "the permit is released")
    client.close()


def test_a_forged_token_releases_nothing():
    token = weir("hold", "a", "-n", "1", "--while-pid", ME)[1].strip()
    forged = ("0" if token[0] != "0" else "1") + token[1:]
    same(weir("release", forged)[0], 69)
    # Not even on the socket of the real token.
    os.rename(path(".weir-hold-" + token[:32]), path(".weir-hold-" + forged[:32]))
    same(weir("release", forged)[0], 69)
    same(stat("a")["free"], 0)
    os.rename(path(".weir-hold-" + forged[:32]), path(".weir-hold-" + token[:32]))
    same(weir("release", token)[0], 0)


def test_a_path_and_another_folder():
    os.mkdir(path("sub"))
    token = weir("hold", "./s", "-n", "1", "--while-pid", ME, cwd=path("sub"))[1].strip()
    check(token.endswith("@" + os.path.realpath(path("sub/s"))), token)
    same(weir("release", token, cwd="/")[0], 0)
    # Longer than the path in a socket address may be.
    long = path("sub/" + "d" * 120)
    os.mkdir(long)
    token = weir("hold", long + "/s", "-n", "1", "--while-pid", ME)[1].strip()
    same(weir("release", token)[0], 0)


def test_a_relative_folder():
    os.mkdir(path("dir"))
    there = {"env": {"WEIR_DIR": "dir"}, "cwd": path(".")}
    status, token, err = weir("hold", "a", "-n", "1", "--while-pid", str(os.getpid()), **there)
    same((status, err), (0, ""))
    same(weir("release", token.strip(), **there), (0, "", ""))
    same(os.listdir(path("dir")), ["a.weir"], "no socket is left")


def test_the_socket_appears_when_it_listens():
    # The doctor removes a socket without a listener; the hold could not be released then.
    libc = ctypes.CDLL(None)
    moved, made = 0x80, 0x100
    events = libc.inotify_init1(os.O_NONBLOCK)
    check(libc.inotify_add_watch(events, path("").encode(), moved | made) >= 0)
    status, token, err = weir("hold", "a", "-n", "1", "--while-pid", ME)
    same((status, err), (0, ""))
    data, seen = os.read(events, 65536), {}
    os.close(events)
    while data:
        _, mask, _, size = struct.unpack("iIII", data[:16])
        seen.setdefault(data[16:16 + size].rstrip(b"\0").decode(), mask)
        data = data[16 + size:]
    same(seen[sockets()[0]], moved, "the socket was not renamed into place")
    same(weir("release", token.strip()), (0, "", ""))
    same(sorted(os.listdir(path("."))), ["a.weir"])


def test_the_doctor_removes_old_sockets():
    token = weir("hold", "a", "-n", "1", "--while-pid", ME)[1].strip()
    one, = roles("a", "holds")
    kill(one["pid"])
    until(lambda: stat("a")["free"] == 1, "the permit is released")
    # It may be released before the socket is closed.
    until(lambda: is_gone(one["pid"]), "the hold daemon has ended")
    status, out, err = weir("doctor", "a")
    same(status, 0)
    check("repaired: removed .weir-hold-" + token[:32] in out, out)
    same(sockets(), [])


def test_c42_the_doctor_does_not_wait_for_a_stopped_hold_daemon():
    # Connections that the daemon does not accept fill the queue of its socket.
    token = weir("hold", "a", "-n", "1", "--while-pid", ME)[1].strip()
    one, = roles("a", "holds")
    kill(one["pid"], signal.SIGSTOP)
    until(lambda: state(one["pid"]) == "T", "the hold daemon is stopped")
    for _ in range(12):
        status, out, err = weir("doctor", "a")
        same((status, err), (0, ""))
    same(len(sockets()), 1)
    kill(one["pid"], signal.SIGCONT)
    same(weir("release", token)[0], 0)


if __name__ == "__main__":
    main()
