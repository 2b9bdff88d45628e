"""A configuration that cannot be used is explained without the secrets that stand in it, wherever somebody put them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.canaries import CANARIES, heard
from support.command_line import environment, run_program

SECRET = CANARIES["file"]
"""Written into the file."""
FROM_ENVIRONMENT = "${CANARY_ENV}"

PLUGIN = """
import os
PLUGIN_API = 1
def register(registries):
    raise RuntimeError("it broke over " + os.environ["CANARY_ENV"])
"""

PROVIDER = "providers:\n  - {name: up, type: openai, api_key: " + SECRET + ", models: [m]"
"""The beginning of a good one."""

WRONG: dict[str, str] = {
    "a password that is an alias to YAML": f"providers: [{{name: up, type: openai, api_key: *{SECRET}}}]",
    "a password that is a tag to YAML": f"providers: [{{name: up, type: openai, api_key: !{SECRET} x}}]",
    "an open quotation mark": f'providers: [{{name: up, type: openai, api_key: "{SECRET}}}]',
    "a key that looks like an escape": f'providers: [{{name: up, type: openai, api_key: "\\q{SECRET}"}}]',
    "a key in the place of a list": f"providers: {SECRET}",
    "a key in the place of a type": f"providers: [{{name: up, type: {SECRET}}}]",
    "a key in the place of a wire": f"providers: [{{name: up, type: openai, wire: {SECRET}}}]",
    "a key in the place of a number": f"server: {{port: {SECRET}}}",
    "a key in the place of a duration": f"timeouts: {{connect: {SECRET}}}",
    "a key in the place of a size": f"limits: {{body: {SECRET}}}",
    "a key in the place of a mapping": f"tools: {{mcp: {{servers: {SECRET}}}}}",
    "a key with a space": f'providers: [{{name: up, type: openai, api_key: "{SECRET} x"}}]',
    "a client's key with a line break": f'server: {{api_keys: ["{SECRET}\\nx"]}}',
    "a header with a line break": PROVIDER + f', headers: {{X-A: "{SECRET}\\nx"}}}}',
    "a header that is none": PROVIDER + f", headers: {{'bad name': {SECRET}}}}}",
    "a key in the base URL's query": PROVIDER + f", base_url: 'https://h.example/v1?key={SECRET}'}}",
    "a password in the base URL": PROVIDER + f", base_url: 'https://u:{SECRET}@h.example/v1'}}",
    "a password in an address without a scheme": PROVIDER + f", proxy: 'u:{SECRET}@h.example:80'}}",
    "another fault beside the key": PROVIDER + ", colour: red}",
    "an outbound proxy of another kind": PROVIDER + f", proxy: 'socks9://u:{SECRET}@h.example:80'}}",
    "a password in an MCP server's address": f"tools: {{mcp: {{servers: {{a: {{url: 'https://u:{SECRET}@h.example'}}}}}}}}",
    "a search provider's key in its address": f"tools: {{web_search: {{provider: searxng, base_url: 'http://h?k={SECRET}'}}}}",
    "a command that fails": "providers: [{name: up, type: openai, api_key_command: [sh, -c, 'echo "
    + SECRET
    + " >&2; echo "
    + SECRET
    + "; exit 3']}]",
    "a command that prints two words": f"providers: [{{name: up, type: openai, api_key_command: echo {SECRET} x}}]",
    "a variable in the place of a wire": f"providers: [{{name: up, type: openai, wire: '{FROM_ENVIRONMENT}'}}]",
    "a variable in the place of an address": f"server: {{host: '{FROM_ENVIRONMENT}'}}",
    "a variable in the place of a model": PROVIDER + f"}}\nmodels: {{default: '{FROM_ENVIRONMENT}'}}",
    "a variable as the name of a file": f"providers: [{{name: up, type: openai, api_key_file: '{FROM_ENVIRONMENT}'}}]",
    "a plugin that breaks": f"plugins: [breaking.py]\nserver: {{api_keys: ['{FROM_ENVIRONMENT}']}}",
}  # fmt: skip


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("what", WRONG)
def test_the_message_tells_the_fault_and_not_the_secret(what: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(WRONG[what])
    plugin = tmp_path / "breaking.py"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o600)
    env = environment(tmp_path / "home", CANARY_ENV=CANARIES["env"])
    words = ("serve", "--config", str(tmp_path / "config.yaml"), "--port", "0", "--log-level", "debug")
    done = run_program(*words, env=env)
    assert (done.code, done.out) == (78, ""), done
    assert "config.yaml" in done.err or "breaking.py" in done.err
    assert heard(done.err) == []
    assert "Traceback" not in done.err


CRASHING = """
from agentic_proxy.config.provider_types import ProviderType
PLUGIN_API = 1
def broken(provider, transport):
    raise RuntimeError("it broke over " + provider.api_keys[0].reveal())
def register(registries):
    kind = ProviderType("https://h.example", "chat", frozenset({"chat"}))
    registries.register_provider("broken", kind, executor=broken)
"""


@pytest.mark.requirement("P8")
def test_a_crash_at_the_start_has_a_traceback_without_the_secret(tmp_path: Path) -> None:
    file, plugin = tmp_path / "config.yaml", tmp_path / "breaking.py"
    file.write_text(f"plugins: [breaking.py]\nproviders: [{{name: up, type: broken, api_key: {SECRET}}}]")
    plugin.write_text(CRASHING)
    plugin.chmod(0o600)
    done = run_program("serve", "--config", str(file), "--port", "0", env=environment(tmp_path / "home"))
    assert (done.code, done.out) == (1, "")
    assert "RuntimeError: it broke over ***" in done.err
    assert heard(done.err) == []


@pytest.mark.requirement("P8")
@pytest.mark.parametrize(
    ("url", "codes"),
    [
        (f"postgresql://u:{SECRET}@127.0.0.1:1/d", (1, 0)),
        (f"postgresql://127.0.0.1:1/d?user=u&password={SECRET}", (1, 0)),
        (f"postgresql://u:{SECRET}@upstream.invalid/d", (1, 0)),
        (f"mysql://u:{SECRET}@h.example/d", (78, 78)),
    ],
)
def test_a_store_that_cannot_be_opened_is_named_without_its_password(
    url: str, codes: tuple[int, int], tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"store: {{url: '{url}'}}")
    env = environment(tmp_path / "home")
    done = run_program("serve", "--config", str(file), "--port", "0", "--log-level", "debug", env=env)
    shown = run_program("config", "show", "--config", str(file), env=env)
    assert (done.code, shown.code) == codes, done
    assert url.partition(":")[0] in shown.out or "store.url" in shown.err
    assert heard(done.out + done.err + shown.out + shown.err) == []
