"""A real PostgreSQL server for tests: own data directory, loopback only, gone with the test session."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

import asyncpg
import pytest

MISSING = "PostgreSQL is not installed: run scripts/test, or `apt-get install postgresql`, or set POSTGRES_BIN"
READY = b"ready to accept connections"


class PostgresServer:
    """``url`` is its first database; ``schema`` gives an empty place of its own in it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"

    @asynccontextmanager
    async def schema(self) -> AsyncIterator[str]:
        """The URL of an empty schema that is dropped in the end."""
        name = f"test_{uuid.uuid4().hex}"
        await self.execute(f"CREATE SCHEMA {name}")
        yield f"{self.url}?search_path={name}"
        await self.execute(f"DROP SCHEMA {name} CASCADE")

    async def execute(self, statement: str) -> None:
        """On a connection of its own."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def programs() -> Path:
    """The folder of ``initdb`` and ``postgres``."""
    folders = [os.environ.get("POSTGRES_BIN", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    found = shutil.which("initdb", path=os.pathsep.join(filter(None, folders))) or shutil.which("initdb")
    if found is None:
        pytest.fail(MISSING)
    return Path(found).resolve().parent


def as_user() -> tuple[list[str], pwd.struct_passwd | None]:
    """How to start it: PostgreSQL refuses to run as root. It ends when the tests are killed."""
    ending = ["setpriv", "--pdeathsig", "INT"]
    if os.getuid() != 0:
        return ending, None
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    return [*ending, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], user


@contextmanager
def running() -> Iterator[PostgresServer]:
    """Start a server, stop it in the end."""
    folder = programs()
    start, user = as_user()
    home = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if user:
            os.chown(home, user.pw_uid, user.pw_gid)
        data = str(home / "data")
        make = [
            folder / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ]
        subprocess.run([*start, *make], check=True, stdout=subprocess.DEVNULL, cwd=home)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", f"port={port}")
        serve = [folder / "postgres", "-D", data, *(part for setting in settings for part in ("-c", setting))]
        with subprocess.Popen([*start, *serve], stderr=subprocess.PIPE, cwd=home) as process:
            try:
                assert process.stderr is not None
                reader = wait_until_ready(process.stderr)
                yield PostgresServer(port)
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nothing is worth saving
                process.wait()
            reader.join()
    finally:
        shutil.rmtree(home)


def wait_until_ready(log: IO[bytes]) -> threading.Thread:
    """The thread that reads on, so that the server never waits for us."""
    said = []
    for line in log:
        said.append(line.decode(errors="replace"))
        if READY in line:
            reader = threading.Thread(target=log.read, daemon=True)
            reader.start()
            return reader
    pytest.fail("PostgreSQL did not start:\n" + "".join(said))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server
