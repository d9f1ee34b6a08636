"""What runs in an actor of the Ray engine: work, many pieces at once, and the messages about it that the engine has not had yet."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from upwell.engines.frame import Function
from upwell.engines.limits import room_for
from upwell.errors import Crashed

__all__ = ["Message", "RayWorker"]

# ("event", number of the work, event, None) or ("done", number of the work, result, error)
Message = tuple[str, int, Any, BaseException | None]

GATHER_SECONDS = 0.2  # events wait so long for others that can go with them; the end of work does not wait


class RayWorker:
    """An actor: it runs work in its event loop, and answers the engine's question what came since."""

    def __init__(self, function: Function) -> None:
        room_for(1)  # which raises the limit of open files
        self._function = function
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._messages: list[Message] = []  # that the engine has not confirmed
        self._confirmed = 0  # messages that it has
        self._news = asyncio.Event()
        self._an_end = asyncio.Event()

    async def ready(self) -> None:
        """Returns when the process is up, with all that it has to load."""

    async def start(self, number: int, work: Any) -> None:
        """Begins a piece of work; the same number again changes nothing."""
        if number not in self._tasks:
            self._tasks[number] = asyncio.create_task(self._run(number, work))

    async def cancel(self, number: int) -> None:
        """Ends a piece of work with what there is."""
        if number in self._tasks:
            self._tasks[number].cancel()

    async def messages(self, had: int) -> list[Message]:
        """What came after the first `had` messages, which are thereby confirmed; waits until there is something.

        A message is given again where the engine asks with the same number: its answer was lost on the way.
        """
        del self._messages[: had - self._confirmed]
        self._confirmed = had
        if not self._messages:
            self._news.clear()
            self._an_end.clear()
            await self._news.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._an_end.wait(), GATHER_SECONDS)
        return list(self._messages)

    async def _run(self, number: int, work: Any) -> None:
        loop = asyncio.get_running_loop()

        def observe(event: Any) -> None:  # from whatever thread
            loop.call_soon_threadsafe(self._add, ("event", number, event, None))

        result: Any = None
        error: BaseException | None = None
        try:
            result = await self._function(work, observe)
        except asyncio.CancelledError as cancelled:
            error = cancelled
        except Exception as raised:  # noqa: BLE001 # raised again in the process that waits for it
            error = Crashed(f"{type(raised).__name__}: {raised}")
        loop.call_soon(self._add, ("done", number, result, error))  # after the events that are on their way

    def _add(self, message: Message) -> None:
        self._messages.append(message)
        self._news.set()
        if message[0] == "done":
            self._an_end.set()
            self._tasks.pop(message[1], None)
