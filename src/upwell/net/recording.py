"""What a fetcher hands its answers to: an archive, and a memory that an interrupted harvest goes on from."""

from collections.abc import Iterable
from typing import Protocol

from upwell.model import ArchivedBody, Outcome, Request, Response

__all__ = ["Memory", "Recorder"]


class Recorder(Protocol):
    """Archives every exchange before its answer is used: `upwell.store.archive.Archive`."""

    def write(self, response: Response, request_headers: Iterable[tuple[str, str]]) -> ArchivedBody:
        """Archives a response and the request that it answers, with the headers that were sent; returns where the body lies."""
        ...


class Memory(Protocol):
    """Stores what requests brought, so that an interrupted harvest can go on: `upwell.store.state.State`."""

    def replay(self, request: Request, *, reuse: bool = False, max_age: float = 0.0) -> Outcome | None:
        """The next stored outcome of a request; None if it has to be sent.

        With `reuse`, an answer that was used before will do; with `max_age`, one that is older (in seconds) will not.
        """
        ...

    def store(self, request: Request, outcome: Outcome) -> None:
        """Stores what a request brought; it survives a kill when this returns."""
        ...
