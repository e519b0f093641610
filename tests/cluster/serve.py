#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program with a server of its own: serve.py ENGINE PROGRAM [ARGUMENT]...

The program finds the server's URL, up to the name of a semaphore, in WEIR_TEST_URL.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import servers  # pylint: disable=wrong-import-position


def main():
    with servers.ENGINES[sys.argv[1]]() as server:
        env = dict(os.environ, WEIR_TEST_URL=server.url)
        return subprocess.run(sys.argv[2:], env=env, check=False).returncode


sys.exit(main())
