"""Document: a YAML file as plain data that still knows the line of every value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentic_proxy.config.errors import ConfigError, KeyPath, Problem, Report, show
from agentic_proxy.observe import redact

VALUES_LIMIT = 100_000
_VARIABLE = re.compile(r"\$\{([^}]*)\}?")
_NAMED = re.compile(r"\b(alias|anchor|tag|handle) '[^'\n]*'")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Document:
    """``lines`` has every key and list item; ``substituted`` the paths whose text held a ``${NAME}``."""

    data: Any
    lines: dict[KeyPath, int]
    substituted: set[KeyPath] = field(default_factory=set)


def read_document(path: Path) -> Document:
    """Parse a YAML file.

    Raises ConfigError when it cannot be read, is not YAML, repeats a key, has a key that is not text, or refers to
    itself. YAML's own rule (the last of two equal keys wins) would hide a setting without a word.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(str(path), [Problem(f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), [Problem("cannot be read: it is not UTF-8 text")]) from None
    return parse_document(text, str(path))


def parse_document(text: str, source: str) -> Document:
    """Parse YAML text; ``source`` is the name in errors. Raises ConfigError as ``read_document`` does."""
    import yaml

    # The pure-Python loader gives the same result, 60 times slower; it is there for builds without libyaml.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return Document({}, {})
        report = Report(source, {})
        _check_nodes(root, (), [], set(), report)
        report.stop_if_any()
        data = loader.construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # The snippet PyYAML would add may show a key, and so may the name of an alias, an anchor or a tag that its
        # one-line reason has: a password that begins with * or ! is one to YAML.
        reason = getattr(error, "problem", None) or "it holds characters that YAML does not allow"
        reason = _NAMED.sub(r"\1", reason)
        line = mark.line + 1 if mark is not None else None
        raise ConfigError(source, [Problem(f"is not valid YAML: {reason}", line=line)]) from None
    # What PyYAML lets through for a tag that its value does not fit: !!bool x, !!timestamp x.
    except (ValueError, KeyError, AttributeError, RecursionError):
        raise ConfigError(source, [Problem("is not valid YAML: a value cannot be read")]) from None
    finally:
        loader.dispose()
    lines: dict[KeyPath, int] = {}
    _collect_lines(root, (), lines)
    if len(lines) > VALUES_LIMIT:
        raise ConfigError(source, [Problem(f"has more than {VALUES_LIMIT:,} values")])
    return Document(data, lines)


def _check_nodes(node: Any, path: KeyPath, above: list[int], seen: set[int], report: Report) -> None:
    if id(node) in above:
        raise ConfigError(report.source, [Problem("refers to itself", show(path), node.start_mark.line + 1)])
    if id(node) in seen or isinstance(node.value, str):
        return
    seen.add(id(node))
    above.append(id(node))
    if node.id == "sequence":
        for position, item in enumerate(node.value):
            _check_nodes(item, (*path, position), above, seen, report)
    else:
        names: set[str] = set()
        for key, value in node.value:
            name, line = key.value, key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                _check_nodes(value, path, above, seen, report)
                continue
            if key.tag != "tag:yaml.org,2002:str":
                report.problems.append(Problem(f"the key {_key_text(key)} must be text, in quotes", show(path), line))
                continue
            if name in names:
                report.problems.append(Problem("is given twice", show((*path, name)), line))
            names.add(name)
            _check_nodes(value, (*path, name), above, seen, report)
    above.pop()


def _key_text(key: Any) -> str:
    return f'"{key.value}"' if isinstance(key.value, str) else "here"


def _collect_lines(node: Any, path: KeyPath, lines: dict[KeyPath, int]) -> None:
    # construct_document has put merged keys in front of a mapping's own, so that the later, own ones win here too.
    if len(lines) > VALUES_LIMIT or isinstance(node.value, str):
        return
    if node.id == "sequence":
        for position, item in enumerate(node.value):
            lines[(*path, position)] = item.start_mark.line + 1
            _collect_lines(item, (*path, position), lines)
        return
    for key, value in node.value:
        lines[(*path, key.value)] = key.start_mark.line + 1
        _collect_lines(value, (*path, key.value), lines)


def substitute(document: Document, environ: Mapping[str, str], report: Report) -> Document:
    """Replace ``${NAME}`` in every text value; a problem is reported for each name that is not set."""
    substituted: set[KeyPath] = set()

    def text(value: str, path: KeyPath) -> str:
        def replace(match: re.Match[str]) -> str:
            name = match[1]
            if not match[0].endswith("}") or _NAME.fullmatch(name) is None:
                report.add(path, "holds ${ without a variable's name; write ${NAME}")
                return ""
            if name not in environ:
                report.add(path, f"the environment variable {name} is not set")
                return ""
            # Wherever it is put, and before anything is said about that place.
            redact.register_setting(name, environ[name])
            return environ[name]

        if "${" not in value:
            return value
        substituted.add(path)
        return _VARIABLE.sub(replace, value)

    def walk(value: Any, path: KeyPath) -> Any:
        match value:
            case str():
                return text(value, path)
            case list():
                return [walk(item, (*path, position)) for position, item in enumerate(value)]
            case dict():
                return {key: walk(item, (*path, key)) for key, item in value.items()}
            case _:
                return value

    return Document(walk(document.data, ()), document.lines, substituted)
