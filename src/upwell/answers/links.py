"""The links of an answer: the next page."""

import re
from urllib.parse import parse_qsl, urlsplit

from upwell.page.tree import TagTree

__all__ = ["next_page"]

NEXT = re.compile(
    r"^\W*(?:next(?: page)?|more(?: results)?|weiter|nächste(?: seite)?|suivante?|siguiente|seguinte|próxim[ao]|successiv[ao]|avanti|"
    r"volgende|nästa|neste|næste|seuraava|další|następna|dalej|далее|следующая|вперед|次へ?|次の\w*|下一页|下一頁|다음)\b\W*$|^\s*[›»→>]+\s*$",
    re.I,
)


def next_page(tree: TagTree) -> str | None:
    """The address of the next page of an answer: rel=next, else a link that says so and differs little from this page's address."""
    for row in tree.rows("link", "a"):
        if "next" in (tree.attr(row, "rel") or "").lower().split():
            address = tree.resolve(tree.attr(row, "href"))
            if address and address != tree.url:
                return address
    for row, address in tree.links():
        said = [tree.text(row), tree.attr(row, "title") or "", tree.attr(row, "aria-label") or ""]
        if any(NEXT.match(words) for words in said if words) and _same_search(tree.url, address):
            return address
    return None


def _same_search(here: str, there: str) -> bool:
    """Whether an address can be another page of the same search: the same host, and the same path or a common argument."""
    a, b = urlsplit(here), urlsplit(there)
    if a.netloc != b.netloc or there == here:
        return False
    theirs = parse_qsl(b.query)
    return a.path == b.path or not a.query or any(pair in theirs for pair in parse_qsl(a.query))
