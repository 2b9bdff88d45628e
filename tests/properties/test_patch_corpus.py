"""Malformed apply_patch calls as models emit them: what repair makes of each, judged by hand-written expectations and
by the files that Codex's own engine leaves behind. The expectations are themselves proven with that engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from support.patch_cases import (
    DAMAGE,
    NO_EFFECT,
    NOT_LEFT,
    NOT_REFUSED,
    NOT_REPAIRED,
    THEMES,
    WRONG_TEXT,
    Case,
    Engine,
    cases,
    every_case,
    outcome_of,
    verdict,
)
from translators.apply_patch.repair import Canonical, Refused, Repaired, repair

each_theme = pytest.mark.parametrize("theme", THEMES)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Applies everything that the tests below will ask for, several at a time."""
    engine = Engine()
    engine.prepare(_work())
    return engine


def _work() -> Iterator[tuple[str, dict[str, str]]]:
    asked = set()
    for case in every_case():
        texts = (case.text, *case.readings, outcome_of(case).text)
        for text in texts:
            key = (text, repr(case.before))
            if text is not None and key not in asked and _encodable(text):
                asked.add(key)
                yield text, case.before


def _encodable(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _table(failures: list[tuple[Case, str]]) -> str:
    rows = [f"  {case.id:44} rows {case.rows!s:14} {what}" for case, what in failures]
    return "\n".join([f"{len(failures)} of these cases:", *rows])


def test_every_case_says_one_thing_and_has_its_own_id() -> None:
    names = Counter(case.id for case in every_case())
    assert [name for name, count in names.items() if count > 1] == []
    wrong = [
        case.id
        for case in every_case()
        if (case.kind == "refused") == (case.after is not None)
        or (case.kind in {"canonical", "text"}) == (case.text is None)
        or (case.kind in {"canonical", "refused"} and case.may_refuse)
        or (case.readings and case.kind != "refused")
        or not case.rows
        or not all(1 <= row <= 35 for row in case.rows)
    ]
    assert wrong == []


def test_the_corpus_covers_the_rows_that_concern_arguments() -> None:
    # 32 to 34 are about names, text answers and identities: no matter of the arguments.
    shown = Counter(row for case in every_case() for row in case.rows)
    assert set(range(1, 36)) - set(shown) == {32, 33, 34}
    assert sum(case.trap for case in every_case()) >= 50
    assert sum(case.kind in {"text", "files"} for case in every_case()) >= 160


def test_the_judge_tells_damage_from_a_refusal() -> None:
    known = {case.id: case for case in every_case()}
    engine = Engine()
    right, wrong = (
        known["key-patch"].text or "",
        (known["key-patch"].text or "").replace('+    print("b")', "+    pass"),
    )
    told = [
        verdict(known["key-patch"], Repaired(right, ("key",)), engine),
        verdict(known["key-patch"], Repaired(right.replace("@@ def main():", "@@"), ("key",)), engine),
        verdict(known["key-patch"], Repaired(wrong, ("key",)), engine),
        verdict(known["key-patch"], Repaired("not a patch", ("key",)), engine),
        verdict(known["key-patch"], Refused("no", 1, 1), engine),
        verdict(known["canonical-compact"], Repaired(right, ("key",)), engine),
        verdict(known["two-keys-different"], Repaired(right, ("key",)), engine),
        verdict(known["two-keys-different"], Repaired("not a patch", ("key",)), engine),
        verdict(known["two-keys-different"], Refused("no", 1, 1), engine),
    ]
    assert told == [None, WRONG_TEXT, DAMAGE, NO_EFFECT, NOT_REPAIRED, NOT_LEFT, DAMAGE, NOT_REFUSED, None]


@each_theme
def test_the_expected_text_does_what_the_case_states(theme: str, engine: Engine) -> None:
    failures = []
    for case in cases(theme):
        if case.text is None:
            continue
        applied = engine.apply(case.text, case.before)
        if applied.exit_code != 0 or applied.files != case.after:
            failures.append((case, f"{applied.output.strip()!r} {applied.files}"))
    assert not failures, _table(failures)


@each_theme
def test_the_readings_of_a_refused_call_do_different_things(theme: str, engine: Engine) -> None:
    for case in cases(theme):
        applied = [engine.apply(reading, case.before) for reading in case.readings]
        assert [one.exit_code for one in applied] == [0] * len(applied), case.id
        assert len({repr(one.files) for one in applied}) == len(applied), case.id


@each_theme
def test_repair_gives_what_was_meant_or_refuses(theme: str, engine: Engine) -> None:
    judged = [(case, verdict(case, outcome_of(case), engine)) for case in cases(theme)]
    failures = [(case, what) for case, what in judged if what is not None]
    assert not failures, _table(failures)


@each_theme
def test_a_refused_text_changes_no_file_when_codex_gets_it(theme: str, engine: Engine) -> None:
    failures = []
    for case in cases(theme):
        outcome = outcome_of(case)
        if isinstance(outcome, Refused) and outcome.text is not None and _encodable(outcome.text):
            applied = engine.apply(outcome.text, case.before)
            if applied.files != case.before and applied.files != case.after:
                failures.append((case, f"refused, and Codex made {applied.files}"))
    assert not failures, _table(failures)


@each_theme
def test_repair_leaves_its_own_result_alone(theme: str) -> None:
    failures = []
    for case in cases(theme):
        outcome = outcome_of(case)
        if not isinstance(outcome, Refused):
            again = repair(json.dumps({"input": outcome.text}))
            if not isinstance(again, Canonical) or again.text != outcome.text:
                failures.append((case, f"second time: {type(again).__name__}"))
    assert not failures, _table(failures)
