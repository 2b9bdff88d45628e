"""What lessons are, and what they do to a dialect."""

from __future__ import annotations

import pytest

from translators.dialects.base import Dialect
from translators.messages.betas import KNOWN
from translators.refusals import lesson_of, opposites, taught


@pytest.mark.parametrize(
    "message",
    [
        "property 'messages' is unsupported",
        "property 'tools' is unsupported",
        "Unsupported parameter: model",
        "Unsupported parameter: '__class__'",
        "Unsupported parameter: stream",
        "Maximum tools limit reached. 9 tools have been provided but the maximum is 0.",
        "Unsupported parameter: 'name' of tool apply_patch",
        "Provider returned error",
        "Input should be 'auto' or 'none', field: 'tool_choice'",
        "image URLs are not currently supported, please use base64 encoded data instead",
        "",
    ],
)
def test_what_a_request_cannot_do_without_is_never_left_out(message: str) -> None:
    assert lesson_of(message, code="unsupported_parameter", param=message) is None


@pytest.mark.parametrize(
    ("lesson", "changes"),
    [
        ("drop:stop", {"refused": frozenset({"stop"})}),
        ("drop:prompt_cache_key", {"refused": frozenset({"prompt_cache_key"}), "cache_key_field": None}),
        ("tokens:max_completion_tokens", {"max_tokens_field": "max_completion_tokens"}),
        ("tool_limit:64", {"tool_limit": 64}),
        ("efforts:none+low", {"efforts": frozenset({"none", "low"})}),
        ("efforts:loud", {"efforts": None}),
        ("thoughts", {"thoughts_required": True}),
        ("schema:no_bool", {"schema": frozenset({"no_bool"})}),
        ("no_reasoning_replay", {"replay": "none", "replay_required": "no"}),
        ("replay_reasoning:all", {"replay_required": "all"}),
        ("sign_calls", {"sign_calls": True}),
        ("tool_choice:auto", {"tool_choice": frozenset({"auto", "none"})}),
        ("json_object", {"json_schema": False}),
        ("json_without_tools", {"json_beside_tools": False}),
        ("json_in_words", {"json_schema": False, "json_format": False}),
        ("paired_calls", {"unknown_fields": False}),
        ("functions_only", {"functions_only": True}),
        ("no_images", {"images": False}),
        ("thinking_always_on", {"thinking_off": False}),
        ("thinking_without_effort", {"reasoning": "thinking"}),
        ("no_reasoning_beside_tools", {"reasoning_beside_tools": False}),
        ("schema_in_words", {"json_schema": False}),
        ("text_results", {"text_results": True, "images_in_tool_results": False}),
        ("no_system_role", {"system_role": False}),
        ("instructions", {"instructions_required": True}),
        ("no_encrypted_reasoning", {"encrypted_reasoning": "none"}),
        ("no_encrypted_include", {"encrypted_include": False}),
        ("no_output_config", {"json_schema": False}),
        ("output_limit:32000", {"max_tokens_limit": 32_000}),
        ("output_limit:0", {}),
        ("output_room:26768", {"max_tokens_limit": 26_768}),
        ("one_sampling_field", {"one_sampling_field": True}),
        ("known_fields", {"unknown_fields": False}),
        ("user_last", {"user_last": True}),
        ("user_needed", {"user_needed": True}),
        ("alternate", {"merge_same_role": True, "assistant_after_tool": True, "later_system": False}),
        ("image_side:2000", {"image_side": 2000}),
        ("image_length:x", {"image_length": None}),
        ("no_betas:all", {"betas": frozenset()}),
        ("no_betas:effort-2025-11-24+x", {"betas": KNOWN - {"effort-2025-11-24"}}),
    ],
)
def test_a_lesson_is_a_change_of_the_dialect(lesson: str, changes: dict[str, object]) -> None:
    dialect = taught(Dialect(), [lesson])
    assert {name: getattr(dialect, name) for name in changes} == changes


def test_reasoning_that_was_sent_and_is_still_missed_gets_another_placeholder() -> None:
    placeholders = [
        taught(Dialect(replay_required="all", placeholder=before), ["replay_reasoning:all"]).placeholder
        for before in ("", " ")
    ]
    assert placeholders == [" ", "."]


def test_a_refused_level_of_effort_becomes_the_nearest_one_that_is_left() -> None:
    dialect = taught(Dialect(), ["effort:minimal", "effort:xhigh", "effort:high"])
    assert dialect.efforts == {"none", "low", "medium", "max", "ultra"}
    assert dialect.effort_map == {"minimal": "low", "xhigh": "medium", "high": "medium"}


def test_a_host_that_takes_no_budget_is_asked_to_think_as_newer_models_are() -> None:
    text = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'
    assert lesson_of(text) == "adaptive_thinking"
    assert taught(Dialect(), ["adaptive_thinking"]).thinking_on == "adaptive"


def test_levels_that_a_refusal_lists_are_the_only_ones() -> None:
    three = taught(Dialect(effort_map={"max": "xhigh"}), ["efforts:low+medium+high"])
    assert three.efforts == {"low", "medium", "high"}
    assert three.effort_map == {"none": "low", "minimal": "low", "xhigh": "high", "max": "high", "ultra": "high"}
    switch = taught(Dialect(), ["efforts:default+none"])
    asked = ("minimal", "low", "medium", "high", "xhigh", "max", "ultra")
    assert (switch.efforts, switch.effort_map) == ({"default", "none"}, dict.fromkeys(asked, "default"))
    one = taught(Dialect(), ["efforts:none+low"])
    assert one.effort_map == dict.fromkeys(asked[:1] + asked[2:], "low")


@pytest.mark.parametrize(
    "lesson",
    ["", "unknown", "drop:", "drop:messages", "drop:tools", "tokens:stop", "tool_limit:", "tool_limit:0", "schema:x",
     "tool_limit:99999", "effort:loud", "replay_reasoning:some"],
)  # fmt: skip
def test_ids_that_no_lesson_has_change_nothing(lesson: str) -> None:
    assert taught(Dialect(), [lesson]) == Dialect()


@pytest.mark.parametrize(
    ("lesson", "wrong"),
    [
        ("tokens:max_tokens", ("tokens:max_completion_tokens",)),
        ("no_reasoning_replay", ("replay_reasoning:calls", "replay_reasoning:all")),
        ("replay_reasoning:all", ("no_reasoning_replay",)),
        ("adaptive_thinking", ("no_adaptive_thinking",)),
        ("no_adaptive_thinking", ("adaptive_thinking",)),
        ("drop:stop", ()),
    ],
)
def test_a_lesson_proves_its_opposite_wrong(lesson: str, wrong: tuple[str, ...]) -> None:
    assert opposites(lesson) == wrong
