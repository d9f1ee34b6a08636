"""Politeness towards servers, and limits on the resources that a server can use up."""

from dataclasses import dataclass, field

from upwell.errors import WrongUsage
from upwell.net.access import Access

__all__ = ["Manners"]


@dataclass(frozen=True, kw_only=True)
class Manners:
    """Request rate and retries, identification, timeouts and size limits of a Fetcher."""

    rate: float = 1.0  # requests per second to one host; 0: no limit, on loopback only
    concurrency: int = 2  # simultaneous requests to one host
    agent: str = "Upwell/0.2"  # product name in the User-Agent header
    contact: str = ""  # address that the owner of a site can write to; sent as part of the User-Agent header
    ignore_robots: bool = False  # only for a site of your own
    timeout: float = 30.0  # seconds for the whole answer
    connect: float = 10.0  # seconds to connect
    first_byte: float = 20.0  # seconds to wait for the next byte
    max_bytes: int = 20_000_000  # of an answer after decompression
    retries: int = 4  # times that a failed request is sent again
    longest_crawl_delay: float = (
        300.0  # seconds; a larger Crawl-delay counts as this much (as Heritrix, respectCrawlDelayUpToSeconds)
    )
    # seconds; a server whose Retry-After is longer, or that refuses connections for longer, is given up
    longest_wait: float = 120.0
    access: Access = field(default_factory=Access)  # credentials and proxy of the user

    def __post_init__(self) -> None:
        for name in ("rate", "retries", "longest_wait"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it must not be less than 0")
        for name in ("concurrency", "timeout", "connect", "first_byte", "max_bytes"):
            if getattr(self, name) <= 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it must be more than 0")
        if not self.agent.strip() or not (self.agent + self.contact).isprintable():
            raise WrongUsage("the agent and the contact are sent as one header: they must be plain text on one line")

    @property
    def user_agent(self) -> str:
        """Return the User-Agent header."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent
