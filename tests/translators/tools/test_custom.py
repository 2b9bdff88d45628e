from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.apply_patch.instructions import patch_instructions
from translators.apply_patch.unwrap import judge
from translators.events import Note
from translators.tools.custom import bridge_description, bridge_parameters, grammar_of, wrap_input


def kept(original: str) -> str:
    """What is left of an original description: all that stands before the instructions."""
    return bridge_description(original, None, is_patch=False).partition("Call this function with one JSON object")[0]


@pytest.mark.parametrize(
    ("original", "left"),
    [
        ("Edits files. This is a FREEFORM tool, so do not wrap the patch in JSON.", "Edits files."),
        ("Edits files. It's a freeform tool.\nSecond line.", "Edits files.\nSecond line."),
        ("Do not send JSON here. Send code.", "Send code."),
        ("Don't encode the query as JSON! Ask freely.", "Ask freely."),
        ("Runs code:\n- Takes raw source text, not JSON or quotes.\n- No network.", "Runs code:\n- No network."),
        ("Never wrap it in JSON", ""),
        ("Returns JSON. Fails if the file is not JSON.", "Returns JSON. Fails if the file is not JSON."),
        ("Freeform text is welcome.", "Freeform text is welcome."),
        ("Two  blanks.   Kept  as they are. ", "Two  blanks.   Kept  as they are. "),
        (
            "Runs code.\n\n### `patch`\nThis is a FREEFORM tool, so do not wrap the patch in JSON.",
            "Runs code.\n\n### `patch`\nThis is a FREEFORM tool, so do not wrap the patch in JSON.",
        ),
        ("# Title\nThis is a FREEFORM tool. Good.", "# Title\nGood."),
        ("", ""),
    ],
)
def test_sentences_that_became_untrue_are_removed_and_nothing_else(original: str, left: str) -> None:
    assert kept(original) == (f"{left}\n\n" if left else "")


def test_the_grammar_comes_last_and_verbatim() -> None:
    grammar = 'start: /x/\r\n  \n"a free text" do not wrap this in JSON. '
    description = bridge_description("Runs.", ("lark", grammar), is_patch=False)
    assert description.startswith("Runs.\n\nCall this function with one JSON object whose only key is `input`")
    assert description.endswith(f"\n\nGrammar (lark):\n{grammar}")


def test_the_patch_tool_gets_the_patch_format_between_instructions_and_grammar() -> None:
    generic = bridge_description("Edits.", None, is_patch=False)
    patch = bridge_description("Edits.", ("lark", "start: x"), is_patch=True)
    assert patch == f"{generic}\n\n{patch_instructions(None)}\n\nGrammar (lark):\nstart: x"


@pytest.mark.parametrize("is_patch", [False, True])
def test_the_parameters_are_one_required_string(is_patch: bool) -> None:
    parameters = bridge_parameters(is_patch)
    assert isinstance(parameters["properties"]["input"].pop("description"), str)
    assert parameters == {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("form", "grammar", "noted"),
    [
        (None, None, False),
        ({"type": "text"}, None, False),
        ({"type": "grammar", "syntax": "lark", "definition": "start: x"}, ("lark", "start: x"), False),
        ({"type": "grammar", "syntax": "regex", "definition": "^x$"}, ("regex", "^x$"), False),
        ({"type": "grammar", "definition": "start: x"}, ("lark", "start: x"), False),
        ({"type": "grammar", "syntax": "lark"}, None, True),
        ({"type": "xml"}, None, True),
        ("grammar", None, True),
    ],
)
def test_only_a_grammar_says_something_to_the_model(form: object, grammar: tuple[str, str] | None, noted: bool) -> None:
    notes = [Note("tool_key_left_out", "tools[2].format")] if noted else []
    assert grammar_of({"type": "custom", "name": "x", "format": form}, "tools[2]") == (grammar, notes)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", '{"input":""}'),
        ("<a> & 'b' \u2028é😀", '{"input":"<a> & \'b\' \u2028é😀"}'),
        ('{"input":"raw"}\n', r'{"input":"{\"input\":\"raw\"}\n"}'),
        ("half \ud800 pair", '{"input":"half ? pair"}'),
    ],
)
def test_text_is_wrapped_as_compact_plain_json(text: str, arguments: str) -> None:
    assert wrap_input(text) == arguments


@given(st.text())
def test_wrapping_and_reading_give_the_same_text(text: str) -> None:
    assert judge(wrap_input(text)) == text == json.loads(wrap_input(text))["input"]
