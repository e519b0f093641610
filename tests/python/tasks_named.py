# SPDX-License-Identifier: MIT
"""NamedSemaphore in asyncio: order, one helper thread, deaths, cancellation at every moment."""
import asyncio
import gc
import os
import random
import select
import signal
import tempfile
import time
import unittest
import warnings

from support import contain, main, until, weir
import support


def count_helpers():
    count = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/comm", encoding="ascii") as name:
                count += name.read() == "weir-tasks\n"
        except (FileNotFoundError, ProcessLookupError):
            pass
    return count


async def settle(condition):
    """Let other tasks run until the condition is true."""
    end = time.monotonic() + support.LIMIT
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.0005)


def adapter():
    return weir._adapter_of(asyncio.get_running_loop())


def decided():
    """Wait until an operation has been decided, without running its callback."""
    assert select.select([adapter().loop.fd], [], [], support.LIMIT)[0]


class Base(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "slots")

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)

    def open(self, capacity=1):
        sem = weir.NamedSemaphore(self.path, capacity)
        self.addCleanup(sem.close)
        return sem


class Order(Base):
    async def test_blocks(self):
        sem = self.open(4)
        async with sem:
            self.assertEqual(sem.value, 3)
            async with sem.permits(2):
                self.assertEqual(sem.value, 1)
            with sem.permits(2):
                self.assertEqual(sem.value, 1)
            with self.assertRaises(TimeoutError):
                async with sem.permits(4, timeout=0.01):
                    self.fail("the block was entered")
            with self.assertRaises(TimeoutError):
                with sem.permits(4, timeout=0.01):
                    self.fail("the block was entered")
        self.assertEqual(sem.value, 4)

    async def test_order_of_arrival(self):
        sem, other, order = self.open(), self.open(), []

        async def task(i):
            async with sem:
                order.append(i)

        other.acquire()
        tasks = [asyncio.create_task(task(i)) for i in range(50)]
        await settle(lambda: sem.waiting == 1 and len(adapter().pending) == 50)
        other.release()
        await asyncio.gather(*tasks)
        self.assertEqual(order, list(range(50)))

    async def test_one_helper_for_all_waiters(self):
        sem, other = self.open(), self.open()
        other.acquire()
        await settle(lambda: count_helpers() == 0)  # of earlier tests
        tasks = [asyncio.create_task(sem.acquire_async()) for _ in range(100)]
        await settle(lambda: sem.waiting == 1 and len(adapter().pending) == 100)
        self.assertEqual(count_helpers(), 1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await settle(lambda: count_helpers() == 0)
        other.release()
        self.assertEqual(sem.value, 1)

    async def test_no_helper_without_a_wait(self):
        sem = self.open()
        await settle(lambda: count_helpers() == 0)  # of earlier tests
        async with sem:
            self.assertEqual(count_helpers(), 0)

    async def test_c31_the_permit_of_a_killed_process_is_granted(self):
        sem = self.open()
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                held = weir.NamedSemaphore(self.path)
                held.acquire()
                os.write(writer, b"h")
                signal.pause()
            finally:
                os._exit(1)
        self.assertEqual(os.read(reader, 1), b"h")
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        contain.send_signal(child, signal.SIGKILL)
        self.assertTrue(await task)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)
        sem.release()

    async def test_a_fork_while_a_task_waits(self):
        sem, other = self.open(2), self.open()
        other.acquire(n=2)
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        pending = adapter().pending
        child = os.fork()
        if not child:
            # The copies of the objects are freed at the end; the wait does not exist.
            status = 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    pending.clear()
                    gc.collect()
                status = 0 if not sem.acquire(blocking=False) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        other.release(2)
        self.assertTrue(await task)
        self.assertEqual(sem.value, 1)


class Ends(Base):
    async def test_timeout(self):
        sem, other = self.open(), self.open()
        with other:
            self.assertFalse(await sem.acquire_async(0.01))
            self.assertFalse(await sem.acquire_async(0))
            self.assertFalse(await sem.acquire_async(-1))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(sem.acquire_async(), 0.01)
        await settle(lambda: sem.waiting == 0 and sem.value == 1)

    async def test_errors(self):
        sem, other = self.open(2), self.open()
        with self.assertRaises(ValueError):
            await sem.acquire_async(n=0)
        other.acquire(n=2)
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        with self.assertRaises(weir.Error):
            sem.close()
        other.release(2)
        self.assertTrue(await task)
        sem.close()
        with self.assertRaises(ValueError):
            await sem.acquire_async()

    async def test_cancel_of_the_first_and_of_others(self):
        sem, other = self.open(), self.open()
        other.acquire()
        tasks = [asyncio.create_task(sem.acquire_async()) for _ in range(3)]
        await settle(lambda: sem.waiting == 1 and len(adapter().pending) == 3)
        tasks[0].cancel()
        tasks[1].cancel()
        await asyncio.gather(*tasks[:2], return_exceptions=True)
        self.assertTrue(tasks[0].cancelled() and tasks[1].cancelled())
        other.release()
        self.assertTrue(await tasks[2])
        self.assertEqual(sem.value, 0)

    async def waiting_task(self):
        sem, other = self.open(), self.open()
        other.acquire()
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        return sem, other, task

    async def end(self, sem, task):
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        await settle(lambda: sem.value == 1)

    async def test_cancel_after_the_grant(self):
        # The permit is granted, then the task is cancelled, before the loop runs.
        sem, other, task = await self.waiting_task()
        other.release()
        decided()
        task.cancel()
        await self.end(sem, task)

    async def test_cancel_after_the_callback(self):
        sem, other, task = await self.waiting_task()
        other.release()
        decided()
        adapter().dispatch()
        task.cancel()
        await self.end(sem, task)

    async def test_cancel_then_grant(self):
        # The task is cancelled, and the callback runs before it resumes.
        sem, other, task = await self.waiting_task()
        task.cancel()
        other.release()
        decided()
        adapter().dispatch()
        await self.end(sem, task)

    async def test_close_just_after_a_cancel(self):
        # The helper may still be in its call.
        for _ in range(50):
            sem, other, task = await self.waiting_task()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            sem.close()
            other.close()

    async def test_cancels_at_random_lose_nothing(self):
        sem, other, seed = self.open(3), self.open(), random.Random(1)

        async def task():
            async with sem.permits(seed.randint(1, 3)):
                await asyncio.sleep(0)

        for _ in range(100):
            self.assertTrue(other.acquire(timeout=support.LIMIT))
            tasks = [asyncio.create_task(task()) for _ in range(10)]
            for _ in range(seed.randint(0, 3)):
                await asyncio.sleep(0)
            for victim in seed.sample(tasks, 5):
                victim.cancel()
            other.release()
            await asyncio.gather(*tasks, return_exceptions=True)
        await settle(lambda: sem.value == 3 and sem.waiting == 0)


class Loops(Base):
    def test_an_abandoned_loop_leaves_the_queue(self):
        sem, other = self.open(), self.open()
        other.acquire()

        def abandon():
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)
            loop.create_task(sem.acquire_async())
            loop.run_until_complete(settle(lambda: sem.waiting == 1))
            loop.close()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            abandon()
            gc.collect()
        until(lambda: sem.waiting == 0, "the wait ends")
        other.release()
        self.assertEqual(sem.value, 1)


if __name__ == "__main__":
    main(contained=True)
