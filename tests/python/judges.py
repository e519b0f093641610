# SPDX-License-Identifier: MIT
"""CPython's own tests of semaphores, where they are installed (Debian:
libpython3.11-testsuite).  They are not part of weir."""
import sys

from support import main, weir

try:
    from test import lock_tests
except ImportError:
    print("skipped: judges: needs test.lock_tests of CPython (libpython3-testsuite)")
    sys.exit(77)


class Semaphore(lock_tests.SemaphoreTests):
    semtype = staticmethod(weir.Semaphore)


class BoundedSemaphore(lock_tests.BoundedSemaphoreTests):
    semtype = staticmethod(weir.BoundedSemaphore)


if __name__ == "__main__":
    main()
