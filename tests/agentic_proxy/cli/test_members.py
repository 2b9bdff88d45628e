"""Members come in beside what is there, in its own style, and go again."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.cli.jsonc import JsonError, parse
from agentic_proxy.cli.members import TakenError, cut, insert, take_out

NEW: dict[str, Any] = {"env": {"A": "x", "B": {"C": [1, "é"]}}, "n": True}
TEXTS = {
    "{}": (
        '{\n  "env": {\n    "A": "x",\n    "B": {\n      "C": [\n        1,\n        "é"\n      ]\n    }\n  },\n'
        '  "n": true\n}'
    ),
    '{"a":1}': '{"a":1, "env": {"A": "x", "B": {"C": [1, "\\u00e9"]}}, "n": true}',
    '{"a":1,}\n': '{"a":1, "env": {"A": "x", "B": {"C": [1, "\\u00e9"]}}, "n": true}\n',
    '{\r\n\t"a": 1 // mine\r\n}': (
        '{\r\n\t"a": 1, // mine\r\n\t"env": {\r\n\t\t"A": "x",\r\n\t\t"B": {\r\n\t\t\t"C": [\r\n\t\t\t\t1,\r\n'
        '\t\t\t\t"é"\r\n\t\t\t]\r\n\t\t}\r\n\t},\r\n\t"n": true\r\n}'
    ),
    '{\n    "env": {\n        "X": "1" /* x */\n    },\n    // last\n}': (
        '{\n    "env": {\n        "X": "1", /* x */\n        "A": "x",\n        "B": {\n            "C": [\n'
        '                1,\n'
        '                "é"\n            ]\n        }\n    },\n    "n": true\n    // last\n}'
    ),
}  # fmt: skip
OTHERS = [
    "{\n}\n",
    "{ // nothing yet\n}",
    '\ufeff{ "env": {} }',
    '{\n  "env": {}, // z\n\n  "m": [\n  ]\n\n}\n\n',
    '{"env":{"X":1},\n"m":2}',
    '{\n  "env": {\n    "X": 1,\n  },\n}',
]


@pytest.mark.parametrize(("text", "after"), TEXTS.items())
def test_members_stand_in_the_style_of_the_file(text: str, after: str) -> None:
    assert insert(text, NEW).text == after


@pytest.mark.parametrize("text", [*TEXTS, *OTHERS])
def test_cutting_them_out_gives_every_character_back(text: str) -> None:
    edit = insert(text, NEW)
    before, value = parse(text).value, parse(edit.text).value
    assert value == {**before, "n": True, "env": {**before.get("env", {}), **NEW["env"]}}
    assert cut(edit.text, edit.spans) == text


@pytest.mark.parametrize("text", [*TEXTS, *OTHERS])
def test_they_are_found_by_name_where_the_file_was_changed_since(text: str) -> None:
    edit = insert(text, NEW)
    changed = insert(edit.text, {"later": {"y": 1}}).text
    own, left = take_out(changed, NEW, edit.made)
    assert (parse(own).value, left) == ({**parse(text).value, "later": {"y": 1}}, [])
    for note in ("// mine", "/* x */", "// last", "// nothing yet", "// z"):
        assert (note in own) == (note in text)


def test_what_has_another_value_now_stays_and_so_do_objects_with_something_in_them() -> None:
    edit = insert("{}", NEW)
    changed = edit.text.replace('"x"', '"mine"').replace('"C": [', '"D": 1, "C": [')
    own, left = take_out(changed, NEW, edit.made)
    assert (parse(own).value, left) == ({"env": {"A": "mine", "B": {"D": 1}}}, ["env.A"])


def test_an_empty_object_of_the_users_own_stays() -> None:
    edit = insert('{"env": {}}', NEW)
    own, _ = take_out(edit.text + " ", NEW, edit.made)
    assert own == '{"env": {}} '


@pytest.mark.parametrize(
    ("text", "name"),
    [('{"n": 1}', "n"), ('{"env": {"A": "x"}}', "env.A"), ('{"env": []}', "env"), ('{"env": {"B": null}}', "env.B")],
)
def test_a_member_that_is_there_already_is_not_overwritten(text: str, name: str) -> None:
    with pytest.raises(TakenError, match=f"^{name}$"):
        insert(text, NEW)


@pytest.mark.parametrize("text", ["[]", "", "{", '"x"'])
def test_only_a_json_object_gets_members(text: str) -> None:
    with pytest.raises(JsonError):
        insert(text, NEW)
