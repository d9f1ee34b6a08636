"""Running a coroutine from ordinary code: in a program, and in a notebook, whose thread runs a loop already."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ["end_program", "run_to_end"]

T = TypeVar("T")


def run_to_end(main: Coroutine[Any, Any, T], stop: Callable[[], None] | None = None) -> T:
    """What a coroutine returns. Ctrl-C and SIGTERM call `stop`, after which it should come to its end by itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with _signals(stop):
            return asyncio.run(main)
    return _run_in_thread(main, stop)


@contextmanager
def _signals(stop: Callable[[], None] | None) -> Iterator[None]:
    """Handles Ctrl-C and SIGTERM for a while, where this is the main thread and nobody else handles them."""
    if stop is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_: int, __: FrameType | None) -> None:
        stop()

    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.getsignal(number) for number in usual}
    ours = [number for number, handler in usual.items() if before[number] in (handler, end_program)]
    for number in ours:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def end_program(_: int, __: FrameType | None) -> None:
    """SIGTERM as Ctrl-C: what is open is closed, and a word is said."""
    raise KeyboardInterrupt


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
