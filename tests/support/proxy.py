"""Runs the proxy as its users do: ``python -m agentic_proxy serve`` in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
READY = re.compile(r"listening on (http://\S+)")
START_SECONDS = 60.0
STOP_SECONDS = 60.0
UPSTREAM_KEY = "sk-upstream-key-of-a-test"


@dataclass(slots=True)
class Proxy:
    """A running proxy. ``url`` has no path; ``stderr`` grows while it runs and is complete after the stop."""

    url: str
    pid: int
    file: Path
    stderr: list[str] = field(default_factory=list)
    more: asyncio.Condition = field(default_factory=asyncio.Condition)
    _heard: int = 0

    async def said(self, text: str) -> str:
        """The next line with this text in it, among those that no earlier call has gone past."""
        async with asyncio.timeout(START_SECONDS), self.more:
            while True:
                for number in range(self._heard, len(self.stderr)):
                    if text in self.stderr[number]:
                        self._heard = number + 1
                        return self.stderr[number]
                await self.more.wait()

    def write(self, config: Json | str) -> None:
        """Put another configuration into the place of the one that it has, as editors do: complete, by a rename."""
        text = config if isinstance(config, str) else json.dumps(config)
        beside = self.file.with_name("config.new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.file)

    async def reload(self, config: Json | str | None = None) -> str:
        """Write a configuration, if there is one, and ask for it; what the proxy says of it."""
        if config is not None:
            self.write(config)
        os.kill(self.pid, signal.SIGHUP)
        return await self.said("configuration ")


def provider(name: str, url: str, wire: str, **changes: Any) -> Json:
    """A provider entry for a scripted upstream at ``url``: Chat, Messages, or Responses that knows no custom tools."""
    kind = {"chat": "openai-compatible", "responses": "openai", "messages": "anthropic"}[wire]
    entry = {"name": name, "type": kind, "wire": wire, "base_url": f"{url}/v1", "api_key": UPSTREAM_KEY}
    return {**entry, **changes}


@asynccontextmanager
async def running_proxy(config: Json, directory: Path, *arguments: str, **environment: str) -> AsyncIterator[Proxy]:
    """The proxy on a free port with this configuration; its state goes into ``directory``. It gets these further
    arguments and variables.

    On leaving it gets SIGTERM and must exit with code 0, with nothing ever written to stdout. Raises AssertionError
    with its output when it does not start or does not stop so.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "config.yaml"
    file.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agentic_proxy",
        "serve",
        "--config",
        str(file),
        "--port",
        "0",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8", **environment},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    proxy = Proxy("", process.pid, file)
    stderr = proxy.stderr
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def read_stderr(stream: asyncio.StreamReader) -> None:
        async for raw in stream:
            line = raw.decode(errors="replace").rstrip("\n")
            stderr.append(line)
            if (found := READY.search(line)) and not ready.done():
                ready.set_result(found[1])
            async with proxy.more:
                proxy.more.notify_all()
        if not ready.done():
            ready.set_exception(AssertionError("the proxy did not start:\n" + "\n".join(stderr)))

    readers = asyncio.gather(read_stderr(process.stderr), process.stdout.read())
    try:
        proxy.url = await asyncio.wait_for(ready, START_SECONDS)
        yield proxy
        assert process.returncode is None, f"the proxy died, exit {process.returncode}:\n" + "\n".join(stderr[-50:])
        process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), STOP_SECONDS)
        _, stdout = await readers
        assert (code, stdout) == (0, b""), f"exit {code}, stdout {stdout!r}, stderr:\n" + "\n".join(stderr[-50:])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await asyncio.gather(readers, return_exceptions=True)
