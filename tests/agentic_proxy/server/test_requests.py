"""What every request of the Responses API must hold, on HTTP and on a WebSocket alike."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.config.model import Config, Models
from agentic_proxy.server.requests import checked
from translators.failure import Failure

DEFAULT = Config(models=Models(default="kimi/k3"))


@pytest.mark.parametrize("given", [{}, {"model": None}], ids=repr)
def test_a_missing_model_becomes_the_default_one(given: dict[str, Any]) -> None:
    body = {"input": "hi", **given}
    assert checked(body, DEFAULT) is body
    assert body == {"input": "hi", "model": "kimi/k3"}


def test_a_model_that_was_named_stays() -> None:
    assert checked({"model": "m", "input": "hi"}, DEFAULT)["model"] == "m"


@pytest.mark.parametrize(
    ("body", "param"), [({"input": "hi"}, "model"), ({"model": "m"}, "input"), ({"model": 1, "input": "hi"}, "model")]
)
def test_what_is_wrong_is_named(body: dict[str, Any], param: str) -> None:
    with pytest.raises(Failure) as caught:
        checked(body, Config())
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", param)
