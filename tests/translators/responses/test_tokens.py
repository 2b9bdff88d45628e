"""The estimate of input tokens: documented arithmetic, not a tokenizer."""

from __future__ import annotations

from typing import Any

import pytest

from translators.responses.tokens import FRAMING, MEDIA, estimate, of_items


def user(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        (user("x" * 40), 10),
        (user([{"type": "input_text", "text": "x" * 41}]), 11),
        (user([{"type": "input_text", "text": "äö"}]), 1),
        (user([{"type": "input_text", "text": "\ud83d"}]), 1),
        (user([{"type": "input_image", "image_url": "data:image/png;base64," + "A" * 9999, "detail": "high"}]), MEDIA),
        (user([{"type": "input_file", "file_data": "A" * 100_000}, {"type": "input_text", "text": "four"}]), MEDIA + 1),
        ({**user("four"), "id": "msg_" + "a" * 400, "status": "completed"}, 1),
        ({"type": "function_call", "call_id": "c" * 90, "name": "run", "arguments": '{"a": 1}'}, 3),
        ({"type": "function_call_output", "call_id": "c", "output": "x" * 400}, 100),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "four"}], "encrypted_content": "x"}, 1),
        ({"type": "compaction", "encrypted_content": "x" * 400}, 100),
    ],
)
def test_an_item_counts_what_a_model_reads_of_it(item: dict[str, Any], tokens: int) -> None:
    assert of_items([item]) == tokens + FRAMING
    assert of_items([item, item]) == 2 * (tokens + FRAMING)


def test_a_request_counts_its_input_instructions_tools_and_format() -> None:
    tool = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
    assert estimate({}) == estimate({"model": "m" * 400, "metadata": {"a": "b" * 400}}) == 0
    assert estimate({"input": "x" * 40}) == 10 + FRAMING
    assert estimate({"input": [user("x" * 40)], "instructions": "x" * 40}) == 2 * (10 + FRAMING)
    assert 10 < estimate({"tools": [tool]}) < 40
    assert estimate({"text": {"format": {"type": "json_schema", "schema": {"title": "x" * 400}}}}) > 100


def test_an_argument_of_the_name_type_is_part_of_its_tools_schema() -> None:
    schema = {"type": "object", "properties": {"type": {"type": "string", "description": "x" * 400}}}
    assert estimate({"tools": [{"type": "function", "name": "f", "parameters": schema}]}) > 100
