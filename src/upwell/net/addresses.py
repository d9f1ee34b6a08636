"""Which addresses of the network may be talked to: public ones, and the private ones that the user typed."""

import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

from upwell.errors import Refused

__all__ = ["Guard", "is_loopback", "is_public"]

NAT64 = ip_network("64:ff9b::/96")  # RFC 6052: an IPv4 address is in the last 32 bits


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet; an IPv4 address inside an IPv6 one counts as itself.

    >>> [is_public(a) for a in ("93.184.216.34", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "2002:7f00:1::")]
    [True, False, False, False, False, False]
    """
    found: IPv4Address | IPv6Address = ip_address(address.split("%")[0])
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if inner is None and found in NAT64:
            inner = IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Whether a host, as it stands in an address, is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Guard(AbstractResolver):
    """Resolves names, and refuses those that lead into a private network without having been typed by the user.

    A typed name that was public once and is private later is refused too: a page's owner can change what the name means.
    """

    def __init__(self) -> None:
        self.typed: set[str] = set()
        self._public: set[str] = set()
        self._inner = DefaultResolver()

    def check(self, host: str) -> None:
        """Refuses a host that is a private address itself; names are checked when they are resolved."""
        if host in self.typed:
            return
        try:
            private = not is_public(host)
        except ValueError:
            return
        if private:
            self._refuse(host, host)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        private = [one["host"] for one in found if not is_public(one["host"])]
        if not private:
            self._public.add(host)
        elif host not in self.typed or host in self._public:
            self._refuse(host, private[0])
        return found

    async def close(self) -> None:
        await self._inner.close()

    def _refuse(self, host: str, address: str) -> None:
        raise Refused(
            f"{host} is at {address}, in a private network, and was reached from another site; to ask it, name it yourself"
        )
