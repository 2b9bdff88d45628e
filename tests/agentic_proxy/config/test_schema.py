"""schema.json: itself valid, true to the code, and its errors in plain words."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentic_proxy.config import model
from agentic_proxy.config.document import parse_document, substitute
from agentic_proxy.config.errors import Report
from agentic_proxy.config.provider_types import TYPES
from agentic_proxy.config.schema import check, schema
from agentic_proxy.config.units import parse_duration, parse_size


def checked(text: str, **environ: str) -> tuple[Any, list[str]]:
    document = parse_document(text, "c.yaml")
    report = Report("c.yaml", document.lines)
    data = check(substitute(document, environ, report), report)
    return data, [str(problem) for problem in report.problems]


def test_the_schema_is_valid_json_schema() -> None:
    Draft202012Validator.check_schema(schema())


def objects(part: Any) -> list[Any]:
    inner = [found for value in part.values() for found in objects(value)] if isinstance(part, dict) else []
    return [part, *inner] if isinstance(part, dict) and "properties" in part and "type" in part else inner


def test_every_mapping_refuses_unknown_keys() -> None:
    assert len(objects(schema())) > 10
    assert [part for part in objects(schema()) if part.get("additionalProperties") is not False] == []


def test_the_provider_types_of_the_schema_are_those_of_the_code() -> None:
    assert schema()["$defs"]["provider"]["properties"]["type"]["enum"] == list(TYPES)


SECTIONS = {
    "server": model.Server,
    "limits": model.Limits,
    "timeouts": model.Timeouts,
    "retries": model.Retries,
    "routing": model.Routing,
}


@pytest.mark.parametrize("name", SECTIONS)
def test_the_defaults_of_the_schema_are_those_of_the_code(name: str) -> None:
    properties, made = schema()["properties"][name]["properties"], SECTIONS[name]()
    parse = {"#/$defs/duration": parse_duration, "#/$defs/duration_or_zero": parse_duration, "#/$defs/size": parse_size}
    documented = {
        key: parse.get(part.get("$ref"), lambda value: value)(part["default"]) for key, part in properties.items()
    }
    names = {"returns": "return"}  # a word of Python's own
    coded = {names.get(field.name, field.name): getattr(made, field.name) for field in fields(made)}
    assert documented == {key: list(value) if isinstance(value, tuple) else value for key, value in coded.items()}


def test_good_data_comes_back_in_seconds_and_bytes() -> None:
    data, problems = checked("limits: {body: 1KiB}\ntimeouts: {idle: 2m, drain: 0}\nstore: {retention: {size: 1KiB}}\n")
    assert problems == []
    assert data == {
        "limits": {"body": 1024},
        "timeouts": {"idle": 120.0, "drain": 0.0},
        "store": {"retention": {"size": 1024}},
    }


@pytest.mark.parametrize(
    "text", ["server:\nlimits:\nproviders:\nmodels:\ntools:\n  mcp:\nplugins:\n", "{}", "# nothing"]
)
def test_sections_may_be_empty(text: str) -> None:
    assert checked(text)[1] == []


PORT = "must be a whole number from 0 to 65535"
DURATION = "must be a duration above zero, such as 10s, 500ms or 1h"
SIZE = "must be a size above zero, such as 64MiB or 2GiB"
TEXT = "must be text that is not empty"
TEXTS = "must be a list of texts"
TYPE_NAMES = ", ".join(TYPES)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("servers: {}", ['servers: unknown key, did you mean "server"? (line 1)']),
        ("server:\n  prot: 1", ['server.prot: unknown key, did you mean "port"? (line 2)']),
        ("server:\n  Api-Keys: []", ['server.Api-Keys: unknown key, did you mean "api_keys"? (line 2)']),
        (
            "routing: {zzz: 1}",
            ["routing.zzz: unknown key, known are strategy, affinity, return (line 1)"],
        ),
        ("- a\n- b", ["must be a mapping"]),
        ("just text", ["must be a mapping"]),
        ("server: yes", ["server: must be a mapping (line 1)"]),
        ("server: {port: 65536}", [f"server.port: {PORT} (line 1)"]),
        ("server: {port: -1}", [f"server.port: {PORT} (line 1)"]),
        ("server: {port: '80'}", [f"server.port: {PORT} (line 1)"]),
        ("server: {port: true}", [f"server.port: {PORT} (line 1)"]),
        ("server: {port: 80.5}", [f"server.port: {PORT} (line 1)"]),
        ("server: {host: ''}", [f"server.host: {TEXT} (line 1)"]),
        ("server: {host: 1}", [f"server.host: {TEXT} (line 1)"]),
        ("server: {api_keys: abc}", [f"server.api_keys: {TEXTS} (line 1)"]),
        ("server: {api_keys: [1]}", [f"server.api_keys[0]: {TEXT} (line 1)"]),
        ("limits: {body: 64Q}", [f"limits.body: {SIZE} (line 1)"]),
        ("limits: {body: 0}", [f"limits.body: {SIZE} (line 1)"]),
        ("limits: {body: true}", [f"limits.body: {SIZE} (line 1)"]),
        ("limits: {body: null}", [f"limits.body: {SIZE} (line 1)"]),
        ("timeouts: {idle: 5 minutes}", [f"timeouts.idle: {DURATION} (line 1)"]),
        ("timeouts: {idle: 0}", [f"timeouts.idle: {DURATION} (line 1)"]),
        ("timeouts: {idle: .inf}", [f"timeouts.idle: {DURATION} (line 1)"]),
        ("timeouts: {idle: [1]}", [f"timeouts.idle: {DURATION} (line 1)"]),
        ("timeouts: {drain: -1s}", ["timeouts.drain: must be a duration such as 10s, 500ms or 1h (line 1)"]),
        ("retries: {same_candidate: 11}", ["retries.same_candidate: must be a whole number from 0 to 10 (line 1)"]),
        ("providers: {name: a}", ["providers: must be a list (each provider begins with a dash) (line 1)"]),
        ("providers: [a]", ["providers[0]: must be a mapping with at least name and type (line 1)"]),
        ("providers: [{}]", ["providers[0]: name and type are missing (line 1)"]),
        ("providers: [{name: a}]", ["providers[0]: type is missing (line 1)"]),
        (
            "providers: [{name: a, type: opnai}]",
            [f'providers[0].type: must be one of {TYPE_NAMES}; did you mean "openai"? (line 1)'],
        ),
        ("providers: [{name: a, type: 3}]", [f"providers[0].type: must be one of {TYPE_NAMES} (line 1)"]),
        (
            "providers: [{name: a, type: openai, wire: response}]",
            ['providers[0].wire: must be one of responses, chat, messages, auto; did you mean "responses"? (line 1)'],
        ),
        (
            "providers: [{name: a, type: openai, headers: {X: 1}}]",
            ["providers[0].headers.X: must be text (put numbers, dates and yes/no in quotes) (line 1)"],
        ),
        (
            "providers: [{name: a, type: openai, api_key_command: []}]",
            ["providers[0].api_key_command: must be a command line or a list of its words (line 1)"],
        ),
        (
            "providers: [{name: a, type: openai, models: [4.1]}]",
            ["providers[0].models[0]: must be a model id or a mapping with an id (put numbers in quotes) (line 1)"],
        ),
        ("providers: [{name: a, type: openai, models: [{}]}]", ["providers[0].models[0]: id is missing (line 1)"]),
        (
            "providers: [{name: a, type: openai, models: [{id: m, images: maybe}]}]",
            ["providers[0].models[0].images: must be true or false (line 1)"],
        ),
        (
            "providers: [{name: a, type: openai, models: [{id: m, aliases: [x]}]}]",
            ['providers[0].models[0].aliases: unknown key, did you mean "alias"? (line 1)'],
        ),
        ("models: {default: 4}", ["models.default: must be text, such as provider/model or an alias (line 1)"]),
        ("tools: {apply_patch: off}", ["tools.apply_patch: must be one of strict, repair, pass (line 1)"]),
        ("compaction: sumary", ['compaction: must be one of summary, native; did you mean "summary"? (line 1)']),
        ("usage: {prices: 3}", ["usage.prices: must be a mapping of provider/model or model to prices (line 1)"]),
        ("usage: {prices: {m: 3}}", ["usage.prices.m: must be a mapping with input and output (line 1)"]),
        ("usage: {prices: {m: {input: 1}}}", ["usage.prices.m: output is missing (line 1)"]),
        ("plugins: a.py", [f"plugins: {TEXTS} (line 1)"]),
        (
            "server: {port: x}\nbody: 1",
            [f"server.port: {PORT} (line 1)", "body: unknown key, known are server, limits, timeouts, retries, store, "
             "providers, models, routing, tools, compaction, usage, plugins (line 2)"],
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_in_plain_words(text: str, problems: list[str]) -> None:
    assert sorted(checked(text)[1]) == sorted(problems)


def test_a_value_from_the_environment_counts_as_the_number_or_boolean_it_spells() -> None:
    text = (
        "server: {port: '${P}', host: '${P}'}\n"
        "providers: [{name: a, type: openai, models: [{id: m, images: '${B}'}]}]\n"
        "usage: {prices: {m: {input: '${D}', output: '${P}'}}}"
    )
    data, problems = checked(text, P="81", B="True", D=" 2.5")
    assert problems == []
    assert data["usage"] == {"prices": {"m": {"input": 2.5, "output": 81.0}}}
    assert data["server"] == {"port": 81, "host": "81"}
    assert data["providers"][0]["models"][0]["images"] is True


@pytest.mark.parametrize("value", ["--5", "1" * 5000, "\N{ARABIC-INDIC DIGIT ONE}", "1_0", "0x1", "", "8.5"])
def test_what_spells_no_number_in_the_environment_is_told_so(value: str) -> None:
    assert checked("server: {port: '${P}'}", P=value)[1] == [f"server.port: {PORT} (line 1)"]


def test_a_whole_number_with_a_point_is_one() -> None:
    data, problems = checked("server: {port: 84.0}\nstore: {retention: {days: 3.0}}")
    assert (problems, repr(data)) == ([], "{'server': {'port': 84}, 'store': {'retention': {'days': 3}}}")


@pytest.mark.parametrize(("key", "value"), [("wire", "respons"), ("priority", "high"), ("type", "opnai")])
def test_a_wrong_value_from_the_environment_is_never_repeated(key: str, value: str) -> None:
    entry = {"name": "a", "type": "openai", key: "${V}"}
    _, problems = checked(f"providers: [{entry}]", V=value)
    assert len(problems) == 1
    assert problems[0].startswith(f"providers[0].{key}: must be ")
    assert "did you mean" not in problems[0]


def test_a_variable_that_is_not_set_is_the_only_problem_of_its_place() -> None:
    _, problems = checked("server: {port: '${P}'}\nproviders: [{name: '${N}', type: openai}]")
    assert problems == [
        "server.port: the environment variable P is not set (line 1)",
        "providers[0].name: the environment variable N is not set (line 2)",
    ]
