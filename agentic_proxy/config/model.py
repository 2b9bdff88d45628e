"""The configuration as frozen data. Durations are seconds, sizes are bytes; every field has the documented default.

``load.py`` is the only maker of these objects; the rest of the program only reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agentic_proxy.config.secrets import Secret

Wire = Literal["responses", "chat", "messages", "auto"]
CustomTools = Literal["native", "function"]
PatchMode = Literal["strict", "repair", "pass"]
Strategy = Literal["fill-first", "round-robin", "weighted"]
KeepaliveForm = Literal["event", "comment"]


@dataclass(frozen=True, slots=True)
class Server:
    """Where clients connect. ``api_keys`` non-empty: every client must send one (Bearer or x-api-key)."""

    host: str = "127.0.0.1"
    port: int = 8484
    api_keys: tuple[Secret, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    websocket: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    body: int = 64 << 20
    sse_line: int = 16 << 20
    arguments: int = 8 << 20
    retained: int = 64 << 20
    deferred: int = 256 << 10
    ws_message: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Timeouts:
    connect: float = 10.0
    first_byte: float = 300.0
    idle: float = 300.0
    keepalive_first: float = 10.0
    keepalive: float = 15.0
    drain: float = 10.0
    keepalive_form: KeepaliveForm = "event"


@dataclass(frozen=True, slots=True)
class Retries:
    same_candidate: int = 1
    max_wait: float = 20.0


@dataclass(frozen=True, slots=True)
class Retention:
    days: int = 30
    size: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Store:
    url: str = field(default="", repr=False)
    """May hold a database password: never shown."""
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a provider's list names it. ``patch_mode`` None means the global one."""

    id: str
    alias: tuple[str, ...] = ()
    context_window: int | None = None
    images: bool | None = None
    dialect: dict[str, Any] = field(default_factory=dict)
    patch_mode: PatchMode | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """One upstream. ``base_url`` is complete (with ``/v1`` where none was given, without a trailing slash).

    ``wire`` and ``custom_tools`` are already filled in from the type's defaults; ``models`` None means "any name, list
    fetched from the upstream". ``available`` False: the type is known but not built yet.
    """

    name: str
    type: str
    base_url: str
    api_keys: tuple[Secret, ...] = ()
    wire: Wire = "chat"
    custom_tools: CustomTools = "function"
    headers: dict[str, Secret] = field(default_factory=dict)
    proxy: str | None = field(default=None, repr=False)
    """May hold a password: never shown."""
    priority: int = 0
    weight: int = 1
    models: tuple[Model, ...] | None = None
    available: bool = True
    by_client: dict[str, str] = field(default_factory=dict)
    """With ``wire`` auto: base URLs by the wires that clients of these formats are served in, the first one serves all
    others."""


@dataclass(frozen=True, slots=True)
class Models:
    default: str | None = None
    fallback: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Routing:
    """``returns`` is the key ``return``: whether a session goes back to its first choice once that has recovered."""

    strategy: Strategy = "fill-first"
    affinity: float = 3600.0
    returns: bool = True


@dataclass(frozen=True, slots=True)
class WebSearch:
    """A search provider; ``base_url`` is filled in from the provider's own."""

    provider: str
    base_url: str
    api_key: Secret | None = None


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server by its label: ``url`` (streamable HTTP), or ``command`` with its arguments (stdio).

    ``allowed_tools`` None: all of them. ``require_approval``: ``never``, unless a request asks for it, or ``always``.
    """

    url: str | None = None
    command: tuple[str, ...] = ()
    env: dict[str, Secret] = field(default_factory=dict)
    headers: dict[str, Secret] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] | None = None
    require_approval: str = "never"


@dataclass(frozen=True, slots=True)
class Mcp:
    """``allowed_hosts``: where servers that a request declares may be (``host`` or ``host:port``)."""

    allowed_hosts: tuple[str, ...] = ()
    servers: dict[str, McpServer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    apply_patch: PatchMode = "repair"
    apply_patch_rules: dict[str, bool] = field(default_factory=dict)
    web_search: WebSearch | None = None
    mcp: Mcp = field(default_factory=Mcp)
    offer: tuple[str, ...] = ()
    """Tools of plugins that every model is offered."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; ``cached`` and ``cache_write`` None cost what ``input`` costs."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """``prices`` by ``provider/model`` or by the upstream's name of the model."""

    prices: dict[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    server: Server = field(default_factory=Server)
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    store: Store = field(default_factory=Store)
    providers: tuple[Provider, ...] = ()
    models: Models = field(default_factory=Models)
    routing: Routing = field(default_factory=Routing)
    tools: Tools = field(default_factory=Tools)
    compaction: Literal["summary", "native"] = "summary"
    usage: Usage = field(default_factory=Usage)
    plugins: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the person should read once at start: settings accepted but without effect yet."""
