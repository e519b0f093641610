# SPDX-License-Identifier: MIT
"""ClusterSemaphore against the server at WEIR_TEST_URL: leases, fences, waits, errors."""
import asyncio
import os
import select
import signal
import threading
import unittest

from support import interrupted_once, main, weir
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

    def test_c29_the_child_of_a_fork_holds_nothing(self):
        sem = self.open("fork", 3)
        first, second, other = sem.lease(), sem.lease(), self.open("fork", 3)
        child = os.fork()
        if not child:
            status = 1
            try:
                del first
                self.assertFalse(second.valid)
                for call in (second.release, sem.acquire, lambda: sem.resize(5)):
                    with self.assertRaises(ValueError):
                        call()
                sem.close()
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIsNone(other.acquire(blocking=False, n=2))
        sem.resize(4)
        with other.lease(2, timeout=support.LIMIT):
            self.assertTrue(first.valid and second.valid)
            first.release()
            second.release()

    def test_ctrl_c(self):
        sem, ended = self.open("interrupt"), interrupted_once(self)

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
        for url, why in (("host/x", "there is no scheme"), ("redis://host", "the name is missing"),
                         (f"{URL}/x?ttl=soon", "the option ttl is not a time")):
            with self.assertRaisesRegex(ValueError, why):
                weir.ClusterSemaphore(url, 1)
        with self.assertRaises(FileExistsError):
            weir.ClusterSemaphore(f"{URL}/errors", 2, exclusive=True)
        with self.assertRaises(ConnectionRefusedError):
            weir.ClusterSemaphore("redis://127.0.0.1:1/x", 1)
        sem.close()
        with self.assertRaises(ValueError):
            sem.acquire()


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)

    def open(self, name, capacity=1, **options):
        sem = weir.ClusterSemaphore(f"{URL}/tasks-{name}", capacity, **options)
        self.addCleanup(sem.close)
        return sem

    async def is_free(self, sem, n=1):
        """Returns when n permits can be taken."""
        lease = await sem.acquire_async(support.LIMIT, n=n)
        self.assertIsNotNone(lease)
        await asyncio.to_thread(lease.release)

    async def test_blocks(self):
        sem = self.open("blocks", 4)
        async with sem as first:
            async with sem as second:
                self.assertGreater(second.fence, first.fence)
                self.assertTrue(first.valid and second.valid)
            self.assertTrue(first.valid)
            self.assertFalse(second.valid)
            async with sem.permits(2) as lease:
                self.assertEqual(lease.weight, 2)
            with self.assertRaises(TimeoutError):
                async with sem.permits(4, timeout=0.05):
                    self.fail("the block was entered")
        with sem.permits(4) as lease:
            self.assertEqual(lease.weight, 4)
        await self.is_free(sem, 4)

    async def test_tasks_exclude_each_other(self):
        sem, now, most = self.open("exclude", 2), [0], [0]

        async def task():
            async with sem:
                now[0] += 1
                most[0] = max(most[0], now[0])
                await asyncio.sleep(0)
                now[0] -= 1

        await asyncio.gather(*(task() for _ in range(20)))
        self.assertLessEqual(most[0], 2)
        await self.is_free(sem, 2)

    async def test_no_thread_for_a_waiter(self):
        sem = self.open("threads")
        lease = await sem.acquire_async()
        before = set(os.listdir("/proc/self/task"))
        tasks = [asyncio.create_task(sem.acquire_async()) for _ in range(50)]
        await asyncio.sleep(0)
        self.assertEqual(len(weir._adapter_of(asyncio.get_running_loop()).pending), 50)
        self.assertEqual(set(os.listdir("/proc/self/task")) - before, set())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(lease.release)
        await self.is_free(sem)

    async def test_timeout(self):
        sem = self.open("timeout")
        async with sem:
            self.assertIsNone(await sem.acquire_async(0.05))
            self.assertIsNone(await sem.acquire_async(0))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(sem.acquire_async(), 0.05)
        lease = await sem.acquire_async(0)
        while lease is None:    # the withdrawals may be on their way
            lease = await sem.acquire_async(0)
        await asyncio.to_thread(lease.release)

    async def test_errors(self):
        sem = self.open("errors", 2)
        for n in (0, 3):
            with self.assertRaises(ValueError):
                await sem.acquire_async(n=n)
        async with sem.permits(2):
            task = asyncio.create_task(sem.acquire_async())
            await asyncio.sleep(0)
            with self.assertRaises(weir.Error):
                sem.close()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        sem.close()
        with self.assertRaises(ValueError):
            await sem.acquire_async()

    async def ask(self, name):
        """A task that is granted by the server; its callback has not run yet."""
        sem = self.open(name)
        task = asyncio.create_task(sem.acquire_async())
        await asyncio.sleep(0)
        adapter = weir._adapter_of(asyncio.get_running_loop())
        self.assertTrue(select.select([adapter.loop.fd], [], [], support.LIMIT)[0])
        return sem, task, adapter

    async def test_cancel_after_the_grant(self):
        sem, task, _ = await self.ask("granted")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        await self.is_free(sem)

    async def test_cancel_after_the_callback(self):
        sem, task, adapter = await self.ask("called")
        adapter.dispatch()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        await self.is_free(sem)

    async def test_cancel_then_callback(self):
        sem, task, adapter = await self.ask("late")
        task.cancel()
        adapter.dispatch()
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        await self.is_free(sem)

    async def test_cancel_while_releasing(self):
        sem = self.open("releasing")

        async def block():
            async with sem:
                pass

        for turns in range(8):
            task = asyncio.create_task(block())
            while not task.done():
                await asyncio.sleep(0)
                if any(sem._leases.values()):
                    break
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self.is_free(sem)


if __name__ == "__main__":
    main()
