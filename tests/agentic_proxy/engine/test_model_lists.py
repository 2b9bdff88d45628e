"""The upstreams' model lists: when they are fetched, how long they stay."""

from __future__ import annotations

import asyncio

import pytest

from agentic_proxy.config.model import Model, Models, Provider
from agentic_proxy.engine.model_lists import FRESH, RETRY, ModelLists
from agentic_proxy.routing.models import ModelTable
from translators.failure import Failure

OPEN = Provider("open", "vllm", "http://127.0.0.1:9/v1")
FIXED = Provider("fixed", "vllm", "http://127.0.0.1:9/v1", models=(Model("m"),))


class Lister:
    """An executor that only lists. ``gate`` holds the answers back."""

    def __init__(self, provider: Provider, answer: list[str] | Exception) -> None:
        self.provider = provider
        self.answer = answer
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def list_models(self) -> list[str]:
        self.calls += 1
        await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class World:
    """A list of providers with a clock that stands still until a test moves it."""

    def __init__(self, *listers: Lister) -> None:
        self.now = 100.0
        table = ModelTable([lister.provider for lister in listers], Models())
        executors = {lister.provider.name: lister for lister in listers}
        self.lists = ModelLists(table, executors, clock=lambda: self.now)  # type: ignore[arg-type]


async def test_a_list_is_fetched_when_a_bare_name_needs_it_and_then_kept() -> None:
    lister = Lister(OPEN, ["a"])
    world = World(lister)
    assert (await world.lists.resolve("open/x"))[0].upstream_model == "x"
    assert lister.calls == 0
    assert (await world.lists.resolve("a"))[0].upstream_model == "a"
    world.now += FRESH - 1
    assert await world.lists.listed() is await world.lists.listed()
    assert lister.calls == 1
    world.now += 1
    lister.answer = ["a", "b"]
    assert await world.lists.listed() == {"open": ["a", "b"]}
    assert lister.calls == 2


async def test_a_provider_with_configured_models_is_never_asked() -> None:
    lister = Lister(FIXED, ["other"])
    world = World(lister)
    assert [routable.name for routable in await world.lists.names()] == ["fixed/m", "m"]
    assert lister.calls == 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(Failure("upstream_error", "It is tired."), "It is tired."), (ValueError("broken"), "It is not known why.")],
)
async def test_a_list_that_cannot_be_fetched_again_stays_and_is_retried_soon(fault: Exception, reason: str) -> None:
    lister = Lister(OPEN, ["a"])
    world = World(lister)
    first = await world.lists.listed()
    lister.answer = fault
    world.now += FRESH
    assert await world.lists.listed() is first
    assert await world.lists.listed() is first
    assert lister.calls == 2
    assert world.lists.unlisted == {"open": reason}
    lister.answer = ["b"]
    world.now += RETRY
    assert await world.lists.listed() == {"open": ["b"]}
    assert world.lists.unlisted == {}


async def test_an_unchanged_list_is_the_same_object() -> None:
    lister = Lister(OPEN, ["a"])
    world = World(lister)
    first = await world.lists.listed()
    lister.answer = ["a"]
    world.now += FRESH
    assert await world.lists.listed() is first
    assert lister.calls == 2


async def test_many_askers_share_one_fetch_and_one_of_them_may_leave() -> None:
    lister = Lister(OPEN, ["a"])
    lister.gate.clear()
    world = World(lister)
    askers = [asyncio.create_task(world.lists.resolve("a")) for _ in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    askers[0].cancel()
    lister.gate.set()
    results = await asyncio.gather(*askers, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert [type(result) for result in results[1:]] == [list] * 4
    assert lister.calls == 1


async def test_closing_ends_a_fetch_that_is_still_running() -> None:
    lister = Lister(OPEN, ["a"])
    lister.gate.clear()
    world = World(lister)
    asker = asyncio.create_task(world.lists.listed())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await world.lists.close()
    assert isinstance((await asyncio.gather(asker, return_exceptions=True))[0], asyncio.CancelledError)
