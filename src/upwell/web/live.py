"""A harvest while it runs, as server-sent events: whenever something happened, the part of the page that shows it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.requests import Request

from upwell.web.progress import Progress

__all__ = ["follow"]

SECONDS = 0.7  # between two looks
SECONDS_OF_SILENCE = 15  # after which a word is sent, so that nobody takes the connection for dead


async def follow(
    request: Request, folder: Path, render: Callable[[Progress], str], is_running: Callable[[], bool]
) -> AsyncIterator[str]:
    """The rendered part after each change, then `done`."""
    progress, silence, is_first = Progress(folder), 0.0, True
    while not await request.is_disconnected():
        runs = await asyncio.to_thread(is_running)
        if await asyncio.to_thread(progress.read) or is_first:
            yield _event("update", render(progress))
            silence, is_first = 0.0, False
        if not runs:
            yield _event("done", progress.stopped or "ended")
            return
        await asyncio.sleep(SECONDS)
        silence += SECONDS
        if silence > SECONDS_OF_SILENCE:
            yield ": still there\n\n"
            silence = 0.0


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"
