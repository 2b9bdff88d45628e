"""What a connection remembers of responses that were not stored."""

from __future__ import annotations

from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.store.base import Window


def window(size: int) -> Window:
    return Window((b"x" * size,), None, None)


def test_a_window_is_found_by_its_response_and_gone_when_forgotten() -> None:
    local = LocalWindows(10)
    local.keep("resp_1", window(4))
    assert local.get("resp_1") == window(4)
    local.forget("resp_1")
    local.forget("resp_1")
    assert local.get("resp_1") is None


def test_the_oldest_windows_go_first_when_there_are_too_many_bytes() -> None:
    local = LocalWindows(10)
    for number, size in enumerate((4, 4, 4)):
        local.keep(f"resp_{number}", window(size))
    assert [local.get(f"resp_{number}") is not None for number in range(3)] == [False, True, True]


def test_the_newest_window_stays_even_when_it_is_too_large() -> None:
    local = LocalWindows(10)
    local.keep("resp_1", window(4))
    local.keep("resp_2", window(40))
    assert (local.get("resp_1"), local.get("resp_2")) == (None, window(40))


def test_keeping_a_response_again_counts_it_once() -> None:
    local = LocalWindows(10)
    for _ in range(3):
        local.keep("resp_1", window(6))
    local.keep("resp_2", window(4))
    assert local.get("resp_1") is not None


def test_tools_and_instructions_count_too() -> None:
    local = LocalWindows(10)
    local.keep("resp_1", Window((b"x",), b"y" * 3, b"z" * 2, b"i" * 2))
    local.keep("resp_2", Window((b"x" * 3,), None, None))
    assert (local.get("resp_1"), local.get("resp_2") is None) == (None, False)


def test_the_same_tools_turn_after_turn_are_kept_once() -> None:
    local = LocalWindows(1000)
    for name in ("resp_1", "resp_2"):
        local.keep(name, Window((), bytes(bytearray(b"tools")), None))
    first, second = local.get("resp_1"), local.get("resp_2")
    assert first is not None
    assert second is not None
    assert first.tools is second.tools
