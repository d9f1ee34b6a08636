"""What a fetcher asks of the store that remembers what requests brought, and how it waits for a store that is elsewhere."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from upwell.model import Outcome, Request
from upwell.net.leases import HostLeases

__all__ = ["Memory", "ask_store"]

T = TypeVar("T")


class Store(Protocol):
    """What may be on this machine or on another."""

    @property
    def is_remote(self) -> bool:
        """Whether asking it may wait for another machine."""
        ...


class Memory(Store, Protocol):
    """Stores what requests brought, so that an interrupted harvest can go on: `upwell.store.state.State`."""

    @property
    def host_leases(self) -> HostLeases | None:
        """When each host may be asked next, where many machines keep one rate; None where it is a matter of this one."""
        ...

    def replay(self, request: Request, *, reuse: bool = False, max_age: float = 0.0) -> Outcome | None:
        """The next stored outcome of a request; None if it has to be sent.

        With `reuse`, an answer that was used before will do; with `max_age`, one that is older (in seconds) will not.
        """
        ...

    def store(self, request: Request, outcome: Outcome) -> None:
        """Stores what a request brought; it survives a kill when this returns."""
        ...


async def ask_store(store: Store, ask: Callable[[], T]) -> T:
    """What a store says: in a thread where it may wait for another machine, so that other sites go on meanwhile."""
    if not store.is_remote:
        return ask()
    asked = asyncio.ensure_future(asyncio.to_thread(ask))
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:  # what came is kept first
        await asyncio.wait({asked})
        raise
