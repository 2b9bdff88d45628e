"""Logging: structlog on standard error, for people on a terminal, as JSON lines elsewhere.

``get_logger("engine").info("turn finished", model=..., seconds=...)``: an event in a few words, facts as fields, never
a prompt, an argument or a header. A call below the level costs one method call. Everything is redacted before it is
rendered; records of the standard ``logging`` module (aiohttp, asyncio) take the same way.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO, cast

import orjson
import structlog

from agentic_proxy.observe import printable, redact

Level = Literal["debug", "info", "warning", "error"]
LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure(level: str = "info", *, stream: TextIO | None = None, colours: bool = False) -> None:
    """Set up logging for the process; may be called again. Raises KeyError for an unknown level.

    ``colours`` matters on a terminal only.
    """
    number = LEVELS[level]
    out = stream if stream is not None else sys.stderr
    renderers: list[Any] = [structlog.processors.JSONRenderer(serializer=_dump)]
    if out.isatty():
        renderers = [_printable, structlog.dev.ConsoleRenderer(colors=colours, pad_event_to=30)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_name,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Before the redaction: an exception's text may quote what it failed on.
            structlog.processors.format_exc_info,
            redact.processor,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *names: Output(out, *names),
        # Without it every call, also one below the level, would assemble a logger first (4.7 us instead of 1.3).
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, Bridge)]:
        root.removeHandler(handler)
    root.addHandler(Bridge())
    # Libraries speak at their own info level about every request; only their complaints are of interest.
    root.setLevel(number if number <= logging.DEBUG else max(number, logging.WARNING))


def get_logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger whose entries carry ``logger=name``. May be made at import time: it takes its settings with the first
    entry, and keeps them."""
    return cast(structlog.typing.FilteringBoundLogger, structlog.get_logger(name))


class Output(structlog.PrintLogger):
    """Where finished entries go, and whose they are. One that cannot be written is lost: its disk may be full, or its
    reader gone, and whatever is told of must go on."""

    def __init__(self, stream: TextIO, name: str | None = None) -> None:
        super().__init__(stream)
        self.name = name

    def msg(self, message: str) -> None:
        """Write one entry, if that is possible."""
        try:
            super().msg(message)
        except (OSError, ValueError):  # ValueError: the stream is closed
            pass

    debug = info = warning = error = critical = msg


QUOTING = frozenset({"aiosqlite", "asyncpg", "client", "httpcore2", "httpx2", "mcp"})
"""Loggers of libraries (``client`` is one of ``mcp``) that put what passes through them into their entries: requests,
answers, headers, rows."""


class Bridge(logging.Handler):
    """Hands records of the standard library's logging to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record. aiohttp's parser errors quote the client's headers: of those only the type is kept, and of
        the complaints of libraries that quote only what they are about."""
        fields: dict[str, Any] = {"logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if record.name.partition(".")[0] in QUOTING:
            if record.levelno < logging.WARNING:
                return
            event = str(record.msg) if record.args else "complaint"
            fields["error"] = type(error).__name__ if error is not None else None
        elif error is None:
            event = record.getMessage()
        elif type(error).__module__.startswith("aiohttp.http"):
            event, fields["error"] = "malformed request", type(error).__name__
        else:
            event, fields["exc_info"] = record.getMessage(), error
        structlog.get_logger().log(record.levelno, event, **fields)


def _add_name(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if logger.name is not None:
        event.setdefault("logger", logger.name)
    return event


def _printable(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    # Beneath the colours of the renderer. Other values than texts are shown as their repr, which escapes.
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = printable.lines(value) if name == "exception" else printable.one_line(value)
    return event


def _dump(event: Any, **_: Any) -> str:
    try:
        return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # Half a character or a very large number that somebody sent: an entry must not break what it tells of.
        return json.dumps(event, default=repr)
