"""Argument text that is nearly JSON (rows 9, 11, 13)."""

from __future__ import annotations

import json

import pytest

from support.patch_fixes import PATCH, Fix, check, reason_of

dumps = json.dumps
ARGUMENTS = dumps({"input": PATCH})


def with_line(line: str) -> str:
    """The usual patch with one more line in its added file, as it would stand between the quotes of the JSON."""
    return PATCH.replace("+y\n", f"+y\n+{line}\n")


def added(line: str) -> dict[str, str | None]:
    return {"a.txt": "one\n2\nthree\n", "n.txt": f"x\n\ny\n{line}\n"}


FIXES = {
    "raw line breaks": Fix(("raw_controls",), arguments=f'{{"input":"{PATCH}"}}'),
    "raw line breaks and escaped quotes": Fix(
        ("raw_controls",),
        arguments='{"input":"' + with_line('say \\"hi\\"') + '"}',
        patch=with_line('say "hi"'),
        after=added('say "hi"'),
    ),
    "raw tabs": Fix(
        ("raw_controls",),
        arguments=dumps({"input": with_line("\tx")}).replace("\\t", "\t"),
        patch=with_line("\tx"),
        after=added("\tx"),
    ),
    "a form feed": Fix(
        ("raw_controls",),
        arguments=dumps({"input": with_line("\f")}).replace("\\f", "\f"),
        patch=with_line("\f"),
        after=added("\f"),
    ),
    "unknown escapes among raw line breaks": Fix(
        ("raw_controls",),
        arguments='{"input":"' + with_line(r"\$x = \'\d+\'") + '"}',
        patch=with_line(r"\$x = \'\d+\'"),
        after=added(r"\$x = \'\d+\'"),
    ),
    "no brace at the end": Fix(("unclosed_json",), arguments=ARGUMENTS[:-1]),
    "no quote and no brace at the end": Fix(("unclosed_json",), arguments=ARGUMENTS[:-2]),
    "a brace without its quote": Fix(("unclosed_json",), arguments=ARGUMENTS[:-2] + "}"),
    "nested and open": Fix(
        ("unclosed_json", "nested_input", "other_key"), arguments=dumps({"input": {"patch": PATCH}})[:-2]
    ),
    "raw line breaks and open": Fix(("raw_controls", "unclosed_json"), arguments=f'{{"input":"{PATCH}'),
    "braces after the end": Fix(("trailing_garbage",), arguments=ARGUMENTS + "}}\n"),
    "a copy after the end": Fix(("trailing_garbage",), arguments=ARGUMENTS + ARGUMENTS),
    "a copy in other words": Fix(("trailing_garbage",), arguments=ARGUMENTS + "\n" + dumps({"input": PATCH}, indent=1)),
    "raw line breaks, twice": Fix(("trailing_garbage", "raw_controls"), arguments=f'{{"input":"{PATCH}"}}' * 2),
    "another key and braces": Fix(("trailing_garbage", "other_key"), arguments=dumps({"patch": PATCH}) + "}"),
}


@pytest.mark.parametrize("name", FIXES)
def test_nearly_json_is_mended(name: str) -> None:
    check(FIXES[name])


REFUSALS = {
    "known and unknown escapes": (
        r'{"input":"*** Begin Patch\n*** Add File: n\n+it\'s\n*** End Patch"}',
        "side by side",
    ),
    "a backslash and an unknown escape": ('{"input":"' + with_line(r"\\d \d") + '"}', "side by side"),
    "raw breaks, and a line break that may be code": (
        '{"input":"' + PATCH.replace("+2\n", "+print(1)\\n three\n") + '"}',
        "two different patches",
    ),
    "raw breaks, and a line break of the code": ('{"input":"' + with_line(r"print(\"a\nb\")") + '"}', "two different"),
    "raw breaks, and a slash that may be code": ('{"input":"' + with_line(r"a\/b") + '"}', "two different patches"),
    "raw breaks, and a character that may be code": (
        '{"input":"' + with_line(r"\u00e9") + '"}',
        "two different patches",
    ),
    "raw breaks, and a tab that may be code": ('{"input":"' + with_line(r"a\tb") + '"}', "two different patches"),
    "raw tabs, and an escaped one": (
        dumps({"input": with_line("\tx")}).replace("\\t", "\t\\t"),
        "two different patches",
    ),
    "open, without the end of the patch": (ARGUMENTS[: ARGUMENTS.index("*** End")], "end before"),
    "open, in the middle of the end": (ARGUMENTS[:-6], "end before"),
    "text after the end": (ARGUMENTS + " and done", "something follows"),
    "another call after the end": (ARGUMENTS + dumps({"input": PATCH + "\n"}), "two different argument objects"),
    "a quote that was not escaped": ('{"input":"' + with_line('say "hi"') + '"}', "control character"),
    "half a surrogate pair": ('{"input":"*** Begin Patch\\n*** Add File: n\\n+\\ud83d\\n*** End Patch"}', "surrogate"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_not_certain_in_the_json_is_refused(name: str) -> None:
    arguments, reason = REFUSALS[name]
    assert reason in reason_of(arguments=arguments)


@pytest.mark.parametrize("cut", [1, 2])
def test_nothing_is_closed_when_the_call_was_cut_off_by_length(cut: int) -> None:
    assert "end before" in reason_of(arguments=ARGUMENTS[:-cut], truncated=True)
