"""How the URL of a link fits as the next page of the answer that it stands on."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from upwell.page.tree import TagTree
from upwell.page.url_arguments import numbers_by_place, parse_arguments, split

__all__ = ["keeps_arguments", "repeats_search", "step_up", "url_score", "url_similarity"]

INDEX_FILE = re.compile(r"(?<=/)index\d*\.\w+$", re.I)  # what a folder shows, and its further pages
TEXT_BOXES = ("text", "search")
MAX_POSITION = 100_000_000  # a larger number is a time or an identifier, no position in a list
MAX_KNOWN_PAIRS = 500  # that are remembered: one link is often the next number, the next page and a likely one


def url_score(page_url: str, url: str) -> float:
    """How well a URL fits as the next page of the search that this page shows: the same path, a number counted up."""
    step = step_up(page_url, url)
    return url_similarity(page_url, url) + (1.5 if step == 1 else 1.0 if step > 1 else -1.0 if step == 0 else -2.0)


@lru_cache(maxsize=MAX_KNOWN_PAIRS)
def step_up(page_url: str, url: str) -> int:
    """The smallest increase of a number from one URL to another; a new number counts as 1.

    0 if no number changes, -1 if numbers only go down.
    """
    before, after = numbers_by_place(page_url), numbers_by_place(url)
    changes = [
        1 if place not in before else number - before[place]
        for place, number in after.items()
        if number != before.get(place) and number <= MAX_POSITION
    ]
    increases = [change for change in changes if change > 0]
    return min(increases) if increases else -1 if changes else 0


def keeps_arguments(page_url: str, url: str) -> bool:
    """Whether a URL has all arguments of this page's URL, of which only numbers may change; true if that URL is not known."""
    arguments = parse_arguments(urlsplit(url).query)
    names = {name for name, _ in arguments}
    return all(
        (name, value) in arguments or not value or (value.isdigit() and name in names)
        for name, value in parse_arguments(urlsplit(page_url).query)
    )


@lru_cache(maxsize=MAX_KNOWN_PAIRS)
def url_similarity(page_url: str, url: str) -> float:
    """1 if one path begins with the other, 0.5 if they share a folder or an argument, else -1; numbers are alike."""
    if not page_url:
        return 0.5  # the URL of the page is not known: nothing speaks against it
    here, there = urlsplit(page_url), urlsplit(url)
    here_path, there_path = (
        [re.sub(r"\d+", "#", s) for s in INDEX_FILE.sub("", u.path).strip("/").split("/")] for u in (here, there)
    )
    shorter = min(len(here_path), len(there_path))
    if here_path[:shorter] == there_path[:shorter]:
        return 1.0
    shared = set(parse_arguments(here.query)) & set(parse_arguments(there.query))
    is_same_folder = len(here_path) > 1 and here_path[:-1] == there_path[: len(here_path) - 1]
    return 0.5 if is_same_folder or any(value for _, value in shared) else -1.0


def repeats_search(tree: TagTree, url: str, query: str) -> bool:
    """Whether a URL repeats what was asked: the query, an argument of this page's URL, or the text in one of its text boxes."""
    address = split(url, query)
    texts = {value.strip().lower() for _, value in address.arguments if not value.strip().isdigit()}
    texts |= {segment.lower() for segment in address.place.split("/")[1:]}
    texts = {text for text in texts if text and not text.isdigit()}
    asked = [query, *(value for _, value in split(tree.url, query).arguments)]
    if any(text.strip().lower() in texts for text in asked):
        return True
    boxes = [row for row in tree.rows("input").tolist() if (tree.attr(row, "type") or "text").lower() in TEXT_BOXES]
    return any((tree.attr(row, "value") or "").strip().lower() in texts for row in boxes)
