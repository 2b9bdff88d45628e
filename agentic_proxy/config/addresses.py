"""Addresses in a configuration: upstream base URLs, outbound proxies, bind hosts."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
ENCODE = "is not read as it is meant: in a user name or password write / ? # @ [ ] as %2F %3F %23 %40 %5B %5D"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@\\]*|null")


def normalise_base_url(url: str, *, append_v1: bool = True) -> str:
    """The base URL that endpoint paths are put behind: no trailing slash, ``/v1`` where no path was given.

    Raises ValueError with a text for people that does not repeat the URL.
    """
    parts = _split(url)
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise ValueError("must end with a path, without ? or #")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user name or password; use api_key or headers")
    path = parts.path.rstrip("/")
    if not path and append_v1:
        path = "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def check_proxy(url: str) -> str:
    """The outbound proxy's URL as given. Raises ValueError with a text that does not repeat it."""
    parts = _split(url)
    if "@" in parts.path + parts.query + parts.fragment:
        raise ValueError(ENCODE)
    return url.strip()


def check_database(url: str) -> None:
    """Raises ValueError where a part of a database's password would be read as something else, and then be looked up,
    or shown in an error, because it is written as it is."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(ENCODE) from None
    hosts = parts.netloc.rpartition("@")[2].split(",")
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts]
    strange = any(port and not port.isdecimal() for port in ports) or parts.netloc.count("@") > 1 or parts.fragment
    if strange or "@" in parts.path or "@" in parts.query.partition("=")[0]:
        raise ValueError(ENCODE)


def is_bindable(host: str) -> bool:
    """Whether this could be an address, or the name of one: without a port or a scheme."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return re.fullmatch(r"[A-Za-z0-9._-]+", host) is not None
    return True


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach a listener on ``host``."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def host_name(value: str) -> str | None:
    """The name part of a ``Host`` value in lower case, without the port; None if it is malformed."""
    match = _HOST.fullmatch(value.lower())
    return match[1] if match else None


def listed_host(value: str) -> str | None:
    """The same of a name that a configuration lists: there an IPv6 address may stand without brackets."""
    try:
        ipaddress.IPv6Address(value)
    except ValueError:
        return host_name(value)
    return f"[{value.lower()}]"


def is_origin(value: str) -> bool:
    """Whether an ``Origin`` header could be this, character by character."""
    return _ORIGIN.fullmatch(value) is not None


def _split(url: str) -> SplitResult:
    url = url.strip()
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError("must not hold spaces")
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
        parts = SplitResult("", "", "", "", "")
    if not known:
        raise ValueError("must be a URL that begins with http:// or https:// and names a host")
    return parts
