"""The requests of a page in the browser that have no answer yet."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["PendingRequests"]

QUIET_SECONDS = 0.6  # without a request, after which a page counts as finished


class PendingRequests:
    """The requests of a page that have no answer yet."""

    def __init__(self, page: "Page", patience: float, is_full: Callable[[], bool]) -> None:
        self._patience, self._is_full = patience, is_full  # patience: seconds without any answer
        self._has_changed = asyncio.Event()
        self._pending: set[object] = set()
        self._last_answer = 0.0
        page.on("request", self._started)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def _started(self, request: object) -> None:
        self._pending.add(request)
        self._has_changed.set()

    def _ended(self, request: object) -> None:
        self._pending.discard(request)
        self._last_answer = asyncio.get_running_loop().time()
        self._has_changed.set()

    async def settle(self) -> None:
        """Waits until the page makes no more requests and has its answers; not forever for the answers."""
        self._last_answer = asyncio.get_running_loop().time()
        while True:
            self._has_changed.clear()
            try:
                await asyncio.wait_for(self._has_changed.wait(), QUIET_SECONDS)
            except TimeoutError:
                waited = asyncio.get_running_loop().time() - self._last_answer
                if not self._pending or waited >= self._patience:
                    return
            if self._is_full():
                await asyncio.sleep(QUIET_SECONDS)
                return
