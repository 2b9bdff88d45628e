"""YAML with line numbers, and ``${NAME}``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentic_proxy.config.document import Document, parse_document, read_document, substitute
from agentic_proxy.config.errors import ConfigError, Report

TEXT = """\
# a comment
server:
  port: 1

providers:
  - name: a
    models:
      - x
      - {id: y,
         alias: [z]}
"""


def test_every_key_and_item_has_its_line() -> None:
    document = parse_document(TEXT, "c.yaml")
    assert document.data == {
        "server": {"port": 1},
        "providers": [{"name": "a", "models": ["x", {"id": "y", "alias": ["z"]}]}],
    }
    assert document.lines == {
        ("server",): 2,
        ("server", "port"): 3,
        ("providers",): 5,
        ("providers", 0): 6,
        ("providers", 0, "name"): 6,
        ("providers", 0, "models"): 7,
        ("providers", 0, "models", 0): 8,
        ("providers", 0, "models", 1): 9,
        ("providers", 0, "models", 1, "id"): 9,
        ("providers", 0, "models", 1, "alias"): 10,
        ("providers", 0, "models", 1, "alias", 0): 10,
    }


def test_the_pure_python_loader_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = parse_document(TEXT, "c.yaml")
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert parse_document(TEXT, "c.yaml") == fast


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_is_an_empty_configuration(text: str) -> None:
    assert parse_document(text, "c.yaml").data in ({}, None)


def test_anchors_and_merge_keys_work() -> None:
    document = parse_document("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n", "c.yaml")
    assert document.data == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}
    assert (document.lines["b", "x"], document.lines["b", "y"]) == (1, 4)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + below] * 10)}]\n" for below, name in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("a: 1\na: 2\n", ["c.yaml: a: is given twice (line 2)"]),
        (
            "s: {p: 1,\n  p: 2}\n1: x\n",
            ["c.yaml: s.p: is given twice (line 2)", 'c.yaml: the key "1" must be text, in quotes (line 3)'],
        ),
        ("s:\n  on: 1\n", ['c.yaml: s: the key "on" must be text, in quotes (line 2)']),
        ("a: [1\n", ["c.yaml: is not valid YAML: did not find expected ',' or ']' (line 2)"]),
        ("a: b: c\n", ["c.yaml: is not valid YAML: mapping values are not allowed in this context (line 1)"]),
        ("a: 1\n---\nb: 2\n", ["c.yaml: is not valid YAML: but found another document (line 2)"]),
        ("a: *b\n", ["c.yaml: is not valid YAML: found undefined alias (line 1)"]),
        ("a: !x 1\n", ["c.yaml: is not valid YAML: could not determine a constructor for the tag (line 1)"]),
        ("a: !!bool x\n", ["c.yaml: is not valid YAML: a value cannot be read"]),
        ("a: !!timestamp x\n", ["c.yaml: is not valid YAML: a value cannot be read"]),
        ("a: 2026-99-99\n", ["c.yaml: is not valid YAML: a value cannot be read"]),
        ("a: \x00\n", ["c.yaml: is not valid YAML: it holds characters that YAML does not allow"]),
        ("a: &a [*a]\n", ["c.yaml: a[0]: refers to itself (line 1)"]),
        (BOMB, ["c.yaml: has more than 100,000 values"]),
    ],
)
def test_what_is_wrong_with_the_yaml_is_told_with_its_line(text: str, errors: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_document(text, "c.yaml")
    assert str(caught.value).splitlines() == errors


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff\xfe")
    for path, text in [
        (tmp_path / "missing.yaml", "cannot be read: No such file or directory"),
        (tmp_path, "cannot be read: Is a directory"),
        (binary, "cannot be read: it is not UTF-8 text"),
    ]:
        with pytest.raises(ConfigError) as caught:
            read_document(path)
        assert str(caught.value) == f"{path}: {text}"


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(file).data == {"a": 1}


def replaced(data: Any, **environ: str) -> tuple[Document, list[str]]:
    report = Report("c.yaml", {})
    document = substitute(Document(data, {}), environ, report)
    return document, [str(problem) for problem in report.problems]


def test_variables_are_replaced_in_every_text_and_only_there() -> None:
    data = {"a": "${X}", "b": ["-${X}-${Y}-", 3, None], "${X}": {"c": "$X {X}"}}
    document, problems = replaced(data, X="1", Y="${X}")
    assert document.data == {"a": "1", "b": ["-1-${X}-", 3, None], "${X}": {"c": "$X {X}"}}
    assert document.substituted == {("a",), ("b", 0)}
    assert problems == []


def test_each_variable_that_is_not_set_is_named() -> None:
    _, problems = replaced({"a": "${X}${Y}", "b": ["${X}"]}, Z="")
    assert problems == [
        "a: the environment variable X is not set",
        "a: the environment variable Y is not set",
        "b[0]: the environment variable X is not set",
    ]


@pytest.mark.parametrize("text", ["${", "${}", "${X", "${X:-1}", "${1X}", "${ X }"])
def test_a_reference_without_a_proper_name_is_an_error(text: str) -> None:
    _, problems = replaced({"a": text}, X="1")
    assert problems == ["a: holds ${ without a variable's name; write ${NAME}"]


def test_a_variable_that_is_set_to_nothing_is_set() -> None:
    document, problems = replaced({"a": "${X}"}, X="")
    assert (document.data, problems) == ({"a": ""}, [])
