from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.tools.namespaces import NAME_LIMIT, fingerprinted, flat_name


def digits(namespace: str, name: str) -> str:
    return sha256(f"{namespace}\0{name}".encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("namespace", "name", "flat"),
    [
        (None, "exec_command", "exec_command"),
        ("", "exec_command", "exec_command"),
        ("functions", "exec", "functions__exec"),
        ("mcp__demo", "add", "mcp__demo__add"),
        ("mcp__demo", "mcp__demo__add", "mcp__demo__add"),
        ("demo", "demo", "demo__demo"),
        ("a-b", "C_9", "a-b__C_9"),
        (None, "x" * 64, "x" * 64),
        (None, "x" * 65, "x" * 47 + "_" + digits("", "x" * 65)),
        ("n" * 40, "x" * 30, "n" * 40 + "__" + "x" * 5 + "_" + digits("n" * 40, "x" * 30)),
        (None, "read.file", "read_file_" + digits("", "read.file")),
        (None, "_private", "_private"),
        (None, "3d_view", "t3d_view_" + digits("", "3d_view")),
        ("-x", "y", "t-x__y_" + digits("-x", "y")),
        ("météo", "now", "m_t_o__now_" + digits("météo", "now")),
    ],
)
def test_a_tool_has_a_readable_flat_name(namespace: str | None, name: str, flat: str) -> None:
    assert flat_name(namespace, name) == flat


@given(st.none() | st.text(max_size=80), st.text(min_size=1, max_size=80))
def test_every_flat_name_is_one_that_upstreams_accept(namespace: str | None, name: str) -> None:
    for flat in (flat_name(namespace, name), fingerprinted(namespace, name), fingerprinted(namespace, name, 1)):
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", flat)
        assert len(flat) <= NAME_LIMIT
    assert fingerprinted(namespace, name) != fingerprinted(namespace, name, 1)


def test_a_name_with_half_a_surrogate_pair_still_has_a_flat_name() -> None:
    assert re.fullmatch(r"a__[0-9a-f]{16}", flat_name(None, "a\ud800"))
