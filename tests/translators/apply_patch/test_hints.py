"""The hint that ends a loop of identical failures."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from support.patch_engine import apply_patch
from translators.apply_patch.hints import add_hints, hint_for

Json = dict[str, Any]
FAILED = "apply_patch verification failed: Failed to find expected lines in /srv/a.txt:\ntwo"


def call(number: int, name: str = "apply_patch") -> Json:
    return {"type": "custom_tool_call", "call_id": f"c{number}", "name": name, "input": "*** Begin Patch"}


def output(number: int, text: Any = FAILED) -> Json:
    return {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": text}


def test_the_second_output_with_the_same_failure_gets_the_hint() -> None:
    items = [call(1), output(1), call(2), output(2), call(3), output(3)]
    before = copy.deepcopy(items)
    hinted = f"{FAILED}\n\n{hint_for(FAILED)}"
    assert add_hints(items) == [call(1), output(1), call(2), output(2, hinted), call(3), output(3, hinted)]
    assert items == before


def test_what_is_written_depends_only_on_what_came_before() -> None:
    items = [call(1), output(1), call(2), output(2), call(3), output(3, "Success."), call(4), output(4)]
    whole = add_hints(items)
    for length in range(len(items)):
        assert add_hints(items[:length]) == whole[:length]


def test_the_text_of_a_list_of_parts_counts_and_gets_a_part() -> None:
    parts = [{"type": "input_text", "text": FAILED}]
    items = [call(1), output(1, parts), call(2), output(2, parts)]
    assert add_hints(items)[3] == output(2, [*parts, {"type": "input_text", "text": hint_for(FAILED)}])


@pytest.mark.parametrize(
    "items",
    [
        [],
        [call(1), output(1)],
        [call(1), output(1), call(2), output(2, FAILED + "x")],
        [call(1), output(1, "Success."), call(2), output(2, "Success.")],
        [call(1, "exec"), output(1), call(2, "exec"), output(2)],
        [output(1), output(2)],
        [call(1), output(1, None), call(2), output(2, None)],
    ],
)
def test_other_histories_are_given_back_as_they_are(items: list[Json]) -> None:
    assert add_hints(items) is items


@pytest.mark.parametrize(
    ("patch", "word"),
    [
        ("*** Begin Patch\n*** Update File: a\n@@\n-q\n+y\n*** End Patch\n", "copy the lines exactly"),
        ("*** Begin Patch\n*** Update File: a\n@@ -1 +1 @@\n-x\n+y\n*** End Patch\n", "line numbers are not allowed"),
        ("*** Begin Patch\n*** Update File: b\n@@\n-q\n+y\n*** End Patch\n", "does not exist under that path"),
        ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n", "*** Begin Patch\n*** Update File: PATH"),
        ("*** Begin Patch\n*** Add File: n\nx\n*** End Patch\n", "`+` before every line"),
        ("*** Begin Patch\n*** End Patch\n", "exactly one patch"),
    ],
)
def test_what_codex_really_says_is_known_as_a_failure(patch: str, word: str) -> None:
    applied = apply_patch(patch, {"a": "x\n"})
    assert applied.exit_code == 1
    assert word in hint_for(applied.output)


def test_success_is_no_failure() -> None:
    assert hint_for(apply_patch("*** Begin Patch\n*** Add File: n\n+x\n*** End Patch\n", {}).output) == ""
