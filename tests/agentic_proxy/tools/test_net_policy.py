"""Where a tool may connect to: hosts by name, addresses by what they are."""

from __future__ import annotations

import pytest

from agentic_proxy.tools.net_policy import Endpoint, NetPolicy, Refused, system_addresses

PUBLIC = "93.184.215.14"


def resolver(*addresses: str) -> object:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


def policy(*allowed: str, to: tuple[str, ...] = (PUBLIC,), anywhere: bool = False) -> NetPolicy:
    return NetPolicy(allowed, resolver(*to), anywhere=anywhere)  # type: ignore[arg-type]


ALLOWED = [
    (("mcp.example.com",), "https://mcp.example.com/sse?x=1", Endpoint("mcp.example.com", 443)),
    (("mcp.example.com",), "HTTPS://MCP.Example.COM./", Endpoint("mcp.example.com", 443)),
    (("mcp.example.com:8443",), "https://mcp.example.com:8443/", Endpoint("mcp.example.com", 8443)),
    (("127.0.0.1",), "http://localhost:99/mcp", Endpoint("localhost", 99)),
    (("127.0.0.1:99",), "http://localhost:99/mcp", Endpoint("localhost", 99)),
    (("localhost",), "http://[::1]:99/mcp", Endpoint("::1", 99)),
    (("[::1]:99",), "http://[::1]:99/mcp", Endpoint("::1", 99)),
    (("192.168.1.5",), "http://192.168.1.5/mcp", Endpoint("192.168.1.5", 80)),
]


@pytest.mark.parametrize(("allowed", "url", "expected"), ALLOWED)
def test_an_allowed_host_passes(allowed: tuple[str, ...], url: str, expected: Endpoint) -> None:
    assert policy(*allowed).check_url(url) == expected


REFUSED = [
    ((), "https://mcp.example.com/"),
    (("example.com",), "https://mcp.example.com/"),
    (("mcp.example.com",), "https://mcp.example.com.evil.example/"),
    (("mcp.example.com:8443",), "https://mcp.example.com/"),
    (("mcp.example.com",), "https://user@mcp.example.com/"),
    (("mcp.example.com",), "https://mcp.example.com:hunter2@evil.example/"),
    (("mcp.example.com",), "ftp://mcp.example.com/"),
    (("mcp.example.com",), "file:///etc/passwd"),
    (("mcp.example.com",), "//mcp.example.com/"),
    (("mcp.example.com",), "mcp.example.com"),
    (("mcp.example.com",), "https://mcp.example.com:99999/"),
    (("mcp.example.com",), "http://127.0.0.1/"),
    (("127.0.0.1:99",), "http://localhost:98/"),
    (("mcp.example.com",), ""),
    (("mcp.example.com",), "http://[::1"),
]


@pytest.mark.parametrize(("allowed", "url"), REFUSED)
def test_anything_else_is_refused_without_repeating_a_secret(allowed: tuple[str, ...], url: str) -> None:
    with pytest.raises(Refused) as caught:
        policy(*allowed).check_url(url)
    assert "hunter2" not in str(caught.value)


INSIDE = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.0.1",
    "::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a00:1",
    "2002:7f00:1::", "2002:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fe80::1%eth0", "no address",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
async def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    with pytest.raises(Refused, match="inside a private network"):
        await policy("mcp.example.com", to=(address,)).addresses("mcp.example.com", 443)


@pytest.mark.parametrize("address", INSIDE)
async def test_one_address_inside_among_public_ones_is_enough(address: str) -> None:
    with pytest.raises(Refused):
        await policy("mcp.example.com", to=(PUBLIC, address)).addresses("mcp.example.com", 443)


@pytest.mark.parametrize("address", [PUBLIC, "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14"])
async def test_a_public_address_is_what_a_connection_goes_to(address: str) -> None:
    assert await policy("mcp.example.com", to=(address,)).addresses("mcp.example.com", 443) == [address]


ITSELF = [
    (("127.0.0.1",), "127.0.0.1", "127.0.0.1", True),
    (("127.0.0.1",), "localhost", "127.0.0.1", True),
    (("localhost",), "localhost", "::1", True),
    (("127.0.0.1",), "mcp.example.com", "127.0.0.1", False),
    (("mcp.example.com",), "localhost", "127.0.0.1", False),
    (("192.168.1.5",), "192.168.1.5", "192.168.1.5", True),
    (("192.168.1.5:80",), "192.168.1.5", "192.168.1.5", True),
    (("192.168.1.5",), "nas.example", "192.168.1.5", True),
    (("192.168.1.5",), "nas.example", "192.168.1.6", False),
]


@pytest.mark.parametrize(("allowed", "host", "address", "passes"), ITSELF)
async def test_an_inner_address_passes_only_when_it_was_allowed_itself(
    allowed: tuple[str, ...], host: str, address: str, passes: bool
) -> None:
    asked = policy(*allowed, to=(address,)).addresses(host, 80)
    if passes:
        assert await asked == [address]
    else:
        with pytest.raises(Refused):
            await asked


async def test_a_host_of_the_configuration_itself_may_be_inside() -> None:
    assert await policy("nas", to=("192.168.1.5",), anywhere=True).addresses("nas", 80) == ["192.168.1.5"]


@pytest.mark.parametrize("found", [(), OSError("no such host"), UnicodeError("label too long")])
async def test_a_name_that_cannot_be_found_is_refused(found: object) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        if isinstance(found, Exception):
            raise found
        return []

    with pytest.raises(Refused, match="cannot be found"):
        await NetPolicy(["h.example"], resolve).addresses("h.example", 443)


async def test_the_system_resolver_knows_this_machine() -> None:
    assert set(await system_addresses("localhost", 80)) <= {"127.0.0.1", "::1"}
