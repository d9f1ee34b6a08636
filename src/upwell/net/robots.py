"""robots.txt as specified by RFC 9309."""

import asyncio
import codecs
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from protego import Protego

from upwell.errors import Forbidden, Unreachable
from upwell.types import Response
from upwell.urls.hosts import is_valid

__all__ = ["MAX_AGE_SECONDS", "Robots"]

MAX_BYTES = 512_000  # RFC 9309 §2.5: at least 500 KiB
MAX_AGE_SECONDS = 24 * 3600.0  # RFC 9309 §2.4: a copy should not be used for longer
FAILURE_AGE_SECONDS = 600.0  # after which a robots.txt that failed is requested again
MAX_REASONS = 200  # Disallow lines tested to name the one that forbids a URL
ALLOW_NOTHING = "User-agent: *\nDisallow: /"
MARKS = (  # byte order marks; that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_rules(body: bytes, content_type: str = "") -> str:
    """Decode a robots.txt. RFC 9309 §2.3 requires UTF-8; a text in UTF-16 or UTF-32 is obeyed too, because its author meant its rules.

    What still contains zero bytes is no text: its rules cannot be known, so everything is forbidden, as for a robots.txt that cannot be fetched
    (RFC 9309 §2.3.1.4).

    >>> decode_rules("Disallow: /a".encode("utf-16")), decode_rules("Disallow: /a".encode("utf-16-be"))
    ('Disallow: /a', 'Disallow: /a')
    """
    charset = re.search(r"charset\s*=\s*[\"']?(utf-?(?:16|32)(?:-?[lb]e)?)", content_type, re.I)
    encoding = next((name for mark, name in MARKS if body.startswith(mark)), charset[1] if charset else "utf-8")
    if (
        encoding == "utf-8" and b"\0" in body[:200]
    ):  # an ASCII letter has its zero byte before it (big-endian) or behind it
        encoding = "utf-16-be" if body[:1] == b"\0" else "utf-16-le"
    text = body.decode(encoding, "replace").removeprefix("\ufeff")
    return ALLOW_NOTHING if "\0" in text else text


@dataclass(frozen=True)
class _Rules:
    text: str
    parsed: Protego
    expires: float  # on the monotonic clock
    failure: str  # why everything is forbidden although no rule says so; "": the rules were read


class Robots:
    """Rules of each host, fetched once and used for a day."""

    def __init__(self, agent: str, fetch: Callable[[str], Awaitable[Response]]) -> None:
        self.agent, self._fetch = agent, fetch
        self._rules: dict[str, _Rules] = {}  # by origin: scheme, host and port
        self._locks: dict[str, asyncio.Lock] = {}

    async def check(self, url: str) -> None:
        """Raise Forbidden if the host's rules disallow a URL; the message names the rule."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        rules = self._rules.get(origin)
        if rules is None or rules.expires < time.monotonic():
            async with self._locks.setdefault(origin, asyncio.Lock()):
                rules = self._rules.get(origin)
                if rules is None or rules.expires < time.monotonic():
                    rules = self._rules[origin] = await self._load(origin)
        if rules.text and not rules.parsed.can_fetch(url, self.agent):
            raise Forbidden(
                f"robots.txt of {parts.netloc} forbids {parts.path or '/'} to {self.agent} by {self._reason(rules, url)}; "
                "use --ignore-robots only for a site of your own"
            )

    def crawl_delay(self, url: str) -> float:
        """Return the Crawl-delay of the host in seconds; 0 if there is none."""
        parts = urlsplit(url)
        rules = self._rules.get(f"{parts.scheme}://{parts.netloc}")
        return float((rules.parsed.crawl_delay(self.agent) if rules and rules.text else None) or 0.0)

    def sitemaps(self, url: str) -> tuple[str, ...]:
        """Return the sitemaps that the host names, once its rules were fetched."""
        parts = urlsplit(url)
        rules = self._rules.get(f"{parts.scheme}://{parts.netloc}")
        named = rules.parsed.sitemaps if rules and rules.text else ()
        return tuple(
            urljoin(f"{parts.scheme}://{parts.netloc}/", place) for place in named if is_valid(place)
        )  # relative ones are common mistakes

    async def _load(self, origin: str) -> _Rules:
        """Fetch the rules of a host: 4xx allows everything, 5xx and 429 forbid everything (RFC 9309 §2.3.1)."""
        response = await self._fetch(f"{origin}/robots.txt")
        if response.status >= 500 or response.status == 429:
            text = ALLOW_NOTHING
        elif response.status >= 300:
            text = ""
        else:
            text = decode_rules(response.body[:MAX_BYTES], response.headers.get("Content-Type", ""))
        try:
            parsed = Protego.parse(text)
        except (ValueError, RecursionError) as error:
            raise Unreachable(
                f"{origin}/robots.txt cannot be read ({error}); use --ignore-robots only for a site of your own"
            ) from error
        failure = ""
        if text is ALLOW_NOTHING:
            cause = "being no text" if response.status < 300 else "answering with an error"
            failure = f"{cause} (RFC 9309: then everything is forbidden)"
        max_age = FAILURE_AGE_SECONDS if failure else MAX_AGE_SECONDS
        return _Rules(text, parsed, time.monotonic() + max_age, failure)

    def _reason(self, rules: _Rules, url: str) -> str:
        """Return the longest Disallow line that matches a URL (RFC 9309 §2.2.2), for the message."""
        if rules.failure:
            return rules.failure
        paths = sorted(
            set(re.findall(r"(?im)^[ \t]*+disallow[ \t]*+:[ \t]*+([^\s#]++)", rules.text)), key=lambda path: -len(path)
        )[:MAX_REASONS]
        for path in paths:
            if not Protego.parse(f"User-agent: *\nDisallow: {path}").can_fetch(url, self.agent):
                return f"“Disallow: {path}”"
        return "its rules"
