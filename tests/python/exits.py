# SPDX-License-Identifier: MIT
"""The end of the interpreter while threads and tasks wait, repeated imports, subinterpreters."""
import os
import subprocess
import sys
import tempfile
import unittest

from support import main
import support

HERE = os.path.dirname(os.path.abspath(__file__))


def run(code, *arguments):
    """Run the code with `weir` and `until`; the arguments are in sys.argv."""
    start = "import sys\nfrom support import until, weir\n"
    return subprocess.run([sys.executable, "-c", start + code, *support.ARGV[1:3], *arguments],
                          env={**os.environ, "PYTHONPATH": HERE}, capture_output=True, text=True,
                          timeout=support.LIMIT)


class Exit(unittest.TestCase):
    def ends(self, code, stderr=""):
        with tempfile.TemporaryDirectory() as folder:
            done = run(code, os.path.join(folder, "slots"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Fatal", done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)

    def test_threads_that_wait(self):
        self.ends("import threading\n"
                  "named, rate = weir.NamedSemaphore(sys.argv[1], 1), weir.RateLimiter(1, per=1e6)\n"
                  "named.acquire(), rate.acquire()\n"
                  "for sem in named, rate:\n"
                  "    for timeout in None, 9e9:\n"
                  "        threading.Thread(target=sem.acquire, daemon=True,\n"
                  "                         kwargs={'timeout': timeout}).start()\n"
                  "until(lambda: named.waiting == 2, 'two waiters')\n")

    def test_threads_that_work(self):
        for _ in range(5):
            self.ends("import threading\n"
                      "sem, named = weir.Semaphore(1), weir.NamedSemaphore(sys.argv[1], 1)\n"
                      "turns = 0\n"
                      "def work(sem):\n"
                      "    global turns\n"
                      "    while True:\n"
                      "        with sem:\n"
                      "            turns += 1\n"
                      "for one in sem, sem, named, named:\n"
                      "    threading.Thread(target=work, args=(one,), daemon=True).start()\n"
                      "until(lambda: turns > 100, 'work')\n")

    def test_tasks_that_wait(self):
        # asyncio itself reports tasks that are destroyed.
        code = ("import asyncio\n"
                "sem, named = weir.Semaphore(0), weir.NamedSemaphore(sys.argv[1], 1)\n"
                "named.acquire()\n"
                "async def begin():\n"
                "    tasks.extend(asyncio.create_task(s.acquire_async(n=1))\n"
                "                 for s in (sem, sem, named, named))\n"
                "    while sem.waiting < 2 or named.waiting < 1:\n"
                "        await asyncio.sleep(0)\n"
                "tasks = []\n"
                "loop = asyncio.new_event_loop()\n"
                "loop.run_until_complete(begin())\n")
        self.ends(code, None)
        self.ends(code + "loop.close()\n", None)
        self.ends(code + "del sem, named, loop, tasks\nimport gc\ngc.collect()\n", None)


class Imports(unittest.TestCase):
    def test_a_second_import_has_the_same_types(self):
        done = run("import asyncio\n"
                   "old, sem = weir, weir.Semaphore(0)\n"
                   "for name in 'weir', 'weir._weir':\n"
                   "    del sys.modules[name]\n"
                   "import weir\n"
                   "assert weir is not old and weir.Error is old.Error\n"
                   "async def both():\n"
                   "    task = asyncio.create_task(sem.acquire_async())\n"
                   "    while not sem.waiting:\n"
                   "        await asyncio.sleep(0)\n"
                   "    sem.release()\n"
                   "    assert await task\n"
                   "    async with weir.Semaphore(1):\n"
                   "        pass\n"
                   "asyncio.run(both())\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_subinterpreters_are_refused(self):
        try:
            import _xxsubinterpreters  # noqa: F401
        except ImportError:
            self.skipTest("this Python has no _xxsubinterpreters")
        tried = ("import _xxsubinterpreters as sub\n"
                 "def refused():\n"
                 "    inner = sub.create()\n"
                 "    try:\n"
                 "        sub.run_string(inner, f'import sys; sys.argv = {argv!r}; '\n"
                 "                       f'sys.path.insert(0, {here!r}); import support')\n"
                 "    except sub.RunFailedError as error:\n"
                 "        assert 'weir does not support subinterpreters' in str(error), error\n"
                 "    else:\n"
                 "        raise AssertionError('imported')\n"
                 "    sub.destroy(inner)\n")
        argv = [sys.executable, *support.ARGV[1:3]]
        known = f"argv, here = {argv!r}, {HERE!r}\n"
        use = ("sem = weir.Semaphore(1)\nwith sem: pass\n"
               "try: weir.BoundedSemaphore(1).release()\n"
               "except ValueError: pass\n")
        done = run(known + tried + use + "refused()\nrefused()\n" + use)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # The subinterpreter is the first to import it.
        done = subprocess.run([sys.executable, "-c", known + tried + "refused()\n"
                               "import sys\nsys.argv = list(argv)\nfrom support import weir\n" + use],
                              env={**os.environ, "PYTHONPATH": HERE}, capture_output=True,
                              text=True, timeout=support.LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
