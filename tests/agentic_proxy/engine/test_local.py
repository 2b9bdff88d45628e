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
