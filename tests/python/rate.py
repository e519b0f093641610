# SPDX-License-Identifier: MIT
"""RateLimiter: tokens, order, timeouts, cancellation.  The periods are an hour or a
millisecond, so that no result depends on the speed of the machine."""
import asyncio
import signal
import threading
import time
import unittest

from support import interrupted_once, main, until, weir
import support


class Rate(unittest.TestCase):
    def test_burst(self):
        limiter = weir.RateLimiter(1, per=3600, burst=3)
        self.assertTrue(limiter.acquire(n=2))
        self.assertTrue(limiter.acquire(blocking=False))
        self.assertFalse(limiter.acquire(blocking=False))
        self.assertFalse(limiter.acquire(timeout=1))
        self.assertGreater(limiter.delay(), 3000)

    def test_wait(self):
        limiter = weir.RateLimiter(1000)
        begin = time.monotonic()
        for _ in range(21):
            self.assertTrue(limiter.acquire())
        self.assertGreaterEqual(time.monotonic() - begin, 0.02)

    def test_spaced(self):
        limiter = weir.RateLimiter(1, per=3600, burst=5, spaced=True)
        self.assertTrue(limiter.acquire(blocking=False))
        self.assertFalse(limiter.acquire(blocking=False))

    def test_arguments(self):
        limiter = weir.RateLimiter(1, burst=2)
        for call in (lambda: weir.RateLimiter(0), lambda: weir.RateLimiter(1, per=-1),
                     lambda: weir.RateLimiter(1, per=0), lambda: weir.RateLimiter(1, burst=0),
                     lambda: weir.RateLimiter(1, per=1e-10),
                     lambda: limiter.acquire(n=3), lambda: limiter.acquire(n=0),
                     lambda: limiter.acquire(False, 1), lambda: limiter.delay(3),
                     lambda: limiter.delay(2**60 + 1), lambda: limiter.delay(2**63 - 1)):
            with self.assertRaises(ValueError):
                call()
        with self.assertRaisesRegex(ValueError, "rate and burst must be one or more"):
            weir.RateLimiter(0)
        for call in (lambda: limiter.acquire(n=3), lambda: limiter.acquire(False, n=3),
                     lambda: limiter.delay(3), lambda: limiter.delay(2**60 + 1)):
            with self.assertRaisesRegex(ValueError, "^more tokens than the burst$"):
                call()
        self.assertTrue(limiter.acquire(n=2))

    def test_arguments_while_another_call_waits(self):
        limiter = weir.RateLimiter(1, per=3600, burst=2)
        limiter._gate.acquire()     # as a call that waits for tokens
        for n in 3, 0, -1, 2**63 - 1:
            with self.assertRaises(ValueError):
                limiter.acquire(n=n)
            with self.assertRaises(ValueError):
                asyncio.run(limiter.acquire_async(n=n))
        self.assertFalse(limiter.acquire(n=2, blocking=False))
        limiter._gate.release()
        self.assertTrue(limiter.acquire(n=2))

    def test_ctrl_c(self):
        limiter = weir.RateLimiter(1, per=3600)
        limiter.acquire()
        ended = interrupted_once(self)

        def interrupt():
            until(lambda: limiter._gate.value == 0, "the wait")
            while not ended.wait(0.05):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                try:
                    limiter.acquire()
                finally:
                    ended.set()
        finally:
            thread.join()
        self.assertEqual(limiter._gate.value, 1)

    def test_tasks(self):
        async def run():
            limiter = weir.RateLimiter(1, per=3600, burst=2)
            self.assertTrue(await limiter.acquire_async(n=1))
            waiter = asyncio.create_task(limiter.acquire_async(n=2))
            behind = asyncio.create_task(limiter.acquire_async())
            while limiter._gate.waiting != 1:
                await asyncio.sleep(0)
            # A token is free, but the first waiter needs two.
            self.assertFalse(behind.done())
            self.assertFalse(await limiter.acquire_async(0.01))
            waiter.cancel()
            # The cancelled task has taken no token.
            self.assertTrue(await asyncio.wait_for(behind, support.LIMIT))
            self.assertFalse(await limiter.acquire_async(0))
            self.assertTrue(waiter.cancelled())

        asyncio.run(run())


if __name__ == "__main__":
    main()
