"""The settings in force: all of them, under their own names, without a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_proxy.cli.main import main
from agentic_proxy.cli.show import origin, settings, without_password
from agentic_proxy.config.load import Flags, load
from agentic_proxy.config.model import Config
from agentic_proxy.config.schema import schema

TEXT = """\
server:
  port: 9000
  api_keys: [canary-of-clients]
store: {url: "postgresql://u:canary-of-the-store@h/db"}
providers:
  - name: a
    type: openai-compatible
    base_url: http://127.0.0.1:9
    api_key: canary-of-the-upstream
    proxy: http://u:canary-of-the-proxy@h:1
    headers: {X-A: canary-of-a-header}
    models: [m, {id: n, alias: [k]}]
  - {name: b, type: openai, api_key_command: "echo canary-of-a-command"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(TEXT)
    return path


def schema_keys(part: dict[str, object], prefix: str = "") -> set[str]:
    properties = part.get("properties", {})
    assert isinstance(properties, dict)
    found: set[str] = set()
    for name, inner in properties.items():
        nested = schema_keys(inner, f"{prefix}{name}.")
        found |= nested or {prefix + name}
    return found


def test_every_setting_is_named_as_in_the_file(file: Path) -> None:
    shown = [key for key, _ in settings(load(Flags(config=str(file)), {}).config)]
    top = {key for key in shown if not key.startswith("providers[")}
    known = schema_keys(schema()) - {"providers"}
    # A mapping is shown as one value.
    assert {key for key in known if not any(f"{key}.".startswith(f"{other}.") for other in top)} == set()
    assert {key for key in top if not any(f"{other}.".startswith(f"{key}.") for other in known)} == set()
    provider, model = schema()["$defs"]["provider"], schema()["$defs"]["model"]
    assert {key.removeprefix("providers[1].") for key in shown if key.startswith("providers[1].")} == set(
        provider["properties"]
    ) - {"api_key", "api_key_file", "api_key_command"}
    found = {key.rpartition(".")[2] for key in shown if key.startswith("providers[0].models[1].")}
    assert found == set(model["properties"])


def test_no_secret_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--origin", "--config", str(file)]) == 0
    shown = capsys.readouterr()
    assert "canary" not in shown.out + shown.err
    lines = shown.out.splitlines()
    assert [line.split("  # ")[0].rstrip() for line in lines if "***" in line] == [
        'server.api_keys: ["***"]',
        'store.url: "postgresql://u:***@h/db"',
        'providers[0].api_keys: ["***"]',
        'providers[0].headers: {"X-A":"***"}',
        'providers[0].proxy: "http://u:***@h:1"',
        'providers[1].api_keys: ["***"]',
    ]


def test_the_origin_of_each_value_stands_beside_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(Flags(config=str(file), host="localhost"), {"AGENTIC_PROXY_PORT": "1"})
    found = {key: origin(key, loaded.origins) for key, _ in settings(loaded.config)}
    expected = {
        "server.host": "flag --host",
        "server.port": "env AGENTIC_PROXY_PORT",
        "server.api_keys": "file line 3",
        "limits.body": "default",
        "providers[0].api_keys": "file line 9",
        "providers[0].wire": "default",
        "providers[0].models[0].id": "file line 12",
        "providers[0].models[0].alias": "default",
        "providers[0].models[1].alias": "file line 12",
        "providers[1].api_keys": "file line 13",
    }
    assert {key: found[key] for key in expected} == expected


def test_without_origins_there_are_only_settings(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--config", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['server.host: "127.0.0.1"', "server.port: 9000"]
    assert [line for line in lines if "#" in line] == []


def test_the_defaults_can_be_shown() -> None:
    shown = dict(settings(Config()))
    assert (shown["server.port"], shown["models.default"], shown["providers"]) == ("8484", "null", "[]")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("sqlite:///a", "sqlite:///a"),
        ("http://u@h/", "http://u@h/"),
        ("http://u:p@h:1/x?y", "http://u:***@h:1/x?y"),
        ("http://u:p@q@h/", "http://u:***@h/"),
        ("http://[", "***"),
    ],
)
def test_a_password_in_an_address_is_hidden(url: str, shown: str) -> None:
    assert without_password(url) == shown
