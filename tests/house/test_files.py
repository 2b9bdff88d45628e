"""One file, one noun: sizes, mirrored tests, and what no file of the project may contain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.source import NOT_OURS, PACKAGES, ROOT, python_files, tree

LINES = 400
LONGER: dict[str, str] = {}
"""Files that may be longer than the cap, each with the reason why splitting it would make it worse."""

WITHOUT_TEST: dict[str, str] = {
    "agentic_proxy/__main__.py": "one call; every end-to-end test starts the program through it",
    "agentic_proxy/config/model.py": "frozen data only; load.py, its only maker, is tested",
    "agentic_proxy/executors/base.py": "protocols only",
    "agentic_proxy/store/base.py": "protocols only",
    "agentic_proxy/usage/base.py": "frozen data and a protocol",
    "agentic_proxy/server/generation.py": "frozen data only; serving.py, its only maker, is tested",
    "agentic_proxy/tools/base.py": "protocols only",
    "translators/dialects/base.py": "frozen data only",
    "translators/gateway/own.py": "frozen data only",
    "translators/dialects/generic.py": "one constant",
    "translators/close.py": "frozen data only; both decoders are tested with it",
}
"""Source modules that need no test file of their own, with the reason."""

WITHOUT_SOURCE: dict[str, str] = {}
"""Test files below tests/translators and tests/agentic_proxy that mirror no module, with the reason."""

SHIPPED_TOP = ("*.md", "*.toml", "*.yaml", "*.spec", "scripts/*", ".ci/*")
WORKPLACE = ("/wor" + "k/", "../sha" + "red", "npm" + "js", "pypi" + ".org", "python" + "hosted")
"""Spelled in pieces: this file ships as well."""

SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|(CREATE|ALTER|DROP) (TABLE|INDEX)|PRAGMA)\b")


def test_no_file_is_longer_than_the_cap() -> None:
    sizes = {str(file): len((ROOT / file).read_text().splitlines()) for file in python_files(*PACKAGES, "tests")}
    too_long = {name: size for name, size in sizes.items() if size > LINES and name not in LONGER}
    assert too_long == {}
    assert {name for name in LONGER if sizes.get(name, 0) <= LINES} == set(), "an exception nobody needs any more"


def has_code(file: Path) -> bool:
    """An ``__init__.py`` that only names or re-exports things has none."""
    return file.name != "__init__.py" or any(isinstance(node, ast.FunctionDef) for node in tree(file).body)


def test_every_module_postpones_its_annotations() -> None:
    late = [
        str(file)
        for file in python_files(*PACKAGES, "tests")
        if has_code(file)
        and (body := tree(file).body)
        and not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in body[:2])
    ]
    assert late == []


def files_testing(module: Path) -> list[Path]:
    """The test files of a module: ``test_NAME.py``, or several ``test_NAME_ASPECT.py``."""
    folder = ROOT / "tests" / module.parent
    return [folder / f"test_{module.stem}.py", *folder.glob(f"test_{module.stem}_*.py")]


def test_every_module_has_its_test_file() -> None:
    modules = [file for file in python_files(*PACKAGES) if has_code(file)]
    untested = {str(file) for file in modules if not any(test.exists() for test in files_testing(file))}
    assert sorted(untested - set(WITHOUT_TEST)) == []


def test_every_exception_from_the_mirror_is_needed() -> None:
    kept = {name for name in WITHOUT_TEST if (ROOT / name).exists() and not files_testing(Path(name))[0].exists()}
    assert sorted(name for name in WITHOUT_TEST if (ROOT / name).exists() and name not in kept) == []
    assert sorted(name for name in WITHOUT_SOURCE if not (ROOT / name).exists()) == []


def mirrored(test: Path) -> bool:
    """Whether a module or package stands where the test's path says: the longest prefix of its name counts."""
    folder = ROOT.joinpath(*test.parts[1:-1])
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    return any((folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists() for name in names)


def test_every_test_file_mirrors_a_module() -> None:
    tests = [file for file in python_files(*(f"tests/{name}" for name in PACKAGES)) if file.name.startswith("test_")]
    assert [str(test) for test in tests if not mirrored(test) and str(test) not in WITHOUT_SOURCE] == []


def test_no_package_marker_hides_the_source_from_the_tests() -> None:
    assert [str(file) for file in python_files("tests") if file.name == "__init__.py"] == []


def shipped_files() -> Iterator[Path]:
    for pattern in SHIPPED_TOP:
        yield from ROOT.glob(pattern)
    for folder in (*PACKAGES, "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not NOT_OURS.intersection(path.parts) and path.suffix != ".pyc":
                yield path


def test_no_file_names_the_place_it_was_written_at_or_a_registry_host() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in shipped_files()
        if path.is_file()
        for text in [path.read_bytes()]
        for word in WORKPLACE
        if word.encode() in text
    ]
    assert named == []


def built_sql(node: ast.AST) -> bool:
    """Whether an expression puts a value into SQL text: f-string, ``%`` or ``format``."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
        return len(parts) < len(node.values) and bool(SQL.search(" ".join(map(str, parts))))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return isinstance(node.left, ast.Constant) and bool(SQL.search(str(node.left.value)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = node.func.value
        return isinstance(text, ast.Constant) and bool(SQL.search(str(text.value)))
    return False


def test_no_sql_is_built_from_values() -> None:
    built = [
        f"{file}:{getattr(node, 'lineno', 0)}"
        for file in python_files(*PACKAGES)
        for node in ast.walk(tree(file))
        if built_sql(node)
    ]
    assert built == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('f"SELECT * FROM {table}"', True),
        ('"DELETE FROM items WHERE id = %s" % key', True),
        ('"INSERT INTO {} VALUES (?)".format(name)', True),
        ('"SELECT * FROM items WHERE id = ?"', False),
        ('f"select a model, {name}"', False),
    ],
)
def test_the_rule_about_sql_knows_what_it_looks_for(source: str, found: bool) -> None:
    assert built_sql(ast.parse(source, mode="eval").body) == found


def called_name(node: ast.Call) -> str:
    return ast.unparse(node.func)


def test_no_test_sleeps_or_is_skipped() -> None:
    bad = []
    for file in python_files("tests"):
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Call) and called_name(node) in ("time.sleep", "asyncio.sleep"):
                waits = not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
                bad += [f"{file}:{node.lineno}: sleep"] if waits else []
            elif isinstance(node, ast.Attribute) and node.attr in ("skip", "skipif", "xfail", "importorskip"):
                bad.append(f"{file}:{node.lineno}: {node.attr}")
    assert bad == []
