"""Which policy header each request carries: rules that turn what a trace knows into policy families or classes."""

from __future__ import annotations

import json
import random
import reprlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate
from math import isfinite
from typing import Literal, get_args

from drr.errors import WorkloadError
from drr.policy.schema import Profile
from drr.router.requests import RequestTable
from drr.workload.traces_edit import session_heads
from drr.workload.traces_reading import names_text

MappingKind = Literal["as_written", "first_block", "column", "length", "percentage", "round_robin"]
MAPPING_KINDS: tuple[MappingKind, ...] = get_args(MappingKind)

Columns = Mapping[str, Sequence[str | None]]
"""What a trace knows beside the request table: column name -> one text (or None) per row (``TraceReading.columns``)."""

PERCENT = 100.0
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class ClassMapping:
    """A rule that gives every request its policy header. Equal rules give equal headers; :meth:`to_mapping` is JSON.

    ``headers`` are policy families or explicit classes, in order; empty means those of the policy (families in file
    order, then explicit classes). ``default`` goes to every row the rule does not name; None is no header, which the
    router takes for the default family. Kinds:

    - ``as_written``: the ``policy_class`` of the trace stays.
    - ``first_block``: by the first id of ``hash_ids``. ``given`` names ids (as text) and headers; empty means
      automatic: the most frequent ids go to ``headers`` in order, of equally frequent ones the first seen first.
    - ``column``: the same by the values of column ``column`` (``file``, ``model``, ``policy_class`` ...).
    - ``length``: by input tokens. ``bounds_tokens`` rise; a prompt below the first bound gets the first header, one
      from the last bound on gets the last (there is one header more than bounds).
    - ``percentage``: drawn with ``seed``; ``percents`` belong to ``headers``, what is left of 100 goes to ``default``.
    - ``round_robin``: ``headers`` in turn.

    The turns of a session stay together under the last two: they get the header of the first turn.
    """

    kind: MappingKind = "as_written"
    headers: tuple[str, ...] = ()
    default: str | None = None
    column: str = ""
    given: tuple[tuple[str, str | None], ...] = ()
    bounds_tokens: tuple[int, ...] = ()
    percents: tuple[float, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in MAPPING_KINDS:
            raise WorkloadError(f"class mapping {self.kind!r} is unknown; there are: {', '.join(MAPPING_KINDS)}")
        if self.kind == "column" and not self.column:
            raise WorkloadError("class mapping by column: the name of a column is missing")
        keys = [key for key, _ in self.given]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise WorkloadError(f"class mapping: {twice!r} is named twice")
        if self.kind == "length":
            rising = all(a < b for a, b in zip((0, *self.bounds_tokens), self.bounds_tokens, strict=False))
            if not self.bounds_tokens or not rising:
                shown = ", ".join(map(str, self.bounds_tokens)) or "nothing"
                raise WorkloadError(f"class mapping by length: bounds are {shown}; rising numbers above 0 are needed")
        if self.kind == "percentage" and (
            not self.percents
            or not all(isfinite(share) and share >= 0 for share in self.percents)
            or sum(self.percents) > PERCENT + _SLACK
        ):
            shown = ", ".join(f"{share:g}" for share in self.percents) or "nothing"
            raise WorkloadError(f"class mapping: percentages are {shown}; at least 0 each and 100 in all are allowed")

    def to_mapping(self) -> dict[str, object]:
        """The rule as plain JSON data; what stands at its default is left out."""
        data = {f.name: asdict(self)[f.name] for f in fields(self) if getattr(self, f.name) != f.default}
        plain: dict[str, object] = json.loads(json.dumps({"kind": self.kind, **data}))
        return plain

    @classmethod
    def from_mapping(cls, data: Mapping[str, object]) -> ClassMapping:
        """Read what :meth:`to_mapping` wrote; raises :class:`WorkloadError` for anything else."""
        known = {f.name for f in fields(cls)}
        unknown = [key for key in data if key not in known]
        if unknown:
            raise WorkloadError(f"class mapping: {unknown[0]!r} is unknown; allowed: {', '.join(sorted(known))}")
        return cls(**{name: _READERS[name](name, value) for name, value in data.items()})  # type: ignore[arg-type]


def apply(
    mapping: ClassMapping, table: RequestTable, profile: Profile | None = None, *, columns: Columns | None = None
) -> RequestTable:
    """The same requests with the headers of ``mapping`` (a new table that shares all other columns with ``table``).

    ``profile`` is asked for headers where the rule names none; ``columns`` holds what a rule by column looks at
    (``policy_class`` is always there). Raises :class:`WorkloadError` where the rule does not fit.
    """
    if mapping.kind == "as_written":
        return table
    headers = mapping.headers or (possible_headers(profile) if profile is not None else ())
    made: list[str | None]
    match mapping.kind:
        case "first_block":
            firsts = [str(ids[0]) if ids else None for ids in table.hash_ids]
            made = _by_value(mapping, firsts, headers)
        case "column":
            made = _by_value(mapping, _column(mapping.column, table, columns or {}), headers)
        case "length":
            _need(len(mapping.bounds_tokens) + 1, headers, "by length")
            made = [headers[bisect_right(mapping.bounds_tokens, tokens)] for tokens in table.isl_tokens]
        case "percentage":
            _need(len(mapping.percents), headers, "by percentage")
            made = _drawn(mapping, table, headers)
        case "round_robin":
            _need(1, headers, "in turn")
            heads = session_heads(table)
            turn = {row: number for number, row in enumerate(dict.fromkeys(heads))}
            made = [headers[turn[row] % len(headers)] for row in heads]
    return replace(table, policy_header=made)


def possible_headers(profile: Profile) -> tuple[str, ...]:
    """Every header that a policy tells apart: families in file order, then explicit classes."""
    if not profile.families:
        return ()
    return (*profile.families, *(c.name for c in profile.classes if c.is_explicit))


def _by_value(mapping: ClassMapping, values: Sequence[str | None], headers: Sequence[str]) -> list[str | None]:
    header_of = dict(mapping.given) or automatic(values, headers)
    default = mapping.default
    return [header_of.get(value, default) if value is not None else default for value in values]


def automatic(values: Sequence[str | None], headers: Sequence[str]) -> dict[str, str | None]:
    """The most frequent values and ``headers`` in order; of equally frequent values the first seen comes first."""
    counts = Counter(value for value in values if value is not None)
    return dict(zip((value for value, _ in counts.most_common(len(headers))), headers, strict=False))


def _column(name: str, table: RequestTable, columns: Columns) -> Sequence[str | None]:
    if name in columns:
        values = columns[name]
        if len(values) != len(table):
            raise WorkloadError(f"column {name!r} has {len(values):,} rows, the requests {len(table):,}")
        return values
    if name == "policy_class":
        return table.policy_header
    there = names_text(dict.fromkeys(("policy_class", *columns)))
    raise WorkloadError(f"class mapping by column: the trace has no column {name!r}; it has: {there}")


def _need(count: int, headers: Sequence[str], what: str) -> None:
    if len(headers) < count:
        there = names_text(headers)
        raise WorkloadError(
            f"class mapping {what}: {count} policy families or classes are needed, there are {len(headers)} ({there})"
        )


def _drawn(mapping: ClassMapping, table: RequestTable, headers: Sequence[str]) -> list[str | None]:
    limits = list(accumulate(mapping.percents))
    if limits[-1] >= PERCENT - _SLACK:  # 100 in all leaves nothing to the default, whatever the rounding
        limits[-1] = PERCENT
    ends: list[str | None] = [*headers[: len(limits)], mapping.default]
    generator = random.Random(mapping.seed)
    heads = session_heads(table)
    # One draw per session, in order of first rows: cutting off the end of a trace changes nothing before it.
    header_of = {row: ends[bisect_right(limits, generator.random() * PERCENT)] for row in dict.fromkeys(heads)}
    return [header_of[row] for row in heads]


@dataclass(frozen=True, slots=True)
class ClassPreview:
    """How much of a workload one policy class gets; tokens are whole prompts and outputs."""

    class_name: str
    requests: int
    input_tokens: int
    output_tokens: int


def preview(table: RequestTable, profile: Profile) -> tuple[ClassPreview, ...]:
    """Requests and tokens per class in ring order, as if nothing were cached (cache hits move rows between buckets)."""
    requests = [0] * len(profile.classes)
    inputs = [0] * len(profile.classes)
    outputs = [0] * len(profile.classes)
    for header, isl, output in zip(table.policy_header, table.isl_tokens, table.output_tokens, strict=True):
        index = profile.class_index(header, isl)
        requests[index] += 1
        inputs[index] += isl
        outputs[index] += output
    return tuple(
        ClassPreview(c.name, *figures) for c, *figures in zip(profile.classes, requests, inputs, outputs, strict=True)
    )


def unknown_headers(table: RequestTable, profile: Profile) -> dict[str, int]:
    """Headers that the policy does not know, with their rows: the router serves these in the default family."""
    known = set(possible_headers(profile))
    counts = Counter(header for header in table.policy_header if header is not None and header not in known)
    return dict(counts.most_common())


def _bad(name: str, value: object, allowed: str) -> WorkloadError:
    return WorkloadError(f"class mapping: {name} is {reprlib.repr(value)}; {allowed} is allowed")


def _as_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _bad(name, value, "text")
    return value


def _as_header(name: str, value: object) -> str | None:
    return None if value is None else _as_text(name, value)


def _as_list(name: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _bad(name, value, "a list")
    return value


def _as_whole(name: str, value: object) -> int:
    if type(value) is not int:
        raise _bad(name, value, "a whole number")
    return value


def _as_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(name, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _bad(name, value, "a smaller number") from None


def _as_pair(name: str, value: object) -> tuple[str, str | None]:
    pair = _as_list(name, value)
    if len(pair) != 2:
        raise _bad(name, value, "a list of pairs [value, header]")
    return _as_text(name, pair[0]), _as_header(name, pair[1])


_READERS = {
    "kind": _as_text,
    "headers": lambda name, value: tuple(_as_text(name, item) for item in _as_list(name, value)),
    "default": _as_header,
    "column": _as_text,
    "given": lambda name, value: tuple(_as_pair(name, item) for item in _as_list(name, value)),
    "bounds_tokens": lambda name, value: tuple(_as_whole(name, item) for item in _as_list(name, value)),
    "percents": lambda name, value: tuple(_as_number(name, item) for item in _as_list(name, value)),
    "seed": _as_whole,
}
