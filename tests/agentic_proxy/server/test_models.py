"""``/v1/models``: one body for OpenAI's clients and for Codex."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Model, Provider
from agentic_proxy.routing.models import Target
from agentic_proxy.server.models import etag_matches, sees_images
from support.http_server import running
from translators.failure import Failure

KIMI = Provider(
    "kimi",
    "kimi",
    "http://127.0.0.1:9/v1",
    models=(Model("kimi-k3", ("k3",), context_window=262144, images=True), Model("plain")),
)
LOCAL = Provider("local", "vllm", "http://127.0.0.1:9/v1")
LATER = Provider("later", "anthropic", "http://127.0.0.1:9/v1", models=(Model("opus"),), available=False)
CONFIG = Config(providers=(KIMI, LATER))
NAMES = ["kimi/kimi-k3", "kimi/plain", "k3", "kimi-k3", "plain"]


class Lister:
    """An executor that only lists; ``answer`` None means that the upstream did not answer."""

    provider = LOCAL

    def __init__(self, answer: list[str] | None) -> None:
        self.answer = answer

    async def list_models(self) -> list[str]:
        if self.answer is None:
            raise Failure("upstream_timeout", "It did not answer.")
        return self.answer


async def test_one_body_lists_every_routable_name_for_openai_and_for_codex() -> None:
    async with running(CONFIG) as server:
        answer = await server.get("/v1/models?client_version=0.171.0")
        body = orjson.loads(answer.body)
        assert (answer.status, body["object"]) == (200, "list")
        assert [entry["id"] for entry in body["data"]] == [entry["slug"] for entry in body["models"]] == NAMES
        assert body["data"][0] == {"id": "kimi/kimi-k3", "object": "model", "created": 0, "owned_by": "kimi"}
        codex = {entry["slug"]: entry for entry in body["models"]}
        assert (codex["k3"]["context_window"], codex["k3"]["input_modalities"]) == (262144, ["text", "image"])
        assert (codex["plain"]["context_window"], codex["plain"]["input_modalities"]) == (128000, ["text"])
        assert [entry["priority"] for entry in body["models"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("kind", "name", "said", "sees"),
    [
        ("anthropic", "claude-opus-4-8", None, True),
        ("anthropic", "claude-opus-4-8", False, False),
        ("anthropic", "another", None, None),
        ("openai", "gpt-5.5", None, True),
        ("openai", "o4-mini", None, True),
        ("openai", "o3-mini", None, None),
        ("openai", "gpt-4", None, None),
        ("openai", "llama-3", True, True),
        ("gemini", "gemini-3.5-flash", None, True),
        ("deepseek", "deepseek-chat", None, False),
        ("zai", "glm-5v", None, True),
        ("vllm", "qwen3", None, None),
        ("of-a-plugin", "m", None, None),
    ],
)
def test_codex_is_told_of_eyes_that_somebody_knows_of(
    kind: str, name: str, said: bool | None, sees: bool | None
) -> None:
    provider = Provider("p", kind, "http://127.0.0.1:9/v1")
    assert sees_images(Target(provider, Model(name, images=said), name)) is sees
    if said is None:
        assert sees_images(Target(provider, None, name)) is sees


async def test_an_unchanged_list_is_304_and_a_changed_one_is_not() -> None:
    lister = Lister(["a"])
    async with running(Config(providers=(LOCAL,)), executors={"local": lister}) as server:
        first = await server.get("/v1/models")
        again = await server.get("/v1/models", f"If-None-Match: {first.headers['etag']}")
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
        head = await server.get("/v1/models", method="HEAD")
        assert (head.headers["etag"], head.headers["content-length"]) == (first.headers["etag"], str(len(first.body)))
        lister.answer = ["a", "b"]
        server.engine.models._due["local"] = float("-inf")
        changed = await server.get("/v1/models", f"If-None-Match: {first.headers['etag']}")
        assert changed.status == 200
        assert [entry["id"] for entry in orjson.loads(changed.body)["data"]] == ["local/a", "local/b", "a", "b"]


async def test_an_upstream_that_does_not_list_leaves_the_others_listed() -> None:
    async with running(Config(providers=(LOCAL, KIMI)), executors={"local": Lister(None)}) as server:
        answer = await server.get("/v1/models")
        assert [entry["id"] for entry in orjson.loads(answer.body)["data"]] == NAMES


@pytest.mark.parametrize(
    ("path", "status", "owner"),
    [
        ("kimi/kimi-k3", 200, "kimi"),
        ("kimi%2Fkimi-k3?x=1", 200, "kimi"),
        ("k3", 200, "kimi"),
        ("nothing", 404, "model_not_found"),
        ("later/opus", 400, "not_available_yet"),
    ],
)
async def test_one_model_is_found_by_any_routable_name(path: str, status: int, owner: str) -> None:
    async with running(CONFIG) as server:
        answer = await server.get("/v1/models/" + path)
        body: dict[str, Any] = orjson.loads(answer.body)
        assert (answer.status, body.get("owned_by") or body["error"]["code"]) == (status, owner)


@pytest.mark.parametrize(
    ("condition", "matches"),
    [('"x"', True), ('W/"x"', True), ('"a", "x"', True), ("*", True), ('"a"', False), ("x", False), ("", False)],
)
def test_a_condition_is_a_list_of_tags_or_a_star(condition: str, matches: bool) -> None:
    assert etag_matches(condition, '"x"') is matches
