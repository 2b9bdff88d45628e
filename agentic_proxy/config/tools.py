"""The section ``tools``: what happens to patches, the search provider, MCP servers."""

from __future__ import annotations

import re
import shlex
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from agentic_proxy.config.addresses import normalise_base_url
from agentic_proxy.config.credentials import make_key
from agentic_proxy.config.errors import KeyPath, Report
from agentic_proxy.config.headers import build_headers
from agentic_proxy.config.model import Mcp, McpServer, Tools, WebSearch
from agentic_proxy.config.nearest import hint
from agentic_proxy.config.secrets import Secret
from agentic_proxy.observe import redact
from translators.gateway.own import PLUGIN_LABEL


class SearchProvider(NamedTuple):
    """``base_url`` None: an instance of the user's own."""

    base_url: str | None
    needs_key: bool


SEARCH_PROVIDERS: Final[dict[str, SearchProvider]] = {
    "brave": SearchProvider("https://api.search.brave.com", True),
    "tavily": SearchProvider("https://api.tavily.com", True),
    "you": SearchProvider("https://ydc-index.io", True),
    "searxng": SearchProvider(None, False),
}
"""What is known of each before it is configured."""
OWN_TOOLS: Final[set[str]] = set()
"""The names of the tools that plugins bring."""
_LABEL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ARGUMENT: Final = re.compile(r"(?:([^=:\s]+)(=|:\s))?(.*)", re.DOTALL)
"""What it is called, if that is said, and the value."""
_PATHS: Final = ("/", "./", "../", "~")
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?")


def build_tools(section: dict[str, Any], report: Report) -> Tools:
    """The settings. Reports what does not belong together; registers keys and header values for redaction."""
    defaults = Tools()
    return Tools(
        apply_patch=section.get("apply_patch", defaults.apply_patch),
        apply_patch_rules=section.get("apply_patch_rules") or {},
        web_search=_web_search(_given(section.get("web_search")), ("tools", "web_search"), report),
        mcp=_mcp(_given(section.get("mcp")), ("tools", "mcp"), report),
        offer=_offer(section.get("offer") or [], ("tools", "offer"), report),
    )


def _offer(names: list[str], path: KeyPath, report: Report) -> tuple[str, ...]:
    for position, name in enumerate(names):
        if name not in OWN_TOOLS:
            near = f", {hint(name, sorted(OWN_TOOLS))}" if OWN_TOOLS else ""
            report.add((*path, position), f"no plugin has a tool of this name{near}")
    return tuple(dict.fromkeys(names))


def _given(section: Any) -> dict[str, Any]:
    return {key: value for key, value in (section or {}).items() if value is not None}


def _web_search(section: dict[str, Any], path: KeyPath, report: Report) -> WebSearch | None:
    provider = section.get("provider")
    if provider is None:
        if section:
            report.add(path, "provider is missing")
        return None
    usual = SEARCH_PROVIDERS[provider]
    url = _url(section.get("base_url") or usual.base_url, (*path, "base_url"), report)
    if url is None:
        if usual.base_url is None and not section.get("base_url"):
            report.add(path, f"base_url is missing: {provider} is an instance of your own")
        return None
    key = _secret(section["api_key"], (*path, "api_key"), report) if section.get("api_key") else None
    if key is None and usual.needs_key and not section.get("api_key"):
        report.add(path, f"api_key is missing: {provider} answers nobody without one")
    return WebSearch(provider, url, key)


def _mcp(section: dict[str, Any], path: KeyPath, report: Report) -> Mcp:
    hosts = tuple(str(host).strip().lower() for host in section.get("allowed_hosts", ()))
    for position, host in enumerate(hosts):
        if _HOST.fullmatch(host) is None:
            report.add((*path, "allowed_hosts", position), "must be HOST or HOST:PORT, without a scheme or a path")
    servers: dict[str, McpServer] = {}
    for label, item in (section.get("servers") or {}).items():
        where = (*path, "servers", label)
        if _LABEL.fullmatch(label) is None:
            report.add(where, "must be named with letters, digits, _ and -, at most 64")
        if label == PLUGIN_LABEL:
            report.add(where, "must have another name: so the proxy calls itself")
        servers[label] = _server(_given(item), where, report)
    return Mcp(hosts, servers)


def _server(item: dict[str, Any], path: KeyPath, report: Report) -> McpServer:
    url, command = item.get("url"), item.get("command")
    if (url is None) == (command is None):
        report.add(path, "must have either url or command")
    if url is not None and command is None and item.get("env"):
        report.add((*path, "env"), "belongs to a command; a server with a url gets headers")
    if command is not None and url is None and item.get("headers"):
        report.add((*path, "headers"), "belong to a url; a command gets env")
    allowed = item.get("allowed_tools")
    return McpServer(
        url=_server_url(url, (*path, "url"), report) if url is not None else None,
        command=_words(command, (*path, "command"), report) if command is not None else (),
        env=_variables(item.get("env") or {}, (*path, "env"), report),
        # The client of MCP servers writes no others.
        headers=build_headers(item.get("headers") or {}, (*path, "headers"), report, encoding="ascii"),
        allowed_tools=tuple(allowed) if allowed is not None else None,
        require_approval=item.get("require_approval") or "never",
    )


def _words(command: str | list[str], path: KeyPath, report: Report) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError:
        report.add(path, "has a quotation mark without its partner")
        return ()
    if not words or not words[0].strip():
        report.add(path, "names no program")
    if any("\0" in word for word in words):
        report.add(path, "holds a character that no program can be given")
    _register_arguments(words[1:])
    return words


def _register_arguments(words: tuple[str, ...]) -> None:
    """Programs get keys as arguments too: ``--api-key KEY``, ``--token=KEY``, ``-e TOKEN=KEY``, ``-H 'X-Key: KEY'``, or
    in an address."""
    option = ""
    for word in words:
        name, mark, value = _ARGUMENT.fullmatch(word).groups("")  # type: ignore[union-attr]
        if "://" in value or "://" in name:
            redact.register_url(word[len(name) + 1 :] if name.startswith("-") else word)
        elif word.startswith("-") and not mark:
            option = word
            continue
        elif not value.startswith(_PATHS):  # the pieces of a path stand in many texts
            redact.register_setting(name or option, value)
        option = ""


def _url(url: str | None, path: KeyPath, report: Report) -> str | None:
    if url is None:
        return None
    try:
        return normalise_base_url(url, append_v1=False)
    except ValueError as error:
        report.add(path, str(error))
        return None


def _server_url(url: str, path: KeyPath, report: Report) -> str:
    """Kept as it is, query included; only its shape is checked."""
    try:
        parts = urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        good = False
    if not good:
        report.add(path, "must be a URL that begins with http:// or https:// and holds no user name")
    redact.register_url(url)
    return url.strip()


def _secret(value: str, path: KeyPath, report: Report) -> Secret | None:
    try:
        return make_key(value)
    except ValueError as error:
        report.add(path, str(error))
        return None


def _variables(given: dict[str, str], path: KeyPath, report: Report) -> dict[str, Secret]:
    """Values that may be credentials: never shown, whatever they are."""
    for name, value in given.items():
        if not name or "=" in name or "\0" in name + value:
            report.add((*path, name), "cannot be an environment variable")
        redact.register_setting(name, value)
    return {name: Secret(value) for name, value in given.items()}
