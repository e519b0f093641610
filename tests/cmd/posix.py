# SPDX-License-Identifier: MIT
"""weir posix: the library is found and preloaded; every exit status."""
import os
import sys

from support import *

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


if __name__ == "__main__":
    main()
