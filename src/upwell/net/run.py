"""Run a coroutine from synchronous code: in a program, or in a notebook whose thread already runs an event loop."""

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from upwell.signals import stopping_by_signals

__all__ = ["run_to_end"]

T = TypeVar("T")
# Allocations between two runs of the garbage collector (Python's default: 700); page objects contain no cycles.
COLLECT_AFTER = 20_000


def run_to_end(main: Coroutine[Any, Any, T], stop: Callable[[], None] | None = None) -> T:
    """Run a coroutine and return its result; Ctrl-C and SIGTERM call `stop`, which should make it end."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with stopping_by_signals(stop) if stop is not None else nullcontext(), _rare_garbage_collection():
            return asyncio.run(main)
    return _run_in_thread(main, stop)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Run the garbage collector less often, in the main thread only; a threshold of 0 means never and is kept."""
    before = gc.get_threshold()
    if not before[0] or threading.current_thread() is not threading.main_thread():
        yield
        return
    gc.set_threshold(max(before[0], COLLECT_AFTER), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _run_in_thread(main: Coroutine[Any, Any, T], stop: Callable[[], None] | None) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(main))
        except BaseException as error:  # noqa: BLE001 # raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=work, name="upwell", daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:  # a notebook's stop button
            if stop is None:
                raise
            stop()
    if errors:
        raise errors[0]
    return results[0]
