"""A walk through every path of a running proxy, with a secret in every place that takes one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from security.test_malformed_requests import CANARY, MALFORMED
from support.canaries import CANARIES
from support.command_line import PROGRAM
from support.echoing_upstream import BEHAVIOURS, EchoingUpstream, echoing_upstream
from support.engines import eventually
from support.proxy import Proxy, provider, running_proxy
from support.raw_upstream import RawUpstream, Received
from support.turns import Json

WIRES = ("responses", "chat", "messages")
SOURCES = ("config", "env", "file", "header", "key command")
CLIENTS = {"responses": "/v1/responses", "chat": "/v1/chat/completions", "messages": "/v1/messages"}
COMMANDS = (
    ("config", "show", "--origin"), ("config", "check"), ("models",), ("models", "--json"), ("tools",),
    ("tools", "--json"), ("tools", "test", "web_search", "birds"), ("tools", "test", "mcp", "rpc"), ("db", "export"),
    ("db", "stats"), ("usage",), ("usage", "--by", "provider,client,model", "--json"),
)  # fmt: skip
EXPLAINED = (
    "responses, config-responses/http_401", "responses stream, config-responses/failed_event",
    "responses, config-chat/page_500", "chat stream, config-messages/cut_message_7", "messages, broken/good",
    "responses, no-tls/good", "unknown model",
)  # fmt: skip
"""Requests of which the command line tells the story."""
AT_ONCE = 12
COMMANDS_AT_ONCE = 4
DEADLINE = 120.0
HELD = frozenset({"config.yaml", "key.txt", "crashing.py"})
"""Files that the secrets were put into."""

BREAKING = '''
from agentic_proxy.config.provider_types import ProviderType
from agentic_proxy.executors.openai_compat import OpenAICompatible

PLUGIN_API = 1


class Broken(OpenAICompatible):
    async def open(self, body, credential, headers={}, *, below=""):
        raise RuntimeError(f"it broke over {credential.reveal()} and {self._by_credential}")


def register(registries):
    kind = ProviderType("https://broken.invalid", "responses", frozenset({"responses"}))
    registries.register_provider("broken", kind, executor=Broken)
'''

HEADERS = {
    "x-api-key": CANARIES["client key"],
    "Authorization": f"Bearer {CANARIES['client authorization']}",
    "Cookie": f"session={CANARIES['client cookie']}",
    "X-Forwarded-For": CANARIES["client header"],
    "X-Forwarded-Host": CANARIES["client header"],
    "Forwarded": f"for={CANARIES['client header']}",
    "X-Secret": CANARIES["client header"],
    "Proxy-Authorization": f"Basic {CANARIES['client header']}",
    "Keep-Alive": CANARIES["client header"],
    "TE": CANARIES["client header"],
    "OpenAI-Organization": CANARIES["client header"],
    "User-Agent": f"agent/{CANARIES['client header']}",
}
"""What every client sends: the key that lets it in, and a canary in every other header."""
QUERY = f"?api_key={CANARIES['client query']}&beta=true"


@dataclass(frozen=True, slots=True)
class Place:
    """Something that left the proxy: what it is for people, and its bytes, an answer's head included."""

    name: str
    data: bytes
    status: int = 0
    headers: tuple[str, ...] = ()
    request_id: str = ""


@dataclass
class Walked:
    """What came out. ``upstream`` saw the requests."""

    places: list[Place] = field(default_factory=list)
    models: list[Received] = field(default_factory=list)
    tools: list[Received] = field(default_factory=list)
    behaviours: set[str] = field(default_factory=set)

    def keep(self, name: str, data: bytes | str, status: int = 0, headers: Mapping[str, str] | None = None) -> None:
        given = {key.lower(): value for key, value in (headers or {}).items()}
        content = data.encode() if isinstance(data, str) else data
        self.places.append(Place(name, content, status, tuple(given), given.get("x-request-id", "")))


def configuration(upstream: str, plain: str, folder: Path) -> Json:
    """A provider for each source of a secret and each wire; some that cannot be reached (``plain`` speaks no TLS); the
    proxy's own tools; a plugin that breaks."""
    (folder / "key.txt").write_text(CANARIES["file"] + "\n")
    (folder / "crashing.py").write_text(BREAKING)
    credentials: dict[str, Json] = {
        "config": {"api_key": CANARIES["config"]},
        "env": {"api_key": "${CANARY_ENV}"},
        "file": {"api_key_file": "key.txt"},
        "header": {"api_key": None, "headers": {"X-Tenant": CANARIES["header"]}},
        "key command": {"api_key_command": [sys.executable, "-c", f"print({CANARIES['key command']!r})"]},
    }
    providers = [
        {key: value for key, value in provider(f"{source}-{wire}", upstream, wire, **more).items() if value is not None}
        for source, more in ({s: {"api_key": None, **c} for s, c in credentials.items()}).items()
        for wire in WIRES
    ]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    through = f"http://user:{CANARIES['proxy password']}@{nobody.removeprefix('http://')}"
    key = {"api_key": CANARIES["config"], "models": ["good"]}
    providers += [
        provider("refused", nobody, "chat", **key),
        provider("no-tls", plain.replace("http:", "https:"), "chat", **key),
        provider("no-dns", "http://upstream.invalid", "chat", **key),
        provider("behind", "http://192.0.2.1", "chat", proxy=through, **key),
        {"name": "broken", "type": "broken", **key},
    ]  # fmt: skip
    mcp = {
        kind: {
            "url": f"{upstream}/mcp/{kind}?mcpApiToken={CANARIES['query']}",
            "headers": {"X-Mcp-Token": CANARIES["mcp header"]},
        }
        for kind in ("401", "page", "rpc", "good", "fine")
    }
    return {
        "server": {"api_keys": [CANARIES["client key"]]},
        "limits": {"body": "64KiB"},
        "timeouts": {"first_byte": "3s", "idle": "2s", "connect": "3s"},
        "retries": {"same_candidate": 0, "max_wait": 0},
        "providers": providers,
        "plugins": ["crashing.py"],
        "tools": {
            "web_search": {"provider": "brave", "base_url": f"{upstream}/search", "api_key": CANARIES["search"]},
            "mcp": {"allowed_hosts": [upstream.removeprefix("http://")], "servers": mcp},
        },
    }


def request_of(client: str, model: str, *, stream: bool) -> Json:
    """A small request in a client's format."""
    if client == "responses":
        return {"model": model, "input": "hi", "stream": stream, "temperature": 0.5}
    body: Json = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream, "temperature": 0.5}
    return {**body, "max_tokens": 99} if client == "messages" else body


def turns() -> Iterator[tuple[str, str, bool]]:
    """(client, model, whether it streams): everything for the first source, each behaviour once for the others."""
    for wire in WIRES:
        for behaviour in BEHAVIOURS:
            for client in CLIENTS:
                for stream in (True, False):
                    yield client, f"config-{wire}/{behaviour}", stream
            for source in SOURCES[1:]:
                yield "responses", f"{source}-{wire}/{behaviour}", True
    for name in ("refused", "no-tls", "no-dns", "behind", "broken"):
        for client in CLIENTS:
            for stream in (True, False):
                yield client, f"{name}/good", stream


class Walk:
    """One client of one running proxy."""

    def __init__(self, proxy: Proxy, upstream: EchoingUpstream, session: aiohttp.ClientSession) -> None:
        self.proxy = proxy
        self.walked = Walked()
        self._upstream = upstream
        self._session = session
        self._permits = asyncio.Semaphore(AT_ONCE)
        self._commands = asyncio.Semaphore(COMMANDS_AT_ONCE)

    async def ask(self, name: str, method: str, path: str, body: Json | bytes | None = None) -> bytes:
        """One request with all the headers; keeps the answer."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        headers = {**HEADERS, "Content-Type": "application/json"} if data is not None else HEADERS
        async with (
            self._permits,
            asyncio.timeout(DEADLINE),
            self._session.request(method, self.proxy.url + path + QUERY, data=data, headers=headers) as answer,
        ):
            content = await answer.read()
        head = "".join(f"{key}: {value}\n" for key, value in answer.headers.items()).encode()
        self.walked.keep(name, head + b"\n" + content, answer.status, answer.headers)
        return content

    async def turns(self) -> None:
        """Every behaviour through every client; then what was stored of the responses."""
        asked = [
            self.ask(
                f"{client}{' stream' if stream else ''}, {model}",
                "POST",
                CLIENTS[client],
                request_of(client, model, stream=stream),
            )
            for client, model, stream in turns()
        ]
        answers = await asyncio.gather(*asked)
        ids = {line for answer in answers for line in _ids(answer)}
        await asyncio.gather(*(self.ask(f"stored {each}", "GET", f"/v1/responses/{each}") for each in sorted(ids)))
        for each in sorted(ids)[:3]:
            await self.ask("input items", "GET", f"/v1/responses/{each}/input_items")

    async def sockets(self) -> None:
        """Every behaviour over one WebSocket."""
        url = f"{self.proxy.url}/v1/responses{QUERY}"
        async with asyncio.timeout(4 * DEADLINE), self._session.ws_connect(url, headers=HEADERS) as socket_:
            for model in [f"config-responses/{each}" for each in BEHAVIOURS] + ["broken/good", "refused/good"]:
                await socket_.send_json({"type": "response.create", "model": model, "input": "hi", "store": False})
                kind = ""
                while kind not in ("response.completed", "response.failed", "response.incomplete", "error"):
                    message = await socket_.receive_str()
                    kind = json.loads(message)["type"]
                    self.walked.keep(f"websocket, {model}", message)

    async def tools(self) -> None:
        """MCP servers of the configuration and of the request, and a search; the upstream calls what it is offered."""
        declared = {
            "type": "mcp",
            "require_approval": "never",
            "headers": {"X-Mcp-Token": CANARIES["request mcp header"]},
            "authorization": CANARIES["request mcp token"],
        }
        tools: dict[str, Json] = {"search": {"type": "web_search"}}
        for kind in ("401", "page", "rpc", "good", "fine"):
            tools[f"configured {kind}"] = {"type": "mcp", "server_label": kind}
            url = f"{self._upstream.url}/mcp/{kind}"
            tools[f"declared {kind}"] = {**declared, "server_label": f"own_{kind}", "server_url": url}
        body: Json = {"model": "config-responses/own_tool", "input": "hi"}
        for name, tool in tools.items():
            await self.ask(name, "POST", "/v1/responses", {**body, "tools": [tool]})
            await self.ask(f"{name} stream", "POST", "/v1/responses", {**body, "tools": [tool], "stream": True})

    async def others(self, folder: Path) -> None:
        """Requests that reach no upstream, and what is on the disk while the proxy runs."""
        for name in ("runtime.json", "lessons.json"):
            (file,) = folder.rglob(name)
            self.walked.keep(name, file.read_bytes())
        for path in ("/health", "/ready", "/v1/models", "/", "/v1/models/config-chat/good", "/v1/responses/resp_none"):
            await self.ask(path, "GET", path)
        await self.ask("unknown route", "GET", f"/v1/{CANARIES['client header']}")
        await self.ask("unknown model", "POST", "/v1/responses", request_of("responses", "nobody/x", stream=False))
        await self.ask("bad JSON", "POST", "/v1/responses", b'{"input": "' + CANARIES["client header"].encode())
        for client, path in CLIENTS.items():
            await self.ask(f"oversized body, {client}", "POST", path, {"input": CANARIES["client header"] * 6000})
        await self.ask("count", "POST", "/v1/messages/count_tokens", request_of("messages", "m", stream=False))
        background = {"model": "config-chat/http_500", "input": "hi", "background": True}
        await self.ask("background", "POST", "/v1/responses", background)

    async def malformed(self) -> None:
        """What is no HTTP, and credentials that nobody can have."""
        bad, big = CANARIES["malformed authorization"], CANARIES["oversized authorization"]
        head = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"
        requests = {name: text.replace(CANARY, bad).encode() for name, text in MALFORMED.items()}
        for name, value in {
            "broken bytes": f"Bearer {bad}".encode() + b"\xff\xfe\x80",
            "a carriage return": f"Bearer {bad}\r{bad}".encode(),
            "a line feed": f"Bearer\n {bad}".encode(),
            "a smuggled line": f"Bearer {bad}\r\nX-Api-Key {bad}".encode(),
            "no scheme": bad.encode(),
            "basic": f"Basic {bad}".encode(),
            "twice": f"Bearer {bad}\r\nAuthorization: Bearer {bad}".encode(),
            "64 KiB": b"Bearer " + big.encode() * 3000,
            "16 KiB": b"Bearer " + big.encode() * 700,
        }.items():
            requests[f"authorization: {name}"] = head.encode() + b"Authorization: " + value + b"\r\n\r\n"
        for name, data in requests.items():
            self.walked.keep(name, await self._raw(data))

    async def _raw(self, data: bytes) -> bytes:
        """What a socket gets for these bytes until it is closed, or until nothing more has to come."""
        reader, writer = await asyncio.open_connection(*self.proxy.url.removeprefix("http://").rsplit(":", 1))
        try:
            async with asyncio.timeout(DEADLINE):
                writer.write(data)
                answer = await reader.readuntil(b"\r\n\r\n")
                length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length"))
                return answer + await reader.readexactly(int(length.partition(b":")[2]))
        finally:
            writer.close()

    async def commands(self, folder: Path) -> None:
        """What the command line says about the same configuration, and about some requests."""
        ids = {place.name: place.request_id for place in self.walked.places if place.request_id}
        # In one form or the other, by turns.
        explained = [("explain", ids[name], *((), ("--json",))[row % 2]) for row, name in enumerate(EXPLAINED)]
        await asyncio.gather(*(self._command(folder, *words) for words in (*COMMANDS, *explained)))

    async def reloads(self, folder: Path, config: Json) -> None:
        """A configuration that cannot be used, and one with another key, which an upstream then repeats."""
        first, *others = config["providers"]
        await self._reload(folder, {**config, "limits": {"body": "${CANARY_ENV}"}}, "stays in force")
        exchanged = {**first, "api_key": CANARIES["exchanged key"]}
        await self._reload(folder, {**config, "providers": [exchanged, *others]}, "configuration reloaded")
        for behaviour in ("http_401", "failed_event", "page_500"):
            made = request_of("responses", f"config-responses/{behaviour}", stream=True)
            await self.ask(f"{behaviour} after a reload", "POST", "/v1/responses", made)
        await self._command(folder, "config", "show")

    async def _reload(self, folder: Path, config: Json, said: str) -> None:
        (folder / "config.yaml").write_text(json.dumps(config))
        os.kill(self.proxy.pid, signal.SIGHUP)
        await eventually(lambda: any(said in line for line in self.proxy.stderr))

    async def _command(self, folder: Path, *words: str) -> None:
        async with self._commands:
            process = await asyncio.create_subprocess_exec(
                *PROGRAM, *words, "--config", str(folder / "config.yaml"),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
                env=environment(folder),
            )  # fmt: skip
            try:
                output, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        self.walked.keep(" ".join(words), output, process.returncode or 0)


def environment(folder: Path) -> dict[str, str]:
    """That of the proxy and of the commands."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb",
        "CANARY_ENV": CANARIES["env"],
    }  # fmt: skip


def _ids(answer: bytes) -> set[str]:
    """Ids of responses in an answer."""
    return {part.split('"')[0] for part in answer.decode("utf-8", "replace").split('"id":"')[1:] if part[:5] == "resp_"}


@asynccontextmanager
async def _client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


async def walk(folder: Path) -> Walked:
    """All of it; afterwards every file that the proxy left, and everything it said."""
    async with (
        echoing_upstream() as upstream,
        RawUpstream(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as plain,
        _client() as session,
    ):
        config = configuration(upstream.url, plain.url, folder)
        async with running_proxy(config, folder, "--log-level", "debug", CANARY_ENV=CANARIES["env"]) as proxy:
            path = Walk(proxy, upstream, session)
            await asyncio.gather(path.turns(), path.sockets(), path.tools())
            await asyncio.gather(path.others(folder), path.malformed())
            await path.commands(folder)
            await path.reloads(folder, config)
        walked = path.walked
        for line in proxy.stderr:
            walked.keep("log", line)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.name not in HELD:
            walked.keep(f"file {file.relative_to(folder)}", file.read_bytes())
    walked.models, walked.tools, walked.behaviours = upstream.requests, upstream.others, upstream.behaviours
    return walked
