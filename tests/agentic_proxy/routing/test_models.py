"""Which provider a model name leads to."""

from __future__ import annotations

import timeit
from typing import Any

import pytest

from agentic_proxy.config.model import Model, Models, Provider
from agentic_proxy.routing.models import CACHE_LIMIT, NAME_LIMIT, Listed, ModelTable, Target
from translators.failure import Failure


def provider(name: str, *models: str | Model, **more: Any) -> Provider:
    """With models: a configured list. ``open=True``: no list."""
    listed = tuple(Model(each) if isinstance(each, str) else each for each in models)
    is_open = more.pop("open", False)
    return Provider(name, "openai-compatible", "http://127.0.0.1:9/v1", models=None if is_open else listed, **more)


def table(*providers: Provider, default: str | None = None) -> ModelTable:
    return ModelTable(providers, Models(default=default))


def found(targets: list[Target]) -> list[str]:
    return [f"{target.provider.name}/{target.upstream_model}" for target in targets]


FAST = Model("kimi-k3", ("k3", "fast/one"))
WORLD = (
    provider("chat", "gpt", "shared"),
    provider("kimi", FAST, "shared"),
    provider("later", "opus", "shared", available=False),
    provider("local", open=True),
    provider("silent", open=True),
)
LISTED: Listed = {"local": ["qwen", "shared", "org/model"], "silent": None}


@pytest.mark.parametrize(
    ("name", "listed", "expected"),
    [
        ("chat/gpt", LISTED, ["chat/gpt"]),
        ("kimi/k3", LISTED, ["kimi/kimi-k3"]),
        ("local/whatever", LISTED, ["local/whatever"]),
        ("local/org/model", LISTED, ["local/org/model"]),
        ("k3", LISTED, ["kimi/kimi-k3"]),
        ("fast/one", LISTED, ["kimi/kimi-k3"]),
        ("gpt", LISTED, ["chat/gpt"]),
        ("shared", LISTED, ["chat/shared", "kimi/shared", "local/shared"]),
        ("shared", {}, ["chat/shared", "kimi/shared"]),
        ("qwen", LISTED, ["local/qwen"]),
        ("org/model", LISTED, ["local/org/model"]),
        ("unheard-of", LISTED, ["silent/unheard-of"]),
        ("unheard-of", {}, ["local/unheard-of"]),
        ("org/unheard-of", LISTED, ["silent/org/unheard-of"]),
        ("chat/", LISTED, ["silent/chat/"]),
    ],
)
def test_a_name_leads_to_its_providers_best_first(name: str, listed: Listed, expected: list[str]) -> None:
    assert found(table(*WORLD).resolve(name, listed)) == expected


def test_a_configured_entry_comes_with_its_target() -> None:
    (target,) = table(*WORLD).resolve("k3", {})
    assert target.model is FAST
    assert table(*WORLD).resolve("qwen", LISTED)[0].model is None


def test_priority_comes_before_the_order_of_the_file() -> None:
    made = table(provider("a", "m"), provider("b", "m", priority=1), provider("c", "m", priority=1))
    assert found(made.resolve("m", {})) == ["b/m", "c/m", "a/m"]


def test_the_default_stands_in_for_a_missing_name() -> None:
    assert found(table(*WORLD, default="k3").resolve(None, {})) == ["kimi/kimi-k3"]
    with pytest.raises(Failure) as caught:
        table(*WORLD).resolve(None, {})
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", "model")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("kimi/kimi-k2", "Did you mean kimi/kimi-k3"),
        ("gptt", "Did you mean gpt"),
        ("zzzzzzzz", "GET /v1/models lists the names"),
    ],
)
def test_an_unknown_name_is_404_with_near_names(name: str, hint: str) -> None:
    with pytest.raises(Failure) as caught:
        table(*WORLD[:3]).resolve(name, {})
    assert (caught.value.code, caught.value.status, caught.value.param) == ("model_not_found", 404, "model")
    assert hint in caught.value.message


@pytest.mark.parametrize("begin", ["", "local/"])
def test_a_name_has_a_limit(begin: str) -> None:
    asked = table(*WORLD)
    longest = begin + "x" * (NAME_LIMIT - len(begin))
    assert asked.resolve(longest, LISTED)[0].upstream_model == longest.removeprefix(begin)
    with pytest.raises(Failure, match=r"longer than the 1,024 characters") as caught:
        asked.resolve(longest + "x", LISTED)
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", "model")


@pytest.mark.parametrize("name", ["qwen\ud83d", "up/\ud83d", "\ud83d"])
def test_half_a_character_is_in_no_name_of_a_model(name: str) -> None:
    with pytest.raises(Failure) as caught:
        table(provider("up", open=True)).resolve(name, {})
    assert caught.value.code == "model_not_found"
    caught.value.message.encode()


def test_a_huge_unknown_name_is_cut_in_the_message() -> None:
    with pytest.raises(Failure) as caught:
        table(*WORLD[:2]).resolve("x" * 100_000, {})
    assert len(caught.value.message) < 400


def test_without_any_model_the_hint_is_to_look_at_the_configuration() -> None:
    with pytest.raises(Failure, match="check its configuration"):
        table().resolve("m", {})


@pytest.mark.parametrize("name", ["later/opus", "opus"])
def test_a_provider_type_that_is_not_built_yet_is_named(name: str) -> None:
    with pytest.raises(Failure) as caught:
        table(*WORLD).resolve(name, {})
    assert (caught.value.code, caught.value.param) == ("not_available_yet", "model")
    assert "later (type openai-compatible, wire chat)" in caught.value.message


@pytest.mark.parametrize(
    ("name", "needed"),
    [("gpt", True), ("k3", False), ("open/x", False), ("first/m", False), ("m", False), (None, False)],
)
def test_upstream_lists_are_needed_only_where_they_could_change_the_answer(name: str | None, needed: bool) -> None:
    made = table(provider("first", Model("m", ("k3",))), provider("open", open=True), provider("after", "gpt"))
    assert made.needs_lists(name) is needed


def test_names_are_every_routable_one_once() -> None:
    names = [routable.name for routable in table(*WORLD).names(LISTED)]
    assert names == [
        "chat/gpt",
        "chat/shared",
        "kimi/kimi-k3",
        "kimi/shared",
        "local/qwen",
        "local/shared",
        "local/org/model",
        "k3",
        "fast/one",
        "gpt",
        "kimi-k3",
        "qwen",
        "org/model",
    ]
    for routable in table(*WORLD).names(LISTED):
        assert table(*WORLD).resolve(routable.name, LISTED)[0] == routable.target


def test_another_list_object_ends_the_cache_and_many_names_do_not_fill_the_memory() -> None:
    made = table(provider("local", open=True))
    assert found(made.resolve("m", {})) == ["local/m"]
    assert found(made.resolve("m", {"local": ["m"]})) == ["local/m"]
    with pytest.raises(Failure):
        made.resolve("m", {"local": ["other"]})
    empty: Listed = {}
    for number in range(2 * CACHE_LIMIT):
        made.resolve(f"m{number}", empty)
    assert len(made._cache) <= CACHE_LIMIT


def test_a_known_name_costs_next_to_nothing() -> None:
    made = table(*WORLD)
    made.resolve("shared", LISTED)
    assert min(timeit.repeat(lambda: made.resolve("shared", LISTED), number=1000, repeat=5)) < 0.005


def with_fallback(fallback: dict[str, tuple[str, ...]], *providers: Provider, default: str | None = None) -> ModelTable:
    return ModelTable(providers or WORLD, Models(default=default, fallback=fallback))


def levels(targets: list[Target]) -> list[tuple[str, int]]:
    return [(f"{target.provider.name}/{target.upstream_model}", target.level) for target in targets]


def test_fallbacks_stand_behind_a_models_own_targets_in_their_order() -> None:
    made = with_fallback({"kimi/kimi-k3": ("chat/gpt", "qwen", "nobody/has")}, *WORLD[:4])
    assert levels(made.resolve("kimi/kimi-k3", LISTED)) == [("kimi/kimi-k3", 0), ("chat/gpt", 1), ("local/qwen", 2)]
    assert levels(made.resolve("k3", LISTED)) == levels(made.resolve("kimi/kimi-k3", LISTED)), "an alias has them too"
    assert levels(made.resolve("chat/gpt", LISTED)) == [("chat/gpt", 0)]


def test_fallbacks_of_the_name_itself_go_before_those_of_its_first_target() -> None:
    made = with_fallback({"k3": ("qwen",), "kimi/kimi-k3": ("chat/gpt",)})
    assert levels(made.resolve("k3", LISTED)) == [("kimi/kimi-k3", 0), ("local/qwen", 1)]


def test_nobody_is_asked_twice_and_what_is_not_built_yet_is_passed_over() -> None:
    made = with_fallback({"shared": ("shared", "later/opus", "kimi/shared", "chat/gpt")})
    found_ = levels(made.resolve("shared", LISTED))
    assert found_[-1] == ("chat/gpt", 4)
    assert len(found_) == len(set(found_)) == 4


def test_the_default_model_has_its_fallbacks_too() -> None:
    made = with_fallback({"k3": ("chat/gpt",)}, default="k3")
    assert levels(made.resolve(None, {})) == [("kimi/kimi-k3", 0), ("chat/gpt", 1)]


def test_a_fallback_that_is_a_bare_name_needs_the_upstreams_lists() -> None:
    made = with_fallback({"m": ("gpt",)}, provider("first", Model("m")), provider("open", open=True))
    assert made.needs_lists("m") is True
    assert made.needs_lists("first/m") is False
