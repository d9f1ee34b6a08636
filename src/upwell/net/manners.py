"""How politely servers are asked, and the limits on what they can do to us."""

from dataclasses import dataclass, field

from upwell.errors import WrongUsage
from upwell.net.access import Access

__all__ = ["Manners"]


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How politely servers are asked, and the limits on what they can do to us."""

    rate: float = 1.0  # requests a second to one host; 0: no limit, on loopback only
    concurrency: int = 2  # requests at once to one host
    agent: str = "Upwell/0.2"  # how Upwell calls itself
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
    # seconds; a server that asks for more with Retry-After is left alone, and so is one that refuses connections for longer
    longest_wait: float = 120.0
    access: Access = field(default_factory=Access)  # what lets the user in: cookies, headers, a password, a proxy …

    def __post_init__(self) -> None:
        for name in ("rate", "retries", "longest_wait"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it cannot be less than 0")
        for name in ("concurrency", "timeout", "connect", "first_byte", "max_bytes"):
            if getattr(self, name) <= 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it must be more than 0")
        if not self.agent.strip() or not (self.agent + self.contact).isprintable():
            raise WrongUsage("the agent and the contact are sent as one header: plain text on one line")

    @property
    def user_agent(self) -> str:
        """The User-Agent header."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent
