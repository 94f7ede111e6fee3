"""What every key of a workload spec does, for the completion and the help of its editor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from drr.ui.editor.component import Vocabulary
from drr.ui.editor.key_help import KeyHelp
from drr.ui.workload_fields import ARRIVALS, CACHE_HITS, OUTPUTS, PROMPTS, THINKING, TURNS, Kind, Param, Shape

_FILE = {
    "seed": KeyHelp("Where all random draws come from: equal specs give equal requests.", "whole number", "default: 0"),
    "trace_block_size": KeyHelp(
        "Size of a prefix block; shared prefixes are whole blocks.", "whole number of tokens", "default: 512"
    ),
    "streams": KeyHelp("Who sends requests. Streams draw independently.", "a list of streams", is_nested=True),
}
_DISTRIBUTION = "a number, or `{shape: ...}`"
_SHARE = "number from 0 to 1"
_NO_END = "default: `duration_ms` ends the stream"
_STREAM = {
    "name": KeyHelp("Tells streams apart.", "text, once per spec", "default: the header"),
    "header": KeyHelp("The policy header of the requests: a family or an explicit class.", "text", "default: none"),
    "requests": KeyHelp("At most so many, every turn of every conversation counted.", "whole number", _NO_END),
    "start_ms": KeyHelp("When the stream begins.", "ms", "default: 0"),
    "duration_ms": KeyHelp("How long requests arrive.", "ms", "default: `requests` ends the stream"),
    "arrivals": KeyHelp("When requests come.", "`{shape: ...}`"),
    "input_tokens": KeyHelp("Length of a prompt; in conversations the new tokens of a turn.", _DISTRIBUTION),
    "output_tokens": KeyHelp("Length of an answer.", _DISTRIBUTION),
    "think_time_ms": KeyHelp("From an answer to the next turn or request, ms.", _DISTRIBUTION, "default: 0"),
    "cache_hits": KeyHelp("How much of the prompts is shared.", "`{shape: ...}`", "default: nothing is"),
    "pinned": KeyHelp("A share of the requests goes to one worker each.", "`{share: ..., workers: [...]}`", "optional"),
    "allowed_workers": KeyHelp("A share may go to these workers only.", "`{share: ..., workers: [...]}`", "optional"),
    "required_taints": KeyHelp("A share needs workers with these taints.", "`{share: ..., taints: [...]}`", "optional"),
    "strict_priority": KeyHelp(
        "Shares with a level; higher ones go first.", "`[{share: ..., level: ...}]`", "optional"
    ),
    "priority_jump": KeyHelp(
        "Shares that queue as if they had come so much earlier.", "`[{share: ..., seconds: ...}]`", "optional"
    ),
    "missing_header_share": KeyHelp("So many come without their header.", _SHARE, "default: 0"),
    "unknown_header_share": KeyHelp("So many come with a header nobody knows.", _SHARE, "default: 0"),
}
_OF_THE_SHARE = KeyHelp("So many of the requests.", _SHARE)
_PARTS = {
    "pinned": {"workers": KeyHelp("The workers, one drawn for each request.", "ids, or `id.rank` for a dp rank")},
    "allowed_workers": {"workers": KeyHelp("The workers that may serve.", "ids")},
    "required_taints": {"taints": KeyHelp("What a worker must have, all of it.", "text")},
    "strict_priority": {"level": KeyHelp("The level.", "whole number")},
    "priority_jump": {"seconds": KeyHelp("How much earlier.", "seconds")},
}
_PARAMS = {
    "value": "The number itself.",
    "min": "The least; draws below it count as it.",
    "max": "The largest; draws above it count as it.",
    "median": "As many draws lie below as above.",
    "sigma": "Spread of the logarithm: 0 is always the median.",
    "mean": "The mean.",
    "low": "The lower of the two numbers.",
    "high": "The higher of the two numbers.",
    "high_share": "How often it is the higher one.",
    "spread": "Each is varied evenly by up to this share.",
    "exponent": "The k-th value is drawn in proportion to k to the power of minus this.",
    "step": "From one value to the next.",
    "values": "What is drawn from.",
    "shares": "How often each value is drawn, in proportion.",
    "per_second": "Requests per second.",
    "on_ms": "Requests come for so long.",
    "off_ms": "None come for so long.",
    "from_per_second": "Requests per second at the start.",
    "to_per_second": "Requests per second at the end of the ramp, and after it.",
    "over_ms": "How long the rate moves.",
    "spike_per_second": "Requests per second within the spike.",
    "start_ms": "When the spike begins, after the start of the stream.",
    "end_ms": "When the spike ends, after the start of the stream.",
    "swing": "The rate swings by this share of its mean.",
    "period_ms": "From one peak to the next.",
    "peak_ms": "When the first peak is.",
    "clients": "Each sends, waits for the answer, thinks, and sends again.",
    "share": "This share of every prompt, at its head, is a common prefix.",
    "alpha": "The share of a prompt is drawn from Beta(alpha, beta).",
    "beta": "The share of a prompt is drawn from Beta(alpha, beta).",
    "groups": "So many different common prefixes.",
    "max_prompt_tokens": "A conversation ends before its prompt grows beyond this.",
    "turns": "Turns of a conversation.",
}
_TAKES: Mapping[Kind, str] = {
    "whole": "whole number",
    "number": "number",
    "share": _SHARE,
    "wholes": "a list of whole numbers",
    "numbers": "a list of numbers",
}
_TURNS = KeyHelp(f"Shape `sessions`: {_PARAMS['turns']}", _DISTRIBUTION)


def _shaped(shapes: Mapping[str, Shape]) -> dict[str, KeyHelp]:
    """``shape`` and every key that one of the shapes has, with the names of those shapes."""
    found = {"shape": KeyHelp("Which of its kind; the other keys depend on it.", "a name", words=tuple(shapes))}
    users: dict[str, list[str]] = {}
    params: dict[str, Param] = {}
    for name, shape in shapes.items():
        for param in shape.params:
            users.setdefault(param.name, []).append(f"`{name}`")
            params[param.name] = param
    for name, param in params.items():
        of = ", ".join(users[name])
        found[name] = KeyHelp(f"Shape {of}: {_PARAMS[name]}", _TAKES[param.kind], "optional" if param.optional else "")
    return found


SPEC_HELP: Mapping[str, Mapping[str, KeyHelp]] = {
    "file": _FILE,
    "streams": _STREAM,
    "streams.arrivals": _shaped(ARRIVALS),
    "streams.input_tokens": _shaped(PROMPTS),
    "streams.output_tokens": _shaped(OUTPUTS),
    "streams.think_time_ms": _shaped(THINKING),
    "streams.cache_hits": {**_shaped(CACHE_HITS), "turns": _TURNS},
    "streams.cache_hits.turns": _shaped(TURNS),
    **{f"streams.{name}": {"share": _OF_THE_SHARE, **keys} for name, keys in _PARTS.items()},
}
"""By the mapping a key stands in: the ``file``, or the keys that lead there."""

SPEC_VOCABULARY: Vocabulary = {
    context: {key: asdict(each) for key, each in keys.items()} for context, keys in SPEC_HELP.items()
}
