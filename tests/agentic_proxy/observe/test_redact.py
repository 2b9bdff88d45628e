"""Credentials are taken out of text; the rest stays."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentic_proxy.observe import redact


@pytest.fixture(autouse=True)
def empty_register() -> Iterator[None]:
    redact.forget_all()
    yield
    redact.forget_all()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-1", "Authorization: ***"),
        ("Authorization: Custom canary, realm=x\nnext: 1", "Authorization: ***\nnext: 1"),
        ("authorization=Basic dXNlcjpw", "authorization=***"),
        ("Authorization: abcdef", "Authorization: ***"),
        ('{"authorization": "Bearer x", "a": 1}', '{"authorization": "***", "a": 1}'),
        ('{\\"x-api-key\\": \\"ab\\"}', '{\\"x-api-key\\": \\"***\\"}'),
        ("{'X-Api-Key': b'abc'}", "{'X-Api-Key': b'***'}"),
        ("proxy-authorization: Bearer q", "proxy-authorization: ***"),
        ("x-goog-api-key: AIzq", "x-goog-api-key: ***"),
        ("sent bearer abcdef123 there", "sent bearer *** there"),
        ("Cookie: session=1; b=2", "Cookie: ***"),
        ("http://h/p?key=abc&x=1", "http://h/p?key=***&x=1"),
        ("http://h/p?x=1&api_key=abc", "http://h/p?x=1&api_key=***"),
        ("http://user:pass@h/p", "http://***@h/p"),
        ("Incorrect API key provided: sk-proj-ab**wxyz.", "Incorrect API key provided: ***"),
        ("key xai-0123456789abcdef", "key ***"),
        ("gsk_0123456789 hf_0123456789 ghp_0123456789 nvapi-0123456789", "*** *** *** ***"),
        ("LLM|12345|abcdef", "***"),
        ("jwt eyJhbGciOiJI.eyJzdWIi.c2ln end", "jwt *** end"),
        ("half a jwt-eyJhbGciOiJI end", "half a jwt-*** end"),
        ("password=hunter2;x=1", "password=***;x=1"),
        ("access_token: abc", "access_token: ***"),
    ],
)
def test_credentials_are_known_by_their_shape(text: str, shown: str) -> None:
    assert redact.redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The model gpt-5.5 is overloaded.",
        "a risk-based task-force",
        "This model's maximum context length is 8192 tokens.",
        "Unsupported parameter: 'reasoning.effort'",
        "http://127.0.0.1:8080/v1/responses?after=1",
        "the bearer of bad news",
        "Missing bearer or basic authentication in header",
        "max_tokens: 5, total_tokens=7",
        "grüße 日本語 \u2028 \x00",
    ],
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert redact.redact(text) == text


def test_registered_values_are_taken_out_wherever_they_stand_also_inside_urls() -> None:
    redact.register("p@ss/word")
    redact.register("p@ss/word-longer")
    assert redact.redact("(p@ss/word) p@ss/word-longer x=p%40ss%2Fword") == "(***) *** x=***"


KEY = 'a"Key&with\\all/of+them<12='


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        "a%22Key%26with%5Call%2Fof%2Bthem%3C12%3D",
        "a%22Key%26with%5call%2fof%2bthem%3c12%3d",
        'a\\"Key&with\\\\all/of+them<12=',
        "a&quot;Key&amp;with\\all/of+them&lt;12=",
    ],
)
def test_registered_values_are_known_in_every_form_and_in_pieces_of_twelve_characters(form: str) -> None:
    redact.register(KEY)
    assert redact.redact(f"({form}) {form}{form}.") == "(***) ***."
    for start in range(len(form) - redact.PIECE):
        assert redact.redact(f"-{form[start : start + redact.PIECE]}-") == "-***-"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "Aladdin:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_registered_values_are_known_in_base64(before: str, encode: Callable[[bytes], bytes]) -> None:
    redact.register(KEY)
    shown = redact.redact(encode(f"{before}{KEY}".encode()).decode())
    assert redact.MASK in shown
    kept = shown.replace(redact.MASK, "")
    assert len(kept) <= len(before) * 4 // 3 + 8


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("X-Tenant", "hdrT2xWb70GpKy93LnDf58", "***"),
        ("X-Tenant", "550e8400-e29b-41d4-a716-446655440000", "***"),
        ("X-Api-Key", "short-one", "***"),
        ("Authorization", "Token short-one", "Token ***"),
        ("X-Title", "agentic-proxy", "agentic-proxy"),
        ("HTTP-Referer", "https://github.com/somebody/something2", "https://github.com/somebody/something2"),
        ("anthropic-beta", "interleaved-thinking-2025-05-14", "interleaved-thinking-2025-05-14"),
    ],
)
def test_settings_are_registered_when_their_name_or_their_look_says_so(name: str, value: str, shown: str) -> None:
    redact.register_setting(name, value)
    assert redact.redact(value) == shown


def test_urls_are_registered_by_their_passwords_parameters_and_steps() -> None:
    redact.register_url("https://me:p%40ssword@h.example/s/hdrT2xWb70GpKy93LnDf58/mcp?tavilyApiKey=abcdef&page=second")
    assert redact.redact("p@ssword hdrT2xWb70GpKy93LnDf58 abcdef second mcp") == "*** *** *** second mcp"


def test_short_values_are_not_registered() -> None:
    redact.register("")
    redact.register("sk-x")
    assert redact.redact("a sk-x b") == "a sk-x b"


def test_values_inside_of_containers_are_redacted() -> None:
    redact.register("canary-1")

    class Odd:
        def __repr__(self) -> str:
            return "Odd(canary-1)"

    value: dict[str, Any] = {
        "a": ["canary-1", {"canary-1": ("x", b"canary-1")}],
        "authorization": "whatever",
        "n": 1,
        "none": None,
        "odd": Odd(),
    }
    assert redact.redact_value(value) == {
        "a": ["***", {"***": ["x", "***"]}],
        "authorization": "***",
        "n": 1,
        "none": None,
        "odd": "Odd(***)",
    }


def test_of_keys_that_are_replaced_the_last_ones_are_known_and_the_others_for_good() -> None:
    redact.register("a-token-of-the-process")
    redact.register_key("also-named-elsewhere")
    redact.register("also-named-elsewhere")
    keys = [f"key-{number}-of-many" for number in range(3 * redact.READINGS)]
    for key in keys:
        redact.register_key("key-that-stays")
        redact.register_key("also-named-elsewhere")
        redact.register_key("short1")
        redact.register_key(key)
        redact.read_again()
    old, known = keys[: -redact.READINGS], keys[-redact.READINGS :]
    assert [redact.redact(f"<{key}>") for key in old] == [f"<{key}>" for key in old]
    for key in (*known, "a-token-of-the-process", "also-named-elsewhere", "key-that-stays", "short1"):
        assert redact.redact(f"<{key}>") == "<***>"


def test_the_processor_redacts_every_value_of_an_entry() -> None:
    entry = redact.processor(None, "info", {"event": "sent Bearer abcdef1", "api_key": "x", "count": 3})
    assert entry == {"event": "sent Bearer ***", "api_key": "***", "count": 3}


def test_the_processor_cuts_what_is_long_and_shows_no_part_of_a_secret() -> None:
    redact.register("canary-of-the-cut")
    head = "x" * (redact.LONGEST - 14)
    entry = redact.processor(None, "error", {"event": "broke", "exception": f"{head} canary-of-the-cut and more"})
    end = f"\n[cut after {redact.LONGEST:,} of {len(head) + 27:,} characters]"
    assert entry == {"event": "broke", "exception": f"{head} ***{end}"}


@pytest.mark.parametrize(
    "part", ["authorization: ", "Bearer ", "://", "?key=", "sk-", "a", "eyJ", "eyJ-", "api_key=\\"]
)
def test_no_text_takes_long(part: str) -> None:
    text = part * (300_000 // len(part))
    started = time.process_time()
    redact.redact(text)
    assert time.process_time() - started < 2
