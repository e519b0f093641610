# SPDX-License-Identifier: MIT
"""Semaphores in asyncio: order, no thread for a waiter, cancellation at every moment."""
import asyncio
import gc
import os
import sys
import threading
import unittest
import warnings

from support import main, until, weir


async def settle(condition):
    """Let other tasks run until the condition is true."""
    while not condition():
        await asyncio.sleep(0)


def threads():
    """The threads; one that was joined may be listed for a moment longer."""
    return set(os.listdir("/proc/self/task"))


def count_descriptors():
    return len(os.listdir("/proc/self/fd"))


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        # The debug mode prints a line for a slow callback.
        asyncio.get_running_loop().set_debug(False)


class Order(Tasks):
    async def test_threads_and_tasks_in_one_queue(self):
        sem, order = weir.Semaphore(0), []

        async def task(i):
            async with sem:
                order.append(i)

        def thread(i):
            with sem:
                order.append(i)

        waiters = []
        for i in range(6):
            if i % 2:
                waiters.append(asyncio.create_task(task(i)))
            else:
                waiters.append(asyncio.get_running_loop().run_in_executor(None, thread, i))
            await settle(lambda: sem.waiting == i + 1)
        sem.release()
        await asyncio.gather(*waiters)
        self.assertEqual(order, list(range(6)))
        self.assertEqual(sem.value, 1)

    async def test_no_thread_for_a_waiter(self):
        sem = weir.BoundedSemaphore(1)
        await sem.acquire_async()
        before = threads()
        tasks = [asyncio.create_task(sem.acquire_async()) for _ in range(1000)]
        await settle(lambda: sem.waiting == 1000)
        descriptors = count_descriptors()
        self.assertEqual(threads() - before, set())
        for _ in tasks:
            sem.release()
            await settle(lambda: sem.value == 0)
        self.assertEqual(await asyncio.gather(*tasks), [True] * 1000)
        self.assertFalse(weir._adapter_of(asyncio.get_running_loop()).pending)
        self.assertEqual(count_descriptors(), descriptors)

    async def test_release_in_another_thread_wakes_the_loop(self):
        sem = weir.Semaphore(0)
        thread = threading.Thread(target=lambda: (until(lambda: sem.waiting == 1, "a waiter"),
                                                  sem.release()))
        thread.start()
        self.assertTrue(await sem.acquire_async())
        thread.join()

    async def test_weights_and_blocks(self):
        sem = weir.BoundedSemaphore(4)
        async with sem.permits(3):
            self.assertEqual(sem.value, 1)
            with self.assertRaises(TimeoutError):
                async with sem.permits(2, timeout=0.01):
                    self.fail("the block was entered")
            with self.assertRaises(ValueError):
                await sem.acquire_async(n=5)
            with self.assertRaises(ValueError):
                await sem.acquire_async(n=0)
        self.assertEqual(sem.value, 4)


class Ends(Tasks):
    async def test_timeout(self):
        sem = weir.Semaphore(0)
        self.assertFalse(await sem.acquire_async(0.01))
        self.assertFalse(await sem.acquire_async(0))
        self.assertFalse(await sem.acquire_async(-1))
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(sem.acquire_async(), 0.01)
        self.assertEqual(sem.waiting, 0)

    async def test_a_timeout_that_is_not_a_number(self):
        for limit in (weir.Semaphore(1), weir.Semaphore(0), weir.RateLimiter(1)):
            with self.assertRaises(ValueError):
                await asyncio.wait_for(limit.acquire_async(float("nan")), 1)

    async def test_close(self):
        sem = weir.Semaphore(0)
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        sem.close()
        with self.assertRaises(weir.ClosedError):
            await task

    async def test_cancel_while_waiting(self):
        sem = weir.BoundedSemaphore(1)
        await sem.acquire_async()
        first = asyncio.create_task(sem.acquire_async())
        second = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 2)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        self.assertEqual(sem.waiting, 1)
        sem.release()
        self.assertTrue(await second)
        self.assertTrue(first.cancelled())

    async def test_cancel_after_the_grant(self):
        # The permit is granted, then the task is cancelled, before the loop runs.
        sem = weir.BoundedSemaphore(1)
        await sem.acquire_async()
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        sem.release()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        self.assertEqual(sem.value, 1)

    async def test_cancel_after_the_callback(self):
        # The callback has run, and the task is cancelled before it resumes.
        sem = weir.BoundedSemaphore(1)
        await sem.acquire_async()
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        sem.release()
        weir._adapter_of(asyncio.get_running_loop()).dispatch()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        self.assertEqual(sem.value, 1)

    async def test_cancel_then_grant(self):
        # The task is cancelled, and the callback runs before it resumes.
        sem = weir.BoundedSemaphore(1)
        await sem.acquire_async()
        task = asyncio.create_task(sem.acquire_async())
        await settle(lambda: sem.waiting == 1)
        task.cancel()
        sem.release()
        weir._adapter_of(asyncio.get_running_loop()).dispatch()
        await asyncio.gather(task, return_exceptions=True)
        self.assertTrue(task.cancelled())
        self.assertEqual(sem.value, 1)


class Loops(unittest.TestCase):
    def test_many_loops_leave_nothing(self):
        sem = weir.Semaphore(0)

        async def once():
            task = asyncio.create_task(sem.acquire_async())
            await settle(lambda: sem.waiting == 1)
            sem.release()
            await task

        asyncio.run(once())
        gc.collect()
        before = count_descriptors()
        for _ in range(20):
            asyncio.run(once())
        gc.collect()
        self.assertEqual(count_descriptors(), before)

    def test_an_abandoned_loop_leaves_the_queue(self):
        sem = weir.Semaphore(0)

        def abandon():
            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)
            loop.create_task(sem.acquire_async())
            loop.run_until_complete(settle(lambda: sem.waiting == 1))
            loop.close()

        before = count_descriptors()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            abandon()
            gc.collect()
        self.assertEqual(sem.waiting, 0)
        self.assertEqual(count_descriptors(), before)
        sem.release()
        self.assertEqual(sem.value, 1)

    def test_an_operation_that_is_freed_leaves_the_queue(self):
        sem, loop = weir.Semaphore(0), weir._weir.Loop()
        op = sem._submit(loop, 1, lambda: self.fail("the callback ran"))
        self.assertEqual(sem.waiting, 1)
        del op
        self.assertEqual(sem.waiting, 0)
        sem.release()
        self.assertEqual((loop.dispatch(), sem.value), (0, 1))

    def test_an_exception_in_a_callback_is_reported(self):
        sem, loop, seen = weir.Semaphore(0), weir._weir.Loop(), []
        before = sys.unraisablehook
        sys.unraisablehook = lambda report: seen.append(report.exc_type)
        try:
            op = sem._submit(loop, 1, lambda: 1 / 0)
            sem.release()
            self.assertEqual(loop.dispatch(), 1)
        finally:
            sys.unraisablehook = before
        self.assertEqual((seen, op.granted, op.cancel()), ([ZeroDivisionError], True, False))

    def test_loops_in_threads_share_a_semaphore(self):
        sem, most, now = weir.BoundedSemaphore(2), [0], [0]

        async def work():
            async with sem:
                now[0] += 1
                most[0] = max(most[0], now[0])
                await asyncio.sleep(0)
                now[0] -= 1

        async def all_of_them():
            await asyncio.gather(*(work() for _ in range(50)))

        threads = [threading.Thread(target=asyncio.run, args=[all_of_them()]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((sem.value, sem.waiting), (2, 0))
        self.assertLessEqual(most[0], 2)


if __name__ == "__main__":
    main()
