"""The whole way from file, environment and flags to a Config."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic_proxy.config.errors import ConfigError
from agentic_proxy.config.load import Flags, Loaded, load
from agentic_proxy.config.model import (
    Config,
    Limits,
    Model,
    Models,
    Price,
    Provider,
    Retention,
    Retries,
    Server,
    Store,
    Timeouts,
    Tools,
    Usage,
)
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact

EXAMPLE = Path(__file__).parents[3] / "config.example.yaml"


@pytest.fixture(autouse=True)
def empty_register() -> Iterator[None]:
    redact.forget_all()
    yield
    redact.forget_all()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def loaded(file: Path, text: str, flags: Flags | None = None, **environ: str) -> Loaded:
    file.write_text(text)
    return load(flags or Flags(), {"AGENTIC_PROXY_CONFIG": str(file), **environ})


def problems(file: Path, text: str, flags: Flags | None = None, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(file, text, flags, **environ)
    lines = zip(str(caught.value).splitlines(), caught.value.problems, strict=True)
    assert all(line.startswith(f"{file}: ") is not problem.outside for line, problem in lines)
    return str(caught.value).replace(f"{file}: ", "").splitlines()


FULL = """\
server: {host: 0.0.0.0, port: 1, api_keys: ["${CLIENT_KEY}"], allowed_hosts: [h], allowed_origins: ["app://x"]}
limits: {body: 1MiB, sse_line: 2MiB, arguments: 3MiB, retained: 4MiB}
timeouts: {connect: 1s, first_byte: 2s, idle: 3s, keepalive_first: 400ms, keepalive: 5, drain: 0}
retries: {same_candidate: 0}
store: {url: "postgresql://u:store-canary@h/d", retention: {days: 1, size: 1GiB}}
providers:
  - name: a
    type: openai
    api_key: ${A_KEY}
    models: [{id: m, alias: [x]}]
models: {default: x}
tools: {apply_patch: strict}
usage: {prices: {a/m: {input: 5, cached: 0.5, output: 30}, x: {input: 0, cache_write: 1, output: 1.5}}}
"""


def test_every_setting_arrives(file: Path) -> None:
    config = loaded(file, FULL, CLIENT_KEY="client-key", A_KEY="upstream-key").config
    assert config == Config(
        server=Server("0.0.0.0", 1, (Secret("client-key"),), ("h",), ("app://x",)),
        limits=Limits(1 << 20, 2 << 20, 3 << 20, 4 << 20),
        timeouts=Timeouts(1.0, 2.0, 3.0, 0.4, 5.0, 0.0),
        retries=Retries(0),
        store=Store("postgresql://u:store-canary@h/d", Retention(1, 1 << 30)),
        providers=(
            Provider(
                "a",
                "openai",
                "https://api.openai.com/v1",
                (Secret("upstream-key"),),
                "responses",
                "native",
                models=(Model("m", ("x",)),),
            ),
        ),
        models=Models("x"),
        tools=Tools("strict"),
        usage=Usage({"a/m": Price(5, 30, cached=0.5), "x": Price(0, 1.5, cache_write=1)}),
    )


def test_no_secret_of_the_configuration_is_shown(file: Path) -> None:
    result = loaded(file, FULL, CLIENT_KEY="client-canary", A_KEY="upstream-canary")
    assert "canary" not in repr(result) + str(result.config)
    assert redact.redact("client-canary upstream-canary store-canary") == "*** *** ***"


@pytest.mark.parametrize("text", ["", "{}", "server:\n", "providers: []\n"])
def test_an_empty_configuration_has_the_documented_defaults_and_says_that_it_serves_nothing(
    file: Path, text: str
) -> None:
    warning = f"{file}: no providers are configured: every request for a model will fail"
    assert loaded(file, text).config == Config(warnings=(warning,))


P = "providers: [{name: a, type: openai}]\n"


def test_flag_beats_environment_beats_file_beats_default(file: Path) -> None:
    text, environ = P + "server: {host: '::1', port: 1}", {"AGENTIC_PROXY_HOST": "localhost", "AGENTIC_PROXY_PORT": "2"}
    results = {
        "default": loaded(file, P),
        "file": loaded(file, text),
        "env": loaded(file, text, **environ),
        "flag": loaded(file, text, Flags(host="127.0.0.9", port=3), **environ),
    }
    seen = {
        name: (
            result.config.server.host,
            result.config.server.port,
            result.origins["server.host"],
            result.origins["server.port"],
        )
        for name, result in results.items()
    }
    assert seen == {
        "default": ("127.0.0.1", 8484, "default", "default"),
        "file": ("::1", 1, "file line 2", "file line 2"),
        "env": ("localhost", 2, "env AGENTIC_PROXY_HOST", "env AGENTIC_PROXY_PORT"),
        "flag": ("127.0.0.9", 3, "flag --host", "flag --port"),
    }


def test_the_origin_of_every_setting_is_kept(file: Path) -> None:
    origins = loaded(file, P + "timeouts:\n  idle: 1s\n").origins
    assert {key: origin for key, origin in origins.items() if origin != "default"} == {
        "providers": "file line 1",
        "providers[0]": "file line 1",
        "providers[0].name": "file line 1",
        "providers[0].type": "file line 1",
        "timeouts": "file line 2",
        "timeouts.idle": "file line 3",
    }
    assert {"server.api_keys", "limits.body", "store.retention.days", "tools.mcp.servers", "compaction"} <= set(origins)


def test_the_flag_names_the_file(tmp_path: Path, file: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("server: {port: 7}\n")
    result = loaded(file, "{}", Flags(config=str(other)))
    assert (result.path, result.config.server.port) == (other, 7)


def test_without_any_file_the_error_says_where_one_is_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="there is no configuration here; write one, or name another with --config"):
        load(Flags(), {})


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml: cannot be read: No such file or directory"):
        load(Flags(config=str(tmp_path / "c.yaml")), {})


def reach(host: str) -> str:
    return (
        f'"{host}" can be reached from other machines, so server.api_keys must not be empty '
        "(or give --insecure-no-auth if anyone there may use your keys)"
    )


TEXT = "must be text that is not empty"
DOLLARS = "must be US dollars per million tokens, such as 2.5"
STORE = "must be sqlite:///PATH, postgresql://HOST/DATABASE, memory: or empty"
NAME = "must be a host name or an address, without a scheme, a path or a wildcard"
ORIGIN = "must be an origin as it is sent, such as https://app.example.com: nothing behind the host and port"
ENCODE = "is not read as it is meant: in a user name or password write / ? # @ [ ] as %2F %3F %23 %40 %5B %5D"
ALONE = "must be an address or a host name alone; the port is server.port"
ODD = "holds a space, a line break or another character that no API key has"
NO_FILE = "providers[0].api_key_file: the file DIR/none cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("text", "environ", "flags", "expected"),
    [
        ("server: {host: 0.0.0.0}", {}, Flags(), [f"server.host: {reach('0.0.0.0')} (line 1)"]),
        ("", {"AGENTIC_PROXY_HOST": "::"}, Flags(), [f"env AGENTIC_PROXY_HOST: {reach('::')}"]),
        ("server: {host: '::1'}", {}, Flags(host="10.0.0.1"), [f"flag --host: {reach('10.0.0.1')}"]),
        ("server: {host: 'localhost:80'}", {}, Flags(), [f"server.host: {ALONE} (line 1)"]),
        ("", {}, Flags(host=""), [f"flag --host: {ALONE}"]),
        (
            "",
            {"AGENTIC_PROXY_PORT": "9" * 5000},
            Flags(),
            ["the environment variable AGENTIC_PROXY_PORT: must be a whole number from 0 to 65535"],
        ),
        (
            "",
            {"AGENTIC_PROXY_PORT": "eighty"},
            Flags(),
            ["the environment variable AGENTIC_PROXY_PORT: must be a whole number from 0 to 65535"],
        ),
        ("server: {api_keys: ['${EMPTY}']}", {"EMPTY": " "}, Flags(), [f"server.api_keys[0]: {TEXT} (line 1)"]),
        ("server: {api_keys: [a b]}", {}, Flags(), [f"server.api_keys[0]: {ODD} (line 1)"]),
        (P + "server: {prot: 1}", {}, Flags(), ['server.prot: unknown key, did you mean "port"? (line 2)']),
        (
            "providers:\n- {name: a, type: openai,\n   api_key: '${NOPE}'}",
            {},
            Flags(),
            ["providers[0].api_key: the environment variable NOPE is not set (line 3)"],
        ),
        ("providers: [{name: a, type: openai, api_key_file: none}]", {}, Flags(), [f"{NO_FILE} (line 1)"]),
        (
            "models: {default: y, fallback: {up/a: [z]}}",
            {},
            Flags(),
            [
                'models.default: no provider has a model "y": no provider is configured (line 1)',
                'models.fallback.up/a: no provider has a model "up/a": no provider is configured (line 1)',
                'models.fallback.up/a[0]: no provider has a model "z": no provider is configured (line 1)',
            ],
        ),
        (
            P + "usage: {prices: {m: {input: -1, output: 2}}}",
            {},
            Flags(),
            [f"usage.prices.m.input: {DOLLARS} (line 2)"],
        ),
        (
            "server: {allowed_hosts: [a.b:80, '*.b', 'http://a.b'], allowed_origins: ['app://x', a.b, 'https://a.b/']}",
            {},
            Flags(),
            [
                f"server.allowed_hosts[1]: {NAME} (line 1)",
                f"server.allowed_hosts[2]: {NAME} (line 1)",
                f"server.allowed_origins[1]: {ORIGIN} (line 1)",
                f"server.allowed_origins[2]: {ORIGIN} (line 1)",
            ],
        ),
        (P + "store: {url: 'sqlite://state.db'}", {}, Flags(), [f"store.url: {STORE} (line 2)"]),
        (P + "store: {url: 'postgresql://u:hid/den@h/d'}", {}, Flags(), [f"store.url: {ENCODE} (line 2)"]),
        (P + "store: {url: 'sqlite:///'}", {}, Flags(), [f"store.url: {STORE} (line 2)"]),
        (P + "store: {url: state.db}", {}, Flags(), [f"store.url: {STORE} (line 2)"]),
        (P + "store: {url: '${DB}'}", {"DB": "mysql://u:hidden@h/d"}, Flags(), [f"store.url: {STORE} (line 2)"]),
        ("a: [", {}, Flags(), ["is not valid YAML: did not find expected node content (line 2)"]),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(
    file: Path, text: str, environ: dict[str, str], flags: Flags, expected: list[str]
) -> None:
    assert problems(file, text, flags, **environ) == [line.replace("DIR", str(file.parent)) for line in expected]


@pytest.mark.parametrize("url", ["", "memory:", "sqlite:////x/y.db", "sqlite://", "postgres://h/d", "postgresql://h/d"])
def test_a_store_is_named_by_its_url(file: Path, url: str) -> None:
    assert loaded(file, P + f"store: {{url: '{url}'}}").config.store.url == url


def test_a_host_other_machines_can_reach_needs_keys_or_an_explicit_word(file: Path) -> None:
    with_keys = loaded(file, "server: {host: 0.0.0.0, api_keys: [long-enough]}")
    by_flag = loaded(file, "server: {host: 0.0.0.0}", Flags(insecure_no_auth=True))
    assert (with_keys.config.server.host, by_flag.config.server.host) == ("0.0.0.0", "0.0.0.0")


def test_an_address_to_listen_on_may_be_written_as_in_urls(file: Path) -> None:
    assert loaded(file, P + "server: {host: '[::1]'}").config.server.host == "::1"


def test_a_bad_port_in_the_environment_does_not_matter_below_the_flag(file: Path) -> None:
    assert loaded(file, P, Flags(port=5), AGENTIC_PROXY_PORT="eighty").config.server.port == 5


def test_commands_run_only_when_everything_else_is_right(file: Path) -> None:
    text = "providers: [{name: a, type: openai, api_key_command: 'touch ran'}]\n"
    problems(file, text + "models: {default: /x}\n")
    assert not (file.parent / "ran").exists()
    assert problems(file, text) == [
        "providers[0].api_key_command: the key printed by touch is empty; leave it out where no key is needed (line 1)"
    ]
    assert (file.parent / "ran").exists()


def test_the_errors_of_a_configuration_hold_no_secret(file: Path) -> None:
    text = """\
server: {api_keys: canary-1, canary-sk-12345678: 1}
providers:
  - {name: a, type: openai, api_key: [canary-2], base_url: "http://u:canary-3@h", proxy: "socks://canary-4@h"}
  - {name: b, type: openai, api_key: "canary-5 canary-6", headers: {X: {canary-7: 1}}, wire: "${W}"}
  - {name: c, type: openai, api_key_command: ["sh", "-c", "echo canary-8; exit 1"]}
"""
    shown = "\n".join(problems(file, text, W="canary-9"))
    assert "canary" not in shown.replace("server.canary-***", "")


def test_the_example_is_a_valid_configuration() -> None:
    result = load(Flags(config=str(EXAMPLE)), {"OPENAI_API_KEY": "key-one-1", "MOONSHOT_API_KEY": "key-two-2"})
    config = result.config
    assert [(p.name, p.available, p.base_url) for p in config.providers] == [
        ("openai", True, "https://api.openai.com/v1"),
        ("local", True, "http://127.0.0.1:8080/v1"),
        ("kimi", True, "https://api.moonshot.ai/v1"),
    ]
    assert (config.server, config.limits, config.timeouts, config.retries) == (
        Server(),
        Limits(),
        Timeouts(),
        Retries(),
    )
    assert config.warnings == ()
    unset = {key for key, origin in result.origins.items() if origin == "default"}
    unset = {key for key in unset if not key.startswith("tools.apply_patch_rules.")}
    search = {f"tools.web_search.{name}" for name in ("provider", "api_key", "base_url")}
    assert unset == search, "the example shows every other setting"


def test_the_example_names_the_variables_it_needs() -> None:
    with pytest.raises(ConfigError) as caught:
        load(Flags(config=str(EXAMPLE)), {})
    assert [line.split(": ", 1)[1].rsplit(" (", 1)[0] for line in str(caught.value).splitlines()] == [
        "providers[0].api_key: the environment variable OPENAI_API_KEY is not set",
        "providers[2].api_key: the environment variable MOONSHOT_API_KEY is not set",
    ]


MISSING = "providers[0]: no API key, so requests will be refused: add api_key, best as ${NAME} (line 1)"


@pytest.mark.parametrize(
    ("provider", "warned"),
    [
        ("type: openai", True),
        ("type: kimi, wire: messages", True),
        ("type: openai, api_key: sk-of-a-test", False),
        ("type: openai, headers: {X-Key: of-a-test}", False),
        ("type: openai, base_url: 'https://gateway.example'", False),
        ("type: openai-compatible, base_url: 'https://h.example'", False),
        ("type: ollama", False),
        ("type: demo", False),
    ],
)
def test_a_provider_at_its_usual_address_without_a_key_is_a_warning(file: Path, provider: str, warned: bool) -> None:
    # The variable is looked for where there is no file; here the file says what is used.
    found = loaded(file, f"providers: [{{name: a, {provider}}}]", OPENAI_API_KEY="sk-of-a-test").config.warnings
    assert found == ((f"{file}: {MISSING}",) if warned else ())
