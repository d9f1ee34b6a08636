"""How politely, and within what limits, the world is talked to."""

from dataclasses import dataclass

__all__ = ["Manners"]


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How politely, and within what limits, the world is talked to."""

    rate: float = 1.0  # requests a second and host; 0: no limit, on loopback only
    concurrency: int = 2  # requests at once and host
    agent: str = "Upwell/0.1"
    contact: str = ""  # an address that the host's owner can write to; part of the agent
    ignore_robots: bool = False  # for one's own site
    timeout: float = 30.0  # seconds for a whole answer
    connect: float = 10.0  # seconds for a connection
    first_byte: float = 20.0  # seconds without a byte
    max_bytes: int = 20_000_000  # of an answer, decompressed
    retries: int = 4  # times that a failed request is sent again
    longest_wait: float = 120.0  # seconds that a server can make us wait with Retry-After

    @property
    def user_agent(self) -> str:
        """The agent as it is sent."""
        return f"{self.agent} (+{self.contact})" if self.contact else self.agent
