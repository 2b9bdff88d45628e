"""``agentic-proxy patch check | fix FILE``: the judgement that calls of apply_patch get in the stream, for a person."""

from __future__ import annotations

import argparse
import sys
from enum import IntEnum
from pathlib import Path

from agentic_proxy.cli import output
from translators.apply_patch.parse import PatchError, parse
from translators.apply_patch.repair import Canonical, Outcome, Refused, repair, repair_text
from translators.apply_patch.unwrap import UnwrapError, judge


class Verdict(IntEnum):
    """The exit codes of this command."""

    VALID = 0
    FIXED = 1
    REFUSED = 2


def run(arguments: argparse.Namespace) -> int:
    """``check`` prints the verdict; ``fix`` prints the patch itself, repaired where that is certain, and says the
    verdict on standard error. The input is a patch, or the JSON arguments of a call."""
    name = "standard input" if arguments.file == "-" else arguments.file
    try:
        text = _read(arguments.file)
    except OSError as error:
        output.fail(f"{name} cannot be read: {error.strerror}")
        return Verdict.REFUSED
    except UnicodeDecodeError as error:
        output.fail(f"{name}: refused: byte {error.start + 1} is not UTF-8 text")
        return Verdict.REFUSED
    call = text.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"'))
    outcome = repair(text) if call else repair_text(text)
    tell = output.data if arguments.action == "check" else output.say
    tell(f"{name}: {_verdict(outcome, text, call=call)}")
    if isinstance(outcome, Refused):
        return Verdict.REFUSED
    for note in outcome.notes:
        output.warn(f"{name}: {note.replace('_', ' ')} in the text were left as they are")
    if arguments.action == "fix":
        output.raw(outcome.text.encode())
    return Verdict.VALID if isinstance(outcome, Canonical) else Verdict.FIXED


def _read(file: str) -> str:
    return (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode()


def _verdict(outcome: Outcome, text: str, *, call: bool) -> str:
    if isinstance(outcome, Canonical):
        return "valid"
    if isinstance(outcome, Refused):
        return f"refused: line {outcome.line}, column {outcome.column}: {outcome.reason}"
    defect = _defect(text, call=call)
    return f"{f'{defect}; ' if defect else ''}fixed by {', '.join(outcome.rules)}"


def _defect(text: str, *, call: bool) -> str:
    """Where the text as it came is wrong first; empty for one that parses and would yet not do what was meant."""
    try:
        patch = judge(text) if call else text
    except UnwrapError as error:
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}, column {error.position - text.rfind(chr(10), 0, error.position)}: {error.reason}"
    try:
        parse(patch)
    except PatchError as error:
        return f"line {error.line}, column {error.column}{' of the input' if call else ''}: {error.reason}"
    return ""
