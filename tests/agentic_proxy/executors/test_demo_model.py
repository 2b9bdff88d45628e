"""What the demo's script understands, and the bytes it answers with."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentic_proxy.executors.demo_model import INTRODUCTION, Call, Say, answer_to, stream
from support.chat_stream import decoder, outline, run, splits

PATCH = {
    "type": "function",
    "function": {"name": "apply_patch", "parameters": {"type": "object", "properties": {"input": {"type": "string"}}}},
}
ADD = {"type": "function", "function": {"name": "mcp__demo__add", "parameters": {"type": "object", "properties": {}}}}


def request(asked: Any, *tools: Any, after: tuple[Any, ...] = (), **fields: Any) -> dict[str, Any]:
    """A Chat request whose last message of the user is ``asked``."""
    messages = [
        {"role": "system", "content": "Edit files with apply_patch: create, edit, delete."},
        {"role": "user", "content": "create earlier.txt"},
        {"role": "user", "content": asked},
        *after,
    ]
    return {"model": "demo", "stream": True, **fields, "tools": list(tools), "messages": messages}


def document(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("create hello.txt", ("*** Add File: hello.txt", "+Hello from the demo model.")),
        ("Please create hello.txt.", ("*** Add File: hello.txt", "+Hello from the demo model.")),
        ("add file notes/today.md with Hello", ("*** Add File: notes/today.md", "+Hello")),
        ("Add the new file Makefile with the text: all:", ("*** Add File: Makefile", "+all:")),
        ("create a file called `a.py` containing 'x = 1\ny = 2'", ("*** Add File: a.py", "+x = 1", "+y = 2")),
        ('write hello.txt with ""', ("*** Add File: hello.txt", "+")),
        ('edit a/b.txt: replace "It\'s" with `Its`', ("*** Update File: a/b.txt", "@@", "-It's", "+Its")),
        ("Change file Makefile, replace 'a' by 'b'", ("*** Update File: Makefile", "@@", "-a", "+b")),
        ("delete hello.txt!", ("*** Delete File: hello.txt",)),
    ],
)
def test_it_edits_with_apply_patch_when_asked_for_a_file(asked: str, lines: tuple[str, ...]) -> None:
    answer = answer_to(request(asked, ADD, PATCH))
    assert isinstance(answer, Call)
    assert (answer.name, json.loads(answer.arguments)) == ("apply_patch", {"input": document(*lines)})


def test_it_finds_apply_patch_in_a_namespace_and_under_another_parameter() -> None:
    function = {"name": "files__apply_patch", "parameters": {"properties": {"patch": {"type": "string"}}}}
    answer = answer_to(request("delete a.txt", {"type": "function", "function": function}))
    assert answer == Call(
        "files__apply_patch", json.dumps({"patch": document("*** Delete File: a.txt")}, separators=(",", ":"))
    )


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ('call mcp__demo__add {"a": 1, "b": {"c": 2}}', Call("mcp__demo__add", '{"a": 1, "b": {"c": 2}}')),
        ("Call mcp__demo__add", Call("mcp__demo__add", "{}")),
        ("call add {}", Say("This client offers no tool add. It offers: apply_patch, mcp__demo__add.")),
        (
            "call apply_patch {bad}",
            Say('The arguments of a call must be one JSON object: call apply_patch {"argument": "value"}'),
        ),
        ("call me tomorrow", Say(INTRODUCTION)),
        ("add two numbers", Say(INTRODUCTION)),
        ("", Say(INTRODUCTION)),
        ([{"type": "text", "text": "What are you?"}, {"type": "image_url", "image_url": {}}], Say(INTRODUCTION)),
    ],
)
def test_it_calls_the_tool_that_is_named_and_otherwise_says_what_it_is(asked: Any, answer: Call | Say) -> None:
    assert answer_to(request(asked, PATCH, ADD)) == answer


def test_without_a_tool_it_says_so() -> None:
    missing = Say("I am only a script and edit files with the tool apply_patch, which this client did not offer.")
    assert answer_to(request("create hello.txt", ADD)) == missing
    assert answer_to(request("call add {}")) == Say("This client offers no tool add. It offers: none.")
    assert answer_to({}) == Say(INTRODUCTION)


@pytest.mark.parametrize(
    ("content", "said"),
    [("Success.\nA hello.txt\n", "Success.\nA hello.txt"), ("", "nothing."), ("x" * 999, "x" * 300)],
)
def test_after_a_tools_answer_it_is_done(content: str, said: str) -> None:
    after = {"role": "tool", "tool_call_id": "call_demo_3", "content": content}
    assert answer_to(request("create hello.txt", PATCH, after=(after,))) == Say(f"Done. The tool answered: {said}")


def test_its_text_reads_the_same_however_it_is_cut() -> None:
    whole = b"".join(stream(request("hi", stream_options={"include_usage": True})))
    for cut, pieces in splits(whole):
        chat = decoder()
        lines = outline(run(pieces, chat))
        assert lines[0] == ("open", 0, "message"), cut
        assert "".join(lines[1][3:]) == INTRODUCTION, cut
        assert lines[2:] == [("done", 0)], cut
        assert chat.closed is not None, cut
        assert (chat.closed.status, (chat.closed.usage or {})["output_tokens"]) == ("completed", len(INTRODUCTION) // 4)


def test_its_call_is_one_item_with_its_arguments_in_pieces() -> None:
    frames = list(stream(request("create hello.txt", PATCH)))
    chat = decoder()
    lines = outline(run(frames, chat))
    assert lines[0] == ("open", 0, "call", "call_demo_3", "apply_patch")
    assert json.loads("".join(lines[1][2:]))["input"].startswith("*** Begin Patch\n*** Add File: hello.txt\n")
    assert len(lines[1][2:]) > 5
    assert lines[2:] == [("done", 0)]
    assert frames[-1] == b"data: [DONE]\n\n"
    assert b"usage" not in b"".join(frames)


def test_the_same_request_gets_the_same_bytes() -> None:
    asked = request("create hello.txt", PATCH)
    assert list(stream(asked)) == list(stream(asked))
