"""Worker process of an engine, which runs jobs from a pipe: `serve` in a forked process, `python -m upwell.engines.worker` in a new one.

    in    ("function", function, log level) first, then ("run", number, work, time it was accepted) and ("cancel", number), at last ("end",)
    out   ("events", [(number, event), …]) and ("done", number, result, error)

Messages are pickled tuples, each after its length. At the end all jobs are cancelled, so that they save their partial results, and the
process ends. If the input ends before, the engine was killed, and the worker ends at once.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import struct
import sys
import threading
from collections import deque
from typing import Any

from upwell import logs, supervision
from upwell.engines.engine import WorkFunction
from upwell.errors import Crashed, UpwellError
from upwell.operating_system import KILL

__all__ = ["encode_message", "read_message", "serve"]

LENGTH = struct.Struct("!Q")
EVENT_SECONDS = 0.2  # how long events wait for others to be sent with them; the end of a job does not wait
# Allocations between two runs of the garbage collector (Python's default: 700); page objects contain no cycles.
COLLECT_AFTER = 20_000


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
        self._events: deque[tuple[int, Any]] = deque()  # not sent yet; other threads append to it

    def add_event(self, number: int, event: Any) -> None:
        """Send an event of a job soon."""
        self._events.append((number, event))

    def end_job(self, number: int, result: Any, error: BaseException | None) -> None:
        """Send the end of a job, after its events."""
        self.send_events()
        self._send("done", number, result, error)

    def send_events(self) -> None:
        """Send the events that wait."""
        events = [self._events.popleft() for _ in range(len(self._events))]
        if events:
            self._send("events", events)

    async def send_regularly(self) -> None:
        """Send events regularly."""
        while True:
            await asyncio.sleep(EVENT_SECONDS)
            self.send_events()

    def _send(self, *message: Any) -> None:
        data = memoryview(encode_message(message))
        with self._lock:
            try:
                while data:
                    data = data[self._file.write(data) :]
            except BrokenPipeError:
                return


async def run_jobs(stream: asyncio.StreamReader, outbox: Outbox) -> None:
    """Run jobs until the engine ends."""
    tasks: dict[int, asyncio.Task[None]] = {}
    first = await read_message(stream)
    if first is None or first[0] == "end":
        return
    function: WorkFunction = first[1]
    if first[2] in logs.LEVELS:
        logs.start(logs.LEVELS.index(first[2]))

    async def run(number: int, work: Any, accepted: float) -> None:
        supervision.current_job.set(number)
        supervision.job_accepted.set(accepted)
        result: Any = None
        error: BaseException | None = None
        try:
            result = await function(work, lambda event: outbox.add_event(number, event))
        except (asyncio.CancelledError, UpwellError) as raised:
            error = raised
        except Exception as raised:  # noqa: BLE001 # raised again in the process that waits for it
            error = Crashed(f"{type(raised).__name__}: {raised}")
        outbox.end_job(number, result, error)
        tasks.pop(number, None)

    sending = asyncio.create_task(outbox.send_regularly())
    while (message := await read_message(stream)) is not None and message[0] != "end":
        if message[0] == "run":
            tasks[message[1]] = asyncio.create_task(run(*message[1:]))
        elif message[1] in tasks:
            tasks[message[1]].cancel()
    if message is None:
        os.kill(os.getpid(), KILL)
    for task in tasks.values():
        task.cancel()
    if tasks:
        await asyncio.wait(list(tasks.values()))
    sending.cancel()


def serve(incoming: int, outgoing: int, board: supervision.Board, supervisor: int) -> None:
    """Run jobs from one pipe and write to another; output printed by libraries goes to standard error."""

    async def main() -> None:
        stream = asyncio.StreamReader(limit=2**20)
        pipe = os.fdopen(incoming, "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        await run_jobs(stream, Outbox(outgoing))

    os.dup2(2, 1)
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    supervision.begin(board, supervisor)
    asyncio.run(main())


if __name__ == "__main__":
    serve(os.dup(0), os.dup(1), supervision.Board(int(sys.argv[1])), int(sys.argv[2]))
