"""Pages that explain a harvest: the list of its requests, and for each request why it was sent and how its answer was read."""

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from upwell.errors import InUse, WrongUsage
from upwell.harvest.explain import VALUE_MEANING, explain_folder, log_of_folder, sentences
from upwell.harvest.reader import label
from upwell.web.harvests import Harvest
from upwell.web.record_views import with_harvest
from upwell.web.rendering import T, respond

__all__ = ["routes"]

PAGE_REQUESTS = 100  # requests on one page of the list


def _requests(request: Request, harvest: Harvest) -> Response:
    """Show the list of requests, of all kinds or of one."""
    try:
        log = log_of_folder(harvest.folder)
    except InUse:
        return respond(request, "error.html.j2", 409, message=T.requests_busy)
    kind, number = request.query_params.get("kind", ""), request.query_params.get("page", "1")
    shown = [explained for explained in log.requests if kind in ("", explained.kind)]
    pages = max(1, -(-len(shown) // PAGE_REQUESTS))
    page = min(int(number[:9]), pages) if number.isdecimal() and int(number[:9]) >= 1 else 1
    values: dict[str, Any] = {
        "h": harvest,
        "base": f"/harvests/{harvest.id}",
        "kind": kind,
        "kinds": log.by_kind(),
        "requests": shown[(page - 1) * PAGE_REQUESTS : page * PAGE_REQUESTS],
        "page": page,
        "pages": pages,
        "link": lambda page, kind=kind: urlencode({"kind": kind, "page": page} if kind else {"page": page}),
    }
    return respond(request, "requests.html.j2", **values)


def _request(request: Request, harvest: Harvest) -> Response:
    """Explain one request."""
    number = int(request.path_params["number"])
    try:
        explained = explain_folder(harvest.folder, number)
    except InUse:
        return respond(request, "error.html.j2", 409, message=T.requests_busy)
    except WrongUsage as error:
        return respond(request, "error.html.j2", 404, message=str(error))
    values: dict[str, Any] = {
        "h": harvest,
        "base": f"/harvests/{harvest.id}",
        "e": explained,
        "label": label,
        "sentences": list(sentences(explained)),
        "value_meaning": VALUE_MEANING,
        "earlier": number - 1 if number > 1 else None,
        "later": number + 1 if number < explained.last else None,
    }
    return respond(request, "request.html.j2", **values)


routes = [
    Route("/harvests/{id}/requests", with_harvest(_requests)),
    Route("/harvests/{id}/requests/{number:int}", with_harvest(_request)),
]
