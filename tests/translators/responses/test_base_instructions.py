"""The prompt that Codex gives to models of our catalog."""

from __future__ import annotations

import re

from translators.responses.base_instructions import BASE_INSTRUCTIONS, PATCH_EXAMPLE

ARGUMENT_NAMES = ("`input`", "`cmd`", "`command`", "`patch`", '"input"', '"cmd"', "workdir", "arguments")


def test_it_is_short_and_not_empty() -> None:
    assert 500 < len(BASE_INSTRUCTIONS.encode()) <= 2048


def test_it_names_no_argument_of_a_tool() -> None:
    assert [name for name in ARGUMENT_NAMES if name in BASE_INSTRUCTIONS] == []


def test_it_says_what_a_model_must_know() -> None:
    for word in ("apply_patch", "AGENTS.md", "run the tests", "*** Delete File: ", "*** Move to: "):
        assert word in BASE_INSTRUCTIONS


def test_its_patch_is_a_correct_document_with_an_update_and_a_new_file() -> None:
    assert PATCH_EXAMPLE in BASE_INSTRUCTIONS
    update = r"\*\*\* Update File: [^\n]+\n(?:@@(?: [^\n]+)?\n(?:[ +-][^\n]*\n)+)+"
    add = r"\*\*\* Add File: [^\n]+\n(?:\+[^\n]*\n)+"
    assert re.fullmatch(rf"\*\*\* Begin Patch\n{update}{add}\*\*\* End Patch\n", PATCH_EXAMPLE)


def test_it_is_plain_text_that_every_tokenizer_likes() -> None:
    assert BASE_INSTRUCTIONS.isascii()
    assert "\n\n\n" not in BASE_INSTRUCTIONS
