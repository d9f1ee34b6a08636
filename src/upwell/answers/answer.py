"""Answer to a query: the query, the request, the response and the parsed page."""

from dataclasses import dataclass

from upwell.page.tree import TagTree
from upwell.types import Request, Response

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Answer to a query; an answer from a saved file has no response, and its query may be unknown."""

    page: TagTree
    query: str = ""  # "": unknown, or an empty query
    response: Response | None = None

    @property
    def request(self) -> Request | None:
        """Return the request of this answer; None without a response."""
        return self.response.request if self.response is not None else None

    @property
    def status(self) -> int:
        """Return the HTTP status; 200 for an answer without a response."""
        return self.response.status if self.response is not None else 200
