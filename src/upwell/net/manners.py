"""Politeness towards servers, and limits on the resources that a server can use up."""

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.net.access import Access
from upwell.urls.hosts import host_and_port, origin_of

__all__ = ["Manners", "RequestQuota"]


@dataclass(frozen=True)
class RequestQuota:
    """Counts the requests to each server, and says when one has received as many as the user allows.

    The count of a server is the size of a file in `folder`, so that processes that send requests for one user share it.
    """

    max_requests: int
    folder: Path  # exists, and contains nothing else

    def left(self, server: object) -> int:
        """Return the number of requests that may still be sent to a server."""
        file = self._file(server)
        return max(0, self.max_requests - (file.stat().st_size if file.exists() else 0))

    def count(self, server: object) -> None:
        """Count a request."""
        with self._file(server).open("ab", buffering=0) as file:
            file.write(b".")

    def _file(self, server: object) -> Path:
        return self.folder / sha256(repr(server).encode()).hexdigest()


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
    # Hosts and addresses that the user named besides the site: each may be in a private network, and a source that a file names is sent
    # the credentials only if its address is among them.
    allow: tuple[str, ...] = ()
    access: Access = field(default_factory=Access)  # credentials and proxy of the user
    quota: "RequestQuota | None" = field(default=None, compare=False)  # limit of all Fetchers together

    def __post_init__(self) -> None:
        for name in ("rate", "retries", "longest_wait"):
            if getattr(self, name) < 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it must not be less than 0")
        for name in ("concurrency", "timeout", "connect", "first_byte", "max_bytes"):
            if getattr(self, name) <= 0:
                raise WrongUsage(f"{name}={getattr(self, name)}: it must be more than 0")
        for address in self.allow:
            if not host_and_port(address if "://" in address else f"//{address}")[0]:
                raise WrongUsage(
                    f"--allow {address}: it should be a host or an address, such as example.org or http://10.0.0.5:8080/"
                )
        if not self.agent.strip() or not (self.agent + self.contact).isprintable():
            raise WrongUsage("the agent and the contact are sent as one header: they must be plain text on one line")

    @property
    def user_agent(self) -> str:
        """Return the User-Agent header."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent

    def names(self, address: str) -> bool:
        """Return True if the user named the origin of an address with --allow."""
        return origin_of(address) in {origin_of(allowed) for allowed in self.allow}
