"""robots.txt as RFC 9309 has it."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from protego import Protego

from upwell.errors import Forbidden, Unreachable
from upwell.model import Response

__all__ = ["FRESH", "Robots"]

BYTES = 512_000  # RFC 9309 §2.5: at least 500 KiB
FRESH = 24 * 3600.0  # RFC 9309 §2.4: seconds that it is kept at the most
NOTHING = "User-agent: *\nDisallow: /"


@dataclass(frozen=True)
class _Rules:
    text: str
    parsed: Protego
    until: float
    failed: bool  # the host answered with an error: the rules are not its own


class Robots:
    """The rules of each host, fetched once and kept for a day."""

    def __init__(self, agent: str, get: Callable[[str], Awaitable[Response]]) -> None:
        self.agent, self._get = agent, get
        self._rules: dict[str, _Rules] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def check(self, url: str) -> None:
        """Raises Forbidden where the host's rules do not allow the address; the message names the rule."""
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        rules = self._rules.get(place)
        if rules is None or rules.until < time.monotonic():
            async with self._asking.setdefault(place, asyncio.Lock()):
                rules = self._rules.get(place)
                if rules is None or rules.until < time.monotonic():
                    rules = self._rules[place] = await self._fetch(place)
        if rules.text and not rules.parsed.can_fetch(url, self.agent):
            raise Forbidden(
                f"robots.txt of {parts.netloc} forbids {parts.path or '/'} to {self.agent} by {self._rule(rules, url)}; "
                "use --ignore-robots only for a site of your own"
            )

    def delay(self, url: str) -> float:
        """The Crawl-delay that the host asks for, in seconds."""
        parts = urlsplit(url)
        rules = self._rules.get(f"{parts.scheme}://{parts.netloc}")
        return float((rules.parsed.crawl_delay(self.agent) if rules and rules.text else None) or 0.0)

    async def _fetch(self, place: str) -> _Rules:
        """§2.3.1: 4xx allows everything, 5xx forbids everything; a host that does not answer cannot be asked anyway."""
        response = await self._get(f"{place}/robots.txt")
        if response.status >= 500:
            text = NOTHING
        elif response.status >= 300:
            text = ""
        else:
            text = response.body[:BYTES].decode("utf-8-sig", "replace")
        try:
            parsed = Protego.parse(text)
        except (ValueError, RecursionError) as error:
            raise Unreachable(
                f"{place}/robots.txt cannot be read ({error}); use --ignore-robots only for a site of your own"
            ) from error
        return _Rules(text, parsed, time.monotonic() + FRESH, response.status >= 500)

    def _rule(self, rules: _Rules, url: str) -> str:
        """The longest Disallow line that forbids the address (RFC 9309 §2.2.2)."""
        if rules.failed:
            return "answering with an error (RFC 9309: then everything is forbidden)"
        paths = sorted(set(re.findall(r"(?im)^\s*disallow\s*:\s*([^\s#]+)", rules.text)), key=lambda path: -len(path))
        for path in paths:
            if not Protego.parse(f"User-agent: *\nDisallow: {path}").can_fetch(url, self.agent):
                return f"“Disallow: {path}”"
        return "its rules"
