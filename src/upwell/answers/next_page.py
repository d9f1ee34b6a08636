"""The links of an answer: the next page."""

from upwell.answers.buttons import load_more, next_button
from upwell.answers.pager import NextPage, next_link, weak_link
from upwell.model import Request
from upwell.page.form_data import form_request
from upwell.page.tree import TagTree

__all__ = ["next_page", "next_step", "request"]


def request(step: NextPage, query: str = "") -> Request:
    """The request that a step stands for, as a browser would send it.

    >>> request(NextPage(url="http://x/s?old=1", fields=(("q", "a b"), (">", "Next")))).url
    'http://x/s?q=a+b&%3E=Next'
    """
    if step.method == "GET" and not step.fields:
        return Request(url=step.url, query=query)
    return form_request(step.method, step.url, step.fields, charset=step.charset, enctype=step.enctype, query=query)


def next_page(tree: TagTree, query: str = "") -> str | None:
    """The address of the next page of an answer, where a link says that it leads there."""
    step = next_link(tree, query)
    return step.url if step else None


def next_step(tree: TagTree, query: str = "") -> NextPage | None:
    """What to send for the next page of an answer, by whatever the page has: link, button, the request behind "load more"; else what is only likely.

    Leads on where `next_page` follows what people call next: a blog's "newer posts →" leads back.
    """
    link, weak = next_link(tree, query), weak_link(tree)
    if weak is not None and weak.via == "older":
        return weak
    return link or next_button(tree, query) or load_more(tree) or weak
