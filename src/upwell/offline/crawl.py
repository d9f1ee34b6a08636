"""Breadth-first crawl of a site from an entrance page to a given depth."""

import re
from collections import deque
from collections.abc import Iterable
from typing import Literal
from urllib.parse import urldefrag, urlsplit

from upwell.content import main_content
from upwell.errors import Forbidden, Unreachable
from upwell.net.fetch import Fetcher, Manners
from upwell.page.formats import read_page
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.store.archive import Archive
from upwell.store.state import State
from upwell.types import Request

__all__ = ["CrawlQueue", "Follow", "crawl"]

Follow = Literal["all", "toc"]  # every link, or only those in tables of contents
PRINT_VIEW = re.compile(r"(?:^|[/?&=_.-])print(?:$|[/?&=_.-])", re.I)  # printer-friendly copy of another page


class CrawlQueue:
    """Queue of distinct URLs on the entrance's host, up to the given depth."""

    def __init__(self, entrance: str, depth: int) -> None:
        self.host = urlsplit(entrance).netloc
        self.depth = depth
        self._seen = {urldefrag(entrance).url}
        self._queue = deque([(entrance, 0)])

    def __bool__(self) -> bool:
        return bool(self._queue)

    def pop(self) -> tuple[str, int]:
        """Return the next URL and its distance from the entrance in clicks."""
        return self._queue.popleft()

    def add(self, addresses: Iterable[str], depth: int) -> None:
        """Add the links of a page at distance `depth` from the entrance."""
        if depth >= self.depth:
            return
        for address in addresses:
            url = urldefrag(address).url
            parts = urlsplit(url)
            if parts.netloc != self.host or url in self._seen:
                continue
            self._seen.add(url)
            is_print_view = PRINT_VIEW.search(f"{parts.path}?{parts.query}")
            if is_page(url) and not acts(url) and not is_print_view:
                self._queue.append((url, depth + 1))


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
    """Fetch pages of a site, beginning at an entrance page; with `toc`, follow only links of tables of contents (Wisdom §3.1).

    With a state, pages fetched by an earlier run are not requested again.
    """
    queue = CrawlQueue(entrance, depth)
    pages: list[tuple[str, TagTree]] = []
    site = main_content.LearnedSite()
    async with Fetcher(manners, user_urls=(entrance,), recorder=archive, memory=state) as net:
        while queue and len(pages) < budget:
            address, level = queue.pop()
            try:
                response = await net.fetch(Request(url=address))
            except (Forbidden, Unreachable):
                if not pages:
                    raise  # the entrance page is required
                continue
            content_type = response.headers.get("Content-Type", "text/html")
            if response.status >= 400 or "html" not in content_type:
                if not pages:
                    raise Unreachable(
                        f"{address} answered with status {response.status} and {content_type}; start from an HTML page"
                    )
                continue
            tree = read_page(response.body, response.url, response.headers, reveals=True)
            pages.append((address, tree))
            if follow == "toc":
                site.add(tree)
                tocs = [block for block in main_content.find_blocks(tree, site) if block.type == "toc"]
                queue.add((link for toc in tocs for _, link in main_content.linked_entries(tree, toc)), level)
            else:
                queue.add((link for _, link in tree.links()), level)
    return pages
