"""The next page of an answer, by whatever the page offers: a link, a button, or the request behind "load more"."""

from collections.abc import Iterator

from upwell.answers.argument_names import PAGE, is_usual_name, plain
from upwell.answers.buttons import load_more, next_button
from upwell.answers.pager import NextPage, Pager, next_link
from upwell.model import Request
from upwell.page.acting import acting_words
from upwell.page.form_data import form_request
from upwell.page.tree import TagTree
from upwell.page.url_arguments import split

__all__ = ["next_link_url", "next_page", "only_turns_page", "request_of"]


def next_link_url(tree: TagTree, query: str = "") -> str | None:
    """The address of the link that people would call "next"; on a blog that can be "newer posts →", which leads back."""
    link = next_link(tree, query)
    return link.url if link else None


def next_page(tree: TagTree, query: str = "") -> NextPage | None:
    """What a harvest sends for the next page of an answer.

    In this order: a link to older entries, the link that people would call "next", a button, the request behind "load more", and a
    link that is only likely to lead on. Older entries come first because "newer posts →" leads back to what was seen.
    """
    pager = Pager(tree)
    likely = pager.likely_link
    if likely is not None and likely.via == "older" and only_turns_page(tree, likely, query):
        return likely
    for step in _steps(pager, query):
        if step is not None and only_turns_page(tree, step, query):
            return step
    return None


def _steps(pager: Pager, query: str) -> Iterator[NextPage | None]:
    """What may lead on, the surest first; each is looked for only if none before it will do."""
    yield pager.next_link(query)
    yield next_button(pager.tree, query)
    yield load_more(pager.tree)
    yield pager.likely_link


def only_turns_page(tree: TagTree, step: NextPage, query: str = "") -> bool:
    """Whether a step changes nothing but the page: it does not act, and sets nothing unknown.

    What may change are arguments with the usual names of places, sizes, orders, views and sessions, and those that a form of the
    page has too. One that is called otherwise may change where it is the only change: then it is what turns the page.
    """
    request = request_of(step, query)
    if acting_words(request):
        return False
    if not tree.url or step.method == "POST":
        return True
    own = set(split(tree.url, query).arguments)
    changed = [
        (name, value) for name, value in split(request.url, query).arguments if value and (name, value) not in own
    ]
    unknown = {name for name, value in changed if not is_usual_name(name) and value != query}
    if unknown:
        unknown -= {tree.attr(row, "name") for row in tree.rows("input", "select", "button").tolist()}
    return not unknown or (len(unknown) == 1 and not any(PAGE.fullmatch(plain(name)) for name, _ in changed))


def request_of(page: NextPage, query: str = "") -> Request:
    """The request for a next page, as a browser would send it.

    >>> request_of(NextPage(url="http://x/s?old=1", fields=(("q", "a b"), (">", "Next")))).url
    'http://x/s?q=a+b&%3E=Next'
    """
    if page.method == "GET" and not page.fields:
        return Request(url=page.url, query=query)
    return form_request(page.method, page.url, page.fields, charset=page.charset, enctype=page.enctype, query=query)
