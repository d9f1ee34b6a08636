"""What a fetcher hands its answers to: an archive, and the store that remembers them, which may be elsewhere and is waited for."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from upwell.model import ArchivedBody, Outcome, Request, Response
from upwell.net.leases import HostLeases

__all__ = ["Memory", "Recorder", "ask_store"]

T = TypeVar("T")


class Store(Protocol):
    """What may be on this machine or on another."""

    @property
    def is_remote(self) -> bool:
        """Whether asking it may wait for another machine."""
        ...


class Recorder(Protocol):
    """Archives every exchange before its answer is used: `upwell.store.archive.Archive`."""

    def write(self, response: Response, request_headers: Iterable[tuple[str, str]]) -> ArchivedBody:
        """Archives a response and the request that it answers, with the headers that were sent; returns where the body lies."""
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
