"""The engine of one process and one event loop."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from upwell.engines.frame import Function, Observe
from upwell.engines.limits import room_for

__all__ = ["LocalEngine"]


class LocalEngine:
    """Runs work in the running event loop."""

    def __init__(self, function: Function) -> None:
        self._function = function

    @property
    def room(self) -> int:
        """What one process has room for."""
        return room_for(1)

    async def __aenter__(self) -> LocalEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to end."""

    async def run(self, work: Any, host: str, observe: Observe) -> Any:
        """What the function returned."""
        return await self._function(work, observe)
