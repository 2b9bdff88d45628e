"""Providers as configured: defaults of their types, and what cannot stand together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_proxy.config.errors import Report
from agentic_proxy.config.model import Model, Provider
from agentic_proxy.config.providers import build_providers, check_model_name, read_credentials
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact


@pytest.fixture(autouse=True)
def empty_register() -> Iterator[None]:
    redact.forget_all()
    yield
    redact.forget_all()


def built(*items: dict[str, Any]) -> tuple[tuple[Provider, ...], list[str]]:
    report = Report("c.yaml", {})
    providers = build_providers(list(items), report)
    return providers, [str(problem) for problem in report.problems]


def one(**item: Any) -> Provider:
    (provider,), problems = built({"name": "p", **item})
    assert problems == []
    return provider


def test_a_provider_with_everything() -> None:
    made = one(
        type="openai-compatible",
        base_url="http://h/",
        wire="responses",
        custom_tools="native",
        headers={"X-A": "b"},
        proxy="http://proxy:1",
        priority=3,
        weight=1,
        models=["m", {"id": "n", "alias": ["a"], "context_window": 5, "images": False, "apply_patch": "pass"}],
    )
    assert made == Provider(
        name="p",
        type="openai-compatible",
        base_url="http://h/v1",
        wire="responses",
        custom_tools="native",
        headers={"X-A": Secret("b")},
        proxy="http://proxy:1",
        priority=3,
        weight=1,
        models=(Model("m"), Model("n", ("a",), 5, False, {}, "pass")),
        available=True,
    )


OPENAI = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("item", "base_url", "wire", "custom_tools", "available"),
    [
        ({"type": "openai"}, OPENAI, "responses", "native", True),
        (
            {"type": "openai", "base_url": "https://API.openai.com/"},
            "https://API.openai.com/v1",
            "responses",
            "native",
            True,
        ),
        ({"type": "openai", "wire": "chat"}, OPENAI, "chat", "function", True),
        ({"type": "openai", "custom_tools": "function"}, OPENAI, "responses", "function", True),
        ({"type": "openai", "base_url": "http://h"}, "http://h/v1", "responses", "function", True),
        (
            {"type": "openai", "base_url": "http://h", "custom_tools": "native"},
            "http://h/v1",
            "responses",
            "native",
            True,
        ),
        ({"type": "openai", "wire": "messages"}, OPENAI, "messages", "function", False),
        ({"type": "openai", "wire": "auto"}, OPENAI, "auto", "native", True),
        ({"type": "openai", "wire": "auto", "base_url": "http://h"}, "http://h/v1", "auto", "function", True),
        ({"type": "openai-compatible", "base_url": OPENAI}, OPENAI, "chat", "function", True),
        (
            {"type": "openai-compatible", "base_url": "http://h", "wire": "auto"},
            "http://h/v1",
            "auto",
            "function",
            True,
        ),
        ({"type": "xai"}, "https://api.x.ai/v1", "responses", "function", True),
        ({"type": "meta"}, "https://api.meta.ai/v1", "responses", "function", True),
        ({"type": "kimi"}, "https://api.moonshot.ai/v1", "chat", "function", True),
        ({"type": "kimi", "wire": "auto"}, "https://api.moonshot.ai/v1", "auto", "function", True),
        ({"type": "kimi", "wire": "messages"}, "https://api.moonshot.ai/anthropic/v1", "messages", "function", True),
        ({"type": "kimi", "wire": "messages", "base_url": "http://h"}, "http://h/v1", "messages", "function", True),
        ({"type": "mistral", "wire": "messages"}, "https://api.mistral.ai/v1", "messages", "function", False),
        ({"type": "anthropic"}, "https://api.anthropic.com", "messages", "function", True),
        ({"type": "anthropic", "base_url": "http://h/"}, "http://h", "messages", "function", True),
        ({"type": "anthropic", "base_url": "http://h/x/"}, "http://h/x", "messages", "function", True),
        ({"type": "deepseek"}, "https://api.deepseek.com/v1", "chat", "function", True),
        ({"type": "openrouter"}, "https://openrouter.ai/api/v1", "chat", "function", True),
        ({"type": "ollama"}, "http://127.0.0.1:11434/v1", "chat", "function", True),
        ({"type": "vllm"}, "http://127.0.0.1:8000/v1", "chat", "function", True),
        ({"type": "lm-studio"}, "http://127.0.0.1:1234/v1", "chat", "function", True),
        ({"type": "llama.cpp"}, "http://127.0.0.1:8080/v1", "chat", "function", True),
        ({"type": "demo"}, "", "chat", "function", True),
    ],
)
def test_defaults_come_from_the_type(
    item: dict[str, str], base_url: str, wire: str, custom_tools: str, available: bool
) -> None:
    made = one(**item)
    assert (made.base_url, made.wire, made.custom_tools, made.available) == (base_url, wire, custom_tools, available)


KIMI, CODING = "https://api.moonshot.ai", "https://api.kimi.com/coding/v1"
ZAI = "https://open.bigmodel.cn/api"


@pytest.mark.parametrize(
    ("item", "by_client"),
    [
        ({"type": "openai"}, {"responses": OPENAI, "chat": OPENAI}),
        ({"type": "kimi"}, {"chat": f"{KIMI}/v1", "messages": f"{KIMI}/anthropic/v1"}),
        ({"type": "kimi", "base_url": CODING}, {"chat": CODING, "messages": CODING}),
        (
            {"type": "zai", "base_url": f"{ZAI}/paas/v4"},
            {"chat": f"{ZAI}/paas/v4", "messages": f"{ZAI}/anthropic/v1"},
        ),
        (
            {"type": "openai-compatible", "base_url": "http://h"},
            {"chat": "http://h/v1", "messages": "http://h/v1", "responses": "http://h/v1"},
        ),
        ({"type": "mistral"}, {"chat": "https://api.mistral.ai/v1"}),
        ({"type": "anthropic"}, {"messages": "https://api.anthropic.com"}),
        ({"type": "demo"}, {"chat": ""}),
    ],
)
def test_wire_auto_knows_where_each_wire_is_the_types_own_first(
    item: dict[str, str], by_client: dict[str, str]
) -> None:
    made = one(**item, wire="auto")
    assert list(made.by_client.items()) == list(by_client.items())
    assert one(**item).by_client == {}


def test_without_a_list_of_models_any_name_goes() -> None:
    assert one(type="openai").models is None
    assert one(type="openai", models=[]).models == ()


def test_what_is_not_available_yet_is_a_warning() -> None:
    report = Report("c.yaml", {("providers", 0): 2, ("providers", 1): 3})
    items = [{"name": "x", "type": "anthropic"}, {"name": "o", "type": "openai", "wire": "messages"}]
    build_providers(items, report)
    assert (report.problems, report.warnings) == (
        [],
        [
            "c.yaml: providers[1]: wire messages is not available yet: requests to o are answered with an error "
            "(line 3)",
        ],
    )


def test_overrides_of_a_models_dialect_are_checked_one_by_one() -> None:
    dialect = {"tool_limit": 20, "efforts": ["low"], "effort": 1, "tool_choice": ["any"], "images": "no", "extra": {}}
    report = Report("c.yaml", {})
    models = [{"id": "m", "dialect": dialect}, {"id": "n", "dialect": {"replay": "reasoning", "refused": ["stop"]}}]
    (made,) = build_providers([{"name": "x", "type": "openai", "models": models}], report)
    assert [str(problem) for problem in report.problems] == [
        'providers[0].models[0].dialect.effort: unknown key, did you mean "efforts"?',
        "providers[0].models[0].dialect.tool_choice: must be one of auto, none, required, named, allowed",
        "providers[0].models[0].dialect.images: must be true or false",
    ]
    assert made.models is not None
    assert made.models[1].dialect == {"replay": "reasoning", "refused": frozenset({"stop"})}


A, B = {"name": "a", "type": "openai"}, {"name": "b", "type": "openai"}


@pytest.mark.parametrize(
    ("items", "problems"),
    [
        ([{"name": "a", "type": "openai-compatible"}], ["providers[0]: type openai-compatible needs a base_url"]),
        (
            [{"name": "a", "type": "demo", "base_url": "http://h"}],
            ["providers[0].base_url: type demo is built in and has no address"],
        ),
        ([{**A, "name": "a/b"}], ['providers[0].name: must not hold "/": it separates provider and model']),
        ([{**A, "name": " a"}], ["providers[0].name: must not begin or end with a space"]),
        ([A, B, A], ['providers[2].name: the name "a" is already taken by another provider']),
        (
            [{**A, "base_url": "h/v1"}],
            ["providers[0].base_url: must be a URL that begins with http:// or https:// and names a host"],
        ),
        (
            [{**A, "proxy": "socks5://u:canary@h"}],
            ["providers[0].proxy: must be a URL that begins with http:// or https:// and names a host"],
        ),
        ([{**A, "headers": {"X Y": "1"}}], ["providers[0].headers.X Y: is not a header name"]),
        (
            [{**A, "headers": {"Content-Length": "1"}}],
            ["providers[0].headers.Content-Length: is set by the proxy itself"],
        ),
        ([{**A, "headers": {"host": "h"}}], ["providers[0].headers.host: is set by the proxy itself"]),
        ([{**A, "headers": {"X": "5 €"}}], ["providers[0].headers.X: holds a character that no header can carry"]),
        (
            [{**A, "headers": {"X": "1", "x": "2"}}],
            ["providers[0].headers.x: is given twice (upper and lower case are the same header)"],
        ),
        (
            [{**A, "headers": {"X": "canary\r\nEvil: 1"}}],
            ["providers[0].headers.X: must not hold line breaks or control characters"],
        ),
        ([{**A, "models": ["m", {"id": "m"}]}], ['providers[0].models[1]: the model "m" is listed twice']),
        (
            [{**A, "models": [{"id": "m", "alias": ["x"]}]}, {**B, "models": ["m", {"id": "n", "alias": ["y", "x"]}]}],
            ['providers[1].models[1].alias[1]: the alias "x" is already taken by a/m'],
        ),
        (
            [{**A, "models": [{"id": "m", "alias": ["b/n", "a/m", "b/o"]}]}, {**B, "models": ["n"]}],
            ['providers[0].models[0].alias[0]: the alias "b/n" is the address of b/n, so it would never be meant'],
        ),
        (
            [{**A, "models": [{"id": "m", "alias": ["b/o"]}]}, B],
            ['providers[0].models[0].alias[0]: the alias "b/o" is the address of b/o, so it would never be meant'],
        ),
        (
            [{**A, "models": [{"id": "m", "alias": ["x", "x"]}]}],
            ['providers[0].models[0].alias[1]: the alias "x" is already taken by a/m'],
        ),
    ],
)
def test_what_cannot_work_is_refused(items: list[dict[str, Any]], problems: list[str]) -> None:
    assert built(*items)[1] == problems


LISTED = (
    Provider("a", "openai", OPENAI, models=(Model("gpt-5.5", ("fast",)), Model("org/llama"))),
    Provider("b", "openai", OPENAI, models=()),
)
OPEN = (*LISTED, Provider("c", "openai", OPENAI))
KNOWN = "a/gpt-5.5, a/org/llama, gpt-5.5, org/llama, fast"
FORM = "models.default: must be provider/model, an alias or a model's name"


@pytest.mark.parametrize(
    ("name", "providers", "problems"),
    [
        ("fast", LISTED, []),
        ("gpt-5.5", LISTED, []),
        ("a/gpt-5.5", LISTED, []),
        ("a/fast", LISTED, []),
        ("c/anything", OPEN, []),
        ("a/whatever", OPEN, []),  # c may have a model of this name
        ("a/gpt-5.6", LISTED, ['models.default: no provider has a model "a/gpt-5.6", did you mean "a/gpt-5.5"?']),
        ("b/zz", LISTED, [f'models.default: no provider has a model "b/zz", known are {KNOWN}']),
        ("org/llama", LISTED, []),
        ("whatever", OPEN, []),
        ("other/whatever", OPEN, []),
        ("a/", LISTED, [FORM]),
        ("/m", OPEN, [FORM]),
        ("zz/", OPEN, [FORM]),
        ("fsat", LISTED, ['models.default: no provider has a model "fsat", did you mean "fast"?']),
        ("aa/gpt-5.5", LISTED, ['models.default: no provider has a model "aa/gpt-5.5", did you mean "a/gpt-5.5"?']),
        (
            "zzz",
            LISTED,
            [f'models.default: no provider has a model "zzz", known are {KNOWN}'],
        ),
        ("m", (), ['models.default: no provider has a model "m": no provider is configured']),
    ],
)
def test_the_default_model_must_lead_somewhere(name: str, providers: tuple[Provider, ...], problems: list[str]) -> None:
    report = Report("c.yaml", {})
    check_model_name(name, providers, ("models", "default"), report)
    assert [str(problem) for problem in report.problems] == problems


def test_all_sources_of_keys_are_used_in_order(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("key-3\n")
    item = {"api_key": "key-1", "api_keys": ["key-2", "key-1"], "api_key_file": "key", "api_key_command": "echo key-4"}
    report = Report("c.yaml", {})
    keys = read_credentials(item, ("providers", 0), tmp_path, report)
    assert [key.reveal() for key in keys] == ["key-1", "key-2", "key-3", "key-4"]
    assert report.problems == []


def test_every_key_that_cannot_be_had_is_reported_at_its_place(tmp_path: Path) -> None:
    item = {"api_key": " ", "api_keys": ["fine", "a b"], "api_key_file": "key", "api_key_command": ["no-such-program"]}
    report = Report("c.yaml", {})
    read_credentials(item, ("providers", 0), tmp_path, report)
    assert [str(problem) for problem in report.problems] == [
        "providers[0].api_key: is empty; leave it out where no key is needed",
        "providers[0].api_keys[1]: holds a space, a line break or another character that no API key has",
        f"providers[0].api_key_file: the file {tmp_path / 'key'} cannot be read: No such file or directory",
        "providers[0].api_key_command: no-such-program cannot be run: No such file or directory",
    ]


def test_credentials_in_headers_and_proxies_are_never_shown_again() -> None:
    headers = {"Authorization": "Custom canary-one", "X-Api-Key": "canary-two", "X-Title": "harmless"}
    one(type="openai", headers=headers, proxy="http://u:canary-three@proxy")
    assert redact.redact("canary-one canary-two canary-three harmless") == "*** *** *** harmless"
