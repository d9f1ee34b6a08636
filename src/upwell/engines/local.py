"""The engine of one process and one event loop."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from upwell.engines.frame import Function, Observe

__all__ = ["LocalEngine"]


class LocalEngine:
    """Runs work in the running event loop."""

    workers = 1

    def __init__(self, function: Function) -> None:
        self._function = function

    async def __aenter__(self) -> LocalEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to end."""

    async def run(self, work: Any, host: str, observe: Observe) -> Any:
        """What the function returned."""
        return await self._function(work, observe)
