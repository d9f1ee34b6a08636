"""What all pages about one harvest have in common."""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from upwell.web.harvests import Harvest
from upwell.web.rendering import T, respond

__all__ = ["with_harvest"]


def with_harvest(page: Callable[[Request, Harvest], Response]) -> Callable[[Request], Any]:
    """A page about the harvest that the address names, worked out in a thread of its own."""

    async def answer(request: Request) -> Response:
        found = await anyio.to_thread.run_sync(request.app.state.library.get, request.path_params["id"])
        if found is None:
            return respond(request, "error.html.j2", 404, message=T.not_found_harvest)
        return await anyio.to_thread.run_sync(page, request, found)

    return answer
