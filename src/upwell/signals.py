"""Ctrl-C and SIGTERM: both end a program with a word, and a harvest with what it holds."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["end_program", "stopping_by_signals"]


def end_program(_: int, __: FrameType | None) -> None:
    """A handler of SIGTERM that does what Ctrl-C does."""
    raise KeyboardInterrupt


@contextmanager
def stopping_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Has Ctrl-C and SIGTERM call `stop` for a while, where this is the main thread and nobody else handles them."""
    if threading.current_thread() is not threading.main_thread():
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
