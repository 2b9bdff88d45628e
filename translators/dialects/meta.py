"""Meta Model API (dev.meta.ai as quoted by public SDK documentation; error bodies from public reports).

It answers non-streamed requests only after the whole reasoning phase, so every request is streamed; the proxy streams
to all upstreams.
"""

from __future__ import annotations

from dataclasses import replace

from translators.dialects.base import Dialect

META = Dialect(
    name="meta",
    refused=frozenset(
        {
            *("stop", "logit_bias", "n", "top_logprobs", "safety_identifier", "presence_penalty", "frequency_penalty"),
            *("truncation", "metadata", "service_tier", "reasoning.summary", "text.verbosity"),
        }
    ),
    max_tokens_field="max_completion_tokens",
    max_tokens_limit=131_072,
    one_sampling_field=True,
    tool_choice=frozenset({"auto"}),
    strict_tools=False,
    schema=frozenset({"no_recursion"}),
    adjacent_outputs=True,
    cache_key_field="prompt_cache_key",
    efforts=frozenset({"minimal", "low", "medium", "high", "xhigh"}),
    effort_map={"none": "minimal", "max": "xhigh", "ultra": "xhigh"},
    replay="none",
)
"""Chat shows its reasoning only redacted: nothing to replay."""

_MAX = replace(META, efforts=frozenset({*(META.efforts or ()), "max"}), effort_map={"none": "minimal", "ultra": "max"})


def meta(model: str) -> Dialect:
    """The dialect of one of Meta's models: only muse-spark-1.3 has the level ``max``."""
    return _MAX if model == "muse-spark-1.3" else META
