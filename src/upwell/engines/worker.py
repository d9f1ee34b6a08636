"""`python -m upwell.engines.worker LEVEL`: worker process of the process engine, which runs jobs from its standard input.

    in    ("function", function) first, then ("run", number, work) and ("cancel", number)
    out   ("event", number, event) and ("done", number, result, error)

Messages are pickled tuples, each after its length. When the input ends, because the engine is done or was killed, all jobs are cancelled, so
that they save their partial results, and the process ends.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import struct
import sys
import threading
from typing import Any

from upwell import logs
from upwell.engines.engine import WorkFunction
from upwell.errors import Crashed

__all__ = ["encode_message", "main", "read_message"]

LENGTH = struct.Struct("!Q")


def encode_message(message: tuple[Any, ...]) -> bytes:
    """Encode a message, preceded by its length."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


async def read_message(stream: asyncio.StreamReader) -> tuple[Any, ...] | None:
    """Read the next message; None if the other side is gone."""
    try:
        (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
        message: tuple[Any, ...] = pickle.loads(await stream.readexactly(length))  # noqa: S301 # from our own process
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message


class Outbox:
    """Writes messages from any thread; drops them if the reader is gone."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send a message completely."""
        data = memoryview(encode_message(message))
        with self._lock:
            try:
                while data:
                    data = data[self._file.write(data) :]
            except BrokenPipeError:
                return


async def serve(stream: asyncio.StreamReader, outbox: Outbox) -> None:
    """Run jobs until the input ends."""
    tasks: dict[int, asyncio.Task[None]] = {}
    first = await read_message(stream)
    if first is None:
        return
    function: WorkFunction = first[1]

    async def run(number: int, work: Any) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = await function(work, lambda event: outbox.send("event", number, event))
        except asyncio.CancelledError as cancelled:
            error = cancelled
        except Exception as raised:  # noqa: BLE001 # raised again in the process that waits for it
            error = Crashed(f"{type(raised).__name__}: {raised}")
        outbox.send("done", number, result, error)
        tasks.pop(number, None)

    while (message := await read_message(stream)) is not None:
        if message[0] == "run":
            tasks[message[1]] = asyncio.create_task(run(message[1], message[2]))
        elif message[1] in tasks:
            tasks[message[1]].cancel()
    for task in tasks.values():
        task.cancel()
    if tasks:
        await asyncio.wait(list(tasks.values()))


async def main() -> None:
    """Connect standard input and output to `serve`; output printed by libraries goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine decides when to stop
    outbox = Outbox(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    stream = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    await serve(stream, outbox)


if __name__ == "__main__":
    if sys.argv[1:] and int(sys.argv[1]) in logs.LEVELS:
        logs.start(logs.LEVELS.index(int(sys.argv[1])))
    asyncio.run(main())
