"""What to fetch next when a site is walked from an entrance page: its own pages, breadth first, to a depth."""

import re
from collections import deque
from collections.abc import Iterable
from typing import Literal
from urllib.parse import urldefrag, urlsplit

from upwell.errors import Forbidden, Unreachable
from upwell.extract import blocks as informative
from upwell.model import Request
from upwell.net.fetch import Fetcher, Manners
from upwell.page.data import read_page
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree

__all__ = ["CrawlQueue", "crawl"]

PRINT_VIEW = re.compile(r"(?:^|[/?&=_.-])print(?:$|[/?&=_.-])", re.I)  # a page that is there already, for the printer


class CrawlQueue:
    """The addresses still to fetch, each once, on the entrance's host and no deeper than was asked for."""

    def __init__(self, entrance: str, depth: int) -> None:
        self.host = urlsplit(entrance).netloc
        self.depth = depth
        self._seen = {urldefrag(entrance).url}
        self._queue = deque([(entrance, 0)])

    def __bool__(self) -> bool:
        return bool(self._queue)

    def pop(self) -> tuple[str, int]:
        """The next address, and how far it is from the entrance."""
        return self._queue.popleft()

    def add(self, addresses: Iterable[str], depth: int) -> None:
        """The links of a page that stood at this depth."""
        if depth >= self.depth:
            return
        for address in addresses:
            plain = urldefrag(address).url
            parts = urlsplit(plain)
            if parts.netloc != self.host or plain in self._seen:
                continue
            self._seen.add(plain)
            is_print_view = PRINT_VIEW.search(f"{parts.path}?{parts.query}")
            if is_page(plain) and not acts(plain) and not is_print_view:
                self._queue.append((plain, depth + 1))


async def crawl(
    entrance: str, depth: int, follow: Literal["all", "toc"], budget: int, manners: Manners
) -> list[tuple[str, TagTree]]:
    """The pages of a site from an entrance page; with `toc` only along links that inform (Wisdom §3.1)."""
    queue = CrawlQueue(entrance, depth)
    pages: list[tuple[str, TagTree]] = []
    site = informative.Site()
    async with Fetcher(manners) as net:
        while queue and len(pages) < budget:
            address, level = queue.pop()
            try:
                response = await net.fetch(Request(url=address))
            except (Forbidden, Unreachable):
                if not pages:
                    raise  # without the entrance there is nothing
                continue
            kind = response.headers.get("Content-Type", "text/html")
            if response.status >= 400 or "html" not in kind:
                if not pages:
                    raise Unreachable(
                        f"{address} answered with status {response.status} and {kind}; it is no page to start from"
                    )
                continue
            tree = read_page(response.body, response.url, response.headers)
            pages.append((address, tree))
            if follow == "toc":
                site.add(tree)
                known = informative.read_blocks(tree, site).blocks
                queue.add((a for b in known if b.type == "toc" for a in informative.links_of(tree, b)), level)
            else:
                queue.add((found for _, found in tree.links()), level)
    return pages
