"""Number links: which of the numbers that stand side by side leads to the page after the one that is shown."""

import re
from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache
from urllib.parse import urldefrag, urlsplit

from upwell.answers.argument_names import PAGE, plain
from upwell.page.tree import TagTree
from upwell.page.url_arguments import parse_arguments

__all__ = ["PLAIN_NUMBER", "next_number", "plain_number", "url_of_page"]

PLAIN_NUMBER = re.compile(r"\W*(\d{1,3}(?:[.,\u00a0 ]?\d{3})?)\W*")
CURRENT_CLASS = re.compile(r"(?<![a-z])(?:current|selected|active)(?![a-z])", re.I)
MAX_NUMBER_CHARS = 12  # of a number link with what stands around the number


def url_of_page(tree: TagTree) -> str:
    """The URL of the page without fragment: where it was fetched, else the canonical one that it names, else ""."""
    if tree.url:
        return urldefrag(tree.url)[0]
    for row in tree.rows("link", "meta"):
        if (tree.attr(row, "rel") or "").lower() == "canonical" or (
            tree.attr(row, "property") or ""
        ).lower() == "og:url":
            url = tree.attr(row, "href") or tree.attr(row, "content") or ""
            if url.startswith(("http://", "https://")):
                return urldefrag(url)[0]
    return ""


def plain_number(text: str) -> int | None:
    """The number that a text is, but for signs around it."""
    return _short_number(text) if len(text) <= MAX_NUMBER_CHARS else None


@lru_cache(maxsize=2000)
def _short_number(text: str) -> int | None:
    match = PLAIN_NUMBER.fullmatch(text)
    return int(re.sub(r"\D", "", match[1])) if match else None


def next_number(tree: TagTree, numbered: list[tuple[int, int]]) -> int | None:
    """Of number links (number, row) that stand side by side, the row of the one after the current page."""
    groups: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    container_of: dict[int, int] = {}  # by the row above a link, which most links of a pager share
    for number, row in numbered:
        above = int(tree.parent[row])
        if above not in container_of:
            container_of[above] = _container_of_numbers(tree, above)
        groups[container_of[above]].append((number, row))
    for container, group in groups.items():
        current = _current_number(tree, container, group)
        following = next((row for number, row in group if current is not None and number == current + 1), None)
        if following is not None:
            return following
    return None


def _container_of_numbers(tree: TagTree, container: int) -> int:
    """What holds a number link and its neighbours: the first row above it, from this one on, with more than one child."""
    end = tree.end
    while container > 0 and end[container + 1] == end[container] and tree.chars_of(container) <= MAX_NUMBER_CHARS:
        container = int(tree.parent[container])
    return container


def _current_number(tree: TagTree, container: int, group: list[tuple[int, int]]) -> int | None:
    """The number of the current page: the one that is no link, else the link marked as current, else 1: links begin with 2, 3, or 1 leads here."""
    linked = {number for number, _ in group}
    rows = sorted(row for _, row in group)
    unlinked = []
    texts = slice(int(tree.text_at[container]), int(tree.text_end[container]))
    for text, text_row in zip(tree.chunks[texts], tree.chunk_row[texts].tolist(), strict=True):
        if (number := plain_number(text)) is None:
            continue
        before = bisect_right(rows, text_row) - 1  # no link holds another
        if before < 0 or text_row >= tree.end[rows[before]]:
            unlinked.append(number)
    before_link = [number for number in unlinked if number + 1 in linked and number not in linked]
    if before_link:
        return before_link[0]
    here = url_of_page(tree)
    marked = [number for number, row in group if _is_marked_current(tree, row) or (here and _target(tree, row) == here)]
    if len(marked) == 1:
        return marked[0]
    if unlinked or 2 not in linked:
        return None
    is_first = here and any(number == 1 and _is_first_page(here, _target(tree, row)) for number, row in group)
    return 1 if is_first or (3 in linked and 1 not in linked) else None


def _is_first_page(here: str, there: str) -> bool:
    """Whether an address is that of the page with the argument that turns pages, which the page's own address leaves out.

    >>> _is_first_page("http://x/s?q=a", "http://x/s?q=a&page=1"), _is_first_page("http://x/s?q=a", "http://x/s?q=a&rooms=1")
    (True, False)
    """
    own, other = urlsplit(here), urlsplit(there)
    asked, arguments = ({pair for pair in parse_arguments(parts.query) if pair[1]} for parts in (own, other))
    added = arguments - asked
    return (
        (own.netloc, own.path) == (other.netloc, other.path)
        and asked < arguments
        and len(added) == 1
        and all(PAGE.fullmatch(plain(name)) for name, _ in added)
    )


def _target(tree: TagTree, row: int) -> str:
    """Where a link leads, without fragment."""
    return urldefrag(tree.resolve(tree.attr(row, "href")) or "")[0]


def _is_marked_current(tree: TagTree, link: int) -> bool:
    """Whether a number link, or a parent that holds nothing else, is marked as the current page."""
    parent = int(tree.parent[link])
    rows = (link, parent) if tree.chars[parent] == tree.chars[link] else (link,)
    return any(
        tree.attr(row, "aria-current") not in (None, "false") or CURRENT_CLASS.search(tree.attr(row, "class") or "")
        for row in rows
    )
