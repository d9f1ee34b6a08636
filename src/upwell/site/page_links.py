"""Which links of a page may be followed to look for a way in, and which first; what acts is never followed."""

import re
from collections.abc import Iterator
from urllib.parse import urldefrag, urlsplit

from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.site.forms import SEARCH

__all__ = ["inside", "onward"]

NO_SECTION = re.compile(
    r"help|faq|about|privacy|terms|imprint|legal|contact|cookie|blog/|news/|feed|rss|atom|sitemap|docs?/|special:", re.I
)


def inside(url: str, home: str) -> bool:
    """Whether an address belongs to the site of the home page: its host, with or without `www.`, or a host below it."""
    here, there = (urlsplit(address).hostname or "" for address in (url, home))
    base = there.removeprefix("www.")
    return bool(here) and (here in (there, base) or here.endswith(f".{base}"))


def onward(tree: TagTree) -> tuple[tuple[bool, str], ...]:
    """Links worth opening to find a search form, best first, each with whether it speaks of searching.

    Those that speak of searching come first; then what looks like a section: few arguments, a short path, links of menus
    and main part before those of the footer. Of links that differ only in the values of arguments, or in the last step
    of a long path, one is enough.
    """
    found: dict[str, tuple[float, bool]] = {}
    for row, address in tree.links():
        address = urldefrag(address)[0]
        text = " ".join([tree.text(row), tree.attr(row, "title") or "", tree.attr(row, "aria-label") or ""]).strip()
        if not inside(address, tree.url) or acts(address, text) or not is_page(address):
            continue
        if address in (tree.url, urldefrag(tree.url)[0]):
            continue
        parts = urlsplit(address)
        spoken = bool(SEARCH.search(text) or SEARCH.search(parts.path))
        worth = (
            4.0 * spoken
            + 1.0
            * bool(
                re.search(
                    r"advanced|catalog|katalog|browse|database|collection|archive|records|list",
                    f"{text} {parts.path}",
                    re.I,
                )
            )
            - 0.5 * len([step for step in parts.path.split("/") if step])
            - 0.5 * len(parts.query) / 20
            - 1.5 * bool(NO_SECTION.search(f"{parts.path}{text}"))
            - 1.0 * any(tree.name(above) == "footer" for above in tree.ancestors(row))
        )
        if worth > found.get(address, (-99.0, False))[0]:
            found[address] = (worth, spoken)
    ranked = sorted(found.items(), key=lambda item: -item[1][0])
    return tuple((spoken, address) for address, (_, spoken) in _apart(ranked))


def _apart(ranked: list[tuple[str, tuple[float, bool]]]) -> Iterator[tuple[str, tuple[float, bool]]]:
    """The first three of each shape of address: a menu has several sections, a list of records has hundreds."""
    shapes: dict[tuple[object, ...], int] = {}
    for address, rest in ranked:
        parts = urlsplit(address)
        steps = parts.path.split("/")
        shape = (parts.netloc, *steps[:-1], len(steps), *re.findall(r"(?:^|[&;])([^=&;]*)", parts.query))
        shapes[shape] = shapes.get(shape, 0) + 1
        if shapes[shape] <= 3:
            yield address, rest
