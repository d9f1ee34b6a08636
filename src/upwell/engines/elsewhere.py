"""Work that runs in another process: who waits for it here, and which hosts it is for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from upwell.engines.frame import Observe
from upwell.errors import WorkerLost

__all__ = ["Elsewhere"]


@dataclass(eq=False, kw_only=True)
class Elsewhere:
    """One worker process or actor, and what it runs."""

    hosts: Counter[str] = field(default_factory=Counter)
    _waiting: dict[int, tuple[asyncio.Future[Any], Observe]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)

    async def result(
        self, host: str, observe: Observe, start: Callable[[int], object], cancel: Callable[[int], object]
    ) -> Any:
        """What a piece of work returned that is started, and where this is cancelled stopped, by its number; then its host is free."""
        number, future = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = future, observe
        try:
            start(number)
            while not future.done():
                try:
                    await asyncio.wait([future])
                except asyncio.CancelledError:  # the function ends with what there is
                    cancel(number)
            return future.result()
        finally:
            self._waiting.pop(number, None)
            self.hosts[host] -= 1

    def take(self, kind: str, number: int, value: Any, failure: BaseException | None = None) -> None:
        """Takes a message: an event, or what came of a piece of work; one that nobody waits for any more is dropped."""
        future, observe = self._waiting.get(number, (None, None))
        if future is None or observe is None or future.done():
            return
        if kind == "event":
            try:
                observe(value)
            except Exception as error:  # noqa: BLE001 # of the observer: raised where the result is awaited
                future.set_exception(error)
        elif failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(value)

    def lose(self, why: str) -> None:
        """The process is gone, and with it what it had."""
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(WorkerLost(why))
