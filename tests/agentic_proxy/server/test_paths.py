"""What a target says beyond its route."""

from __future__ import annotations

import pytest

from agentic_proxy.server.paths import ANY, flag, listed, match, number, page, query, segment
from agentic_proxy.store.base import Page
from translators.failure import Failure

PATTERNS = {("v1", "things", ANY): "one", ("v1", "things", ANY, "parts"): "parts", ("v1", "things", ANY, ANY): "part"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/things/a", "one"),
        ("/v1/things/a/parts", "parts"),
        ("/v1/things/a/b", "part"),
        ("/v1/things/", None),
        ("/v1/things//parts", None),
        ("/v1/things/a/b/c", None),
        ("/v1/others/a", None),
        ("/v2/things/a", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_parameter_is_one_segment_and_never_empty(path: str, found: str | None) -> None:
    assert match(path, PATTERNS) == found


def test_segments_and_fields_are_decoded() -> None:
    target = "/v1/things/a%2Fb?include[]=x&include[]=y&after=m%20n&empty="
    assert segment(target, 2) == "a/b"
    assert query(target) == {"include[]": "y", "after": "m n", "empty": ""}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("", Page()),
        ("?include=x&unknown=1", Page()),
        ("?limit=1&order=asc&after=msg_1", Page("msg_1", 1, "asc")),
        ("?limit=100&order=desc&after=", Page(None, 100, "desc")),
    ],
)
def test_a_page_has_defaults(fields: str, expected: Page) -> None:
    assert page("/v1/things" + fields) == expected


@pytest.mark.parametrize(
    ("fields", "param"),
    [(f"limit={value}", "limit") for value in ("0", "101", "-1", "x", "", "1.5", "٣", "10000000")]
    + [("order=up", "order"), ("order=", "order")],
)
def test_a_wrong_page_is_named(fields: str, param: str) -> None:
    with pytest.raises(Failure) as caught:
        page(f"/v1/things?{fields}")
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", param)


def test_flags_and_numbers_have_one_spelling() -> None:
    assert (flag({"stream": "true"}, "stream"), flag({"stream": "false"}, "stream"), flag({}, "stream")) == (
        True, False, False,
    )  # fmt: skip
    assert (number({"n": "7"}, "n", -1), number({}, "n", -1)) == (7, -1)
    for value in ("1", "True", ""):
        with pytest.raises(Failure, match="stream must be"):
            flag({"stream": value}, "stream")
    for value in ("-1", "x", "", "9" * 16):
        with pytest.raises(Failure, match="n must be"):
            number({"n": value}, "n", -1)


def test_a_list_names_its_ends() -> None:
    assert listed([{"id": "a"}, {"id": "b"}], more=True) == {
        "object": "list", "data": [{"id": "a"}, {"id": "b"}], "first_id": "a", "last_id": "b", "has_more": True,
    }  # fmt: skip
    nothing = listed([], more=False)
    assert nothing == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
