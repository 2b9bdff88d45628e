"""Base URLs, outbound proxies and bind hosts."""

from __future__ import annotations

import pytest

from agentic_proxy.config.addresses import (
    check_database,
    check_proxy,
    host_name,
    is_bindable,
    is_loopback,
    is_origin,
    listed_host,
    normalise_base_url,
)


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ("http://h", "http://h/v1"),
        ("http://h/", "http://h/v1"),
        ("http://h:1234//", "http://h:1234/v1"),
        ("https://h/v1", "https://h/v1"),
        ("https://h/v1/", "https://h/v1"),
        ("https://h/api/v2/", "https://h/api/v2"),
        (" http://[::1]:9 ", "http://[::1]:9/v1"),
    ],
)
def test_a_base_url_gets_v1_where_no_path_is_given_and_loses_trailing_slashes(given: str, complete: str) -> None:
    assert normalise_base_url(given) == complete


def test_a_messages_upstream_gets_no_v1() -> None:
    assert normalise_base_url("http://h/", append_v1=False) == "http://h"


NO_URL = "must be a URL that begins with http:// or https:// and names a host"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("h/v1", NO_URL),
        ("ftp://h", NO_URL),
        ("http://", NO_URL),
        ("http://h:x", NO_URL),
        ("http://h:99999", NO_URL),
        ("http://[::1", NO_URL),
        ("http://h/v1?key=x", "must end with a path, without ? or #"),
        ("http://h/v1#x", "must end with a path, without ? or #"),
        ("http://u:p@h/v1", "must not hold a user name or password; use api_key or headers"),
        ("http://h/a b", "must not hold spaces"),
        ("http://h/a\nb", "must not hold spaces"),
    ],
)
def test_a_base_url_that_cannot_work_is_refused_without_repeating_it(given: str, text: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        normalise_base_url(given)
    assert str(caught.value) == text


def test_a_proxy_may_hold_a_password() -> None:
    assert check_proxy(" http://user:pass@proxy:3128 ") == "http://user:pass@proxy:3128"


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with http:// or https://"):
        check_proxy("socks5://proxy:1080")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/d",
        "postgres://u:p%2Fw@h:5432/d?sslmode=require&application_name=a@b",
        "postgresql:///d?host=/run/postgresql&user=a@b",
        "postgresql://u@[::1]:1,[::2],h:2/d",
        "postgresql://",
    ],
)
def test_the_url_of_a_database(url: str) -> None:
    check_database(url)


@pytest.mark.parametrize("password", ["a/b", "1/b", "a?b", "1?b", "a#b", "1#b", "a@b", "a[b", "a]b"])
def test_a_password_that_would_be_read_as_something_else_is_told_and_not_repeated(password: str) -> None:
    with pytest.raises(ValueError, match=r"write / \? # @ \[ \] as %2F") as caught:
        check_database(f"postgresql://u:{password}@h:5432/d")
    assert str(caught.value).startswith("is not read as it is meant: in a user name or password write / ")
    with pytest.raises(ValueError, match=r"must|write"):
        check_proxy(f"http://u:{password.replace('a@b', '1/@b')}@h:3128")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST", "x.localhost"])
def test_loopback_hosts_are_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("0.0.0.0", True), ("::", True), ("fe80::1%eth0", True), ("my-host.lan", True),
        ("127.0.0.1:80", False), ("http://127.0.0.1", False), ("", False), ("a b", False), ("[::1]:80", False),
    ],
)  # fmt: skip
def test_what_can_be_listened_on_has_no_port_and_no_scheme(host: str, good: bool) -> None:
    assert is_bindable(host) is good


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.2", "example.org", "localhost.example.org"])
def test_other_hosts_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("A.b:1", "a.b"), ("[::1]:80", "[::1]"),
        ("::1", None), ("a b", None), ("a:", None), ("a:123456", None), ("", None),
    ],
)  # fmt: skip
def test_a_host_value_is_a_name_and_perhaps_a_port(value: str, name: str | None) -> None:
    assert host_name(value) == name


@pytest.mark.parametrize(
    ("value", "name"),
    [("A.b", "a.b"), ("a.b:80", "a.b"), ("2001:DB8::1", "[2001:db8::1]"), ("[::1]", "[::1]"), ("*.a", None)],
)
def test_a_host_in_a_list_may_also_be_an_address_without_brackets(value: str, name: str | None) -> None:
    assert listed_host(value) == name


@pytest.mark.parametrize("value", ["https://a.b", "http://a.b:80", "app://codex", "file://", "http://[::1]:1", "null"])
def test_what_is_sent_as_an_origin(value: str) -> None:
    assert is_origin(value)


@pytest.mark.parametrize("value", ["a.b", "*", "https://a.b/", "https://a.b/c", "https://u@a.b", "https://a b", ""])
def test_what_no_origin_ever_is(value: str) -> None:
    assert not is_origin(value)
