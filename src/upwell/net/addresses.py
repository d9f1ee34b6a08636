"""Which network addresses may be connected to: public ones, and private ones that the user named."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

from upwell.errors import Refused

__all__ = ["GuardedResolver", "is_public"]

NAT64 = ip_network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet; an IPv4 address inside an IPv6 one is judged itself.

    >>> [is_public(a) for a in ("93.184.216.34", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "2002:7f00:1::")]
    [True, False, False, False, False, False]
    """
    ip: IPv4Address | IPv6Address = ip_address(address.split("%")[0])
    if isinstance(ip, IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if embedded is None and ip in NAT64:
            embedded = IPv4Address(int(ip) & 0xFFFFFFFF)
        if embedded is not None:
            ip = embedded
    return ip.is_global and not ip.is_multicast


class GuardedResolver(AbstractResolver):
    """Resolves host names, and refuses those that lead into a private network unless the user named them.

    A host that the user named is refused too if it was public before and is private now: the owner of a domain can point it into the
    user's network (DNS rebinding).
    """

    def __init__(self) -> None:
        self.user_sites: set[tuple[str, int | None]] = set()  # host and port that the user named; None: the usual ports
        self.proxy: tuple[str, int | None] = ("", None)  # host and port; connections to it are the user's wish too
        self._public_hosts: set[str] = set()  # that resolved to a public address
        self._resolver = DefaultResolver()

    def check(self, host: str, port: int | None = None) -> None:
        """Refuses a host that is itself a private IP address; names are checked when they are resolved."""
        if self._is_named(host, port):
            return
        try:
            is_private = not is_public(host)
        except ValueError:
            return
        if is_private:
            self._refuse(host, host)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._resolver.resolve(host, port, family)
        private = [result["host"] for result in results if not is_public(result["host"])]
        if not private:
            self._public_hosts.add(host)
        elif (host, port) != self.proxy and (not self._is_named(host, port) or host in self._public_hosts):
            self._refuse(host, private[0])
        return results

    async def close(self) -> None:
        await self._resolver.close()

    def _is_named(self, host: str, port: int | None) -> bool:
        """Whether the user named this host with this port: another port of a private host is another service."""
        return (host, None if port in (0, 80, 443) else port) in self.user_sites

    def _refuse(self, host: str, address: str) -> None:
        raise Refused(
            f"{host} is at {address}, in a private network, and was reached from another site; to ask it, name it yourself"
        )
