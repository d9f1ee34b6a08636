"""Engines of one event loop, in a supervised process or in this one, and the choice of an engine by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from upwell.engines.engine import Engine, EventObserver, WorkFunction, site_capacity
from upwell.engines.processes import ProcessEngine
from upwell.engines.ray import RayEngine
from upwell.errors import WorkerLost, WrongUsage
from upwell.operating_system import CAN_SUPERVISE, core_count

__all__ = ["ENGINES", "InlineEngine", "LocalEngine", "SupervisedCalls", "call_supervised", "create_engine"]

P = ParamSpec("P")
T = TypeVar("T")

ENGINES = ("local", "processes", "ray", "inline")


def create_engine(name: str, function: WorkFunction, workers: int = 0) -> Engine[Any, Any]:
    """Create the engine of a name; `workers` is its number of processes, 0 for one per core (for ray: of the cluster)."""
    if name == "local":
        return LocalEngine(function) if CAN_SUPERVISE else InlineEngine(function)
    if name == "processes" and not CAN_SUPERVISE:
        raise WrongUsage("--engine processes does not run on this system (Windows); leave the option out, or use WSL")
    if name == "processes":
        return ProcessEngine(function, workers or core_count())
    if name == "ray":
        return RayEngine(function, workers)
    if name == "inline":
        return InlineEngine(function)
    raise WrongUsage(f"engine {name!r} is none of {', '.join(ENGINES)}")


class InlineEngine:
    """Runs work in the running event loop, without a supervisor: for debuggers, and for work that cannot leave its process."""

    def __init__(self, function: WorkFunction) -> None:
        self._function = function

    @property
    def capacity(self) -> int:
        """Return how many pieces of work one process can run at once."""
        return site_capacity(1)

    async def __aenter__(self) -> InlineEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: there are no workers to stop."""

    async def run(self, work: Any, host: str, observe: EventObserver) -> Any:
        """Return the function's result."""
        return await self._function(work, observe)


class LocalEngine(ProcessEngine):
    """Runs work in one supervised process; work with plug-ins of the caller, which belong to its process, runs there."""

    def __init__(self, function: WorkFunction) -> None:
        super().__init__(function, 1)

    async def run(self, work: Any, host: str, observe: EventObserver) -> Any:
        """Return the function's result."""
        if getattr(work, "is_bound_to_process", False):
            return await self._function(work, observe)
        return await super().run(work, host, observe)


class SupervisedCalls:
    """Runs coroutine functions in supervised processes that are kept: for servers that do so often. `close` ends the processes."""

    def __init__(self, workers: int = 1) -> None:
        self._engine = ProcessEngine(_call, workers)

    async def call(self, function: Callable[..., Awaitable[T]], *arguments: object, **named: object) -> T:
        """Return the result of a function that is defined at module level; arguments and result can be pickled."""
        try:
            result: T = await self._engine.run((function, arguments, named), "", lambda event: None)
        except WorkerLost as error:
            raise WorkerLost(f"reading a page {error}; the page may be built to do so") from error
        return result

    async def close(self) -> None:
        """End the processes."""
        await self._engine.__aexit__(None, None, None)


async def call_supervised(function: Callable[P, Awaitable[T]], *arguments: P.args, **named: P.kwargs) -> T:
    """Return the result of a coroutine function in a supervised process of its own; for servers, which a page must not end.

    Where processes cannot be supervised (Windows), it runs in this one.
    The function is defined at module level; its arguments and its result can be pickled.
    """
    if not CAN_SUPERVISE:
        return await function(*arguments, **named)
    async with ProcessEngine(_call, 1) as engine:
        try:
            result: T = await engine.run((function, arguments, named), "", lambda event: None)
        except WorkerLost as error:
            raise WorkerLost(f"reading a page {error}; the page may be built to do so") from error
        return result


async def _call(work: tuple[Callable[..., Awaitable[Any]], tuple[Any, ...], dict[str, Any]], _: EventObserver) -> Any:
    function, arguments, named = work
    return await function(*arguments, **named)
