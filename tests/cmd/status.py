# SPDX-License-Identifier: MIT
"""Every exit status of `weir run`; the environment and the streams of the job."""
import os
import resource
import struct
import subprocess

from support import *
import support


def test_0_and_the_status_of_the_job():
    for status in (0, 1, 3, 75, 124, 255):
        same(weir("run", "a", "-n", "1", "--", "sh", "-c", f"exit {status}"),
             (status, "", ""), "run")


def test_128_and_the_signal():
    for sig in (9, 15, 6):
        status, out, err = weir("run", "a", "-n", "1", "--", "sh", "-c", f"kill -{sig} $$")
        same((status, out, err), (128 + sig, "", ""), "run")


def test_c5_75_busy():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    status, out, err = weir("run", "a", "--try", "--", "touch", path("ran"))
    same(status, 75)
    check("busy; held by sh -c" in err, err)
    same(weir("run", "a", "--try", "-E", "9", "true")[0], 9, "-E")
    same(weir("hold", "a", "--try", "--while-pid", str(os.getpid()))[0], 75, "hold")
    check(not os.path.exists(path("ran")))
    let_end("x")
    same(finish(holder), (0, "", ""))


def test_64_a_weight_above_the_capacity():
    # Also with --try: it is not busy, a later try fails as well.  -E and -q do not
    # hide it.
    weir("open", "a", "-n", "2")
    text = ('weir: a: a weight of 3 exceeds the capacity, 2; "weir resize a 3" raises it\n')
    for how in (["-t", "0"], ["-t", "1h"], ["--try"], ["--try", "-E", "0"]):
        same(weir("run", "a", "-w", "3", *how, "--", "true"), (64, "", text), str(how))
        same(weir("hold", "a", "-w", "3", *how, "--while-pid", str(os.getpid())),
             (64, "", text), f"hold {how}")
    same(weir("run", "a", "-w", "3", "--try", "-q", "-E", "0", "true"), (64, "", text), "-q")
    # A semaphore that could never grant the request is not created.  The capacity of an
    # existing one counts, not -n.
    text = "weir: new: a weight of 9 exceeds the capacity, 5 (-n)\n"
    for how in ([], ["--try", "-E", "0"]):
        same(weir("run", "new", "-n", "5", "-w", "9", *how, "--", "true"), (64, "", text), str(how))
        same(weir("hold", "new", "-n", "5", "-w", "9", *how, "--while-pid", str(os.getpid())),
             (64, "", text), f"hold {how}")
        check(not os.path.exists(path("new.weir")), str(how))
    status, _, err = weir("run", "a", "-n", "1", "-w", "2", "--", "true")
    same(status, 0, err)
    check("the capacity is 2, not 1" in err, err)


def test_c14_124_timeout():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    status, out, err = weir("run", "a", "-t", "20ms", "--", "touch", path("ran"))
    same(status, 124)
    check("not granted within 20ms; held by sh -c" in err, err)
    same(weir("run", "a", "-t", "0", "-E", "0", "--", "touch", path("ran"))[0], 0, "-E")
    status, out, err = weir("run", "a", "--", "true", env={"WEIR_TIMEOUT": "10ms"})
    same(status, 124, "WEIR_TIMEOUT")
    same(weir("hold", "a", "-t", "1ms", "--while-pid", str(os.getpid()))[0], 124, "hold")
    check(not os.path.exists(path("ran")))
    let_end("x")
    finish(holder)
    # C14: a timeout of 0 succeeds if permits are free.
    same(weir("run", "a", "-t", "0", "--", "true")[0], 0)


def test_69_closed_or_missing():
    status, out, err = weir("run", "nosuch", "--", "true")
    same(status, 69)
    folder = ENV["WEIR_DIR"]
    same(err, f"weir: nosuch: no such semaphore in {folder}; -n CAPACITY creates it\n")
    # Subcommands without -n do not mention it.
    for args in (["stat"], ["rm"], ["watch"], ["close"], ["wait", "--idle"]):
        same(weir(*args, "nosuch"),
             (69, "", f"weir: nosuch: no such semaphore in {folder}\n"), args[0])
    same(weir("stat", "./nosuch")[2], "weir: ./nosuch: no such semaphore\n")
    weir("open", "a", "-n", "1")
    weir("close", "a")
    status, out, err = weir("run", "a", "--", "touch", path("ran"))
    same((status, err), (69, 'weir: a: the semaphore is closed; "weir open a" opens it again\n'))
    check(not os.path.exists(path("ran")))


def test_c19_69_closed_while_waiting():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    waiter = start("run", "a", "--", "touch", path("ran"))
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    same(weir("close", "a")[0], 0)
    same(finish(waiter)[0], 69)
    let_end("x")
    same(finish(holder)[0], 0, "held permits stay valid")
    check(not os.path.exists(path("ran")))


def test_a_dash_is_a_name():
    same(weir("run", "-", "-n", "1", "echo", "job"), (0, "job\n", ""))
    same(stat("-")["capacity"], 1)


def test_64_orphan_keep_with_a_url():
    """No process would renew the lease.  The server is not asked."""
    for name, env in (("redis://127.0.0.1:1/a", {}), ("a", {"WEIR_URL": "redis://127.0.0.1:1"})):
        status, out, err = weir("run", name, "-n", "1", "--orphan=keep", "true", env=env)
        same((status, out), (64, ""), err)
        check("--orphan=keep is not possible with a URL" in err, err)


def test_64_usage():
    for args in (["run"], ["run", "a"], ["run", "a", "-n"], ["run", "a", "-n", "x", "true"],
                 ["run", "a", "-n", "-1", "true"], ["run", "a", "-w", "0", "true"],
                 ["run", "a", "-n", "0", "true"],
                 ["hold", "a", "-n", "0", "--while-pid", str(os.getpid())],
                 ["run", "a", "-t", "soon", "true"], ["run", "a", "--orphan", "eat", "true"],
                 ["run", "a", "-E", "256", "true"], ["run", "a", "--tyr", "true"],
                 ["run", "a", "-t", "1", "--try", "true"], ["run", "a", "-Q", "true"],
                 ["run", "a b", "-n", "1", "true"], ["run", "a" * 129, "-n", "1", "true"],
                 ["run", path("a" * 256), "-n", "1", "true"], ["run", "a", "-l", "x" * 64, "true"],
                 [], ["rnu"], ["stat"], ["stat", "a", "b"], ["wait", "a"],
                 ["wait", "a", "--idle", "--free", "1"], ["resize", "a"], ["hold", "a"],
                 ["resize", "a", "1", "2"], ["release"], ["release", "x"],
                 ["hold", "a", "--while-pid", "0"], ["help", "nosuch"], ["ls", "a"]):
        status, out, err = weir(*args)
        same((status, out), (64, ""), " ".join(args))
        check(err, args)
    same(os.listdir(path(".")), [], "a file was created")
    weir("open", "a", "-n", "1")
    for args, request in ((["run", "-w", "2", "--", "true"], "a weight of 2"),
                          (["hold", "-w", "2", "--while-pid", str(os.getpid())], "a weight of 2"),
                          (["wait", "--free", "2"], "--free 2")):
        # C11
        same(weir(args[0], "a", *args[1:]),
             (64, "", f'weir: a: {request} exceeds the capacity, 1; "weir resize a 2" raises it\n'))
    same(weir("run", "a", "--", "true", env={"WEIR_TIMEOUT": "x"})[0], 64, "WEIR_TIMEOUT")


def test_c39_65_damaged():
    weir("open", "a", "-n", "1")
    with open(path("a.weir"), "r+b") as file:
        file.write(b"nonsense")
    status, out, err = weir("run", "a", "--", "true")
    same(status, 65)
    check("is not a semaphore" in err and err.endswith('; "weir doctor a" examines it\n'), err)
    os.truncate(path("a.weir"), 100)
    same(weir("stat", "a")[0], 65)
    # A path may be that of another file.
    status, out, err = weir("stat", path("a.weir"))
    same(status, 65)
    check("doctor" not in err, err)


def test_c39_65_another_version():
    weir("open", "a", "-n", "1")
    with open(path("a.weir"), "r+b") as file:
        file.seek(8)
        file.write(struct.pack("=I", 2))
    for args in (["run", "a", "-n", "1", "--", "true"], ["stat", "a"], ["rm", "a"]):
        same(weir(*args), (65, "", f'weir: a: {path("a.weir")} has another version of the file '
                                   'format; "weir doctor a" examines it\n'), args)
    # After an update of weir such files are left, and the names must not stay blocked.
    same(weir("doctor", "a")[0], 0)
    same(weir("run", "a", "-n", "1", "--", "true"), (0, "", ""))


def test_c39_65_damaged_while_waiting():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    waiter = start("run", "a", "-l", "the victim", "--", "touch", path("ran"))
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    # Free the slot of the waiter in the file, then wake the waiter.
    with open(path("a.weir"), "r+b") as file:
        file.seek(file.read().index(b"the victim") // 256 * 256)
        file.write(bytes(4))
    weir("close", "a")
    status, out, err = finish(waiter)
    same((status, err), (65, "weir: a: the file is damaged\n"))
    check(not os.path.exists(path("ran")))
    let_end("x")
    finish(holder)


def test_76_lost():
    holder = start("run", "a", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    # Free the slot of the holder in the file.
    with open(path("a.weir"), "r+b") as file:
        file.seek(4096)
        file.write(bytes(4))
    let_end("x")
    status, out, err = finish(holder)
    same(status, 76)
    check("the permit was lost while sh ran" in err, err)


def test_77_permission():
    weir("open", "a", "-n", "1")
    os.chmod(path("a.weir"), 0o622)
    status, out, err = weir("run", "a", "--", "true")
    same(status, 77)
    check("others may write it" in err, err)
    same(weir("run", "a", "--shared", "--", "true")[0], 0, "--shared")
    os.symlink(path("a.weir"), path("b.weir"))
    same(weir("run", "b", "--", "true")[0], 77, "a symbolic link")


def test_a_path_that_cannot_be_a_semaphore():
    """Nothing is forbidden there: a folder is no semaphore, and below a file is nothing."""
    weir("open", "a", "-n", "1")
    for folder in path("."), path(""):
        for args in (["run", folder, "-n", "1", "--", "true"], ["run", folder, "--", "true"],
                     ["open", folder, "-n", "1"], ["hold", folder, "-n", "1", "--while-pid", "1"]):
            same(weir(*args), (65, "", f"weir: {folder}: cannot open {folder}: Is a directory\n"))
        same(weir("stat", folder), (65, "", f"weir: {folder}: {folder} is not a regular file: "
                                    "Is a directory\n"))
    below = path("a.weir/b")
    for args in (["run", below, "-n", "1", "--", "true"], ["run", below, "--", "true"],
                 ["stat", below], ["rm", below], ["hold", below, "--while-pid", "1"]):
        status, out, err = weir(*args)
        same((status, out), (69, ""), args)
        check(err.endswith(": Not a directory\n"), err)


def test_125_weir_fails():
    same(weir("run", "a", "-n", "1", "--", "true", env={"WEIR_DIR": "/dev/full"})[0], 69)
    # Standard output is full, or closed.
    with open("/dev/full", "w") as full:
        done = subprocess.run([support.WEIR, "--version"], stdout=full, stderr=-1, env=ENV)
        same(done.returncode, 125, "a full disk")
    done = subprocess.run(["sh", "-c", f"exec {support.WEIR} --version >&-"], stderr=-1, env=ENV)
    same(done.returncode, 125, "no output")


def test_125_no_space_to_wait():
    os.mkdir(path("small"))
    there = {"WEIR_DIR": path("small")}
    mount("-t", "tmpfs", "-o", "size=1m", "none", path("small"))
    try:
        holder = start("run", "a", "-n", "1", "--", *held_job("x"), env=there)
        job_pid("x")
        with open(path("small/rest"), "wb", buffering=0) as rest:
            try:
                while rest.write(bytes(4096)):
                    pass
            except OSError:
                pass
        # There is space for a participant, but not for a waiter.
        same(weir("run", "a", "--", "true", env=there),
             (125, "", "weir: a: No space left on device\n"))
        same(weir("run", "a", "--try", "--", "true", env=there)[0], 75)
        let_end("x")
        same(finish(holder), (0, "", ""))
        same(weir("run", "a", "--", "true", env=there), (0, "", ""))
    finally:
        subprocess.run(["umount", "-l", path("small")], check=True)


def test_126_127():
    weir("open", "a", "-n", "1")
    with open(path("plain"), "w") as file:
        file.write("x")
    status, out, err = weir("run", "a", "--", path("plain"))
    same((status, err), (126, f"weir: {path('plain')}: Permission denied\n"))
    same(weir("run", "a", "--", "/")[0], 126)
    status, out, err = weir("run", "a", "--", "nosuchcommand")
    same((status, err), (127, "weir: nosuchcommand: No such file or directory\n"))
    same(stat("a")["free"], 1, "the permit is released")


def test_a_script_without_an_interpreter_line():
    """The shell executes it, also if the C library leaves that to its caller (musl)."""
    weir("open", "a", "-n", "1")
    with open(path("script"), "w") as file:
        file.write('echo "$0" "$@"\n')
    os.chmod(path("script"), 0o700)
    same(weir("run", "a", "--", path("script"), "1", "2 3"),
         (0, path("script") + " 1 2 3\n", ""), "by its path")
    folders = path("none") + ":" + os.path.dirname(path("script")) + ":" + os.environ["PATH"]
    same(weir("run", "a", "--", "script", env={"PATH": folders}),
         (0, path("script") + "\n", ""), "in a folder of PATH")


def test_the_folders_of_path():
    """As execvp(3) of POSIX: a folder without the command, or with one that may not be executed,
    is passed over; 126 if there was one of these, and 127 if there was none."""
    weir("open", "a", "-n", "1")
    for folder, text in ("denied", "x"), ("script", 'echo "$0"\n'), ("none", None):
        os.mkdir(path(folder))
        if text:
            with open(path(folder + "/job"), "w") as file:
                file.write(text)
    os.chmod(path("script/job"), 0o700)
    long = "/" + "x" * 5000
    nothing = [path("none"), path("nosuch"), path("denied/job"), long]
    script = path("script/job")
    done = (0, script + "\n", "")
    for folders, want in ((nothing + [path("script")], done),
                          ([path("denied"), path("script")] + nothing, done),
                          (nothing, (127, "", "weir: job: No such file or directory\n")),
                          ([path("denied")] + nothing, (126, "", "weir: job: Permission denied\n"))):
        same(weir("run", "a", "--", "job", env={"PATH": ":".join(folders)}), want,
             [os.path.basename(folder)[:9] for folder in folders])
    # The empty folder is the current one, at both ends and between.
    for folders in "", ":/nosuch", "/nosuch:", "/nosuch::/nosuch":
        same(weir("run", "a", "--", "job", env={"PATH": folders}, cwd=path("script")),
             (0, "./job\n", ""), folders)
    for job in "", "x" * 300, "x" * 5000:
        status, out, err = weir("run", "a", "--", job)
        check(status == (126 if job else 127) and err, (len(job), status, err[-40:]))


def test_125_too_few_descriptors():
    """The command is not blamed if weir lacks a descriptor."""
    weir("open", "a", "-n", "1")
    for limit in range(4, 12):
        done = subprocess.run(["sh", "-c", f'ulimit -n {limit}; exec "$0" run a -- true',
                               support.WEIR], env=support.ENV, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=LIMIT)
        if "shared libraries" in done.stderr:
            continue
        check(done.returncode in (0, 125), (limit, done))
        same(done.stderr.startswith("weir: "), done.returncode == 125, (limit, done))
        check(not done.stderr.startswith("weir: true: "), (limit, done))


def test_the_most_arguments():
    """execvp copies the arguments of a script without "#!"."""
    with open(path("count"), "w", encoding="ascii") as file:
        file.write("echo $#\n")
    os.chmod(path("count"), 0o755)

    def more_stack():
        # The kernel accepts a quarter of the stack limit, at most 6 MB.
        resource.setrlimit(resource.RLIMIT_STACK,
                           (1 << 26, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    done = weir("run", "a", "-n", "1", "--", path("count"), *["1"] * 560000,
                preexec_fn=more_stack)
    same(done, (0, "560000\n", ""))


def test_the_environment_of_the_job():
    script = 'echo "$WEIR_HELD|$WEIR_WEIGHT|$WEIR_WAITED_MS|$WEIR_TOKEN"'
    out = weir("run", "a", "-n", "9", "-w", "4", "--", "sh", "-c", script)[1]
    held, weight, waited, token = out.strip().split("|")
    same((held, weight), ("a", "4"))
    check(0 <= int(waited) < 60000, waited)
    check(len(token) == 34 and token.endswith("@a"), token)
    # A run inside a run; a path is made absolute.
    os.mkdir(path("a dir"))
    out = weir("run", "a", "-n", "1", "--", support.WEIR, "run", "./b%", "-n", "1", "--",
               "sh", "-c", script, cwd=path("a dir"))[1]
    same(out.split("|")[0], "a " + os.path.realpath(path("a%20dir")) + "/b%25")


def test_a_relative_folder_of_names():
    """A job that changes its directory uses the same semaphores."""
    os.mkdir(path("names"))
    script = 'cd / && "$0" stat a && "$0" open b -n 1'
    status, out, err = weir("run", "a", "-n", "2", "--", "sh", "-c", script, support.WEIR,
                            cwd=path("."), env={"WEIR_DIR": "names"})
    same((status, out.split("\n")[0], err), (0, "a: 1 of 2 free, 0 waiting", ""))
    check(os.path.exists(path("names/b.weir")), "b is in another folder")


def test_nested_names():
    again = [support.WEIR, "run", "a", "-n", "2"]
    status, out, err = weir("run", "a", "-n", "2", "--", *again, "--", "true")
    same(status, 64)
    check("already running under a permit of a" in err, err)
    same(weir("run", "a", "--", *again, "--nested", "--", "sh", "-c", "exit 5")[0], 5)
    same(weir("run", "a", "--", support.WEIR, "run", "b", "-n", "1", "--", "true")[0], 0)
    for what in (["--idle"], ["--free", "1"]):
        status, out, err = weir("run", "a", "--", support.WEIR, "wait", "a", *what)
        same(status, 64, f"wait {what}: the wait could not end")
        check("already running under a permit of a" in err, err)
    same(weir("run", "a", "--", support.WEIR, "wait", "a", "--free", "1", "--nested")[0], 0)
    # The same semaphore by another name.
    same(weir("run", "a", "--", support.WEIR, "run", path("a.weir"), "-t", "1", "true")[0], 64)
    same(weir("run", path("a.weir"), "--", support.WEIR, "run", "a", "-t", "1", "true")[0], 64)
    same(weir("run", "a%", "-n", "1", "--", support.WEIR, "run", "a%", "-t", "1", "true")[0], 64)
    same(weir("run", "a%25", "-n", "1", "--", support.WEIR, "run", "a%", "true")[0], 0)
    status = weir("run", path("c"), "-n", "1", "--", support.WEIR, "run", "./c", "true", cwd=path("."))[0]
    same(status, 64)


def test_the_command_line():
    weir("open", "a", "-n", "1")
    # Options before and after the name, with and without "--".
    for args in (["a", "--", "echo", "-n", "x"], ["-t", "5", "a", "echo", "-n", "x"],
                 ["a", "-w1", "echo", "-n", "x"], ["--timeout=5s", "--", "a", "echo", "-n", "x"]):
        same(weir("run", *args), (0, "x", ""), args)


def test_capacity_is_never_changed_silently():
    weir("open", "a", "-n", "2")
    status, out, err = weir("run", "a", "-n", "3", "--", "true")
    same((status, err), (0, 'weir: a: the capacity is 2, not 3; "weir resize a 3" changes it\n'))
    same(stat("a")["capacity"], 2)


def test_durations():
    weir("open", "a", "-n", "0")
    for text in ("1us", "1ms", ".001", "0.001s", "1.5ms", "0m", "0h", "0d", "0"):
        same(weir("run", "a", "-w", "0", "-t", text, "true")[0], 64, "no weight")
        same(weir("wait", "a", "--free", "0", "-t", text)[0], 0, text)
    for text in ("1sec", "-1", "", ".", "1e3", "1 s", "s", "1.2.3"):
        same(weir("wait", "a", "--free", "0", "-t", text)[0], 64, text)
    same(weir("run", "a", "-t", "999999999999999999999d", "-w", "1", "--", "true")[0], 64, "C11")


def test_streams():
    weir("open", "a", "-n", "1")
    # Streams that are closed for weir are closed for the job.
    seen = 'for i in 0 1 2; do [ -e "/proc/$$/fd/$i" ] && list=$list$i; done; echo $list >"$1"'
    for redirection, want in (("<&-", "12"), (">&-", "02"), ("2>&-", "01"),
                              ("<&- >&- 2>&-", "")):
        script = f'exec "$0" run a -- sh -c "$2" sh "$1" {redirection}'
        done = subprocess.run(["sh", "-c", script, support.WEIR, path("open"), seen], env=ENV,
                              stdin=subprocess.DEVNULL, capture_output=True)
        same((done.returncode, read("open").strip()), (0, want), redirection)
    done = subprocess.run([support.WEIR, "run", "a", "--", "cat"], env=ENV, input=b"hello",
                          capture_output=True)
    same((done.returncode, done.stdout), (0, b"hello"), "stdin")


def test_an_empty_environment():
    # As from cron: no PATH, no HOME, no WEIR_DIR.  Options of sanitizers are kept.
    name = path("cron")
    env = ["env", "-i", *(f"{key}={value}" for key, value in ENV.items()
                          if key.endswith("SAN_OPTIONS"))]
    done = subprocess.run([*env, support.WEIR, "run", name, "-n", "1", "--", "/bin/sh", "-c",
                           "exit 3"], cwd="/", stdin=subprocess.DEVNULL, capture_output=True)
    same((done.returncode, done.stdout, done.stderr), (3, b"", b""))
    done = subprocess.run([*env, support.WEIR, "run", name, "--", "sh", "-c", "exit 4"])
    same(done.returncode, 4, "the default PATH is searched")


if __name__ == "__main__":
    main()
