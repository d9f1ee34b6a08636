"""Who says what may be done in a page: what may be typed into, pressed and posted."""

from typing import Protocol

from upwell.model import Request

__all__ = ["Judge", "OnlyLooking"]


class Judge(Protocol):
    """Says what a query may be typed into and what may be posted: `upwell.site.browser_search.SearchJudge`."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        """Whether a query may be typed into a box of a page: in the form of this number, or in none (-1)."""
        ...

    def may_post(self, request: Request, page: str, url: str) -> bool:
        """Whether a POST that a page makes after a query was typed is a search."""
        ...

    def may_send(self, page: str, url: str, form: int) -> bool:
        """Whether Enter may be pressed in such a box."""
        ...

    def may_press(self, label: str) -> bool:
        """Whether a button that seems to open a search may be pressed: its label does not act."""
        ...

    def words_to_type(self, page: str, url: str) -> tuple[str, ...]:
        """Words to find out with how a page searches."""
        ...


class OnlyLooking:
    """The judge of those who only look: nothing is posted."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        return True

    def may_post(self, request: Request, page: str, url: str) -> bool:
        return False

    def may_send(self, page: str, url: str, form: int) -> bool:
        return True

    def may_press(self, label: str) -> bool:
        return False

    def words_to_type(self, page: str, url: str) -> tuple[str, ...]:
        return ()
