"""A TCP relay in front of a server that keeps the request lines of what passes, and what was answered."""

from __future__ import annotations

import asyncio
import re
from types import TracebackType
from typing import Self

from support.raw_upstream import LIMIT

_LINE = re.compile(rb"((?:GET|POST|HEAD|PUT|DELETE) /[^ ?]*)\S* HTTP/1\.1\r\n")


class Tap:
    """``url`` stands for that of the server; ``requests`` grows in the order of arrival, queries left out.

    The messages of a WebSocket are masked and never look like a request.
    """

    def __init__(self, url: str) -> None:
        self._host, self._port = url.removeprefix("http://").rsplit(":", 1)
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[str] = []
        self.answers = bytearray()
        self._answered = asyncio.Condition()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def more(self, marker: bytes, count: int) -> None:
        """Wait until the client was sent ``marker`` that many times more. Raises TimeoutError after ``LIMIT``."""
        goal = self.answers.count(marker) + count
        async with asyncio.timeout(LIMIT), self._answered:
            await self._answered.wait_for(lambda: self.answers.count(marker) >= goal)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        there, back = await asyncio.open_connection(self._host, self._port)
        try:
            await asyncio.gather(self._pump(reader, back, keep=True), self._pump(there, writer, keep=False))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            back.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, keep: bool) -> None:
        while data := await reader.read(1 << 16):
            if keep:
                self.requests += [match.decode() for match in _LINE.findall(data)]
            writer.write(data)
            await writer.drain()
            if not keep:
                async with self._answered:
                    self.answers += data
                    self._answered.notify_all()
        writer.close()
