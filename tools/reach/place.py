# SPDX-License-Identifier: MIT
"""Paths, and running other programs."""
import os
import platform
import subprocess
import sys

# The measured folders, except the system calls that only named semaphores use.
SOURCES = ("src/core/", "src/base/")
THEIRS = ("src/base/shared.c", "src/base/shared.h",
          "src/base/ticks.c", "src/base/ticks.h")
# This file has functions only on aarch64.
if platform.machine() != "aarch64":
    THEIRS += ("src/base/lse.c",)
LLVM = "-19"

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build-coverage")


def is_measured(file):
    return file.startswith(SOURCES) and file not in THEIRS


def relative(path):
    return os.path.relpath(path, ROOT)


def give_up(text):
    print(f"{text}\n0 passed, 1 failed")
    sys.exit(1)


def said(*command, **options):
    """Return the output of the command; if it fails, print the output and exit."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.stdout.write(done.stdout[-8000:] + done.stderr[-8000:])
        give_up(f"{' '.join(command[:4])}: status {done.returncode}")
    return done.stdout
