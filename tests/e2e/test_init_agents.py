"""``agentic-proxy init`` with the real agents: set up for good they work by themselves, and undone nothing is left."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.agents import AGENTS, run
from support.codex import codex_binary
from support.command_line import environment, run_program
from support.proxy import provider, running_proxy
from support.turns import Say
from support.upstream import Upstream
from support.workspace import Workspace

FILES = {"claude": ".claude/settings.json", "opencode": ".config/opencode/opencode.json", "qwen": ".qwen/settings.json"}
OWN = {
    "claude": '{\n  "includeCoAuthoredBy": false,\n  "env": {"MINE": "1"}\n}',
    "opencode": (
        '{\r\n\t"$schema": "https://opencode.ai/config.json",\r\n'
        '\t"share": "disabled", // mine\r\n\t"autoupdate": false,\r\n}\r\n'
    ),
    "qwen": '{"privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}}\n',
}
REWRITES = {"qwen"}
"""Agents that bring their settings into a form of their own when they start."""
CHOSEN = {"opencode": ("-m", "agentic-proxy/up/m")}
KEY = "key-of-the-proxy-in-a-test"


@pytest.mark.parametrize("key", [False, True], ids=["open", "with a key"])
@pytest.mark.parametrize("name", AGENTS)
async def test_an_agent_that_was_set_up_works_by_itself_until_that_is_undone(
    name: str, key: bool, tmp_path: Path
) -> None:
    workspace, agent = Workspace.make(tmp_path), AGENTS[name]
    settings = workspace.home / FILES[name]
    settings.parent.mkdir(parents=True)
    settings.write_bytes(OWN[name].encode())
    env = environment(workspace.home)
    async with Upstream(agent.edit(workspace), Say(workspace.final), aside=Say("A title")) as upstream:
        config = {"providers": [provider("up", upstream.url, "chat", models=["m"])]}
        if key:
            config["server"] = {"api_keys": [KEY]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            words = ("init", "--client", name, "--url", proxy.url, "--model", "up/m", *(["--key"] if key else []))
            done = run_program(*words, "--write", env=env)
            assert done.code == 0, done
            written = settings.read_bytes()
            assert KEY.encode() not in written
            given = {**dict(agent.environment), **({"AGENTIC_PROXY_API_KEY": KEY} if key else {})}
            ran = await run([agent.binary, *agent.words, *CHOSEN.get(name, ()), workspace.prompt], workspace, **given)
    assert (ran.code, workspace.changed) == (0, True), ran
    assert workspace.final in ran.out
    assert all("up/m" not in post.body["model"] for post in upstream.posts)
    assert (settings.read_bytes() != written) == (name in REWRITES)
    assert run_program("init", "--client", name, "--undo", env=env).code == 0
    left = settings.read_bytes()
    if name in REWRITES:
        assert {**json.loads(left), **json.loads(OWN[name])} == json.loads(left)
        assert not any(word in left.decode() for word in (proxy.url, "openai", "up/m"))
    else:
        assert left == OWN[name].encode()


@pytest.mark.parametrize(
    "own", [None, b'# mine\nmodel = "m"', b"[tui]\nnotifications = true\n"], ids=["none", "a", "b"]
)
async def test_what_codex_adds_to_its_settings_stays_when_init_renews_and_undoes_its_own(
    own: bytes | None, tmp_path: Path
) -> None:
    workspace = Workspace.make(tmp_path)
    home = workspace.home / ".codex"
    home.mkdir(parents=True)
    if own is not None:
        (home / "config.toml").write_bytes(own)
    env = environment(workspace.home)

    def init(*words: str) -> dict[str, Any]:
        assert run_program("init", "--client", "codex", *words, env=env).code == 0
        return tomllib.loads((home / "config.toml").read_text(encoding="utf-8"))

    init("--write")
    added = await run([codex_binary(), "mcp", "add", "later", "--", "some-server"], workspace, CODEX_HOME=str(home))
    assert added.code == 0, added
    later = {"mcp_servers": {"later": {"command": "some-server"}}}
    renewed = init("--write", "--url", "http://127.0.0.1:9")
    assert renewed.pop("model_providers")["agentic-proxy"]["base_url"] == "http://127.0.0.1:9/v1"
    assert renewed == {**tomllib.loads((own or b"").decode()), **later} == init("--undo")
    assert (home / "config.toml").read_bytes().startswith(own or b"")


@pytest.mark.parametrize("key", [False, True], ids=["open", "with a key"])
async def test_codex_that_was_set_up_for_good_shows_apply_patch_to_a_model_that_it_does_not_know(
    key: bool, tmp_path: Path
) -> None:
    workspace = Workspace.make(tmp_path)
    async with Upstream(workspace.edit, Say(workspace.final)) as upstream:
        config = {"providers": [provider("up", upstream.url, "chat", models=["m"])]}
        if key:
            config["server"] = {"api_keys": [KEY]}
        async with running_proxy(config, tmp_path / "proxy") as proxy:
            words = ("init", "--client", "codex", "--url", proxy.url, "--model", "up/m", *(["--key"] if key else []))
            done = run_program(*words, "--write", env=environment(workspace.home))
            assert done.code == 0, done
            allowed = ("--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
            command = [codex_binary(), "exec", *allowed, "--profile", "agentic-proxy", workspace.prompt]
            ran = await run(command, workspace, **({"AGENTIC_PROXY_API_KEY": KEY} if key else {}))
    assert (ran.code, workspace.changed) == (0, True), ran
    assert "apply_patch" in [tool["function"]["name"] for tool in upstream.posts[0].body["tools"]]
