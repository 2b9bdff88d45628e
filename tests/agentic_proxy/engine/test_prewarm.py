"""A prewarm is kept first and answered then; one that fails leaves nothing, not even what it would have continued."""

from __future__ import annotations

import pytest

from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.store.base import Window
from support.breaks import WHOLE
from support.engines import body, kept, one_upstream
from translators.failure import Failure


@pytest.mark.parametrize("change", [{"model": "nobody/has-it"}, {"input": [{"type": "item_reference", "id": "x"}]}])
async def test_a_failed_prewarm_forgets_what_it_would_have_continued(change: dict[str, object]) -> None:
    async with one_upstream("responses", WHOLE["responses"]) as (engine, upstream):
        local = LocalWindows(1000)
        local.keep("resp_0", Window((), None, None))
        request = body(previous_response_id="resp_0", store=False, **change)
        with pytest.raises(Failure):
            await engine.prewarm(TurnRequest("responses", request, True, local))
        assert local.get("resp_0") is None
        assert upstream.requests == []


async def test_a_prewarm_over_a_prewarm_adds_to_it() -> None:
    async with one_upstream("responses", WHOLE["responses"]) as (engine, _):
        local = LocalWindows(10_000)
        local.keep("resp_0", Window((b'{"type":"message","id":"a"}',), b"[]", None, b'"Obey."'))
        request = body(previous_response_id="resp_0", store=False)
        events = await engine.prewarm(TurnRequest("responses", request, True, local))
        assert events.count(b"event: ") == 2
        assert await kept(engine) == {}
        name = events.split(b'"id":"')[1].split(b'"')[0].decode()
        window = local.get(name)
        assert window is not None
        assert (len(window.items), window.instructions) == (2, b'"Obey."')
