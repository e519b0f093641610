# SPDX-License-Identifier: MIT
"""ClusterSemaphore against the server at WEIR_TEST_URL: leases, fences, waits, errors."""
import os
import signal
import threading
import unittest

from support import main, weir
import support

URL = os.environ["WEIR_TEST_URL"]


class Cluster(unittest.TestCase):
    def open(self, name, capacity=1, **options):
        sem = weir.ClusterSemaphore(f"{URL}/{name}", capacity, **options)
        self.addCleanup(sem.close)
        return sem

    def test_leases(self):
        sem = self.open("leases", 3)
        with sem.lease(2) as lease:
            self.assertEqual((lease.weight, lease.valid), (2, True))
            self.assertIsNone(sem.acquire(blocking=False, n=2))
            self.assertIsNone(sem.acquire(timeout=0.05, n=2))
            with self.assertRaises(TimeoutError):
                sem.lease(2, timeout=0.05)
            with self.assertRaises(weir.Error):
                sem.close()
        self.assertFalse(lease.valid)
        with self.assertRaises(ValueError):
            lease.release()
        with sem.lease(3) as later:
            self.assertGreater(later.fence, lease.fence)

    def test_a_lease_that_is_dropped_is_released(self):
        sem = self.open("dropped")
        lease = sem.lease()
        del lease
        sem.lease(timeout=support.LIMIT).release()

    def test_wait_for_another_client(self):
        sem, other, results = self.open("wait"), self.open("wait"), []
        lease = sem.lease()
        thread = threading.Thread(target=lambda: results.append(other.lease()))
        thread.start()
        lease.release()
        thread.join()
        self.assertTrue(results.pop().valid)

    def test_resize(self):
        sem = self.open("resize")
        sem.resize(4)
        sem.lease(4, timeout=support.LIMIT).release()

    def test_ctrl_c(self):
        sem, ended = self.open("interrupt"), threading.Event()
        self.addCleanup(signal.signal, signal.SIGINT,
                        signal.signal(signal.SIGINT, signal.default_int_handler))

        def interrupt():
            # Repeated: the signal may come before the wait.
            while not ended.wait(0.2):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        with sem.lease():
            with self.assertRaises(KeyboardInterrupt):
                thread.start()
                try:
                    sem.acquire()
                finally:
                    ended.set()
            thread.join()
        sem.lease(timeout=support.LIMIT).release()

    def test_errors(self):
        with self.assertRaises(OSError) as caught:
            weir.ClusterSemaphore(f"{URL}/missing")
        self.assertIsInstance(caught.exception, FileNotFoundError)
        sem = self.open("errors", 2)
        for call in (lambda: sem.acquire(n=3), lambda: sem.acquire(n=0),
                     lambda: weir.ClusterSemaphore("nonsense://x/y", 1)):
            with self.assertRaises(ValueError):
                call()
        with self.assertRaises(FileExistsError):
            weir.ClusterSemaphore(f"{URL}/errors", 2, exclusive=True)
        with self.assertRaises(ConnectionRefusedError):
            weir.ClusterSemaphore("redis://127.0.0.1:1/x", 1)
        sem.close()
        with self.assertRaises(ValueError):
            sem.acquire()


if __name__ == "__main__":
    main()
