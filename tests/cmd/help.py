# SPDX-License-Identifier: MIT
"""The help texts are those of help.txt, which `help.py WEIR --print` creates.  Help,
manual and completions have the same subcommands and options."""
import os
import re
import sys

from support import *
import support

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def commands():
    """The subcommands that `weir --help` lists."""
    return re.findall(r"^  ([a-z]+) {2,}", weir("--help")[1], re.M)


def text():
    every = ["$ weir --help\n" + weir("--help")[1]]
    for name in commands():
        every.append(f"$ weir help {name}\n" + weir("help", name)[1])
    return "\n".join(every)


def test_help():
    with open(os.path.join(HERE, "help.txt")) as file:
        want = file.read()
    got = text()
    for line_got, line_want in zip(got.splitlines(), want.splitlines()):
        same(line_got, line_want, "help.txt")
    same(got, want, "help.txt")
    check(all(len(line) <= 80 for line in got.splitlines()), "a line is too wide")


def test_help_in_each_way():
    for name in commands():
        same(weir(name, "--help"), (0, weir("help", name)[1], ""), name)
        same(weir(name, "-h")[0], 0)
    same(weir("help"), weir("--help"))
    same(weir("-h"), weir("--help"))
    same(weir("help", "help"), weir("--help"))
    for word in ("--help", "-h"):
        same(weir("help", word), weir("--help"))
    # Options after the job's name belong to the job.
    same(weir("run", "a", "-n", "1", "--", "sh", "-c", 'echo "$1"', "sh", "--help")[1], "--help\n")


def test_version():
    with open(os.path.join(ROOT, "meson.build")) as file:
        version = re.search(r"version: '([^']*)'", file.read()).group(1)
    same(weir("--version"), (0, f"weir {version}\n", ""))


def test_more_arguments():
    for args, word in ((["help", "run", "stat"], "help"), (["--help", "run", "stat"], "help"),
                       (["--version", "stat"], "--version"), (["-V", "stat"], "-V")):
        same(weir(*args), (64, "", f'weir: {word}: unexpected argument "stat"\n'
                           'weir: try "weir --help"\n'))


def test_without_arguments():
    status, out, err = weir()
    same((status, out, err), (64, "", weir("--help")[1]))


def test_typos():
    for args, want in ((["rnu"], "weir: rnu: unknown command; did you mean run?\n"),
                       (["stats", "a"], "weir: stats: unknown command; did you mean stat?\n"),
                       (["list"], "weir: list: unknown command"),
                       (["xyzzy"], "weir: xyzzy: unknown command\n"),
                       (["foo"], "weir: foo: unknown command\n"),
                       (["sta"], "weir: sta: unknown command; did you mean stat?\n"),
                       (["run", "a", "--weigth", "2"],
                        "weir: run: unknown option --weigth; did you mean --weight?"),
                       (["run", "a", "--whatever"], "unknown option --whatever\n"),
                       (["run", "a", "-Z", "true"], "unknown option -Z\n"),
                       (["run", "a", "--nested", "-Zq", "true"], "unknown option -Z\n"),
                       (["top", "--interval=1", "-jx"], "unknown option -j\n"),
                       (["run", "a", "--try=5", "true"], "run: --try takes no value\n"),
                       (["run", "a", "--nest=x"], "run: --nested takes no value\n"),
                       (["run", "a", "--trx=5", "true"],
                        "unknown option --trx=5; did you mean --try?"),
                       (["run", "a", "-n", "1.5", "true"], '-n: "1.5" is not a whole number\n'),
                       (["wait", "a"], "wait: either --idle or --free N is required\n"),
                       (["wait", "a", "--idle", "--free", "0"],
                        "wait: --idle and --free exclude each other\n"),
                       (["resize", "a"], "resize: NAME and N are required\n"),
                       (["resize", "a", "-12"], "resize: capacity: -12 is not between 0 and "),
                       (["resize", "-1", "a"], "resize: capacity: -1 is not between 0 and "),
                       (["resize", "a", "-1x"], 'resize: capacity: "-1x" is not a whole number\n'),
                       (["resize", "a", "-0"], "resize: unknown option -0\n"),
                       (["resize", "a", "3", "4"], 'resize: unexpected argument "4"\n'),
                       (["resize", "--", "a", "3", "4"], 'resize: unexpected argument "4"\n'),
                       (["ls", "--", "a"], 'ls: unexpected argument "a"; use "weir stat"'),
                       (["run", "a", "-t"], "-t needs a value")):
        status, out, err = weir(*args)
        same((status, out), (64, ""), args)
        check(want in err, err)
        check('weir: try "weir' in err, err)
    weir("open", "builds", "-n", "1")
    status, out, err = weir("stat", "biulds")
    same((status, err), (69, "weir: biulds: no such semaphore; did you mean builds?\n"))


def options(name):
    return set(re.findall(r"(?<![\w-])(--?[a-zA-Z][a-z-]*)", "\n".join(
        line for line in weir("help", name)[1].splitlines()
        if re.match(r" +-", line)))) - {"-t", "-n", "-w", "-E", "-l", "-q", "-h", "-f"}


def test_the_manual_has_every_option():
    for name in commands():
        with open(os.path.join(ROOT, "man", f"weir-{name}.1")) as file:
            page = file.read().replace("\\-", "-")
        for option in options(name):
            check(re.search(rf"^\.(It|Op|Ar).*Fl (Fl |-){option[2:]}\b", page, re.M),
                  f"weir-{name}.1 does not have {option}")
    with open(os.path.join(ROOT, "man", "weir.1")) as file:
        page = file.read()
    for name in commands():
        check(f".Xr weir-{name} 1" in page, f"weir.1 does not have {name}")


def test_every_text_has_the_same_summary():
    """weir --help, the manual pages and the completions describe a command in one wording."""
    def file(*names):
        with open(os.path.join(ROOT, *names)) as one:
            return one.read()

    main_page, zsh, fish = file("man", "weir.1"), file("completions", "_weir"), \
        file("completions", "weir.fish")
    for name, summary in re.findall(r"^  ([a-z]+) +(.*)$", weir("--help")[1].split("\n\n")[1],
                                    re.M):
        page = file("man", f"weir-{name}.1")
        same(re.search(r"^\.Nd (.*)$", page, re.M).group(1), summary, f"weir-{name}.1")
        same(re.search(rf"^\.It Xr weir-{name} 1\n(.*)\.$", main_page, re.M).group(1),
             summary[0].upper() + summary[1:], "weir.1")
        same(re.search(rf"^\t\t'{name}:(.*)'$", zsh, re.M).group(1), summary, "_weir")
        same(re.search(rf"-a {name} -d '(.*)'$", fish, re.M).group(1), summary, "weir.fish")


def test_completions_have_every_option():
    for kind in ("weir.bash", "_weir", "weir.fish"):
        with open(os.path.join(ROOT, "completions", kind)) as file:
            script = file.read()
        for name in commands():
            check(re.search(rf"\b{name}\b", script), f"{kind} does not have {name}")
            for option in options(name):
                check(re.search(rf"(?<![\w]){option[2:]}\b", script),
                      f"{kind} does not have {option}")


if __name__ == "__main__":
    if sys.argv[2:] == ["--print"]:
        support.WEIR = os.path.abspath(sys.argv[1])
        ENV.update(os.environ)
        print(text(), end="")
    else:
        main()
