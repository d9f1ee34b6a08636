"""How politely servers are asked, and the limits on what they can do to us."""

from dataclasses import dataclass

__all__ = ["Manners"]


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How politely servers are asked, and the limits on what they can do to us."""

    rate: float = 1.0  # requests a second to one host; 0: no limit, on loopback only
    concurrency: int = 2  # requests at once to one host
    agent: str = "Upwell/0.1"
    contact: str = ""  # an address that the owner of a site can write to; sent as part of the agent
    ignore_robots: bool = False  # only for a site of your own
    timeout: float = 30.0  # seconds for the whole answer
    connect: float = 10.0  # seconds to connect
    first_byte: float = 20.0  # seconds to wait for the next byte
    max_bytes: int = 20_000_000  # of an answer after decompression
    retries: int = 4  # how often a failed request is sent again
    longest_crawl_delay: float = (
        300.0  # seconds; a larger Crawl-delay counts as this much (as Heritrix, respectCrawlDelayUpToSeconds)
    )
    longest_wait: float = 120.0  # seconds; a server that asks for more with Retry-After is left alone

    @property
    def user_agent(self) -> str:
        """The User-Agent header."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent
