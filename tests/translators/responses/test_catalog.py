"""Entries of Codex's model catalog and of OpenAI's list."""

from __future__ import annotations

import orjson
import pytest

from translators.responses.base_instructions import BASE_INSTRUCTIONS
from translators.responses.catalog import codex_entry, openai_entry

REQUIRED_BY_CODEX = {
    "slug", "display_name", "supported_reasoning_levels", "shell_type", "visibility", "supported_in_api", "priority",
    "base_instructions", "support_verbosity", "truncation_policy", "experimental_supported_tools",
}


def test_an_entry_has_every_field_that_codex_requires() -> None:
    entry = codex_entry("kimi/k3", 7, 262144, True)
    assert REQUIRED_BY_CODEX - set(entry) == set()
    assert (entry["slug"], entry["display_name"], entry["priority"]) == ("kimi/k3", "kimi/k3", 7)
    assert (entry["apply_patch_tool_type"], entry["shell_type"]) == ("freeform", "unified_exec")
    assert entry["truncation_policy"] == {"mode": "tokens", "limit": 10000}
    assert entry["base_instructions"] == BASE_INSTRUCTIONS


@pytest.mark.parametrize(
    ("window", "images", "tokens", "modalities"),
    [
        (None, None, 128000, ["text"]),
        (32768, False, 32768, ["text"]),
        (1000000, True, 1000000, ["text", "image"]),
    ],
)
def test_what_is_known_of_a_model_is_told_and_the_rest_is_assumed_safely(
    window: int | None, images: bool | None, tokens: int, modalities: list[str]
) -> None:
    entry = codex_entry("m", 1, window, images)
    assert (entry["context_window"], entry["max_context_window"]) == (tokens, tokens)
    assert entry["input_modalities"] == modalities


def test_an_effort_can_be_chosen_but_none_is_set() -> None:
    entry = codex_entry("m", 1, None, None)
    assert [level["effort"] for level in entry["supported_reasoning_levels"]] == ["low", "medium", "high"]
    assert "default_reasoning_level" not in entry


def test_equal_input_gives_equal_bytes() -> None:
    assert orjson.dumps(codex_entry("m", 1, None, None)) == orjson.dumps(codex_entry("m", 1, None, None))


def test_an_openai_entry_has_the_four_keys_of_a_model_object() -> None:
    assert openai_entry("a/b", "a") == {"id": "a/b", "object": "model", "created": 0, "owned_by": "a"}
