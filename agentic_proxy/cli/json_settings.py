"""Settings of clients that keep them as JSON: members in the client's own file, and a record of what was put there.

JSON has no comments that a marked block could stand in, so the record is in the proxy's state directory: which members,
where in the file, and a hash of the file as it was written. It holds no content of the client's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from agentic_proxy.cli import members
from agentic_proxy.cli.change import Change, InitError, read
from agentic_proxy.cli.clients.base import JsonSetting
from agentic_proxy.cli.jsonc import JsonError

RECORD = "init.json"
"""In the state directory: what was put into which file."""
FILE, FOLDER = "file", "folder"
"""What was made besides the members."""
Json = dict[str, Any]


def install(setting: JsonSetting, home: Path, state: Path) -> Iterator[Change]:
    """The changes that put these members in, or renew them. Raises InitError where one is there already or the file
    cannot be understood, OSError when it cannot be read."""
    path, before = read(_place(setting, home))
    record, records = _records(state)
    entry = records.get(str(path))
    own, _ = _undone(path, before, entry)
    made = (entry or {}).get("made") or ("" if before is not None else FILE if path.parent.exists() else FOLDER)
    try:
        edit = members.insert(own, setting.members) if own is not None else _whole(setting.members)
    except members.TakenError as taken:
        raise InitError(f"{path}: it defines {taken} itself, so nothing was changed; remove that first") from None
    except JsonError as error:
        raise _unreadable(path, error) from None
    after = edit.text.encode()
    new = {
        "sha256": hashlib.sha256(after).hexdigest(),
        "members": setting.members,
        "spans": edit.spans,
        "objects": edit.made,
        "made": made,
    }
    yield Change(path, before, after)
    yield _kept(state, record, {**records, str(path): new})


def undo(setting: JsonSetting, home: Path, state: Path) -> Iterator[Change]:
    """The changes that take them out again. Raises InitError, OSError."""
    record, records = _records(state)
    known = len(records)
    for place in setting.paths:
        path, before = read(home / place)
        entry = records.pop(str(path), None)
        if entry is not None and before is not None:
            own, left = _undone(path, before, entry)
            after = None if own is None else own.encode()
            yield Change(path, before, after, folder_too=entry["made"] == FOLDER, left=tuple(left))
    if len(records) < known:
        yield _kept(state, record, records)


def _place(setting: JsonSetting, home: Path) -> Path:
    """The first of the client's files that is there, else the first one."""
    places = [home / path for path in setting.paths]
    return next((place for place in places if place.exists()), places[0])


def _whole(content: Json) -> members.Edit:
    """A file that has nothing else in it."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return members.Edit(text, (), tuple(members.objects(content)))


def _undone(path: Path, before: bytes | None, entry: Json | None) -> tuple[str | None, list[str]]:
    """The file without what the record says; None when it is not there or nothing is left of a file that was made."""
    if before is None:
        return None, []
    try:
        text = before.decode()
        if entry is None:
            return text, []
        if hashlib.sha256(before).hexdigest() == entry["sha256"]:
            return (members.cut(text, entry["spans"]) if entry["spans"] else None), []
        text, left = members.take_out(text, entry["members"], tuple(map(tuple, entry["objects"])))
        return (None if entry["made"] and text.strip() == "{}" else text), left
    except ValueError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: ValueError) -> InitError:
    why = str(error) if isinstance(error, JsonError) else "it is not UTF-8 text"
    return InitError(f"{path}: it is not valid JSON, so nothing was changed: {why}")


def _records(state: Path) -> tuple[bytes | None, Json]:
    try:
        content = (state / RECORD).read_bytes()
        records = orjson.loads(content)
    except FileNotFoundError:
        return None, {}
    except orjson.JSONDecodeError:
        raise InitError(f"{state / RECORD}: it is damaged; remove it, and what init installed by hand") from None
    return content, records


def _kept(state: Path, before: bytes | None, records: Json) -> Change:
    return Change(state / RECORD, before, orjson.dumps(records) if records else None, told=False)
