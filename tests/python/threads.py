# SPDX-License-Identifier: MIT
"""Semaphore and BoundedSemaphore between threads: order, weights, ends of a wait, signals."""
import math
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from support import main, until, weir
import support


class Thread(threading.Thread):
    """A thread whose result or exception join() returns or raises."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function, self.result, self.error = function, None, None

    def run(self):
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error

    def end(self):
        self.join(support.LIMIT)
        if self.error:
            raise self.error
        return self.result


def queue(sem, function, place):
    """Start a thread that waits as the waiter number `place` of the queue."""
    thread = Thread(function)
    thread.start()
    until(lambda: sem.waiting == place, f"{place} waiters")
    return thread


class Order(unittest.TestCase):
    def test_c3_order_of_arrival(self):
        sem, order = weir.Semaphore(0), []

        def take(i):
            sem.acquire()
            order.append(i)
            sem.release()

        threads = [queue(sem, lambda i=i: take(i), i + 1) for i in range(8)]
        sem.release()
        for thread in threads:
            thread.end()
        self.assertEqual(order, list(range(8)))
        self.assertEqual(sem.value, 1)

    def test_weights_do_not_overtake(self):
        sem = weir.BoundedSemaphore(4)
        sem.acquire(n=3)
        large = queue(sem, lambda: sem.acquire(n=4), 1)
        self.assertFalse(sem.acquire(blocking=False))
        sem.release(3)
        self.assertTrue(large.end())
        self.assertEqual(sem.value, 0)

    def test_barging(self):
        sem = weir.Semaphore(1, barging=True, name="slots")
        self.assertTrue(sem.acquire())
        waiter = queue(sem, sem.acquire, 1)
        sem.release()
        self.assertTrue(waiter.end())


class Ends(unittest.TestCase):
    def test_timeout_leaves_the_queue(self):
        sem = weir.Semaphore(0)
        self.assertFalse(sem.acquire(timeout=0.01))
        self.assertFalse(sem.acquire(True, 0))
        self.assertFalse(sem.acquire(timeout=-1))
        self.assertFalse(sem.acquire(False))
        self.assertEqual(sem.waiting, 0)
        self.assertTrue(weir.Semaphore(1).acquire(timeout=math.inf))

    def test_timeout_in_a_thread(self):
        sem = weir.Semaphore(0)
        seen, timeout = False, 0.02
        # If the timeout passed before the waiter was seen, retry with more time.
        while not seen:
            thread = Thread(lambda: sem.acquire(timeout=timeout))
            thread.start()
            while thread.is_alive() and not seen:
                seen = sem.waiting == 1
            self.assertFalse(thread.end())
            timeout *= 2
        self.assertEqual(sem.waiting, 0)

    def test_a_grant_at_the_deadline_is_not_lost(self):
        # Grants and timeouts coincide often; every permit is back in the end.
        sem = weir.BoundedSemaphore(1)

        def work():
            for i in range(400):
                if sem.acquire(timeout=5e-5 + i % 20 * 5e-6):
                    time.sleep(i % 7 * 1e-5)
                    sem.release()

        threads = [Thread(work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.end()
        self.assertEqual((sem.value, sem.waiting), (1, 0))

    def test_close(self):
        sem = weir.Semaphore(0)
        waiter = queue(sem, sem.acquire, 1)
        sem.close()
        with self.assertRaises(weir.ClosedError):
            waiter.end()
        with self.assertRaises(weir.Error):
            sem.acquire()
        self.assertTrue(sem.closed)

    def test_close_drain(self):
        sem = weir.Semaphore(1)
        sem.close(drain=True)
        self.assertTrue(sem.acquire())
        with self.assertRaises(weir.ClosedError):
            sem.acquire()

    def test_resize_grants(self):
        sem = weir.BoundedSemaphore(1)
        sem.acquire()
        waiter = queue(sem, sem.acquire, 1)
        sem.resize(2)
        self.assertTrue(waiter.end())
        self.assertEqual((sem.capacity, sem.value), (2, 0))

    def test_blocks(self):
        sem = weir.BoundedSemaphore(3)
        with sem.permits(3):
            self.assertEqual(sem.value, 0)
            with self.assertRaisesRegex(TimeoutError, "^1 permit was not granted within 0.01 s$"):
                with sem.permits(1, timeout=0.01):
                    self.fail("the block was entered")
            with self.assertRaisesRegex(TimeoutError, "^2 permits were not granted within 0.0 s$"):
                with sem.permits(2, timeout=0.0):
                    self.fail("the block was entered")
        with self.assertRaises(KeyError):
            with sem:
                raise KeyError
        self.assertEqual(sem.value, 3)


class Misuse(unittest.TestCase):
    def test_arguments(self):
        sem = weir.BoundedSemaphore(2)
        for call in (lambda: sem.release(0), lambda: sem.release(-1), lambda: sem.acquire(n=0),
                     lambda: sem.acquire(n=3), lambda: sem.acquire(timeout=math.nan),
                     lambda: sem.acquire(False, 1), lambda: sem.resize(-1),
                     lambda: weir.Semaphore(-1), lambda: weir.Semaphore(2 ** 62)):
            with self.assertRaises(ValueError):
                call()
        for call in (lambda: sem.acquire(timeout="x"), lambda: sem.acquire(m=1),
                     lambda: weir.Semaphore("x"), lambda: weir.Semaphore(1, name=3)):
            with self.assertRaises(TypeError):
                call()
        self.assertEqual(sem.value, 2)

    def test_no_init(self):
        class Bad(weir.Semaphore):
            def __init__(self):
                pass

        bad = Bad()
        for call in (bad.acquire, bad.release, bad.close, bad.__enter__, lambda: bad.value):
            with self.assertRaises(RuntimeError):
                call()
        with self.assertRaises(RuntimeError):
            weir.Semaphore(1).__init__(2)

    def test_c29_release_in_a_child_of_a_fork_with_waiters(self):
        sem = weir.Semaphore(0)
        waiter = queue(sem, sem.acquire, 1)
        child = os.fork()
        if not child:
            try:
                sem.release()
            except ValueError:
                os._exit(3)
            os._exit(4)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 3)
        sem.release()
        self.assertTrue(waiter.end())

    def test_over_release(self):
        sem = weir.BoundedSemaphore(1)
        with self.assertRaises(ValueError):
            sem.release()
        self.assertEqual(sem.value, 1)


class Signals(unittest.TestCase):
    """The main thread waits; another thread sends it a signal when it waits."""

    def handle(self, number, function):
        before = signal.signal(number, function)
        self.addCleanup(signal.signal, number, before)

    def when_waiting(self, sem, action):
        thread = Thread(lambda: (until(lambda: sem.waiting == 1, "a waiter"), action()))
        thread.start()
        self.addCleanup(thread.end)

    def test_ctrl_c(self):
        sem = weir.Semaphore(0)
        self.handle(signal.SIGINT, signal.default_int_handler)
        self.when_waiting(sem, lambda: signal.pthread_kill(threading.main_thread().ident,
                                                           signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            sem.acquire()
        self.assertEqual((sem.waiting, sem.value), (0, 0))
        sem.release()
        self.assertEqual(sem.value, 1)

    def test_ctrl_c_with_timeout(self):
        sem = weir.Semaphore(0)
        self.handle(signal.SIGINT, signal.default_int_handler)
        self.when_waiting(sem, lambda: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            sem.acquire(timeout=support.LIMIT)
        self.assertEqual(sem.waiting, 0)

    def test_a_handler_that_returns_keeps_the_place(self):
        sem, order, handled = weir.Semaphore(0), [], threading.Event()
        self.handle(signal.SIGUSR1, lambda *_: handled.set())

        def second():
            sem.acquire()
            order.append("second")

        def action():
            threads.append(queue(sem, second, 2))
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            until(handled.is_set, "the handler")
            sem.release()

        threads = []
        self.when_waiting(sem, action)
        self.assertTrue(sem.acquire())
        order.append("main")
        sem.release()
        threads[0].end()
        self.assertEqual(order, ["main", "second"])

    def test_exit_with_a_daemon_thread_that_waits(self):
        code = ("import sys; sys.argv[1:] = sys.argv[2:]\n"
                "import threading\nfrom support import until, weir\n"
                "sem = weir.Semaphore(0)\n"
                "for timeout in None, 1e6:\n"
                "    threading.Thread(target=sem.acquire, kwargs={'timeout': timeout},\n"
                "                     daemon=True).start()\n"
                "until(lambda: sem.waiting == 2, 'two waiters')\n")
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run([sys.executable, "-c", code, "-", *support.ARGV[1:3]],
                              env={**os.environ, "PYTHONPATH": here}, capture_output=True,
                              text=True, timeout=support.LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
