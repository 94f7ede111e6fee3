"""How every value of a workload spec is read: the fields by shape, each with what it may be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from drr.policy.diagnostics import joined, quoted
from drr.policy.fields import Field, FieldReader, Given, closest, code_list
from drr.policy.yaml12 import Node, Scalar
from drr.workload import arrivals, distributions, spec
from drr.workload.spec import MAX_REQUESTS, MAX_TOKENS

Read = Callable[[FieldReader, Node, str], Any]

LONGEST_MS = 1e12
"""About 32 years; no time in a spec is longer."""
MOST_PER_SECOND = 1_000_000
MAX_ZIPF_STEPS = 100_000


class SpecReader(FieldReader):
    """Reads typed fields as policy files do; its findings do not speak of the router, which never sees a spec."""

    IS_TEXT = "is text"
    NO_MERGE_KEYS = "YAML 1.2 has no merge keys"


# Scalars


def whole(least: int, most: int) -> Read:
    """A reader of whole numbers within bounds."""

    def read(reader: FieldReader, node: Node, path: str) -> int | None:
        return reader.whole(node, path, least, most)

    return read


def number(low: float, high: float, *, above: bool = False) -> Read:
    """A reader of numbers within bounds; with ``above`` the lower bound itself is too low."""
    allowed = f"a number {'above' if above else 'from'} {low:,.15g} {'and at most' if above else 'to'} {high:,.15g}"

    def read(reader: FieldReader, node: Node, path: str) -> float | None:
        value = reader.decimal(node, path)
        if value is None or (low <= value <= high and not (above and value == low)):
            return value
        reader.refuse(node.position, path, f"{value:,.15g} is out of range", allowed)
        return None

    return read


SHARE = number(0, 1)
PER_SECOND = number(0, MOST_PER_SECOND, above=True)
ANY_PER_SECOND = number(0, MOST_PER_SECOND)
TIME_MS = number(0, LONGEST_MS)
SPAN_MS = number(1, LONGEST_MS)


def listed(read_item: Read, what: str) -> Read:
    """A reader of lists that are not empty."""

    def read(reader: FieldReader, node: Node, path: str) -> tuple[Any, ...] | None:
        items = reader.items(node, path, what)
        if items is None:
            return None
        if not items:
            reader.refuse(node.position, path, f"{what} is empty", "at least one item")
            return None
        found = []
        for index, item in enumerate(items):
            inner = f"{path}[{index}]"
            reader.positions[inner] = item.position
            found.append(read_item(reader, item, inner))
        return None if any(each is None for each in found) else tuple(found)

    return read


def _endpoint(reader: FieldReader, node: Node, path: str) -> tuple[int, int | None] | None:
    text = reader.text(node, path)
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", text)
    if match is None:
        reader.refuse(node.position, path, f"{quoted(text)} names no worker", "a worker id, or `id.rank` for a dp rank")
        return None
    return int(match[1]), int(match[2]) if match[2] is not None else None


# Mappings


def built(make: Callable[..., Any], fields: Mapping[str, Field], what: str, check: Check | None = None) -> Read:
    """A reader of mappings that become ``make(**values)``; ``check`` looks at how the values fit each other."""

    def read(reader: FieldReader, node: Node, path: str) -> Any:
        given = reader.struct(node, path, fields, what)
        if given is None or given.broken or (check is not None and not check(reader, given)):
            return None
        return make(**{name: value for name, value in given.values.items() if name != "shape"})

    return read


Check = Callable[[FieldReader, Given], bool]


def complain(reader: FieldReader, given: Given, key: str, message: str, allowed: str) -> bool:
    """Note that one value does not fit the others; returns False."""
    path = joined(given.path, key)
    reader.refuse(reader.positions.get(path, given.position), path, message, allowed)
    return False


def shaped(shapes: Mapping[str, Read], what: str, number_too: bool = False) -> Read:
    """A reader of mappings whose key ``shape`` says which other keys there are; a bare number may mean ``fixed``."""

    def read(reader: FieldReader, node: Node, path: str) -> Any:
        if number_too and isinstance(node, Scalar):
            value = whole(0, MAX_TOKENS)(reader, node, path)
            return None if value is None else distributions.Fixed(value)
        pairs = reader.pairs(node, path, what)
        if pairs is None:
            return None
        chosen = next((value for key, value in pairs if key.text == "shape"), None)
        if chosen is None:
            reader.refuse(node.position, path, "`shape` is missing", f"one of {code_list(shapes)}")
            return None
        name = chosen.text if isinstance(chosen, Scalar) else None
        if name is None or name not in shapes:
            shown = quoted(name) if name is not None else "this"
            hint = closest(name, shapes) if name else None
            at = joined(path, "shape")
            reader.refuse(chosen.position, at, f"{shown} is no shape of {what}", code_list(shapes), hint)
            return None
        return shapes[name](reader, node, path)

    return read


def _fields(required: Mapping[str, Read], optional: Mapping[str, Read] | None = None) -> dict[str, Field]:
    """Fields of one shape."""
    return {
        "shape": Field(FieldReader.text),
        **{name: Field(read) for name, read in required.items()},
        **{name: Field(read, required=False, nullable=True) for name, read in (optional or {}).items()},
    }


# Distributions


def _is_in_order(low: str, high: str) -> Check:
    def check(reader: FieldReader, given: Given) -> bool:
        values = given.values
        if values.get(low) is None or values.get(high) is None or values[low] <= values[high]:
            return True
        return complain(
            reader, given, high, f"`{high}` {values[high]:,} is below `{low}` {values[low]:,}", "min <= max"
        )

    return check


def _zipf_fits(reader: FieldReader, given: Given) -> bool:
    if not _is_in_order("min", "max")(reader, given):
        return False
    steps = (given.values["max"] - given.values.get("min", 1)) // given.values.get("step", 1) + 1
    if given.values["max"] < given.values.get("min", 1):
        return complain(reader, given, "max", "`max` is below 1, where `min` is not given", "min <= max")
    if steps <= MAX_ZIPF_STEPS:
        return True
    return complain(
        reader, given, "max", f"there are {steps:,} values", f"at most {MAX_ZIPF_STEPS:,}; a larger `step` makes fewer"
    )


def _shares_fit(reader: FieldReader, given: Given) -> bool:
    shares = given.values.get("shares")
    if shares is None:
        return True
    if len(shares) != len(given.values["values"]):
        message = f"there are {len(given.values['values'])} values but {len(shares)} shares"
        return complain(reader, given, "shares", message, "one share per value")
    if not any(shares):
        return complain(reader, given, "shares", "every share is 0", "at least one share above 0")
    return True


_COUNT = whole(0, MAX_TOKENS)
_POSITIVE = whole(1, MAX_TOKENS)
_D = "this distribution"
DISTRIBUTIONS: dict[str, Read] = {
    "fixed": built(distributions.Fixed, _fields({"value": _COUNT}), _D),
    "uniform": built(distributions.Uniform, _fields({"min": _COUNT, "max": _COUNT}), _D, _is_in_order("min", "max")),
    "lognormal": built(
        distributions.Lognormal,
        _fields({"median": _POSITIVE, "sigma": number(0, 10)}, {"min": _COUNT, "max": _COUNT}),
        _D,
        _is_in_order("min", "max"),
    ),
    "exponential": built(distributions.Exponential, _fields({"mean": _POSITIVE}, {"max": _COUNT}), _D),
    "bimodal": built(
        distributions.Bimodal,
        _fields({"low": _COUNT, "high": _COUNT, "high_share": SHARE}, {"spread": SHARE}),
        _D,
        _is_in_order("low", "high"),
    ),
    "zipf": built(
        distributions.Zipf,
        _fields({"exponent": number(0, 20), "max": _COUNT}, {"min": _COUNT, "step": _POSITIVE}),
        _D,
        _zipf_fits,
    ),
    "empirical": built(
        distributions.Empirical,
        _fields(
            {"values": listed(_COUNT, "the list of values")},
            {"shares": listed(number(0, 1e9), "the list of shares")},
        ),
        _D,
        _shares_fit,
    ),
}
DISTRIBUTION = shaped(DISTRIBUTIONS, "the distribution", number_too=True)


# Arrivals


def _rates_fit(*names: str) -> Check:
    def check(reader: FieldReader, given: Given) -> bool:
        if any(given.values[name] for name in names):
            return True
        return complain(reader, given, names[-1], "no request ever comes at these rates", "one rate above 0")

    return check


def _spike_fits(reader: FieldReader, given: Given) -> bool:
    if given.values["end_ms"] <= given.values["start_ms"]:
        return complain(reader, given, "end_ms", "the spike ends before it starts", "more than `start_ms`")
    return _rates_fit("per_second", "spike_per_second")(reader, given)


_A = "these arrivals"
ARRIVALS: dict[str, Read] = {
    "burst": built(arrivals.Burst, _fields({}), _A),
    "constant": built(arrivals.Constant, _fields({"per_second": PER_SECOND}), _A),
    "poisson": built(arrivals.Poisson, _fields({"per_second": PER_SECOND}), _A),
    "on_off": built(arrivals.OnOff, _fields({"per_second": PER_SECOND, "on_ms": SPAN_MS, "off_ms": TIME_MS}), _A),
    "ramp": built(
        arrivals.Ramp,
        _fields({"from_per_second": ANY_PER_SECOND, "to_per_second": ANY_PER_SECOND, "over_ms": SPAN_MS}),
        _A,
        _rates_fit("from_per_second", "to_per_second"),
    ),
    "spike": built(
        arrivals.Spike,
        _fields(
            {
                "per_second": ANY_PER_SECOND,
                "spike_per_second": ANY_PER_SECOND,
                "start_ms": TIME_MS,
                "end_ms": TIME_MS,
            }
        ),
        _A,
        _spike_fits,
    ),
    "diurnal": built(
        arrivals.Diurnal,
        _fields({"per_second": PER_SECOND, "swing": SHARE, "period_ms": SPAN_MS}, {"peak_ms": TIME_MS}),
        _A,
    ),
    "closed_loop": built(arrivals.ClosedLoop, _fields({"clients": whole(1, 1_000_000)}), _A),
}

# Cache hits

_GROUPS = {"groups": whole(1, 4096)}
_BETA = number(0, 1000, above=True)
_H = "these cache hits"
CACHE_HITS: dict[str, Read] = {
    "fixed": built(spec.FixedHits, _fields({"share": SHARE}, _GROUPS), _H),
    "beta": built(spec.BetaHits, _fields({"alpha": _BETA, "beta": _BETA}, _GROUPS), _H),
    "sessions": built(
        spec.SessionHits, _fields({"turns": DISTRIBUTION}, {"max_prompt_tokens": whole(1, MAX_TOKENS)}), _H
    ),
}


# Streams


def _part(make: Callable[..., Any], key: str, read_value: Read, what: str) -> Read:
    return built(make, {"share": Field(SHARE), key: Field(read_value)}, what)


def _mix(make: Callable[..., Any], key: str, read_value: Read, what: str) -> Read:
    """A reader of lists of shares with a value each; together they take at most everything."""
    items = listed(_part(make, key, read_value, what), f"the list of {what}")

    def read(reader: FieldReader, node: Node, path: str) -> Any:
        found = items(reader, node, path)
        if found is not None and math.fsum(each.share for each in found) > 1 + 1e-9:
            reader.refuse(node.position, path, "the shares add up to more than 1", "shares of together at most 1")
            return None
        return found

    return read


_NAME = Field(FieldReader.text, required=False, nullable=True)


def _optional(read: Read) -> Field:
    return Field(read, required=False, nullable=True)


STREAM_FIELDS: dict[str, Field] = {
    "name": _NAME,
    "header": _NAME,
    "requests": _optional(whole(1, MAX_REQUESTS)),
    "start_ms": _optional(TIME_MS),
    "duration_ms": _optional(SPAN_MS),
    "arrivals": Field(shaped(ARRIVALS, "the arrivals")),
    "input_tokens": Field(DISTRIBUTION),
    "output_tokens": Field(DISTRIBUTION),
    "think_time_ms": _optional(DISTRIBUTION),
    "cache_hits": _optional(shaped(CACHE_HITS, "the cache hits")),
    "pinned": _optional(_part(spec.Pinned, "workers", listed(_endpoint, "the list of workers"), "the pinned share")),
    "allowed_workers": _optional(
        _part(
            spec.AllowedWorkers,
            "workers",
            listed(whole(0, 10**9), "the list of workers"),
            "the share with an allow-list",
        )
    ),
    "required_taints": _optional(
        _part(
            spec.RequiredTaints,
            "taints",
            listed(FieldReader.text, "the list of taints"),
            "the share with required taints",
        )
    ),
    "strict_priority": _optional(_mix(spec.StrictShare, "level", whole(0, 10**9), "strict priorities")),
    "priority_jump": _optional(_mix(spec.JumpShare, "seconds", number(0, 1e9), "priority jumps")),
    "missing_header_share": _optional(SHARE),
    "unknown_header_share": _optional(SHARE),
}
