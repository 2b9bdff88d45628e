"""The incremental reader of a patch call: live while it is right, repaired at the end where it is not."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.patch_fixes import PATCH
from translators.apply_patch.reader import DELAY, PatchReader
from translators.apply_patch.unwrap import InputReader, UnwrapError

dumps = json.dumps
ARGUMENTS = dumps({"input": PATCH})


def read(arguments: str, size: int = 1, *, full: bool = False, **options: bool) -> tuple[PatchReader, list[str]]:
    """Everything fed in fragments of ``size`` characters, then the end; what came out, the last part from the end."""
    reader = PatchReader(**options)
    out = [reader.feed(arguments[at : at + size]) for at in range(0, len(arguments), size)]
    out.append(reader.finish(arguments if full else None))
    return reader, out


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_a_right_patch_streams_live(size: int) -> None:
    reader, out = read(ARGUMENTS, size)
    assert "".join(out) == PATCH == reader.text()
    assert out[-1] == ""
    assert (reader.rules, reader.defect, reader.canonical_so_far) == ((), None, True)


def test_a_right_patch_is_never_more_than_the_delay_behind() -> None:
    text = PATCH.replace("a.txt", "a/very/long/path/" * 9 + "é.txt")
    plain, reader = InputReader(), PatchReader()
    decoded = released = ""
    for char in dumps({"input": text}, ensure_ascii=False):
        decoded += plain.feed(char)
        released += reader.feed(char)
        if decoded.startswith("*** Begin Patch\n"):
            assert len(decoded.encode()) - len(released.encode()) <= DELAY
    assert released == decoded == text


REPAIRED = {
    "another key": (dumps({"patch": PATCH}), ("other_key",)),
    "a fence": (dumps({"input": f"```\n{PATCH}```"}), ("fence",)),
    "no JSON": (PATCH, ("bare_text",)),
    "a drifted path": (dumps({"input": PATCH.replace("a.txt", "`a.txt`")}), ("paths",)),
    "line numbers": (dumps({"input": PATCH.replace("@@", "@@ -1,2 +1,2 @@")}), ("hunk_marks",)),
    "an indentation of all lines but the first": (dumps({"input": PATCH.replace("\n", "\n    ")}), ("dedent",)),
    "raw line breaks": ('{"input":"' + PATCH + '"}', ("raw_controls",)),
}


@pytest.mark.parametrize("name", REPAIRED)
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("full", [False, True])
def test_everything_else_is_held_and_repaired_at_the_end(name: str, size: int, full: bool) -> None:
    arguments, rules = REPAIRED[name]
    reader, out = read(arguments, size, full=full)
    assert out[-1] == reader.text() == (PATCH.removesuffix("\n") if "fence" in rules else PATCH)
    assert "".join(out[:-1]) == ""
    assert (reader.rules, reader.defect, reader.canonical_so_far) == (rules, None, False)


def test_a_repair_that_only_adds_comes_after_what_was_streamed() -> None:
    reader, out = read(dumps({"input": PATCH.removesuffix("*** End Patch\n")}))
    assert out[-1] == "*** End Patch\n"
    assert ("".join(out), reader.rules, reader.defect) == (PATCH, ("missing_end",), None)


@pytest.mark.parametrize("more", ["}", "\n}}", ARGUMENTS])
def test_garbage_after_what_was_streamed_is_forgiven(more: str) -> None:
    reader, out = read(ARGUMENTS + more)
    assert ("".join(out), out[-1], reader.rules) == (PATCH, "", ("trailing_garbage",))


def test_an_open_end_of_what_was_streamed_is_closed() -> None:
    reader, out = read(ARGUMENTS[:-2])
    assert ("".join(out), reader.rules) == (PATCH, ("unclosed_json",))


def test_a_call_that_was_cut_off_is_refused_although_it_streamed() -> None:
    reader = PatchReader()
    reader.feed(ARGUMENTS[:-2])
    with pytest.raises(UnwrapError):
        reader.finish(truncated=True)
    assert reader.failed


def test_a_late_defect_is_not_repaired_but_told() -> None:
    text = PATCH.replace("*** Add File: n.txt", "*** Add File: `n.txt`")
    reader, out = read(dumps({"input": text}))
    assert ("".join(out), reader.text(), reader.rules) == (text, text, ())
    assert reader.defect == "the repaired patch differs from what was streamed"
    held, _ = read(dumps({"input": text}), live=False)
    assert (held.text(), held.rules, held.defect) == (PATCH, ("paths",), None)


def test_a_text_that_is_no_patch_comes_unchanged_with_its_defect() -> None:
    text = PATCH.replace("+y", "y")
    for live in (True, False):
        reader, out = read(dumps({"input": text}), live=live)
        assert ("".join(out), reader.rules) == (text, ())
        assert (reader.defect, reader.line, reader.column) == ("a line of an added file does not begin with `+`", 10, 1)


@pytest.mark.parametrize("arguments", ["", "{}", '{"input":7}', "not json", '{"input":"*** Begin Pat', "null"])
def test_broken_arguments_are_refused_for_ever(arguments: str) -> None:
    reader = PatchReader()
    reader.feed(arguments)
    with pytest.raises(UnwrapError) as first:
        reader.finish()
    with pytest.raises(UnwrapError) as second:
        reader.finish(ARGUMENTS)
    assert first.value is second.value is reader.error


def test_complete_arguments_that_contradict_the_stream_are_refused() -> None:
    reader = PatchReader()
    reader.feed(ARGUMENTS[:80])
    assert reader.canonical_so_far
    with pytest.raises(UnwrapError):
        reader.finish(dumps({"input": PATCH.replace("one", "uno")}))


def test_the_end_may_come_again_and_nothing_after_it() -> None:
    reader, _ = read(ARGUMENTS)
    assert reader.finish() == reader.finish(dumps({"input": PATCH}, indent=1)) == reader.feed("") == ""
    with pytest.raises(UnwrapError):
        reader.feed("x")


def test_complete_arguments_without_a_stream_are_enough() -> None:
    reader = PatchReader()
    assert reader.finish(dumps({"patch": PATCH})) == PATCH
    assert reader.rules == ("other_key",)


DRIFTED = [arguments for arguments, _ in REPAIRED.values()]
SHAPES = st.sampled_from([ARGUMENTS, *DRIFTED, ARGUMENTS + "}", ARGUMENTS[:-1]])


@settings(max_examples=150, deadline=None)
@given(SHAPES, st.lists(st.integers(1, 60), min_size=1))
def test_the_result_does_not_depend_on_the_fragments(arguments: str, sizes: list[int]) -> None:
    reader = PatchReader()
    out = []
    at = turn = 0
    while at < len(arguments):
        size = sizes[turn % len(sizes)]
        out.append(reader.feed(arguments[at : at + size]))
        at, turn = at + size, turn + 1
    out.append(reader.finish())
    assert "".join(out) == reader.text()
    assert reader.text().removesuffix("\n") == PATCH.removesuffix("\n")


def test_a_live_patch_costs_at_most_1_3_times_a_plain_input() -> None:
    line = "+    value = compute(item)\n"
    arguments = dumps({"input": PATCH.replace("+y\n", line * 2000)})
    fragments = [arguments[at : at + 5] for at in range(0, 20_000, 5)]

    def steps(reader: InputReader) -> int:
        """How many instructions of the interpreter it takes: seconds say as much about the machine."""
        count = 0

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal count
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            count += event == "opcode"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for fragment in fragments:
                reader.feed(fragment)
        finally:
            sys.settrace(before)
        return count

    plain = steps(InputReader())
    assert plain > len(fragments)
    assert steps(PatchReader()) / plain <= 1.3
