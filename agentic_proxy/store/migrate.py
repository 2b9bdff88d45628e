"""Migrations: numbered SQL files, each applied once; the caller holds a lock around the job."""

from __future__ import annotations

from importlib import resources

from agentic_proxy.store.jobs import Job, Query, one
from translators.failure import Failure

TABLE = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)"
VERSION = "SELECT COALESCE(MAX(version), 0) FROM schema_version"
APPLIED = "INSERT INTO schema_version (version) VALUES (?1)"


def statements(database: str) -> list[list[str]]:
    """The statements of every file in ``migrations/DATABASE``, in the files' order. The first file is version 1."""
    folder = resources.files("agentic_proxy.store") / "migrations" / database
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [_split(file.read_text(encoding="utf-8")) for file in files]


def _split(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [part.strip() for part in "\n".join([*lines, ""]).split(";\n") if part.strip()]


def migrate(files: list[list[str]]) -> Job[None]:
    """Bring the tables to the newest version. Raises Failure ``store_failed`` when they are newer than this program."""
    yield Query(TABLE)
    row = yield from one(VERSION)
    version = row[0] if row else 0
    if version > len(files):
        text = f"The store has version {version}, this program knows {len(files)}: update agentic-proxy."
        raise Failure("store_failed", text)
    for number in range(version, len(files)):
        for statement in files[number]:
            yield Query(statement)
        yield Query(APPLIED, (number + 1,))
