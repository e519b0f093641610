#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a program with a server of its own: serve.py ENGINE PROGRAM [ARGUMENT]...

The program finds the server's URL, up to the name of a semaphore, in WEIR_TEST_URL.  ENGINE is
redis (appendfsync always), redis-memory (no file), etcd or postgres.  WEIR_TEST_DIR: the folder of
the data, by default in memory.  Without the server's program the status is 77.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import servers  # pylint: disable=wrong-import-position


def main():
    engine, _, memory = sys.argv[1].partition("-")
    options = {"appendfsync": None} if memory else {}
    try:
        server = servers.ENGINES[engine](**options)
    except servers.Skip as why:
        print(f"skipped: {engine}: {why}")
        return 77
    with server:
        env = dict(os.environ, WEIR_TEST_URL=server.url)
        return subprocess.run(sys.argv[2:], env=env, check=False).returncode


sys.exit(main())
