"""The project's own files as data, for the tests that hold the rules of the house."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("agentic_proxy", "translators")
NOT_OURS = {"node_modules", "__pycache__", ".git"}


def python_files(*folders: str) -> list[Path]:
    """Every Python file below the folders, relative to the root and sorted."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found if not NOT_OURS.intersection(path.parts))


def module_name(file: Path) -> str:
    """``agentic_proxy/cli/main.py`` is ``agentic_proxy.cli.main``; an ``__init__.py`` is its package."""
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree(file: Path) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"), str(file))


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of every import in the file, wherever it stands; ``from a import b`` gives ``a.b`` where
    that is a module of the project, else ``a``."""
    package = module_name(file).split(".") if file.name == "__init__.py" else module_name(file).split(".")[:-1]
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield node.lineno, inner if is_module(inner) else source


def is_module(name: str) -> bool:
    """Whether a dotted name is a file or a package of the project."""
    path = ROOT.joinpath(*name.split("."))
    return name.split(".")[0] in PACKAGES and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())
