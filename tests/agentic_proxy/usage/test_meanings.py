"""Whatever a record may name has a clause for people."""

from __future__ import annotations

from agentic_proxy.config.schema import schema
from agentic_proxy.usage.meanings import CODES, LESSONS, REPAIRS, with_meaning
from translators.apply_patch.repair import RULES
from translators.dialects.base import Dialect
from translators.failure import ROWS
from translators.refusals import taught
from translators.tools.calls import DRIFTED


def test_every_failure_code_has_a_meaning_and_no_other() -> None:
    assert CODES.keys() == ROWS.keys()


def test_every_repair_has_a_meaning_and_no_other() -> None:
    known = schema()["properties"]["tools"]["properties"]["apply_patch_rules"]["properties"]
    assert REPAIRS.keys() == {rule.id for rule in RULES} | {DRIFTED} == {*known, DRIFTED}
    assert REPAIRS["fence"] == "a code fence around the patch"
    assert REPAIRS["nested_input"] == "an object or a list under the key"


def test_a_clause_is_one_clause() -> None:
    for text in (*CODES.values(), *LESSONS.values(), *REPAIRS.values()):
        assert text == text.strip() and "\n" not in text and not text.endswith(".")


def test_lessons_are_told_by_their_first_part() -> None:
    dialect = Dialect(name="any")
    real = (
        "drop:temperature",
        "tokens:max_completion_tokens",
        "effort:high",
        "efforts:low+high",
        "output_limit:8192",
        "output_room:26768",
        "schema:no_bool",
        "tool_limit:64",
        "tool_choice:auto",
        "no_betas:all",
        "known_fields",
        "call_ids:64",
        "image_side:2000",
        "image_length:5242880",
    )
    for lesson in (*real, "replay_reasoning:all"):
        assert lesson.partition(":")[0] in LESSONS
        assert taught(dialect, [lesson]) != dialect, "the lesson exists"


def test_what_has_no_meaning_stands_alone() -> None:
    assert (with_meaning("a", "b"), with_meaning("a", None)) == ("a, b", "a")
