"""Where a tool may connect to: a host that was allowed by name, at an address that is public or was allowed itself.

The name is resolved here, every address is looked at, and the connection goes to one that passed: a second resolution
cannot lead elsewhere. Allowing ``localhost`` or an address of this machine allows all names of this machine.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from agentic_proxy.config.addresses import is_loopback

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]
PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_6TO4 = ipaddress.ip_network("2002::/16")


class Refused(Exception):
    """The policy forbids it. The text names the host, never a path or a credential."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that the policy let through: where a connection goes, before its name is resolved."""

    host: str
    port: int


class NetPolicy:
    """``allowed`` are ``host`` or ``host:port`` in lower case; ``resolve`` gives the addresses of a name. ``anywhere``:
    a host that the configuration itself names may be inside too."""

    def __init__(self, allowed: Iterable[str], resolve: Resolve | None = None, *, anywhere: bool = False) -> None:
        self._allowed = frozenset(allowed)
        self._here = any(is_loopback(_host_of(entry)) for entry in self._allowed)
        self._anywhere = anywhere
        self._resolve = resolve or system_addresses

    def check_url(self, url: str) -> Endpoint:
        """Raises Refused unless this is a plain HTTP(S) URL of an allowed host."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise Refused("is not a URL") from None
        host = (parts.hostname or "").rstrip(".").lower()
        if parts.scheme not in PORTS or not host:
            raise Refused("must begin with http:// or https:// and name a host")
        if parts.username is not None or parts.password is not None:
            raise Refused("must not hold a user name or password")
        endpoint = Endpoint(host, port or PORTS[parts.scheme])
        if not self._listed(endpoint, parts):
            raise Refused(f"names the host {host[:100]!r}, which is not allowed here")
        return endpoint

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, one at least, to each of which a connection may go. Raises Refused when any of them
        may not be connected to: a name that leads inside is a trap."""
        literal = _literal(host)
        found = [str(literal)] if literal is not None else await self._resolved(host, port)
        for each in found:
            if not self._may(host, port, each):
                raise Refused(f"leads to {each}, an address inside a private network")
        return found

    async def _resolved(self, host: str, port: int) -> list[str]:
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise Refused(f"names the host {host[:100]!r}, which cannot be found")
        return found

    def _listed(self, endpoint: Endpoint, parts: SplitResult) -> bool:
        name = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        if name in self._allowed or endpoint.host in self._allowed or f"{name}:{endpoint.port}" in self._allowed:
            return True
        if not is_loopback(endpoint.host):
            return False
        return any(is_loopback(_host_of(entry)) and _port_of(entry) in (None, endpoint.port) for entry in self._allowed)

    def _may(self, host: str, port: int, text: str) -> bool:
        address = _literal(text)
        if address is None:
            return False
        if self._anywhere or _public(address):
            return True
        if address.is_loopback:
            return self._here and is_loopback(host)
        name = f"[{address}]" if address.version == 6 else str(address)
        return bool({name, str(address), f"{name}:{port}"} & self._allowed)


async def system_addresses(host: str, port: int) -> list[str]:
    """The addresses that this system's resolver gives, in its order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _public(address: Address) -> bool:
    """Whether anybody on the internet could be there. IPv4 inside IPv6 is looked at as what it is."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour if address in _6TO4 or address.ipv4_mapped else None
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _public(inner)
        if address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _literal(host: str) -> Address | None:
    """The address that a host is written as, in the usual form only: what others would read as an address (``127.1``,
    ``0x7f.1``) is a name here and goes through the resolver and the check behind it."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _host_of(entry: str) -> str:
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry if entry.count(":") > 1 else entry.partition(":")[0]


def _port_of(entry: str) -> int | None:
    port = entry.rpartition("]")[2] if entry.startswith("[") else entry
    digits = port.rpartition(":")[2] if port.count(":") == 1 else ""
    return int(digits) if digits.isdigit() else None
