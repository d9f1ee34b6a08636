"""Ctrl-C and SIGTERM: they end a program with a message, and a harvest with the results so far."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["PROGRAM_STARTED", "end_program", "leave", "stopping_by_signals", "was_ended"]

PROGRAM_STARTED = (
    time.monotonic()
)  # the command imports this module first; its time limit includes the rest of its start
_ended: list[int] = []  # the signals that ended this program


def end_program(number: int, _: FrameType | None) -> None:
    """Handle a signal by raising KeyboardInterrupt, and remember it, because libraries may turn that into another exception."""
    _ended.append(number)
    raise KeyboardInterrupt


def leave(message: str, code: int = 3) -> NoReturn:
    """End the process at once with a message and an exit code.

    After a KeyboardInterrupt during an import, Python would otherwise end with the exit code of the signal.
    """
    sys.stdout.flush()
    sys.stderr.write(f"upwell: {message}\n")
    sys.stderr.flush()
    os._exit(code)


def was_ended() -> bool:
    """Return True if a signal ended this program."""
    return bool(_ended)


@contextmanager
def stopping_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on Ctrl-C and SIGTERM while the context is open, in the main thread and unless another handler is set."""
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
