"""Where the patch stands in the arguments (rows 1 to 8, 33)."""

from __future__ import annotations

import json

import pytest

from support.patch_fixes import PATCH, Fix, check, reason_of
from translators.apply_patch.rules.envelope import KEYS

dumps = json.dumps

FIXES = {
    **{f"the key {key}": Fix(("other_key",), arguments=dumps({key: PATCH})) for key in KEYS if key != "input"},
    "an unknown key that holds a patch": Fix(("other_key",), arguments=dumps({"v4a": PATCH})),
    "an object under the key": Fix(("nested_input", "other_key"), arguments=dumps({"input": {"patch": PATCH}})),
    "the call inside the call": Fix(
        ("extra_keys", "nested_input"), arguments=dumps({"name": "apply_patch", "arguments": {"input": PATCH}})
    ),
    "the call inside the call, encoded": Fix(
        ("extra_keys", "other_key", "double_encoded"),
        arguments=dumps({"name": "apply_patch", "arguments": dumps({"input": PATCH})}),
    ),
    "a list of one part": Fix(
        ("nested_input", "extra_keys", "other_key"), arguments=dumps({"input": [{"type": "text", "text": PATCH}]})
    ),
    "a list of one call": Fix(("nested_input",), arguments=dumps([{"input": PATCH}])),
    "lines under the key": Fix(("nested_input",), arguments=dumps({"input": PATCH.split("\n")})),
    "lines with their line breaks": Fix(
        ("nested_input",), arguments=dumps({"patch": PATCH.splitlines(keepends=True)}), patch=PATCH[:-1]
    ),
    "other keys": Fix(
        ("extra_keys",), arguments=dumps({"explanation": "two becomes 2", "input": PATCH, "workdir": "/srv", "n": 1})
    ),
    "other keys beside another name": Fix(
        ("extra_keys", "other_key"), arguments=dumps({"patch": PATCH, "content": "no patch"})
    ),
    "the same key twice": Fix(("duplicate_key",), arguments=f'{{"input":{dumps(PATCH)},"input":{dumps(PATCH)}}}'),
    "a string": Fix(("double_encoded",), arguments=dumps(PATCH)),
    "JSON in a string": Fix(("double_encoded",), arguments=dumps(dumps({"input": PATCH}))),
    "JSON in the input": Fix(("double_encoded",), arguments=dumps({"input": dumps({"input": PATCH})})),
    "JSON three times": Fix(("double_encoded",), arguments=dumps(dumps({"input": dumps({"input": PATCH})}))),
    "another key, encoded twice, CRLF": Fix(
        ("other_key", "double_encoded"),
        arguments=dumps({"patch": dumps({"input": PATCH.replace("\n", "\r\n")})}),
        patch=PATCH.replace("\n", "\r\n"),
    ),
    "no JSON at all": Fix(("bare_text",), arguments=PATCH),
    "an argument list": Fix(("command",), arguments=dumps({"command": ["apply_patch", PATCH]})),
    "an argument list without a key": Fix(("command",), arguments=dumps(["apply_patch", PATCH])),
    "cmd with other keys": Fix(
        ("extra_keys", "command"), arguments=dumps({"cmd": ["applypatch", PATCH], "workdir": "/srv", "timeout": 10})
    ),
    "command with the patch itself": Fix(("command",), arguments=dumps({"command": PATCH})),
    "a tagged call": Fix(
        ("bare_text", "tool_call_tag"),
        arguments="<tool_call>" + dumps({"input": PATCH}) + "</tool_call>",
        enabled={"tool_call_tag": True},
    ),
}


@pytest.mark.parametrize("name", FIXES)
def test_a_patch_in_another_place_is_found(name: str) -> None:
    fix = FIXES[name]
    if "tool_call_tag" in fix.rules:
        fix = Fix(("tool_call_tag",), arguments=fix.arguments, enabled=fix.enabled)
    check(fix)


REFUSALS = {
    "two patches under two keys": (dumps({"input": PATCH, "patch": PATCH.replace("2", "3")}), "more than one value"),
    "two patches, one nested": (dumps({"input": PATCH, "x": {"y": [PATCH]}}), "more than one value"),
    "a key twice with two values": (f'{{"input":{dumps(PATCH)},"input":"x"}}', "twice with different values"),
    "a folder beside the input": (dumps({"input": PATCH, "workdir": "src"}), "working folder"),
    "a folder that is not known": (dumps({"command": ["apply_patch", PATCH], "cwd": "~/x"}), "working folder"),
    "a number": ('{"input":7}', "not a string"),
    "null": ("null", "not a JSON object"),
    "nothing": ("", "end before"),
    "an empty object": ("{}", "does not begin with the key"),
    "a text without a patch": ("please edit a.txt", "not a JSON object"),
    "JSON four times": (dumps({"input": dumps({"input": dumps(dumps(dumps(PATCH)))})}), "not `*** Begin Patch`"),
    "a tagged call, switched off": ("<tool_call>" + dumps({"input": PATCH}) + "</tool_call>", "not `*** Begin Patch`"),
    "an argument list of another tool": (dumps({"command": ["git", "apply", PATCH]}), "a key other"),
    "too many arguments": (dumps(["apply_patch", "-v", PATCH]), "not a JSON object"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_arguments_whose_patch_is_not_certain_are_refused(name: str) -> None:
    arguments, reason = REFUSALS[name]
    assert reason in reason_of(arguments=arguments)


@pytest.mark.parametrize("key", ["workdir", "cwd"])
def test_a_command_runs_in_its_folder(key: str) -> None:
    text = "*** Begin Patch\n*** Delete File: {}b.py\n*** End Patch\n"
    check(
        Fix(
            ("extra_keys", "command"),
            arguments=dumps({"command": ["apply_patch", text.format("")], key: "./src"}),
            patch=text.format("src/"),
            after={"src/b.py": None},
        )
    )
