"""Whatever a model calls in two rounds: one ending, items in order, nothing of a refused call, the same for all."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.engines import TOOL as FUNCTION
from support.engines import Outcome, RecordingSink, kept, one_upstream, run_turn
from support.patch_turns import (
    CUT,
    GOOD,
    NO_PATCH,
    REPAIRABLE,
    TOOL,
    WRONG_TYPE,
    answers,
    check_places,
    configure,
    records,
    request,
)
from support.turns import Call, Incomplete, Say

RUN = Call("run", {"x": 1})
ITEMS: dict[str, Say | Call] = {
    "say": Say("Words. "),
    "good": GOOD,
    "repairable": REPAIRABLE,
    "run": RUN,
    "wrong": WRONG_TYPE,
    "cut": CUT,
    "no patch": NO_PATCH,
    "no code": Call("exec", '{"input": "RAW_SECRET'),
}
EXEC = {"type": "custom", "name": "exec", "format": {"type": "text"}}
Round = tuple[list[str], bool]
rounds = st.tuples(
    st.lists(st.sampled_from(sorted(ITEMS)), min_size=1, max_size=4), st.integers(0, 5).map(lambda n: n == 0)
)


def scripted(wire: str, names: list[str], cut_off: bool) -> Any:
    items = tuple(ITEMS[name] for name in names)
    return answers(wire, *items, fault=Incomplete(items=items) if cut_off else None)


async def turn(
    wire: str, mode: Literal["repair", "strict", "pass"], both: tuple[Round, ...], streaming: bool
) -> Outcome:
    async with one_upstream(wire, *(scripted(wire, *each) for each in both)) as (engine, upstream):
        configure(engine, mode)
        engine.previews.note("up", "m", clean=False)  # nothing is shown before it was judged
        outcome = await run_turn(engine, request(tools=[TOOL, FUNCTION, EXEC]), RecordingSink() if streaming else None)
        spent = records(engine)
        assert len(upstream.requests) == len(spent) <= (2 if mode == "repair" else 1)
        statuses = set((await kept(engine)).values())
        if outcome.status == 200 and outcome.code is None:
            assert outcome.response is not None
            assert statuses == {outcome.response["status"]}
            assert outcome.response["usage"]["total_tokens"] == 110 * len(spent)
            assert spent[-1][0] is None
        else:
            assert outcome.code == "invalid_tool_arguments"
            assert statuses <= {"failed"}
            assert {code for code, *_ in spent} == {"invalid_tool_arguments"}
        return outcome


def shown(outcome: Outcome) -> list[Any]:
    assert outcome.response is not None
    keys = ("type", "name", "input", "arguments", "content")
    return [{key: item[key] for key in keys if key in item} for item in outcome.response["output"]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["responses", "chat"]), st.sampled_from(["repair", "strict", "pass"]), st.tuples(rounds, rounds))
def test_two_rounds_end_once_and_alike_for_every_client(
    wire: str, mode: Literal["repair", "strict", "pass"], both: tuple[Round, Round]
) -> None:
    streamed = asyncio.run(turn(wire, mode, both, streaming=True))
    blocking = asyncio.run(turn(wire, mode, both, streaming=False))
    assert streamed.sink is not None
    if mode == "repair":
        check_places(streamed.sink)
        for event in streamed.events:
            assert "RAW_SECRET" not in json.dumps(event).replace("RAW_SECRET is no patch", "")
    if streamed.code is None:
        assert shown(streamed) == shown(blocking)
    else:
        assert blocking.code == streamed.code
