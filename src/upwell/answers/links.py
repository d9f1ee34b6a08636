"""The links of an answer: the next page."""

from upwell.answers.pager import next_link
from upwell.page.tree import TagTree

__all__ = ["next_page"]


def next_page(tree: TagTree, query: str = "") -> str | None:
    """The address of the next page of an answer, where a link leads to it."""
    step = next_link(tree, query)
    return step.url if step else None
