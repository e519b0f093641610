# SPDX-License-Identifier: MIT
"""weir posix: the library is found and preloaded; every exit status."""
import os
import sys

from support import *
import support  # noqa: E402

SHOW = [sys.executable, "-c",
        "import os, threading; print(os.environ['LD_PRELOAD'], os.environ['WEIR_POSIX']);"
        "print(any('libweir-posix' in line for line in open('/proc/self/maps')))"]


def test_it_preloads():
    status, out, err = weir("posix", "--", *SHOW)
    same(status, 0)
    same(err, "")
    same(out.split()[1:], ["fifo", "True"])
    same(weir("posix", "--print-library")[1], out.split()[0] + "\n")
    same(weir("posix", "--barging", *SHOW)[1].split()[1], "barging")


def test_other_preloads_stay():
    out = weir("posix", *SHOW, env={**os.environ, "LD_PRELOAD": ""})[1]
    check(":" not in out.split()[0], out)
    env = {**os.environ, "LD_PRELOAD": "/nonexistent.so"}
    out = weir("posix", *SHOW, env=env)[1]
    check(out.split()[0].endswith(":/nonexistent.so"), out)


def test_statuses():
    same(weir("posix", "--", "sh", "-c", "exit 7")[0], 7)
    status, _, err = weir("posix")
    same(status, 64)
    check("posix: PROGRAM is missing" in err, err)
    same(weir("posix", "--unknown")[0], 64)
    status, _, err = weir("posix", "/nonexistent")
    same(status, 127)
    check(err.startswith("weir: /nonexistent: "), err)
    same(weir("posix", "/")[0], 126)
    env = {**os.environ, "WEIR_POSIX_LIBRARY": "/nonexistent.so"}
    status, _, err = weir("posix", "true", env=env)
    same(status, 127)
    check("/nonexistent.so" in err, err)


def test_a_library_that_is_none():
    """The loader only warns about it, and would run the program without weir."""
    folder = path("folder")
    os.mkdir(folder)
    for name, text in (("text.so", "no library\n" * 100), ("empty.so", "")):
        with open(path(name), "w") as file:
            file.write(text)
    for wrong in (path("text.so"), path("empty.so"), folder, support.WEIR):
        env = {**os.environ, "WEIR_POSIX_LIBRARY": wrong}
        status, out, err = weir("posix", "echo", "ran", env=env)
        same((status, out), (127, ""), wrong)
        same(err, f"weir: posix: {os.path.realpath(wrong)}: it is not a shared library\n")
    library = weir("posix", "--print-library")[1].strip()
    env = {**os.environ, "WEIR_POSIX_LIBRARY": library}
    same(weir("posix", "echo", "ran", env=env), (0, "ran\n", ""))


if __name__ == "__main__":
    main()
