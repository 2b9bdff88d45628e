"""What a log entry looks like, and what it never holds."""

from __future__ import annotations

import http.client
import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiohttp.http_exceptions import BadHttpMessage

from agentic_proxy.observe import log, redact


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    redact.forget_all()


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    log.configure(level, stream=stream)
    return stream


def test_elsewhere_than_on_a_terminal_an_entry_is_one_line_of_json() -> None:
    stream = configured()
    log.get_logger("engine").info("turn finished", model="m", seconds=1.5, text="a\nb")
    (entry,) = entries(stream)
    assert entry.pop("timestamp").endswith("Z")
    assert entry == {
        "event": "turn finished",
        "logger": "engine",
        "level": "info",
        "model": "m",
        "seconds": 1.5,
        "text": "a\nb",
    }


def test_on_a_terminal_an_entry_is_for_people() -> None:
    stream = Terminal()
    log.configure("info", stream=stream)
    log.get_logger("engine").info("turn finished", model="m")
    assert "turn finished" in stream.getvalue()
    assert "model=m" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_on_a_terminal_what_others_wrote_is_shown_and_not_obeyed() -> None:
    stream = Terminal()
    log.configure("info", stream=stream)
    log.get_logger("engine").info("request_failed", model="m\x1b[2J\nrequest_ended", names=["\x9b"])
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert "model=m\\u001b[2J\\u000arequest_ended" in line
    try:
        raise ValueError("\x1b[2J")
    except ValueError:
        log.get_logger("engine").exception("bug")
    assert "\x1b" not in stream.getvalue()
    assert "\n  File " in stream.getvalue()


def test_colours_are_there_when_they_are_wanted() -> None:
    stream = Terminal()
    log.configure("info", stream=stream, colours=True)
    log.get_logger("engine").info("turn finished")
    assert "\x1b[" in stream.getvalue()


def test_below_the_level_nothing_is_written() -> None:
    stream = configured("warning")
    logger = log.get_logger("engine")
    logger.debug("one")
    logger.info("two")
    logger.warning("three")
    assert [entry["event"] for entry in entries(stream)] == ["three"]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(KeyError):
        log.configure("loud")


def test_a_logger_may_be_made_before_the_configuration() -> None:
    logger = structlog.get_logger("early")
    stream = configured()
    logger.info("hello")
    assert [(entry["logger"], entry["event"]) for entry in entries(stream)] == [("early", "hello")]


def test_secrets_are_masked_in_events_fields_and_tracebacks() -> None:
    redact.register("canary-1")
    stream = configured()
    logger = log.get_logger("engine")
    logger.info("got canary-1", headers={"authorization": "x", "a": "canary-1"}, api_key="short", url="http://h?key=x")
    try:
        raise ValueError("canary-1")
    except ValueError:
        logger.exception("broke")
    assert "canary" not in stream.getvalue()
    first, second = entries(stream)
    assert (first["event"], first["headers"], first["api_key"], first["url"]) == (
        "got ***",
        {"authorization": "***", "a": "***"},
        "***",
        "http://h?key=***",
    )
    assert second["exception"].endswith("ValueError: ***")


def test_anything_can_be_logged() -> None:
    stream = configured()
    log.get_logger("engine").info("odd", value={1: object, "s": {2}}, data=b"\xff", big=float("nan"))
    (entry,) = entries(stream)
    assert (entry["value"], entry["data"], entry["big"]) == ({"1": "<class 'object'>", "s": [2]}, "\ufffd", None)
    redact.register("canary-1")
    log.get_logger("engine").info("odder", model="half a \ud83d canary-1", large=1 << 70, value={1: object})
    entry = entries(stream)[1]
    assert (entry["model"], entry["large"], entry["value"]) == ("half a \ud83d ***", 1 << 70, {"1": "<class 'object'>"})


def test_complaints_of_libraries_take_the_same_way() -> None:
    redact.register("canary-1")
    stream = configured()
    logging.getLogger("aiohttp.client").warning("unclosed %s", "canary-1")
    logging.getLogger("aiohttp.access").info("GET /")
    entry = entries(stream)
    assert [(one["logger"], one["level"], one["event"]) for one in entry] == [
        ("aiohttp.client", "warning", "unclosed ***")
    ]


def test_at_level_debug_libraries_may_talk() -> None:
    stream = configured("debug")
    logging.getLogger("aiohttp.access").debug("GET /")
    assert [entry["event"] for entry in entries(stream)] == ["GET /"]


def test_a_library_error_keeps_its_traceback() -> None:
    stream = configured()
    try:
        raise ValueError("cause")
    except ValueError:
        logging.getLogger("asyncio").exception("task failed")
    (entry,) = entries(stream)
    assert (entry["event"], entry["exception"].splitlines()[-1]) == ("task failed", "ValueError: cause")


def test_libraries_that_quote_what_passes_only_complain_and_only_by_their_own_words() -> None:
    stream = configured("debug")
    logging.getLogger("aiosqlite").debug("executing %s", "canary-3")
    logging.getLogger("httpcore2.http11").info("sent canary-3")
    logging.getLogger("mcp.client.session").warning("Invalid message: %s", "canary-3")
    try:
        raise ValueError("canary-3")
    except ValueError:
        logging.getLogger("mcp.client.streamable_http").exception("Error in canary-3")
        logging.getLogger("client").warning("Failed: %s", "canary-3", exc_info=True)
    assert "canary" not in stream.getvalue()
    assert [(entry["level"], entry["event"], entry["error"]) for entry in entries(stream)] == [
        ("warning", "Invalid message: %s", None),
        ("error", "complaint", "ValueError"),
        ("warning", "Failed: %s", "ValueError"),
    ]


def test_a_malformed_request_is_logged_without_its_text() -> None:
    stream = configured()
    try:
        raise BadHttpMessage("Invalid header: Authorization canary-2")
    except BadHttpMessage:
        logging.getLogger("aiohttp.server").exception("Error handling request with canary-2")
    (entry,) = entries(stream)
    del entry["timestamp"]
    assert entry == {
        "logger": "aiohttp.server",
        "event": "malformed request",
        "error": "BadHttpMessage",
        "level": "error",
    }


class Refusing(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def write(self, text: str) -> int:
        raise self._error


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), BrokenPipeError(32, "Broken pipe"), ValueError("closed file")]
)
@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "critical", "exception"])
def test_an_entry_that_cannot_be_written_breaks_nothing(level: str, error: Exception) -> None:
    log.configure("debug", stream=Refusing(error))
    getattr(log.get_logger("engine"), level)("turn finished")
    getattr(logging.getLogger("aiohttp"), level)("complaint")


def test_a_proxy_serves_on_when_whoever_read_its_log_has_left(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("server: {port: 0}\nstore: {url: 'memory:'}\nproviders: [{name: demo, type: demo}]\n")
    heard, said = os.pipe()
    program = [sys.executable, "-m", "agentic_proxy", "serve", "--config", str(file)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with subprocess.Popen(program, stderr=said, env=environment) as process:
        try:
            os.close(said)
            with open(heard, encoding="utf-8") as reader:
                port = int(reader.readline().rpartition(":")[2])
            statuses = [ask(port, model) for model in ("nobody/m", "demo")]
            os.kill(process.pid, signal.SIGHUP)
            statuses += [ask(port, model) for model in ("nobody/m", "demo")]
            process.terminate()
            assert (process.wait(60), statuses) == (0, [404, 200, 404, 200])
        finally:
            process.kill()


def ask(port: int, model: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"model": model, "input": "Hi"})
    connection.request("POST", "/v1/responses", body, {"Content-Type": "application/json"})
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_configuring_twice_logs_once() -> None:
    configured()
    stream = configured()
    logging.getLogger("asyncio").error("once")
    assert len(entries(stream)) == 1
