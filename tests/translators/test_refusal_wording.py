"""Real refusals, as wire bodies from public reports and documentation, and the lesson that each teaches.

Where only a message is public, the body around it is that provider's usual one.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from translators.dialects.base import Dialect
from translators.refusals import lesson_of, taught
from translators.upstream_errors import from_body

Json = dict[str, Any]


def openai(message: str, **more: Any) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def xai(message: str, code: str = "invalid-argument") -> Json:
    return {"code": code, "error": message}


def minimax(message: str) -> Json:
    error = {"type": "bad_request_error", "message": message, "http_code": "400"}
    return {"type": "error", "error": error, "request_id": "x"}


def anthropic(message: str) -> Json:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_x"}


DESERIALIZE = "Failed to deserialize the JSON body into the target type: "
DASHSCOPE = "<400> InternalError.Algo.InvalidParameter: "
MFJS = "tools.function.parameters is not a valid moonshot flavored json schema, details: "

BODIES: list[tuple[str, int, Json, str | None]] = [
    ("xai", 400, xai("Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."),
     "drop:reasoning.effort"),
    ("xai", 400, xai("Argument not supported on this model: presencePenalty", "Client specified an invalid argument"),
     "drop:presence_penalty"),
    ("xai", 400, xai("Model grok-4.6 does not support parameter frequencyPenalty."), "drop:frequency_penalty"),
    ("xai", 400, xai("Model grok-4.6 does not support parameter stop."), "drop:stop"),
    ("xai", 400, xai("Maximum tools limit reached. 520 tools have been provided but the maximum is 200."),
     "tool_limit:200"),
    ("xai", 400, {"type": "error", "code": "invalid-argument"}, None),
    ("xai", 400, xai("Invalid request content: Each message must have at least one content element."),
     "no_empty_messages"),
    ("meta", 400, openai("Recursive JSON schemas are not currently supported", code=None, param="parameters"),
     "schema:no_recursion"),
    ("meta", 400, openai("`tools[].search_content_types` is only supported for web_search_preview tools.", code=None,
                         param="tools[].search_content_types"), "plain_hosted_tools"),
    ("meta", 400, openai("reasoning encrypted_content was not issued to this caller"), "no_encrypted_reasoning"),
    ("openrouter", 400, {"error": {"code": 400, "message": "Referenced reasoning item rs_1 was not found or has "
                                   "expired"}}, "no_encrypted_reasoning"),
    ("deepseek", 400, openai("The reasoning_text in the thinking mode must be passed back to the API"), "thoughts"),
    ("kimi", 400, openai("invalid temperature: only 1 is allowed for this model"), "drop:temperature"),
    ("kimi", 400, openai("invalid temperature: only 0.6 is allowed for this model"), "drop:temperature"),
    ("kimi", 400, openai("Error from provider (Moonshot AI): invalid top_p: only 0.95 is allowed for this model"),
     "drop:top_p"),
    ("kimi", 400, openai("thinking is enabled but reasoning_content is missing in assistant tool call message at "
                         "index 2"), "replay_reasoning:calls"),
    ("kimi", 400, openai("invalid thinking: only type=enabled is allowed for this model"), "thinking_always_on"),
    ("kimi", 400, openai("cannot specify both 'thinking' and 'reasoning_effort'"), "thinking_without_effort"),
    ("kimi", 400, openai("tool_choice 'specified' is incompatible with thinking enabled"), "tool_choice:auto"),
    ("kimi", 400, openai(f"Invalid request: {MFJS}<At path 'properties.skill': when using anyOf, type should be "
                         "defined in anyOf items instead of the parent schema>"), "schema:moonshot"),
    ("kimi", 400, openai('tools.function.parameters.type is required and must be "object"'), "schema:moonshot"),
    ("kimi", 400, openai(f"{MFJS}<At path 'properties.assetRef': conflicting keywords found after $ref expansion: "
                         "description>"), "schema:moonshot"),
    ("kimi", 400, openai("Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"), None),
    ("deepseek", 400, openai("The reasoning_content in the thinking mode must be passed back to the API.", param=None,
                             code="invalid_request_error"), "replay_reasoning:all"),
    ("deepseek", 400, openai("The `reasoning_content` in the thinking mode must be passed back to the API."),
     "replay_reasoning:all"),
    ("deepseek", 400, openai(f"{DESERIALIZE}tools[7].type: unknown variant `namespace`, expected `function` at line 1 "
                             "column 80187", param=None, code="invalid_request_error"), "functions_only"),
    ("deepseek", 400, openai(f"{DESERIALIZE}messages[1].role: unknown variant `developer`, expected one of `system`, "
                             "`user`, `assistant`, `tool`, `latest_reminder` at line 1 column 49926"),
     "no_developer_role"),
    ("deepseek", 400, openai(f"{DESERIALIZE}messages[12]: unknown variant `image_url`, expected `text` at line 1"),
     "no_images"),
    ("deepseek", 400, openai("This response_format type is unavailable now"), "json_object"),
    ("deepseek", 400, openai("No tool output found for tool call call_x"), "adjacent_outputs"),
    ("openai", 400, openai("Invalid Value: 'tools'. Function 'functions.spawn_agent' declares encrypted parameters but "
                           "is not configured for encrypted tool use by this model.", param="tools"),
     "functions_only"),
    ("openai", 400, openai("Invalid Value: 'tools'. Function 'collaboration.spawn_agent' is reserved for use by this "
                           "model and must match the configured schema.", param="tools"), "functions_only"),
    ("openai", 400, openai("Function tools with reasoning_effort are not supported for gpt-5.6-terra in "
                           "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to "
                           "'none'.", param="reasoning_effort", code=None), "no_reasoning_beside_tools"),
    ("minimax", 400, minimax("invalid params, chat content has invalid message role: system (2013)"),
     "one_system_message"),
    ("minimax", 400, minimax("invalid params, invalid chat setting (2013)"), None),
    ("minimax", 400, minimax("invalid params, function parameters is empty (2013)"), None),
    ("zai", 400, {"error": {"code": "1210", "message": "Invalid API parameter, please check the documentation."}},
     None),
    ("zai", 400, {"error": {"code": "1214", "message": "messages 参数非法。请检查文档。"}}, None),
    ("anthropic", 400, openai("Requests which include `tool_use` or `tool_result` blocks must define tools."),
     "tools_beside_calls"),
    ("litellm", 400, openai("litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` "
                            "param specified. Pass `tools=` param OR set `litellm.modify_params = True`"),
     "tools_beside_calls"),
    ("bedrock", 400, {"message": "The toolConfig field must be defined when using toolUse and toolResult content "
                      "blocks."}, "tools_beside_calls"),
    ("qwen", 400, openai(f"{DASHSCOPE}The tool_choice parameter does not support being set to required or object in "
                         "thinking mode", param=None, code="invalid_parameter_error"), "tool_choice:auto"),
    ("mistral", 400, {"object": "error", "message": "Unexpected role 'user' after role 'tool'",
                      "type": "invalid_request_message_order", "param": None, "code": "3230"}, "assistant_after_tool"),
    ("mistral", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"],
                                  "msg": "Extra inputs are not permitted", "input": {}}]}, "no_stream_options"),
    ("mistral", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "reasoning_content"],
                                  "msg": "Extra inputs are not permitted", "input": "x"}]}, "no_reasoning_replay"),
    ("vllm", 400, {"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra "
                   "inputs are not permitted', 'input': 1}]", "type": "BadRequestError"}, "drop:seed"),
    ("anthropic-like", 400, openai("top_p: Extra inputs are not permitted"), "drop:top_p"),
    ("anthropic", 400, anthropic("messages.1.content.0: Invalid `signature` in `thinking` block"),
     "no_encrypted_reasoning"),
    ("anthropic", 400, anthropic("Invalid signature in thinking block"), "no_encrypted_reasoning"),
    ("anthropic", 400, anthropic("messages.1.content.0: When thinking is disabled, an `assistant` message in the final "
                                 "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in "
                                 "your request."), "no_encrypted_reasoning"),
    ("anthropic", 400, anthropic("messages.11.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                                 "`text`. When `thinking` is enabled, a final `assistant` message must start with a "
                                 "thinking block"), "no_encrypted_reasoning"),
    ("anthropic", 400, anthropic("messages.1.content.0: If an assistant message contains any thinking blocks, the "
                                 "first block must be 'thinking' or 'redacted_thinking'. Found 'text'."),
     "no_encrypted_reasoning"),
    ("deepseek", 400, openai("The `content[].thinking` in the thinking mode must be passed back to the API."),
     "thoughts"),
    ("deepseek", 400, openai("thinking options type cannot be disabled when reasoning_effort is set",
                             code="invalid_request_error"), "no_output_config"),
    ("kimi", 400, anthropic("failed to convert tool result content: unsupported content type in "
                            "ContentBlockParamUnion: tool_reference"), "known_fields"),
    ("volcengine", 400, openai("The parameter messages.content.type specified in the request are not valid: invalid "
                               "value: tool_reference, supported values are: text, thinking, image, 'tool_use' and "
                               "tool_result.", code="InvalidParameter"), "known_fields"),
    ("anthropic", 400, anthropic("messages.19.content.12: `thinking` or `redacted_thinking` blocks in the latest "
                                 "assistant message cannot be modified. These blocks must remain as they were in the "
                                 "original response."), "no_encrypted_reasoning"),
    ("anthropic", 400, anthropic("thinking: Input tag 'adaptive' found using 'type' does not match any of the "
                                 "expected tags: 'disabled', 'enabled'"), "no_adaptive_thinking"),
    ("anthropic", 400, anthropic("adaptive thinking is not supported on this model"), "no_adaptive_thinking"),
    ("qwen", 400, openai("event:error\ndata:{'message':'Only 'enabled' and 'disabled' are supported for thinking; "
                         "'adaptive' is not\n     supported.'}"), "no_adaptive_thinking"),
    ("anthropic", 400, anthropic('"thinking.type.disabled" is not supported for this model.'), "thinking_always_on"),
    ("anthropic", 400, anthropic("Thinking may not be enabled when tool_choice forces tool use."), "tool_choice:auto"),
    ("qwen", 400, openai(DASHSCOPE + "The value of the enable_thinking parameter is restricted to True."),
     "thinking_always_on"),
    ("qwen", 400, openai(DASHSCOPE + "The thinking_budget parameter must be a positive integer and not greater than 0"),
     "no_reasoning_switch"),
    ("qwen", 400, openai(DASHSCOPE + "The thinking_budget parameter must be a positive integer and not greater than "
                         "8192"), "thinking_limit:8192"),
    ("mistral", 400, {"object": "error", "message": "Reasoning input is not enabled for this model", "code": "3051",
                      "type": "invalid_request_invalid_args", "param": None}, "no_reasoning_replay"),
    ("anthropic", 400, anthropic("output_config: Extra inputs are not permitted"), "no_output_config"),
    ("anthropic", 400, anthropic("cache_control: Extra inputs are not permitted"), "no_extra_fields"),
    ("anthropic", 400, anthropic("This model does not support assistant message prefill. The conversation must end "
                                 "with a user message."), "user_last"),
    ("mistral", 400, {"object": "error", "message": "Expected last role User or Tool (or Assistant with prefix True) "
                      "for serving but got assistant", "type": "invalid_request_error"}, "user_last"),
    ("vllm", 400, {"error": {"message": "No user query found in messages.", "type": "BadRequestError", "code": 400}},
     "user_needed"),
    ("gemini", 400, [{"error": {"code": 400, "message": "* GenerateContentRequest.contents: contents is not specified",
                                "status": "INVALID_ARGUMENT"}}], "user_needed"),
    ("anthropic", 400, anthropic("messages.332: user messages must have non-empty content"), "known_fields"),
    ("anthropic", 400, anthropic("messages.109.content.2.image.source.base64.data: At least one of the image "
                                 "dimensions exceed max allowed size for many-image requests: 2000 pixels"),
     "image_side:2000"),
    ("anthropic", 400, anthropic("messages.5.content.1.image.source.base64.data: At least one of the image "
                                 "dimensions exceed max allowed size: 8000 pixels"), "image_side:8000"),
    ("anthropic", 400, anthropic("messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes "
                                 "> 5242880 bytes"), "image_length:5242880"),
    ("azure", 400, openai("Missing required parameter: 'input[2].id'.", param="input[2].id",
                          code="missing_required_parameter"), "no_encrypted_reasoning"),
    ("llama.cpp", 500, {"error": {"code": 500, "message": "Assistant response prefill is incompatible with "
                                  "enable_thinking.", "type": "server_error"}}, "user_last"),
    ("minimax", 400, minimax("invalid params, chat content has invalid message role: system (2013)"),
     "one_system_message"),
    ("anthropic", 400, anthropic('messages: Unexpected role "system". The Messages API accepts a top-level `system` '
                                 'parameter, not "system" as an input message role.'), "one_system_message"),
    ("gateway", 400, anthropic("messages.2.role: Input should be 'user' or 'assistant'"), "one_system_message"),
    ("vllm", 400, {"object": "error", "message": "After the optional system message, conversation roles must alternate "
                   "user/assistant/user/assistant/...", "type": "BadRequestError"}, "alternate"),
    ("openai", 400, openai("Invalid schema for function 'x': In context=('properties', 'targets'), array schema "
                           "missing items.", code="invalid_function_parameters"), "schema:any_draft"),
    ("openai", 400, openai("Unrecognized request arguments supplied: repetition_penalty, top_k"), "known_fields"),
    ("gateway", 400, openai(DESERIALIZE + "messages[0].content: invalid type: sequence, expected a string at line 5"),
     "known_fields"),
    ("gateway", 400, openai("2 request validation errors: Input should be a valid string, field: "
                            "'messages[1].content.str', value: [{'text': 'a', 'type': 'text'}, ...]"), "known_fields"),
    # What Claude Code sends beyond the plain format, at Bedrock, Vertex and gateways (public reports).
    ("anthropic", 400, anthropic("tools.0.custom.eager_input_streaming: Extra inputs are not permitted"),
     "known_fields"),
    ("anthropic", 400, anthropic("system.1.cache_control.ephemeral.scope: Extra inputs are not permitted"),
     "known_fields"),
    ("gateway", 400, anthropic("`cache_control.ttl: 1h` is not supported for this model."), "known_fields"),
    ("anthropic", 400, anthropic("A maximum of 4 blocks with cache_control may be provided. Found 5."), "known_fields"),
    ("anthropic", 400, anthropic("messages.1.content.0.tool_use.caller: Extra inputs are not permitted"),
     "known_fields"),
    ("vertex", 400, anthropic("Unexpected value(s) `prompt-caching-scope-2026-01-05`, `structured-outputs-2025-11-13`, "
                              "`novel-2026-01-01` for the `anthropic-beta` header. Please consult our documentation "
                              "at docs.anthropic.com or try again without the header."),
     "no_betas:prompt-caching-scope-2026-01-05+structured-outputs-2025-11-13"),
    ("anthropic", 400, anthropic("output_config.format.schema: For 'object' type, 'additionalProperties' must be "
                                 "explicitly set to false"), "schema_in_words"),
    ("openrouter", 400, openai("output_format.schema: For 'number' type, properties maximum, minimum are not "
                               "supported"), "schema_in_words"),
    ("anthropic", 400, anthropic("Schema is too complex for compilation."), "schema_in_words"),
    ("bedrock", 400, {"message": "output_config.format: Extra inputs are not permitted"}, "json_object"),
    ("bedrock", 400, {"message": "output_format: Extra inputs are not permitted"}, "json_object"),
    ("lm-studio", 400, anthropic("Only text tool_result blocks are supported when tool_result.content is an array."),
     "text_results"),
    ("ollama", 400, anthropic("Input should be a valid string (ref: a9065c14-5a11-4d60-a4ac-31554a0b8e35)"),
     "text_results"),
    ("gomodel", 400, anthropic('messages[153]: tool_result content block type "image" is not supported; only text is '
                               "allowed"), "text_results"),
    ("anthropic", 400, anthropic("`temperature` is deprecated for this model."), "drop:temperature"),
    ("opencode", 400, {"message": "top_p is deprecated for this model."}, "drop:top_p"),
    ("anthropic", 400, anthropic("`top_k` is deprecated for this model."), "drop:top_k"),
    ("chatgpt", 400, {"detail": "System messages are not allowed"}, "no_system_role"),
    ("chatgpt", 400, {"detail": "Instructions are required"}, "instructions"),
    ("anthropic", 400, anthropic("The compiled grammar is too large, which would cause performance issues. Simplify "
                                 "your tool schemas or reduce the number of strict tools."), "no_strict"),
    ("anthropic", 400, anthropic("Schemas contains too many optional parameters (87), which would make grammar "
                                 "compilation inefficient."), "no_strict"),
    ("openai", 400, openai("Invalid schema for function 'get_me': In context=(), object schema missing properties.",
                           code="invalid_function_parameters"), "schema:any_draft"),
    ("openai", 400, openai("Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
                           param="input", code=None), "no_encrypted_reasoning"),
    ("openai", 400, openai("Duplicate item found with id msg_4. Remove duplicate items from your input and try again.",
                           param="input", code=None), "no_item_ids"),
    ("gemini", 400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "Function calling with a "
                                "response mime type: 'application/json' is unsupported"}}], "json_without_tools"),
    ("groq", 400, openai("json mode cannot be combined with tool/function calling"), "json_without_tools"),
    ("groq", 400, openai("response_format` does not support streaming"), "json_in_words"),
    ("groq", 400, openai("This model does not support response format `json_schema`."), "json_object"),
    ("siliconflow", 400, {"code": 20024, "message": "Json mode is not supported for this model.", "data": None},
     "json_in_words"),
    ("anthropic", 400, anthropic("messages.3: `tool_use` ids were found without `tool_result` blocks immediately "
                                 "after: toolu_1."), "paired_calls"),
    ("anthropic", 400, anthropic("messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: "
                                 "toolu_1."), "paired_calls"),
    ("anthropic", 400, anthropic("messages.2: `tool_use` ids must be unique"), "paired_calls"),
    ("anthropic", 400, anthropic("messages.5.content.0: each tool_use must have a single result. Found multiple "
                                 "`tool_result` blocks with id: toolu_1"), "paired_calls"),
    ("openai", 400, openai("An assistant message with 'tool_calls' must be followed by tool messages responding to "
                           "each 'tool_call_id'.", param="messages.[2].role"), "paired_calls"),
    ("openai", 400, openai("Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                           "with 'tool_calls'.", param="messages.[1].role"), "paired_calls"),
    ("gemini", 400, {"error": {"code": 400, "message": "Please ensure that the number of function response parts is "
                               "equal to the number of function call parts of the function call turn."}},
     "paired_calls"),
    ("bedrock", 400, {"message": "invalid beta flag"}, "no_betas:all"),
    ("anthropic", 400, anthropic("`temperature` and `top_p` cannot both be specified for this model. Please use only "
                                 "one."), "one_sampling_field"),
    ("anthropic", 400, anthropic("max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for "
                                 "claude-opus-4-1"), "output_limit:32000"),
    ("anthropic", 400, anthropic("tools.4.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft "
                                 "2020-12 (https://json-schema.org/draft/2020-12)."), "schema:any_draft"),
    ("gemini", 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": 'Invalid JSON payload received. '
                     'Unknown name "items" at \'tools[0].function_declarations[3].parameters\': Proto field is not '
                     'repeating, cannot start list.'}}, "schema:any_draft"),
    ("gemini", 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": 'Invalid JSON payload received. '
                     'Unknown name "type" at \'tools[0].function_declarations[3].parameters\': Proto field is not '
                     'repeating, cannot start list.'}}, "schema:no_type_arrays"),
    ("deepseek", 400, openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
     "output_limit:8192"),
    ("qwen", 400, openai(DASHSCOPE + "Range of max_tokens should be [1, 16384]"), "output_limit:16384"),
    ("openai", 400, openai("max_tokens is too large: 32000. This model supports at most 16384 completion tokens, "
                           "whereas you provided 32000.", param="max_tokens", code="invalid_value"),
     "output_limit:16384"),
    ("groq", 400, openai("`max_completion_tokens` must be less than or equal to `8192`, the maximum value for "
                         "`max_completion_tokens` is less than the `context_window` for this model"),
     "output_limit:8192"),
    ("vllm", 400, openai("'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context "
                         "length is 32768 tokens and your request has 6000 input tokens (32000 > 32768 - 6000)."),
     "output_room:26768"),
    ("openrouter", 400, {"error": {"code": 400, "message": "This endpoint's maximum context length is 131072 tokens. "
                                   "However, you requested about 134000 tokens (100000 of text input, 2000 of tool "
                                   "input, 32000 in the output)."}}, "output_room:29072"),
    ("generic", 400, openai("This model's maximum context length is 8192 tokens. However, you requested 8500 tokens "
                            "(500 in your prompt; 8000 for the completion)."), "output_room:7692"),
    ("groq", 400, openai("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property "
                         "'reasoning' is unsupported, did you mean 'role'?)]"), "no_reasoning_replay"),
    ("groq", 400, openai("'tools' : maximum number of items is 128"), "tool_limit:128"),
    ("groq", 400, openai("property 'store' is unsupported, did you mean 'stop'?"), "drop:store"),
    ("groq", 400, openai("Failed to call a function. Please adjust your prompt. See 'failed_generation' for more "
                         "details.", code="tool_use_failed", failed_generation="…"), None),
    ("openrouter", 404, {"error": {"code": 404, "message": "No endpoints found that support image input"}},
     "no_images"),
    ("generic", 400, openai(DESERIALIZE + "messages[1]: unknown variant `file`, expected `text` or `image_url`"),
     "no_files"),
    ("vllm", 400, openai("Unknown part type: file"), "no_files"),
    ("llama.cpp", 400, openai("unsupported content[].type"), "no_files"),
    ("vllm", 400, openai("At most 0 image(s) may be provided in one prompt."), "no_images"),
    ("vllm", 400, openai("Qwen/Qwen3-8B is not a multimodal model"), "no_images"),
    ("generic", 400, openai("This model does not support images."), "no_images"),
    ("generic", 400, openai("This model cannot process image: invalid base64 data"), None),
    ("generic", 400, openai("The model does not support images larger than 20 MB."), None),
    ("generic", 400, openai("This model does not support image/webp."), None),
    ("generic", 400, openai("The endpoint does not support image URLs, send base64 data."), None),
    ("generic", 400, openai("This model does not support file type text/csv."), None),
    ("generic", 400, openai("The model cannot process documents with more than 100 pages."), None),
    ("generic", 400, openai("This model does not support PDFs."), "no_files"),
    ("ollama", 400, openai("this model does not support image input (ref: b8bd630e)"), "no_images"),
    ("openai", 400, openai("Invalid content type. image_url is only supported by certain models.",
                           param="messages.[0].content.[1].type", code=None), "no_images"),
    ("groq", 400, openai("messages[1].content must be a string"), "known_fields"),
    ("groq", 400, openai("`reasoning_effort` must be one of `none` or `default`"), "efforts:default+none"),
    ("groq", 400, openai("'reasoning_effort' : value is not one of the allowed values ['none', 'default', 'low', "
                         "'medium', 'high']"), "efforts:default+none+low+medium+high"),
    ("groq", 400, openai("property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"),
     "drop:reasoning.effort"),
    ("vllm", 400, {"object": "error", "message": "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), "
                   "'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'none'}]",
                   "type": "BadRequestError"},
     "efforts:low+medium+high"),
    ("openai", 400, openai("Unsupported value: 'xhigh' is not supported with the 'gpt-5.1' model. Supported values "
                           "are: 'none', 'low', 'medium', and 'high'.", param="reasoning.effort",
                           code="unsupported_value"),
     "efforts:none+low+medium+high"),
    ("openrouter", 400, {"error": {"code": 400, "message": "Reasoning is mandatory for this endpoint and cannot be "
                                   "disabled"}}, "effort:none"),
    ("openrouter", 400, {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": "?"}}}, None),
    ("openrouter", 400, {"error": {"code": 400, "message": "Provider returned error", "metadata": {
        "raw": '{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call '
               'message at index 2","type":"invalid_request_error"}}', "provider_name": "Moonshot AI"}}},
     "replay_reasoning:calls"),
    ("ollama", 400, openai('invalid reasoning value: "minimal"'), "effort:minimal"),
    ("ollama", 400, openai('input[3]: unknown input item type: "custom_tool_call"'), "functions_only"),
    ("vllm", 400, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and '
                   "--tool-call-parser to be set", "type": "BadRequestError", "param": None, "code": 400}, None),
    ("gemini", 400, {"error": {"code": 400, "message": "Function call is missing a thought_signature in functionCall "
                               "parts.", "status": "INVALID_ARGUMENT"}}, "sign_calls"),
    ("llama.cpp", 400, {"error": {"code": 400, "message": "request (631 tokens) exceeds the available context size "
                                  "(256 tokens), try increasing it", "type": "exceed_context_size_error"}}, None),
    ("llama.cpp", 500, {"error": {"code": 500, "message": 'Failed to parse tools: Unsupported tool type: {"type":'
                                  '"custom","custom":{"name":"apply_patch"}}; tools = …', "type": "server_error"}},
     "functions_only"),
    ("llama.cpp", 400, openai("Unrecognized schema: true"), "schema:no_bool"),
    ("fireworks", 400, openai("Extra inputs are not permitted, field: 'enable_thinking'"), "no_reasoning_switch"),
    ("nvidia", 400, {"error": {"message": "Validation: Unsupported parameter(s): thinking", "type": "Bad Request",
                               "code": 400}}, "no_reasoning_switch"),
    ("openai", 400, {"detail": "Unsupported parameter: temperature"}, "drop:temperature"),
    ("openai", 400, openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                           "'max_completion_tokens' instead.", param="max_tokens", code="unsupported_parameter"),
     "tokens:max_completion_tokens"),
    ("openai", 400, openai("Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.",
                           param="max_completion_tokens", code="unsupported_parameter"), "tokens:max_tokens"),
    ("openai", 400, openai("Unknown parameter: 'reasoning.summary'.", param="reasoning.summary",
                           code="unknown_parameter"), "drop:reasoning.summary"),
    ("openai", 400, openai("Unsupported value: 'temperature' does not support 0.2 with this model.",
                           param="temperature", code="unsupported_value"), "drop:temperature"),
    ("openai", 400, openai("Unrecognized request argument supplied: reasoning_effort"), "drop:reasoning.effort"),
    ("openai", 400, openai("Encrypted content is not supported with this model.", param="include"),
     "no_encrypted_include"),
    ("openai", 404, openai("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try "
                           "again with `store` set to true, or remove this item from your input.", param="input"),
     "no_encrypted_reasoning"),
    ("openai", 400, openai("Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                           param="input"), "no_encrypted_reasoning"),
    ("openai", 400, openai("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: "
                           "'rs_1'.", param="input"), "no_item_ids"),
    ("openai", 400, openai("Invalid 'input[3].id': 'call_1'. Expected an ID that begins with 'fc'.",
                           param="input[3].id"), "no_item_ids"),
    ("openai", 400, openai("Invalid 'input[3].id': string too long. Expected a string with maximum length 64, but got "
                           "a string with length 949 instead.", code="string_above_max_length"), "no_item_ids"),
    ("openai", 400, openai("Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but "
                           "got a string with length 70 instead.", code="string_above_max_length"), "call_ids:64"),
    ("azure", 400, openai("Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
                          "length 40, but got a string with length 41 instead."), "call_ids:40"),
    ("openai", 400, openai("The encrypted content could not be verified.", code="invalid_encrypted_content"),
     "no_encrypted_reasoning"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "status", "body", "lesson"), BODIES)
def test_a_refusal_teaches_one_lesson_or_none(provider: str, status: int, body: Json, lesson: str | None) -> None:
    failure = from_body(status, orjson.dumps(body), where="Provider 'x' (https://api.example/v1)")
    assert lesson_of(failure.message, code=failure.upstream_code, param=failure.param) == lesson
    usual = Dialect(
        encrypted_reasoning="open",
        max_tokens_field="max_completion_tokens",
        thinking_on="adaptive",
        extra={"cache_control": {"type": "ephemeral"}},
    )
    assert lesson in (None, "tokens:max_completion_tokens") or taught(usual, [lesson]) != usual


def test_the_table_is_wide_enough() -> None:
    assert len([body for body in BODIES if body[3] is not None]) >= 25
    assert len({provider for provider, *_ in BODIES}) >= 8
