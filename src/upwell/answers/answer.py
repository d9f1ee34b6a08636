"""The answer to a query: what was asked, what was sent, what came back, and the parsed page."""

from dataclasses import dataclass

from upwell.page.tree import TagTree
from upwell.types import Request, Response

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One answer. An answer that was read from a saved file has a page, and perhaps a query, but no response."""

    page: TagTree
    query: str = ""  # "": unknown, or an empty query
    response: Response | None = None

    @property
    def request(self) -> Request | None:
        """Return the request that was sent for this answer."""
        return self.response.request if self.response is not None else None

    @property
    def status(self) -> int:
        """Return the HTTP status; 200 for an answer without a response."""
        return self.response.status if self.response is not None else 200
