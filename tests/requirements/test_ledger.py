"""The requirements ledger holds in both directions: rows name tests that exist, and tests name rows that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from support.source import python_files, tree

FIELDS = {"id", "source", "sentence", "departure", "tests", "planned"}
STEPS = set("ABCDEFGHI")
ID = re.compile(r"[A-Z]+[0-9]+")


@cache
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        found += tomllib.loads(file.read_text(encoding="utf-8"))["row"]
    return found


def functions(module: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    found = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [node for node in found if node.name.startswith("test_")]


@cache
def known_tests() -> dict[str, list[str]]:
    """Node id of every test function, with the requirement ids it carries."""
    found: dict[str, list[str]] = {}
    for file in python_files("tests"):
        if file.name.startswith("test_"):
            for function in functions(tree(file)):
                found[f"{file.as_posix()}::{function.name}"] = [
                    str(argument.value)
                    for mark in function.decorator_list
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.requirement"
                    for argument in mark.args
                    if isinstance(argument, ast.Constant)
                ]
    return found


def test_every_row_is_complete_and_has_an_id_of_its_own() -> None:
    broken = [
        row
        for row in rows()
        if not (row.keys() <= FIELDS and ID.fullmatch(row["id"]) and row["source"] and row["sentence"])
    ]
    assert broken == []
    assert [name for name, count in Counter(row["id"] for row in rows()).items() if count > 1] == []


def test_every_row_is_shown_by_a_test_or_planned_for_a_step() -> None:
    marked = {name for names in known_tests().values() for name in names}
    open_rows = [row["id"] for row in rows() if not row.get("tests") and row["id"] not in marked]
    planned = {row["id"] for row in rows() if row.get("planned") in STEPS}
    assert [name for name in open_rows if name not in planned] == []
    assert [row["id"] for row in rows() if "planned" in row and row["planned"] not in STEPS] == []


def test_every_test_that_a_row_names_exists() -> None:
    missing = [f"{row['id']}: {name}" for row in rows() for name in row.get("tests", []) if name not in known_tests()]
    assert missing == []


def test_every_requirement_that_a_test_carries_is_a_row() -> None:
    known = {row["id"] for row in rows()}
    assert [
        f"{node}: {name}" for node, names in known_tests().items() for name in names if name not in known
    ] == []


def test_the_ledger_holds_the_promises_the_rulings_and_the_seed_tests() -> None:
    kinds = Counter(re.sub(r"[0-9]+", "", row["id"]) for row in rows())
    assert kinds == {"P": 11, "R": 21, "D": 13, "WS": 28, "OR": 7, "U": 14, "AP": 24, "NW": 11}
