# SPDX-License-Identifier: MIT
"""Helpers for the tests of the Python package.

A test program is `PROGRAM.py FOLDER MODULE [unittest options]`: the folder of the
package's Python files, and the C module.  It makes a package of both and runs the test
cases of the program.  A program that kills processes passes contained=True.
"""
import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import contain  # noqa: E402

LIMIT = int(os.environ.get("WEIR_TEST_LIMIT", "120"))


def load():
    """Import the package from the two paths in sys.argv, which are removed there."""
    folder, module = (os.path.abspath(path) for path in sys.argv[1:3])
    sys.path.insert(1, os.path.dirname(folder))
    loader = importlib.machinery.ExtensionFileLoader("weir._weir", module)
    spec = importlib.util.spec_from_file_location("weir._weir", module, loader=loader)

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return spec if name == "weir._weir" else None

    sys.meta_path.insert(0, Finder)
    import weir
    del sys.argv[1:3]
    return weir


def until(condition, what):
    """Poll until the condition is true."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.0005)


def interrupted_once(test):
    """Let the first SIGINT of a test raise KeyboardInterrupt, and ignore later ones.

    A signal that comes just before a wait does not end it, so the tests repeat it.  Returns
    an event that the first signal sets: the last signal may come after it.
    """
    came = threading.Event()

    def on_signal(number, frame):
        if not came.is_set():
            came.set()
            signal.default_int_handler(number, frame)

    test.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, on_signal))
    return came


def main(contained=False):
    if contained and not os.environ.get(contain.CONTAINED):
        os.execv(sys.executable, [sys.executable, contain.__file__, sys.executable, ARGV[0],
                                  *ARGV[1:]])
    unittest.main(module="__main__", verbosity=0)


ARGV = list(sys.argv)
weir = load()
