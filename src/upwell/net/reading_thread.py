"""A thread for the reading of one site, so that a page that takes long to read holds up neither Ctrl-C, `--time` nor the other sites."""

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

__all__ = ["ReadingThread"]

MAX_CPU_SECONDS = 60.0  # of one step; a page of 1 MB takes about one
LOOK_EVERY_SECONDS = 0.5
GRACE_SECONDS = 1.0  # that a step may go on after the harvest was ended, before it is broken off
# Steps at once, of all sites of a process: one thread has the interpreter at a time, and each that waits for it wakes up 200 times a second to
# ask for it (`sys.setswitchinterval`). With 150 sites CPU a request was 1.10 times that of one site without this, and 0.93 times with 2.
TURNS = 2
TURN_SECONDS = 0.5  # after which a step holds up no other
_free_turns: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = WeakKeyDictionary()


class _Turn:
    """A turn to read, inside `async with`; a step that takes long goes on without one."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = _free_turns.setdefault(self._loop, asyncio.Semaphore(TURNS))
        self._has_turn = False

    async def __aenter__(self) -> None:
        await self._free.acquire()
        self._has_turn = True
        self._end = self._loop.call_later(TURN_SECONDS, self._give_back)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.cancel()
        self._give_back()

    def _give_back(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._free.release()


class ReadingThread:
    """Runs one function after the other in a thread of its own, used inside `with`."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._work, daemon=True
        )  # a daemon: a stuck one does not keep the process

    def __enter__(self) -> "ReadingThread":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.put(None)

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of a call; raises TookTooLong where it needs too much CPU. Where the task is cancelled, the call is broken off."""
        async with _Turn():
            return await self._run(call)

    async def _run(self, call: Callable[[], Any]) -> Any:
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls.put((call, done))
        before = self._cpu_seconds()
        try:
            while not (await asyncio.wait({done}, timeout=LOOK_EVERY_SECONDS))[0]:
                if self._cpu_seconds() - before > MAX_CPU_SECONDS:
                    self._break_off()
            return done.result()
        except asyncio.CancelledError:
            if not (await asyncio.wait({done}, timeout=GRACE_SECONDS))[0]:
                self._break_off()
                await asyncio.wait({done}, timeout=LOOK_EVERY_SECONDS)
            if done.done() and not done.cancelled():
                done.exception()  # nobody asks for it any more
            raise

    def _work(self) -> None:
        while True:
            with suppress(TookTooLong):  # it may come when its call is over
                item = self._calls.get()
                if item is None:
                    return
                call, done = item
                try:
                    result, error = call(), None
                except BaseException as raised:  # noqa: BLE001 # raised again where the result is awaited
                    result, error = None, raised
                with suppress(RuntimeError):  # the loop is closed
                    done.get_loop().call_soon_threadsafe(_finish, done, result, error)

    def _cpu_seconds(self) -> float:
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident or 0))
        except (OSError, AttributeError):
            return 0.0

    def _break_off(self) -> None:
        """Raises TookTooLong in the thread, at its next step in Python."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(TookTooLong)
        )


def _finish(done: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    if done.cancelled() or done.done():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)
