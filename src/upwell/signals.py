"""Ctrl-C and SIGTERM: both end a program with a word, and a harvest with what it holds."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["end_program", "leave", "stopping_by_signals", "was_ended"]

_ended: list[int] = []  # the signals that ended this program


def end_program(number: int, _: FrameType | None) -> None:
    """A handler that does for every signal what Ctrl-C does, and remembers it: libraries on the way may make another error of it."""
    _ended.append(number)
    raise KeyboardInterrupt


def leave(message: str) -> NoReturn:
    """Ends the process at once with a word and exit code 3.

    After a KeyboardInterrupt that passed through an `exec`, as loading modules has many, Python would end by the signal instead.
    """
    sys.stdout.flush()
    sys.stderr.write(f"upwell: {message}\n")
    sys.stderr.flush()
    os._exit(3)


def was_ended() -> bool:
    """Whether a signal ended this program."""
    return bool(_ended)


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
