"""Dialect: how one provider's flavour of a wire format differs from the plain one, as data.

A provider's dialect file makes the instances, ``adapt.py`` and the request translators read them, and nobody asks for
a provider's name. Every field can be overridden per model in the configuration (``override.py``) and by what a
refusal taught (``translators/refusals.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ToolChoice = Literal["auto", "none", "required", "named", "allowed"]
SchemaRule = Literal[
    "inline_refs",
    "no_recursion",
    "no_root_union",
    "no_bool",
    "no_type_arrays",
    "no_meta",
    "no_additional_properties",
    "any_draft",
    "moonshot",
]
"""What ``translators/tools/schema_dialect.py`` can do to a function's parameters."""
Reasoning = Literal["effort", "object", "thinking", "thinking_effort", "enable_thinking", "none"]
Replay = Literal["reasoning_content", "reasoning", "reasoning_details", "thinking_parts", "none"]

ALL_CHOICES: frozenset[ToolChoice] = frozenset({"auto", "none", "required", "named", "allowed"})


@dataclass(frozen=True, slots=True)
class Dialect:
    """Capabilities of an upstream. The defaults are the safe ones for an unknown Chat Completions server."""

    name: str = "generic"

    refused: frozenset[str] = frozenset()
    """Request fields in Responses names that are left out; ``reasoning.summary`` means the field inside."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Chat only; a Responses upstream knows ``max_output_tokens``."""
    max_tokens_limit: int | None = None
    """A higher limit is lowered to this one."""
    one_sampling_field: bool = False
    """``temperature`` and ``top_p`` exclude each other: ``top_p`` is left out."""
    temperature_limit: float | None = None
    """A higher ``temperature`` is lowered to this one: OpenAI's go up to 2."""
    stream_usage: bool = True
    """Send ``stream_options.include_usage`` (Chat)."""
    cumulative: bool = False
    """Each delta of a Chat stream may repeat all the text before it."""
    silent_overflow: bool = False
    """A prompt that is too long is cut without a word, and the answer ends by its length before it begins (Chat)."""
    json_schema: bool = True
    """False: a ``json_schema`` format becomes ``json_object`` (Chat)."""
    json_format: bool = True
    """False: no format of the answer is sent, and JSON is asked for in words (Chat)."""
    json_beside_tools: bool = True
    """False: the same where there are tools (Chat)."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields that every Chat body carries."""
    cache_key_field: str | None = None
    """Where ``prompt_cache_key`` goes in a Chat body; None: it is not sent. Responses bodies keep their own field."""
    cache_key_header: str | None = None
    """A request header that carries ``prompt_cache_key`` as well (Chat)."""

    betas: frozenset[str] | None = None
    """What a Messages client may ask for by header (``anthropic-beta``); None: everything that is known."""
    unknown_fields: bool = True
    """False: only fields that are known here go up, also from a client that speaks the upstream's own format."""

    hosted_tools: frozenset[str] = frozenset()
    """Tool types that the upstream runs itself; others are left out by rule ``hosted_tool_left_out`` or
    ``web_search_left_out``."""
    hosted_fields: frozenset[str] | None = None
    """Fields that its hosted tools may have; None: any."""
    traces: frozenset[str] = frozenset()
    """Names of calls in an answer that its hosted tools have run themselves: no client sees them (Responses)."""
    functions_only: bool = False
    """Whether a Responses upstream that is configured for native custom tools gets functions all the same."""
    tool_limit: int | None = None
    """How many tools a request may have; namespaces fold into dispatcher functions above it."""
    tool_choice: frozenset[ToolChoice] = ALL_CHOICES
    """The forms of ``tool_choice`` that are taken; without ``auto`` the field is never sent."""
    parallel_tool_calls: bool = True
    """Whether ``parallel_tool_calls`` is sent."""
    tools_beside_calls: bool = False
    """A history with calls is refused without tools: those that it called are declared, and none may be called."""
    strict_tools: bool = True
    """Whether a function's ``strict`` is sent."""
    schema: frozenset[SchemaRule] = frozenset()
    """What has to be done to function parameters."""
    reserved_names: frozenset[str] = frozenset()
    """Function names that mean a hosted tool up there: a client's function of that name goes up as ``clientfn_..``."""

    images: bool = True
    """False: an image becomes ``[image omitted]``."""
    images_known: bool = False
    """Whether it is known that the model sees images: clients that ask are told so, and may offer them."""
    image_side: int | None = None
    """Pixels: an image with a longer side becomes ``[image omitted]``."""
    image_length: int | None = None
    """Characters of base64: likewise."""
    original_images: bool = False
    """Whether an image may be looked at in detail ``original`` (Responses; Chat has no such level)."""
    files: bool = True
    """False: a file (a PDF, mostly) becomes ``[file omitted]``."""
    images_in_tool_results: bool = False
    """False: images of a tool result go into a user message behind the results (Chat)."""
    text_results: bool = False
    """Images and files of a tool result go behind the results (Messages; in Chat the field above says so)."""
    later_system: bool = True
    """False: a system message that is not the first one becomes user text (Chat)."""
    developer_role: bool = True
    """False: a ``developer`` message of a Responses body is sent as ``system`` (in Chat it always is)."""
    system_role: bool = True
    """False: a ``system`` message is sent as ``developer`` (Responses; ChatGPT's back end)."""
    instructions_required: bool = False
    """Whether there must be ``instructions``: what the history begins with of system texts goes there (Responses)."""
    assistant_after_tool: bool = False
    """A user message may not follow a tool message: a short assistant message goes between (Chat)."""
    user_last: bool = False
    """The last word may not be the assistant's: the user says to go on (Chat; in Messages over the hub always)."""
    user_needed: bool = False
    """A history without any word of the user is refused: the user says to go on at its beginning (Chat; in Messages
    over the hub always)."""
    merge_same_role: bool = False
    """Neighbouring messages of the user, or of the assistant, become one (Chat)."""
    call_id_length: int | None = None
    """Call ids are exactly this many letters and digits (Chat)."""
    call_id_limit: int | None = None
    """A longer call id becomes one that fits (Responses and Chat)."""
    item_ids: bool = True
    """Whether items of the history keep their ids (Responses)."""
    adjacent_outputs: bool = False
    """The outputs of calls must follow them at once (Responses; in Chat they always do)."""
    plain_items: bool = False
    """Items of the history go up in their plainest form: what the assistant said as one text, and nothing null
    (Responses). Clients leave out what the full form must have."""
    empty_messages: bool = True
    """False: a message without a word is left out (Responses; in Chat it always is)."""
    thoughts_required: bool = False
    """Whether each turn of the assistant must bring its reasoning back in words (Responses; in Chat
    ``replay_required`` says so)."""
    items: frozenset[str] | None = None
    """Item types that a Responses upstream takes; None: any."""

    reasoning: Reasoning = "effort"
    """How an effort is asked for in Chat: ``reasoning_effort``; ``reasoning.effort``; ``thinking.type``; that and
    ``reasoning_effort``; ``enable_thinking``; not at all. A Responses body keeps its ``reasoning`` unless refused."""
    reasoning_beside_tools: bool = True
    """False: a model that thinks takes no tools, so beside tools it is told not to think (Chat)."""
    efforts: frozenset[str] | None = None
    """Levels that are taken; None: any. Empty: the effort is left out."""
    effort_map: Mapping[str, str] = field(default_factory=dict)
    """What a level becomes that is not taken; without an entry it is left out."""
    thinking_limit: int | None = None
    """Tokens: no larger budget is given for thinking (Messages)."""
    thinking_off: bool = True
    """Whether ``thinking`` can be switched off (effort ``none``)."""
    thinking_on: Literal["enabled", "adaptive"] = "enabled"
    """The value of ``thinking.type`` that means on."""
    replay: Replay = "reasoning_content"
    """The field in which earlier reasoning goes back on an assistant message (Chat)."""
    replay_required: Literal["calls", "all", "no"] = "no"
    """Which assistant messages must carry reasoning; one without gets ``placeholder``."""
    placeholder: str = " "
    sign_calls: bool = False
    """Whether calls whose signature is lost, or that another model made, carry what skips its check (Gemini)."""
    foreign_reasoning: bool = True
    """Whether another model's readable reasoning may be sent as this one's."""
    encrypted_include: bool = True
    """Whether reasoning may be asked for in ``include`` (Responses); a model that does not reason refuses that."""
    encrypted_reasoning: Literal["open", "sealed", "none"] = "sealed"
    """What a Responses upstream's ``encrypted_content`` becomes for the client: itself, or our envelope that names
    the provider. With ``none`` it is never sent up."""
