# SPDX-License-Identifier: MIT
"""Where things are, and how to ask other programs."""
import os
import platform
import subprocess
import sys

# What is measured; but what named semaphores alone ask of the kernel is theirs.
SOURCES = ("src/core/", "src/base/")
THEIRS = ("src/base/shared.c", "src/base/shared.h")
# Has functions on one machine only.
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
    """What the command prints; if it fails, show that and end."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.stdout.write(done.stdout[-8000:] + done.stderr[-8000:])
        give_up(f"{' '.join(command[:4])}: status {done.returncode}")
    return done.stdout
