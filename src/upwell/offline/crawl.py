"""Fetching the pages of a site from an entrance page: breadth first, to a depth."""

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
from upwell.store.archive import Archive
from upwell.store.state import State

__all__ = ["CrawlQueue", "Follow", "crawl"]

Follow = Literal["all", "toc"]  # every link, or only those of tables of contents
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
        """The next address, and how many clicks it is from the entrance."""
        return self._queue.popleft()

    def add(self, addresses: Iterable[str], depth: int) -> None:
        """Adds the links of a page that is so many clicks from the entrance."""
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
    entrance: str,
    depth: int,
    follow: Follow,
    budget: int,
    manners: Manners,
    *,
    state: State | None = None,
    archive: Archive | None = None,
) -> list[tuple[str, TagTree]]:
    """The pages of a site from an entrance page; with `toc` only along the links of its tables of contents (Wisdom §3.1).

    With a state, pages that an earlier run brought are not fetched again.
    """
    queue = CrawlQueue(entrance, depth)
    pages: list[tuple[str, TagTree]] = []
    site = informative.LearnedSite()
    async with Fetcher(manners, recorder=archive, memory=state) as net:
        while queue and len(pages) < budget:
            address, level = queue.pop()
            try:
                response = await net.fetch(Request(url=address))
            except (Forbidden, Unreachable):
                if not pages:
                    raise  # without the entrance there is nothing
                continue
            content_type = response.headers.get("Content-Type", "text/html")
            if response.status >= 400 or "html" not in content_type:
                if not pages:
                    raise Unreachable(
                        f"{address} answered with status {response.status} and {content_type}; it is no page to start from"
                    )
                continue
            tree = read_page(response.body, response.url, response.headers)
            pages.append((address, tree))
            if follow == "toc":
                site.add(tree)
                tocs = [block for block in informative.read_blocks(tree, site).blocks if block.type == "toc"]
                queue.add((link for toc in tocs for _, link in informative.entries_of(tree, toc)), level)
            else:
                queue.add((link for _, link in tree.links()), level)
    return pages
