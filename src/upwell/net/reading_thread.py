"""Thread that reads the pages of one site, so that a slow page delays neither Ctrl-C, `--time` nor other sites."""

import asyncio
import ctypes
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from upwell.errors import TookTooLong

__all__ = ["ReadingThread", "finish_future"]

MAX_CPU_SECONDS = 60.0  # of one call; a page of 1 MB takes about one
CHECK_SECONDS = 0.5  # interval at which the CPU time of a call is checked
# Calls that run at once in a process. Only one thread runs Python code at a time, and each that waits wakes up 200 times a second to request
# the interpreter lock (`sys.setswitchinterval`).
MAX_CONCURRENT_CALLS = 2
GRACE_SECONDS = 1.0  # how long a call may continue after it was cancelled, before it is interrupted


_turns: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = WeakKeyDictionary()


class ReadingStopped(BaseException):
    """The task that waits for a call was cancelled: nothing is said of the page, which may be an ordinary one."""


class ReadingThread:
    """Runs calls one after the other in its own thread; used inside `with`."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._turns: asyncio.Semaphore | None = None  # set while a call of this thread holds one of the turns
        self._thread = threading.Thread(
            target=self._work, daemon=True
        )  # a daemon, so that a stuck thread does not keep the process alive

    def __enter__(self) -> "ReadingThread":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.put(None)

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call; raise TookTooLong if it needs too much CPU time; interrupt it if the task is cancelled."""
        turns = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_CONCURRENT_CALLS))
        await turns.acquire()
        self._turns = turns
        done = self._start(call)
        self._check_later(self._cpu_seconds())
        try:
            return await done
        except asyncio.CancelledError:
            idle = self._start(lambda: None)  # done when the call is over
            if not (await asyncio.wait({idle}, timeout=GRACE_SECONDS))[0]:
                self._interrupt(ReadingStopped)
                await asyncio.wait({idle}, timeout=CHECK_SECONDS)
            raise
        finally:
            self._next_check.cancel()
            self._release_turn()

    def _start(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls.put((call, done))
        return done

    def _check_later(self, before: float) -> None:
        """Check regularly whether a call has used too much CPU time; a long call gives its turn to others."""

        def check() -> None:
            self._release_turn()
            if self._cpu_seconds() - before > MAX_CPU_SECONDS:
                self._interrupt(TookTooLong)
            self._check_later(before)

        self._next_check = asyncio.get_running_loop().call_later(CHECK_SECONDS, check)

    def _release_turn(self) -> None:
        if self._turns is not None:
            self._turns.release()
            self._turns = None

    def _work(self) -> None:
        while True:
            with suppress(TookTooLong, ReadingStopped):  # they may be raised after the call is over
                item = self._calls.get()
                if item is None:
                    return
                call, done = item
                try:
                    result, error = call(), None
                except BaseException as raised:  # noqa: BLE001 # raised again where the result is awaited
                    result, error = None, raised
                with suppress(RuntimeError):  # the loop is closed
                    done.get_loop().call_soon_threadsafe(finish_future, done, result, error)

    def _cpu_seconds(self) -> float:
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident or 0))
        except (OSError, AttributeError):
            return 0.0

    def _interrupt(self, why: type[BaseException]) -> None:
        """Raise an exception in the thread, at its next Python instruction."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(why))


def finish_future(done: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    """Complete a future from another thread, through `call_soon_threadsafe`, unless nobody waits for it any more."""
    if done.cancelled() or done.done():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)
