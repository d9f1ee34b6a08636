"""What an engine is: something that runs a function for a piece of work, somewhere, and gives what it returned."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from upwell.errors import WrongUsage

__all__ = ["ENGINES", "Engine", "Function", "engine_of"]

W = TypeVar("W", contravariant=True)
R = TypeVar("R", covariant=True)

Observe = Callable[[Any], None]
# Takes a piece of work and an observer of events. It is of a module, so that it can be named to other processes; work, events and what
# it returns can be pickled. It returns also where it is cancelled: what there is by then.
Function = Callable[[Any, Observe], Awaitable[Any]]

ENGINES = ("local", "processes", "ray")


class Engine(Protocol[W, R]):
    """Runs work, used inside `async with`."""

    @property
    def room(self) -> int:
        """How many pieces of work it has room for at once."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def run(self, work: W, host: str, observe: Observe) -> R:
        """What the function returned for a piece of work; work of one host runs in one place.

        Where the call is cancelled, the function is cancelled there, and what it returns then is given. Raises WorkerLost where the
        process or machine is gone.
        """
        ...


def engine_of(name: str, function: Function, workers: int = 0) -> Engine[Any, Any]:
    """The engine of a name; `workers`: how many processes, 0 for one a core (of ray: of the cluster)."""
    if name == "local":
        from upwell.engines.local import LocalEngine

        return LocalEngine(function)
    if name == "processes":
        from upwell.engines.processes import ProcessEngine

        return ProcessEngine(function, workers or len(os.sched_getaffinity(0)))
    if name == "ray":
        from upwell.engines.ray import RayEngine

        return RayEngine(function, workers)
    raise WrongUsage(f"engine {name!r} is none of {', '.join(ENGINES)}")
