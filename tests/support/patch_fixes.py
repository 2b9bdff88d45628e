"""One shape of table for the tests of the repair rules: what a model sent, what it meant, what the files become."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from support.patch_engine import apply_patch
from translators.apply_patch.repair import AROUND, Outcome, Refused, Repaired, repair

BEFORE = {"a.txt": "one\ntwo\nthree\n", "src/b.py": "def f():\n    return 1\n\n\ndef g():\n    return 1\n"}
"""The files of every case. Both functions hold the same line, so that a lost context shows."""

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: n.txt\n+x\n+\n+y\n*** End Patch\n"
AFTER: dict[str, str | None] = {"a.txt": "one\n2\nthree\n", "n.txt": "x\n\ny\n"}
"""An ordinary patch for them, and the files that differ when it was applied (None: gone)."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A text under ``input``, or whole ``arguments``, that ``rules`` repair to ``patch``; ``after`` as AFTER."""

    rules: tuple[str, ...]
    text: str | None = None
    arguments: str | None = None
    patch: str = PATCH
    after: dict[str, str | None] = field(default_factory=lambda: dict(AFTER))
    enabled: dict[str, bool] | None = None

    def outcome(self) -> Outcome:
        return repair(self.arguments or json.dumps({"input": self.text}), enabled=self.enabled)

    def result(self) -> str:
        """The text that the client gets. Fails when the call is refused."""
        outcome = self.outcome()
        assert not isinstance(outcome, Refused), outcome
        return outcome.text


def check(fix: Fix) -> None:
    """The outcome is exactly the expected text by exactly these rules, and Codex's engine makes the expected files."""
    outcome = fix.outcome()
    expected_text = fix.patch if AROUND.isdisjoint(fix.rules) else fix.patch.removesuffix("\n")
    assert outcome == Repaired(expected_text, fix.rules), outcome
    applied = apply_patch(fix.patch, BEFORE)
    expected = {path: content for path, content in {**BEFORE, **fix.after}.items() if content is not None}
    assert (applied.exit_code, applied.files) == (0, expected), applied.output


def reason_of(text: str | None = None, *, arguments: str | None = None, truncated: bool = False) -> str:
    """Why a call is refused. Fails when it is not."""
    outcome = repair(arguments if arguments is not None else json.dumps({"input": text}), truncated=truncated)
    assert isinstance(outcome, Refused), outcome
    return outcome.reason
