# SPDX-License-Identifier: MIT
"""Semaphores that keep order, for threads, asyncio and processes.

Semaphore and BoundedSemaphore replace those of threading and of asyncio: permits are
granted in order of arrival, with weights, to threads and tasks in one queue.
NamedSemaphore limits processes, and releases the permits of a process that is killed.
ClusterSemaphore limits machines.  RateLimiter limits calls per second.

>>> slots = Semaphore(2)
>>> with slots:
...     slots.value
1
>>> import asyncio
>>> async def download():
...     async with slots:
...         return slots.value
>>> asyncio.run(download())
1
"""
from __future__ import annotations

import asyncio
import functools
import math
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Optional, Type, Union

from . import _weir
from ._weir import ClosedError, Error, Lease, LostError

__all__ = ["BoundedSemaphore", "ClosedError", "ClusterSemaphore", "Error", "Lease", "LostError",
           "NamedSemaphore", "RateLimiter", "Semaphore"]
__version__ = _weir.version()

_Submit = Callable[[_weir.Loop, int, Callable[[], object]], Optional[_weir.Op]]


class _Adapter:
    """Connects a weir loop to an asyncio loop, which has the only strong reference.

    The pending operations refer to their futures, so that a task that waits is not
    collected while its event loop lives.
    """
    __slots__ = ("loop", "pending", "__weakref__")

    def __init__(self) -> None:
        self.loop = _weir.Loop()
        self.pending: set[_weir.Op] = set()

    def dispatch(self) -> None:
        self.loop.dispatch()


_adapters: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Adapter]] = (
    weakref.WeakKeyDictionary())


def _adapter_of(running: asyncio.AbstractEventLoop) -> _Adapter:
    reference = _adapters.get(running)
    adapter = reference() if reference else None
    if adapter is None:
        adapter = _Adapter()
        running.add_reader(adapter.loop.fd, adapter.dispatch)
        _adapters[running] = weakref.ref(adapter)
    return adapter


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _expire(op: _weir.Op, future: asyncio.Future[None]) -> None:
    # If the cancel comes too late, then the callback has woken the task.
    if op.cancel():
        _wake(future)


def _check_timeout(timeout: Optional[float]) -> None:
    # A timer of nan would disturb the order of all timers of the event loop.
    if timeout is not None and math.isnan(timeout):
        raise ValueError("timeout is not a number")


async def _await_op(submit: _Submit, timeout: Optional[float], n: int,
                    give_back: Callable[[_weir.Op], None]) -> Optional[_weir.Op]:
    """Submit an operation and wait until it has ended, or was cancelled by the timeout.

    Return None if the permits are held at once.  If the task is cancelled after a grant,
    then give_back is called.
    """
    _check_timeout(timeout)
    running = asyncio.get_running_loop()
    adapter = _adapter_of(running)
    future: asyncio.Future[None] = running.create_future()
    op = submit(adapter.loop, n, functools.partial(_wake, future))
    if op is None:
        return None
    adapter.pending.add(op)
    timer = None
    if timeout is not None:
        timer = running.call_later(timeout, _expire, op, future)
    try:
        await future
    except BaseException:
        # Cancelled, or closed by the collector.  A grant may have come first.
        if not op.cancel() and op.granted:
            give_back(op)
        raise
    finally:
        adapter.pending.discard(op)
        if timer is not None:
            timer.cancel()
    return op


async def _acquire_async(sem: Union[_weir.Sem, _weir.Named], timeout: Optional[float],
                         n: int) -> bool:
    if timeout is not None and timeout <= 0:
        return sem.acquire(blocking=False, n=n)
    op = await _await_op(sem._submit, timeout, n, lambda op: sem.release(n))
    return op is None or bool(op.result())


class _Permits:
    """n permits, held in the block of a with or async with statement."""
    __slots__ = ("_sem", "_n", "_timeout")

    def __init__(self, sem: Union[_weir.Sem, _weir.Named], n: int,
                 timeout: Optional[float]) -> None:
        self._sem = sem
        self._n = n
        self._timeout = timeout

    def __enter__(self) -> None:
        if not self._sem.acquire(timeout=self._timeout, n=self._n):
            raise _timed_out(self._n, self._timeout)

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._sem.release(self._n)

    async def __aenter__(self) -> None:
        if not await _acquire_async(self._sem, self._timeout, self._n):
            raise _timed_out(self._n, self._timeout)

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self._sem.release(self._n)


def _timed_out(n: int, timeout: Optional[float]) -> TimeoutError:
    what = "1 permit was" if n == 1 else f"{n} permits were"
    return TimeoutError(f"{what} not granted within {timeout} s")


class _Base(_weir.Sem):
    """Common parts of Semaphore and BoundedSemaphore."""

    async def acquire_async(self, timeout: Optional[float] = None, *, n: int = 1) -> bool:
        """Take n permits without blocking the event loop.

        Return True, or False if timeout seconds have passed.  The task waits in the
        same queue as threads.  No thread is used.  If the task is cancelled, then
        nothing is held.

        >>> import asyncio
        >>> sem = Semaphore(0)
        >>> asyncio.run(sem.acquire_async(0.01))
        False
        """
        return await _acquire_async(self, timeout, n)

    async def __aenter__(self) -> None:
        await self.acquire_async()

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.release()

    def permits(self, n: int = 1, timeout: Optional[float] = None) -> _Permits:
        """Return a context manager that holds n permits.

        It raises TimeoutError if they are not granted within timeout seconds.

        >>> memory = BoundedSemaphore(8)
        >>> with memory.permits(3):
        ...     memory.value
        5
        """
        return _Permits(self, n, timeout)


class Semaphore(_Base):
    """A semaphore for threads and asyncio tasks.

    It replaces threading.Semaphore, and asyncio.Semaphore in "async with".  acquire is the
    call of threads and blocks; a task awaits acquire_async instead of acquire.  Permits are
    granted in order of arrival; with barging=True, a new request may take free permits before waiters,
    within a bound.  The name appears in messages.

    >>> sem = Semaphore(3)
    >>> sem.acquire(n=2)
    True
    >>> sem.acquire(blocking=False, n=2)
    False
    >>> sem.release(2)
    >>> sem.value
    3
    """

    def __init__(self, value: int = 1, *, name: Optional[str] = None,
                 barging: bool = False) -> None:
        super().__init__(value, False, name, barging)

    def __repr__(self) -> str:
        kind = type(self)
        return f"<{kind.__module__}.{kind.__qualname__} at {id(self):#x}: value={self.value}>"


class BoundedSemaphore(_Base):
    """A semaphore that refuses a release of more permits than are held.

    It replaces threading.BoundedSemaphore, and asyncio.BoundedSemaphore as Semaphore
    replaces asyncio.Semaphore.

    >>> sem = BoundedSemaphore(2)
    >>> sem.resize(5)
    >>> sem
    <weir.BoundedSemaphore at 0x...: value=5/5>
    """

    def __init__(self, value: int = 1, *, name: Optional[str] = None,
                 barging: bool = False) -> None:
        super().__init__(value, True, name, barging)

    def __repr__(self) -> str:
        kind = type(self)
        return (f"<{kind.__module__}.{kind.__qualname__} at {id(self):#x}: "
                f"value={self.value}/{self.capacity}>")

    @property
    def capacity(self) -> int:
        """The number of permits."""
        capacity = self._capacity
        assert capacity is not None
        return capacity

    def resize(self, capacity: int) -> None:
        """Set the capacity at once.  If it shrinks, then releases pay the difference."""
        self._resize(capacity)


class NamedSemaphore(_weir.Named):
    """A semaphore between processes that share a name.

    With a capacity, the semaphore is created if it does not exist; without one, it must
    exist.  If a process is killed, then its permits go to the next waiter.  The command
    `weir stat NAME` shows the holders and waiters.  A name with a slash is the path of
    a file.  shared accepts a file that other users may write.  With strict, permits of
    a dead process are free only when its memory is gone.

    The object can be inherited by a fork and can be pickled; the child holds no permits.

    In asyncio, the tasks that wait for one object share one helper thread, which exists
    while they wait.  They are served in order of arrival; among processes, the first of
    them has a place in the queue.

    >>> import tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> sem = NamedSemaphore(os.path.join(folder.name, "slots"), 2)
    >>> with sem:
    ...     sem.value
    1
    >>> sem.unlink()
    >>> sem.close()
    >>> folder.cleanup()
    """

    def __init__(self, name: str, capacity: Optional[int] = None, *, exclusive: bool = False,
                 shared: bool = False, strict: bool = False, mode: int = 0,
                 label: Optional[str] = None) -> None:
        self._name = name
        self._shared = shared
        super().__init__(name, capacity or 0, capacity is not None, exclusive, shared, strict,
                         mode, label)

    def __repr__(self) -> str:
        return f"<weir.NamedSemaphore {self._name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._name, self._shared)

    async def acquire_async(self, timeout: Optional[float] = None, *, n: int = 1) -> bool:
        """Take n permits without blocking the event loop.

        Return True, or False if timeout seconds have passed.  If the task is cancelled,
        then nothing is held.

        >>> import asyncio, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sem = NamedSemaphore(os.path.join(folder, "slots"), 1)
        ...     with sem:
        ...         asyncio.run(sem.acquire_async(0.01))
        ...     sem.close()
        False
        """
        return await _acquire_async(self, timeout, n)

    async def __aenter__(self) -> None:
        await self.acquire_async()

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.release()

    def permits(self, n: int = 1, timeout: Optional[float] = None) -> _Permits:
        """Return a context manager that holds n permits, as Semaphore.permits."""
        return _Permits(self, n, timeout)

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    def unlink(self) -> None:
        """Remove the name.  Processes that have the semaphore open keep using it."""
        _weir.unlink(self._name)


def _reopen(name: str, shared: bool) -> NamedSemaphore:
    return NamedSemaphore(name, shared=shared)


async def _release_async(lease: Lease) -> None:
    """Release the lease in the loop's executor, because the server has to answer.

    If the task is cancelled meanwhile, then the release goes on.
    """
    running = asyncio.get_running_loop()
    await asyncio.shield(running.run_in_executor(None, lease.release))


def _release_or_leave(lease: Lease) -> None:
    try:
        lease.release()
    except (Error, OSError):
        pass    # The lease ends by itself.


def _give_back_lease(op: _weir.Op) -> None:
    lease = op.result()
    assert isinstance(lease, Lease)
    try:
        asyncio.get_running_loop().run_in_executor(None, _release_or_leave, lease)
    except RuntimeError:
        _release_or_leave(lease)    # The loop has ended.


class _Leases:
    """A lease, held in the block of a with or async with statement."""
    __slots__ = ("_sem", "_n", "_timeout", "_lease")

    def __init__(self, sem: ClusterSemaphore, n: int, timeout: Optional[float]) -> None:
        self._sem = sem
        self._n = n
        self._timeout = timeout
        self._lease: list[Lease] = []

    def __enter__(self) -> Lease:
        self._lease.append(self._sem.lease(self._n, self._timeout))
        return self._lease[-1]

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._lease.pop().release()

    async def __aenter__(self) -> Lease:
        lease = await self._sem.acquire_async(self._timeout, n=self._n)
        if lease is None:
            raise _timed_out(self._n, self._timeout)
        self._lease.append(lease)
        return lease

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await _release_async(self._lease.pop())


class ClusterSemaphore(_weir.Cluster):
    """A semaphore between machines, in a Redis, Valkey, etcd or PostgreSQL server.

    The URL is redis://HOST/NAME, rediss://, etcd://, etcds:// or postgresql://; the manual page
    weir_cluster(3) has its options.  With a capacity, the semaphore is created if it
    does not exist.  Leases are renewed until they are released; if that fails for ttl
    seconds, then the lease is lost.  The library libweir-cluster must be installed;
    otherwise Error is raised.

        with ClusterSemaphore("redis://host/builds", 3).lease() as lease:
            write(lease.fence)

    In asyncio, `async with sem as lease` takes one permit, and permits(n) takes n.  A task
    that waits needs no thread: the thread of the library asks the server.  A release waits
    for the server in the default executor of the event loop, which has a few threads.
    """

    def __init__(self, url: str, capacity: Optional[int] = None, *, exclusive: bool = False,
                 ttl: Optional[float] = None, label: Optional[str] = None,
                 password: Optional[str] = None) -> None:
        super().__init__(url, capacity or 0, capacity is not None, exclusive,
                         round((ttl or 0) * 1e9), label, password)
        # The leases of `async with` blocks, which nest in a task.
        self._leases: weakref.WeakKeyDictionary[asyncio.Task[Any], list[Lease]] = (
            weakref.WeakKeyDictionary())

    def lease(self, n: int = 1, timeout: Optional[float] = None) -> Lease:
        """Take n permits; raise TimeoutError if they are not granted in time.

        The lease is a context manager that returns the permits.
        """
        lease = self.acquire(timeout=timeout, n=n)
        if lease is None:
            raise _timed_out(n, timeout)
        return lease

    async def acquire_async(self, timeout: Optional[float] = None, *,
                            n: int = 1) -> Optional[Lease]:
        """Take n permits without blocking the event loop.

        Return a Lease, or None if timeout seconds have passed.  If the task is
        cancelled, then nothing is held.
        """
        if timeout is not None and timeout <= 0:
            # If the task is cancelled, then the lease is dropped, which releases it.
            call = functools.partial(self.acquire, False, n=n)
            return await asyncio.get_running_loop().run_in_executor(None, call)
        op = await _await_op(self._submit, timeout, n, _give_back_lease)
        lease = op.result() if op else None
        return lease if isinstance(lease, Lease) else None

    def permits(self, n: int = 1, timeout: Optional[float] = None) -> _Leases:
        """Return a context manager that holds a lease of n permits.

        It works in with and async with statements, and raises TimeoutError if the permits
        are not granted within timeout seconds.
        """
        return _Leases(self, n, timeout)

    async def __aenter__(self) -> Lease:
        lease = await self.acquire_async()
        assert lease is not None
        task = asyncio.current_task()
        assert task is not None
        self._leases.setdefault(task, []).append(lease)
        return lease

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        task = asyncio.current_task()
        assert task is not None
        await _release_async(self._leases[task].pop())


class RateLimiter(_weir.Rate):
    """A rate limit: rate tokens per period of `per` seconds, up to burst at once.

    Calls are served in order of arrival, threads and tasks in one queue.  With spaced,
    tokens are evenly spaced and burst is only the largest n.

    >>> limiter = RateLimiter(1, per=3600, burst=2)
    >>> limiter.acquire(n=2)
    True
    >>> limiter.acquire(timeout=0.01)
    False
    """

    def __init__(self, rate: int, *, per: float = 1.0, burst: int = 1,
                 spaced: bool = False) -> None:
        period_ns = round(per * 1e9)
        # 0 means the default in the C library.
        if period_ns < 1 or burst < 1 or rate < 1:
            raise ValueError("per must be positive, and rate and burst must be one or more")
        super().__init__(rate, period_ns, burst, spaced)
        # The holder waits for tokens; the others wait behind it.
        self._gate = BoundedSemaphore(1)

    def _ready(self, n: int, end: Optional[float]) -> Union[bool, float]:
        """Take n tokens: True, or False if end comes first, or the seconds to wait."""
        if self._take(n):
            return True
        delay = self._delay(n)
        if end is not None and time.monotonic() + delay > end:
            return False
        return delay

    def acquire(self, blocking: bool = True, timeout: Optional[float] = None, *,
                n: int = 1) -> bool:
        """Take n tokens, waiting for them.

        Return True, or False if they are not available and blocking is false, or if
        they will not be available within timeout seconds; no token is taken then.
        """
        if not blocking:
            if timeout is not None:
                raise ValueError("can't specify timeout for non-blocking acquire")
            timeout = 0
        end = None if timeout is None else time.monotonic() + timeout
        self._delay(n)  # raises ValueError if n is invalid, before the wait for the gate
        if not self._gate.acquire(timeout=timeout):
            return False
        try:
            while True:
                wait = self._ready(n, end)
                if isinstance(wait, bool):
                    return wait
                time.sleep(wait)
        finally:
            self._gate.release()

    async def acquire_async(self, timeout: Optional[float] = None, *, n: int = 1) -> bool:
        """Take n tokens without blocking the event loop.

        If the task is cancelled, then no token is taken.

        >>> import asyncio
        >>> asyncio.run(RateLimiter(1000, burst=5).acquire_async(n=5))
        True
        """
        end = None if timeout is None else time.monotonic() + timeout
        self._delay(n)  # as in acquire
        if not await self._gate.acquire_async(timeout):
            return False
        try:
            while True:
                wait = self._ready(n, end)
                if isinstance(wait, bool):
                    return wait
                await asyncio.sleep(wait)
        finally:
            self._gate.release()

    def delay(self, n: int = 1) -> float:
        """Return the seconds until n tokens are available, for display."""
        return self._delay(n)
