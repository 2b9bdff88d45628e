"""PluginTool: a tool that a plugin brings, as a function with a schema and something to await.

It runs inside the proxy with all its rights: what it may do is the plugin's business.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.mcp_results import cut, failure_of
from translators.events import Json
from translators.gateway.own import PLUGIN_LABEL, OwnTool, Ran
from translators.surrogates import clean
from translators.tools.arguments import ArgumentsError, judge_function_arguments

PLUGIN_TOOLS: Final[dict[str, PluginTool]] = {}
"""What the plugins registered, by name."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_TAKEN: Final = "web_search"
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class PluginTool:
    """``name`` is that of the function that a model sees, ``parameters`` the JSON schema of its arguments, an object.

    ``call`` gets the arguments when they fit the schema, and returns the output: a text, or anything that JSON can
    hold. It raises ToolError with a text for the model when it cannot do what it should; any other exception is logged
    with its traceback, and the model reads only that the tool failed.
    """

    name: str
    description: str
    parameters: Json
    call: Callable[[Json], Awaitable[Any]]

    def __post_init__(self) -> None:
        """Raises ValueError, in words for whoever writes the plugin."""
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        if _NAME.fullmatch(self.name) is None or self.name == _TAKEN:
            text = f"a tool needs a name of letters, digits, _ and -, at most 64, other than {_TAKEN}: {self.name!r}"
            raise ValueError(text)
        if self.parameters.get("type") != "object":
            raise ValueError(f'the parameters of the tool {self.name} must be a JSON schema with "type": "object"')
        try:
            orjson.dumps(self.parameters)
            Draft202012Validator.check_schema(self.parameters)
        except (SchemaError, TypeError) as error:
            said = error.message if isinstance(error, SchemaError) else error
            raise ValueError(f"the parameters of the tool {self.name} are no JSON schema: {said}") from None

    @property
    def own(self) -> OwnTool:
        """The function that stands for it."""
        return OwnTool("plugin", self.name, self.description, self.parameters, PLUGIN_LABEL, self.name)

    async def run(self, own: OwnTool, arguments: str) -> Ran:
        """Run one call; satisfies ``GatewayTool``."""
        try:
            given = orjson.loads(judge_function_arguments(arguments, self.parameters))
        except ArgumentsError as error:
            return failure_of(f"The call was not run: {error}.")
        if (wrong := self._wrong(given)) is not None:
            return failure_of(f"The call was not run: {wrong}")
        try:
            output = await self.call(given)
        except ToolError as error:
            return failure_of(_told(str(error)))
        return Ran(output=_told(output if isinstance(output, str) else orjson.dumps(output).decode()))

    def _wrong(self, arguments: Json) -> str | None:
        """Why arguments do not fit the schema."""
        from jsonschema import Draft202012Validator
        from referencing import Registry

        # An empty registry: the library would fetch what a schema refers to elsewhere, with every stream waiting.
        validator = Draft202012Validator(self.parameters, registry=Registry())
        error = next(validator.iter_errors(arguments), None)
        if error is None:
            return None
        place = "".join(f"[{key!r}]" for key in error.absolute_path)
        return f"arguments{place}: {error.message[:_LONGEST]}"


def _told(text: str) -> str:
    """What the model reads of a text: Python's may hold what no JSON can."""
    return clean(cut(text))
