"""What a fetcher asks of the store that remembers what requests brought."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from upwell.model import Outcome, Request

__all__ = ["Memory", "ask_memory"]

T = TypeVar("T")


class Memory(Protocol):
    """Stores what requests brought, so that an interrupted harvest can go on: `upwell.store.state.State`."""

    def replay(self, request: Request, *, reuse: bool = False, max_age: float = 0.0) -> Outcome | None:
        """The next stored outcome of a request; None if it has to be sent.

        With `reuse`, an answer that was used before will do; with `max_age`, one that is older (in seconds) will not.
        """
        ...

    @property
    def is_remote(self) -> bool:
        """Whether asking it may wait for another machine."""
        ...

    def store(self, request: Request, outcome: Outcome) -> None:
        """Stores what a request brought; it survives a kill when this returns."""
        ...


async def ask_memory(memory: Memory, ask: Callable[[], T]) -> T:
    """What the memory says: in a thread where it may wait for another machine, so that other sites go on meanwhile."""
    if not memory.is_remote:
        return ask()
    asked = asyncio.ensure_future(asyncio.to_thread(ask))
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:  # what came is kept first
        await asyncio.wait({asked})
        raise
