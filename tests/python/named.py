# SPDX-License-Identifier: MIT
"""NamedSemaphore between processes: deaths, forks, pickles, signals, errors."""
import errno
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import unittest

from support import contain, interrupted_once, main, until, weir
import support


def hold(path, pipe):
    """In a child: take a permit, say so, and wait to be killed."""
    sem = weir.NamedSemaphore(path)
    sem.acquire()
    pipe.send("held")
    signal.pause()


def count_up(sem, counter, rounds):
    """In a child: raise a number in a file, under the semaphore."""
    for _ in range(rounds):
        with sem:
            with open(counter, "r+", encoding="ascii") as file:
                number = int(file.read())
                file.seek(0)
                file.write(str(number + 1))


class Named(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "slots")
        # A child that is made by a fork inherits the package of this program.
        self.fork = multiprocessing.get_context("fork")

    def open(self, capacity=1, **options):
        sem = weir.NamedSemaphore(self.path, capacity, **options)
        self.addCleanup(sem.close)
        return sem

    def child(self, function, *args):
        child = self.fork.Process(target=function, args=args)
        child.start()
        return child

    def test_c31_the_permit_of_a_killed_process_is_released(self):
        sem = self.open()
        here, there = self.fork.Pipe()
        for _ in range(3):
            child = self.child(hold, self.path, there)
            self.assertEqual(here.recv(), "held")
            self.assertFalse(sem.acquire(blocking=False))
            contain.send_signal(child.pid, signal.SIGKILL)
            self.assertTrue(sem.acquire(timeout=support.LIMIT))
            child.join()
            sem.release()

    def test_processes_exclude_each_other(self):
        sem = self.open()
        counter = os.path.join(self.folder.name, "counter")
        with open(counter, "w", encoding="ascii") as file:
            file.write("0")
        children = [self.child(count_up, sem, counter, 200) for _ in range(4)]
        for child in children:
            child.join()
            self.assertEqual(child.exitcode, 0)
        with open(counter, encoding="ascii") as file:
            self.assertEqual(file.read(), "800")

    def test_pickle(self):
        sem = self.open(3)
        copy = pickle.loads(pickle.dumps(sem))
        self.addCleanup(copy.close)
        copy.acquire(n=2)
        self.assertEqual((sem.value, sem.capacity, copy.name), (1, 3, self.path))
        with self.assertRaises(ValueError):
            sem.release()

    def test_wait_and_timeout(self):
        sem, other = self.open(), self.open()
        with sem:
            self.assertFalse(other.acquire(timeout=0.01))
            self.assertFalse(other.acquire(False))
            results = []
            thread = threading.Thread(target=lambda: results.append(other.acquire()))
            thread.start()
            until(lambda: sem.waiting == 1, "a waiter")
            with self.assertRaises(weir.Error):
                other.close()
        thread.join()
        self.assertEqual(results, [True])
        other.release()

    def test_resize(self):
        sem = self.open(1)
        sem.resize(4)
        self.assertTrue(sem.acquire(blocking=False, n=4))
        sem.release(4)

    def test_ctrl_c(self):
        sem, other = self.open(), self.open()
        ended = interrupted_once(self)

        def interrupt():
            until(lambda: sem.waiting == 1, "a waiter")
            # A signal just before the futex call does not end the wait: repeat it.
            while not ended.is_set() and sem.waiting == 1:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                ended.wait(0.1)

        thread = threading.Thread(target=interrupt)
        with sem:
            thread.start()
            try:
                with self.assertRaises(KeyboardInterrupt):
                    other.acquire()
                self.assertEqual(sem.waiting, 0)
            finally:
                ended.set()
                thread.join()

    def test_a_handler_that_returns_does_not_end_the_wait(self):
        sem, other, handled = self.open(), self.open(), threading.Event()
        self.addCleanup(signal.signal, signal.SIGUSR1,
                        signal.signal(signal.SIGUSR1, lambda *_: handled.set()))

        def act():
            until(lambda: other.waiting == 1, "a waiter")
            while not handled.is_set():
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
                handled.wait(0.1)
            sem.release()

        sem.acquire()
        thread = threading.Thread(target=act)
        thread.start()
        self.assertTrue(other.acquire())
        thread.join()
        other.release()

    def test_errors(self):
        with self.assertRaises(FileNotFoundError) as caught:
            weir.NamedSemaphore(self.path)
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        sem = self.open(2)
        with self.assertRaises(FileExistsError):
            weir.NamedSemaphore(self.path, 2, exclusive=True)
        with self.assertRaises(ValueError):
            sem.acquire(n=3)
        with self.assertRaises(ValueError):
            sem.release()
        with self.assertRaisesRegex(ValueError, "a name must not be empty"):
            weir.NamedSemaphore("", 1)
        with self.assertRaisesRegex(ValueError, "spaces or control characters: 'a b'"):
            weir.NamedSemaphore("a b", 1)
        sem.unlink()
        with self.assertRaises(FileNotFoundError):
            sem.unlink()
        sem.close()
        sem.close()
        for call in (sem.acquire, sem.release, lambda: sem.value, lambda: sem.capacity):
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    main(contained=True)
