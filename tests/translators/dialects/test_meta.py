"""Meta Model API, as its documentation and its refusals say."""

from __future__ import annotations

import pytest

from support.dialects import TOOL, upstream_body, without


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("muse-spark-1.2", "none", "minimal"),
        ("muse-spark-1.2", "max", "xhigh"),
        ("muse-spark-1.3", "max", "max"),
        ("muse-spark-1.3-contributor", "max", "xhigh"),
        ("muse-ember-1.0", "medium", "medium"),
    ],
)
def test_each_model_gets_a_level_that_it_takes(model: str, asked: str, sent: str) -> None:
    assert upstream_body("meta", model, "responses", reasoning={"effort": asked})["reasoning"] == {"effort": sent}


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "name": "f"}])
def test_a_choice_is_never_sent(choice: object) -> None:
    body = upstream_body("meta", "muse-spark-1.3", "responses", tools=[TOOL], tool_choice=choice)
    assert "tool_choice" not in body
    assert len(body["input"]) == (1 if choice == "auto" else 2)


def test_limits_and_fields() -> None:
    asked = {"max_output_tokens": 200_000, "temperature": 0.1, "top_p": 0.9, "stop": ["x"], "tools": [TOOL]}
    body = upstream_body("meta", "muse-spark-1.3", "responses", **asked)
    tool = {key: value for key, value in TOOL.items() if key != "strict"}
    assert without(body, "input") == {
        "store": False,
        "max_output_tokens": 131_072,
        "temperature": 0.1,
        "tools": [tool],
    }
