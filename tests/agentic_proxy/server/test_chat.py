"""``/v1/chat/completions``. What both formats share is in test_exchange.py."""

from __future__ import annotations

import orjson
import pytest

from support.http_server import running


@pytest.mark.parametrize(
    ("body", "param"),
    [(b'{"model":"m"}', "messages"), (b'{"model":"m","messages":[{"role":"user","content":"a"}],"n":"2"}', "n")],
)
async def test_a_request_of_the_wrong_shape_is_a_400_that_names_the_field(body: bytes, param: str) -> None:
    async with running() as server:
        answer = await server.post(body, path="/v1/chat/completions")
        assert server.engine.requests == []
    error = orjson.loads(answer.body)["error"]
    assert (answer.status, error["code"], error["param"]) == (400, "invalid_request_error", param)


async def test_only_post_is_known() -> None:
    async with running() as server:
        answer = await server.get("/v1/chat/completions")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
