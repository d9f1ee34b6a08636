"""`python -m upwell.engines.worker`: a process of the process engine, which runs what comes on its standard input.

    in    ("function", function) first, then ("run", number, work) and ("cancel", number)
    out   ("event", number, event) and ("done", number, result, error)

Where the input ends, because the engine is done or was killed, all work is cancelled, so that it keeps what there is, and the process ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import Any

from upwell.engines.frame import Function
from upwell.engines.messages import packed, read
from upwell.errors import Crashed

__all__ = ["main"]


class Outbox:
    """Writes messages, from whatever thread; where nobody reads them any more they are dropped."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Sends a message as a whole."""
        data = memoryview(packed(message))
        with self._lock:
            try:
                while data:
                    data = data[self._file.write(data) :]
            except BrokenPipeError:
                return


async def serve(stream: asyncio.StreamReader, outbox: Outbox) -> None:
    """Runs what comes until nothing comes any more."""
    tasks: dict[int, asyncio.Task[None]] = {}
    first = await read(stream)
    if first is None:
        return
    function: Function = first[1]

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

    while (message := await read(stream)) is not None:
        if message[0] == "run":
            tasks[message[1]] = asyncio.create_task(run(message[1], message[2]))
        elif message[1] in tasks:
            tasks[message[1]].cancel()
    for task in tasks.values():
        task.cancel()
    if tasks:
        await asyncio.wait(list(tasks.values()))


async def main() -> None:
    """Connects the streams; what a library prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine says when to stop
    outbox = Outbox(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    stream = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), sys.stdin)
    await serve(stream, outbox)


if __name__ == "__main__":
    asyncio.run(main())
