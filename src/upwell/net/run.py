"""Running a coroutine from ordinary code: in a program, and in a notebook, whose thread runs a loop already."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any, TypeVar

from upwell.signals import stopping_by_signals

__all__ = ["run_to_end"]

T = TypeVar("T")


def run_to_end(main: Coroutine[Any, Any, T], stop: Callable[[], None] | None = None) -> T:
    """What a coroutine returns. Ctrl-C and SIGTERM call `stop`, after which it should come to its end by itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with stopping_by_signals(stop) if stop is not None else nullcontext():
            return asyncio.run(main)
    return _run_in_thread(main, stop)


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
