"""What to fetch next when a site is walked from an entrance page: its own pages, breadth first, to a depth."""

import re
from collections import deque
from collections.abc import Iterable
from urllib.parse import urldefrag, urlsplit

__all__ = ["Frontier"]

# Links that act, and addresses that are no pages (DESIGN §7).
ACTS = re.compile(
    r"(?:^|[/?&=_.-])(?:log-?(?:out|in|off)|sign-?(?:out|in|up)|delete|remove|add-?to-?(?:cart|basket)|cart|checkout|unsubscribe|edit|"
    r"register|vote|report|reply|share|print)(?:$|[/?&=_.-])",
    re.I,
)
NO_PAGE = re.compile(
    r"\.(?:jpe?g|png|gif|svg|webp|ico|css|js|json|xml|rss|atom|pdf|zip|gz|tar|mp[34]|avi|mov|exe|docx?|xlsx?|pptx?|csv|txt)$",
    re.I,
)


class Frontier:
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
            if not NO_PAGE.search(parts.path) and not ACTS.search(f"{parts.path}?{parts.query}"):
                self._queue.append((plain, depth + 1))
