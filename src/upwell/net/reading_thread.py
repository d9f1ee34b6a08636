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
# Steps that run at once, of all sites of a process. One thread has the interpreter at a time, and each that waits for it wakes up 200 times a
# second to ask for it (`sys.setswitchinterval`).
STEPS_AT_ONCE = 2
GRACE_SECONDS = 1.0  # that a step may go on after the harvest was ended, before it is broken off


_turns: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = WeakKeyDictionary()


class ReadingThread:
    """Runs one function after the other in a thread of its own, used inside `with`."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._turns: asyncio.Semaphore | None = None  # where a call of this thread has a turn
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
        turns = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(STEPS_AT_ONCE))
        await turns.acquire()
        self._turns = turns
        done = self._start(call)
        self._look_later(self._cpu_seconds())
        try:
            return await done
        except asyncio.CancelledError:
            rests = self._start(lambda: None)  # which comes when the call is over
            if not (await asyncio.wait({rests}, timeout=GRACE_SECONDS))[0]:
                self._break_off()
                await asyncio.wait({rests}, timeout=LOOK_EVERY_SECONDS)
            raise
        finally:
            self._next_look.cancel()
            self._give_turn_back()

    def _start(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls.put((call, done))
        return done

    def _look_later(self, before: float) -> None:
        """Looks now and then whether a call has taken more than the CPU seconds that it may; a long one holds up no other."""

        def look() -> None:
            self._give_turn_back()
            if self._cpu_seconds() - before > MAX_CPU_SECONDS:
                self._break_off()
            self._look_later(before)

        self._next_look = asyncio.get_running_loop().call_later(LOOK_EVERY_SECONDS, look)

    def _give_turn_back(self) -> None:
        if self._turns is not None:
            self._turns.release()
            self._turns = None

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
