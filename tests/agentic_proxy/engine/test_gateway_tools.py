"""What own tools share over all turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic_proxy.config.model import Config, Tools, WebSearch
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine import gateway_tools
from agentic_proxy.engine.gateway import freed
from agentic_proxy.engine.gateway_tools import GatewayTools, native
from agentic_proxy.routing.models import Target
from support.engines import body, provider, run_turn, running_engine
from support.gateway import SEARCH, brave, round_, search
from support.raw_upstream import RawUpstream
from support.search_server import SearchServer
from support.turns import Say


async def test_nothing_is_opened_before_it_is_needed() -> None:
    assert GatewayTools(Config()).searcher is None
    tools = GatewayTools(Config(tools=Tools(web_search=WebSearch("you", "https://y.example", Secret("k")))))
    assert tools.searcher is not None
    assert tools.searcher.provider.name == "you"
    await tools.close()


async def test_permits_are_shared_by_all_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_tools, "PER_PROCESS", 3)
    import asyncio

    script = round_("chat", *(search(f"q{number}") for number in range(4)))
    async with (
        SearchServer(held=True) as server,
        RawUpstream(script, script, round_("chat", Say("Done."))) as upstream,
        running_engine(provider("up", upstream.url, "chat"), tools=brave(server.url)) as engine,
    ):
        turns = [asyncio.create_task(run_turn(engine, body(tools=[SEARCH]), None)) for _ in range(2)]
        await server.until(lambda each: each.running == 3)
        server.gate.set()
        outcomes = await asyncio.gather(*turns)
        assert (server.most, len(server.asked)) == (3, 8)
    assert [outcome.status for outcome in outcomes] == [200, 200]


async def test_only_an_upstream_that_takes_custom_tools_as_they_are_runs_hosted_ones_itself() -> None:
    up = provider("up", "http://127.0.0.1:9", "responses")
    for given, expected in (
        (up, False),
        (replace(up, custom_tools="native"), True),
        (provider("up", "http://127.0.0.1:9", "chat", custom_tools="native"), False),
    ):
        async with running_engine(given) as engine:
            assert native(engine, Target(given, None, "m")) is expected


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, None), ("none", "none"), ("auto", "auto"), ("required", "auto"),
        ({"type": "function", "name": "x"}, "auto"),
        ({"type": "allowed_tools", "mode": "required", "tools": [1]},
         {"type": "allowed_tools", "mode": "auto", "tools": [1]}),
    ],
)  # fmt: skip
def test_a_choice_holds_for_one_round_but_a_restriction_stays(choice: object, expected: object) -> None:
    assert freed(choice) == expected
