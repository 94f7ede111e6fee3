"""What kind of trace a file is, told by its content, and what its columns mean: all shown, all open to change."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Literal, get_args

from drr.errors import WorkloadError
from drr.workload.traces_json import parse_row
from drr.workload.traces_lines import TraceSource, refuse_broken_text, trace_lines
from drr.workload.traces_reading import BadRowError, names_text
from drr.workload.traces_values import TIME_UNITS, UNIT_WORDS, TimeUnit, epoch_unit, is_date, is_number

TraceFormat = Literal["mooncake", "qwen_bailian", "jsonl", "azure", "burstgpt", "csv"]
TRACE_FORMATS: tuple[TraceFormat, ...] = get_args(TraceFormat)
FORMAT_WORDS: dict[TraceFormat, str] = {
    "mooncake": "Mooncake JSONL",
    "qwen_bailian": "Qwen-Bailian JSONL",
    "jsonl": "JSONL with other names",
    "azure": "Azure LLM inference CSV",
    "burstgpt": "BurstGPT CSV",
    "csv": "CSV with other names",
}
JSON_FORMATS = frozenset({"mooncake", "qwen_bailian", "jsonl"})

FIELD_NAMES: dict[str, tuple[str, ...]] = {
    "timestamp": (
        *("timestamp", "timestamp_ms", "timestamp_s", "timestamp_us", "timestamp_ns", "arrival_ms", "arrival_s"),
        *("arrival_time_ms", "arrival_time_s", "arrival_time", "arrival", "arrival_timestamp", "arrived_at"),
        *("created_time", "created_at", "time_ms", "time_s", "time", "ts"),
    ),
    "input_length": (
        *("input_length", "input_tokens", "raw_isl_tokens", "isl_tokens", "isl", "input_len", "contexttokens"),
        *("context_tokens", "request_tokens", "prompt_tokens", "prompt_length", "prompt_len", "num_prefill_tokens"),
    ),
    "output_length": (
        *("output_length", "output_tokens", "osl_tokens", "osl", "output_len", "generatedtokens", "generated_tokens"),
        *("response_tokens", "completion_tokens", "num_decode_tokens", "decode_tokens"),
    ),
    "hash_ids": ("hash_ids", "block_hashes", "block_ids"),
    "policy_class": ("policy_class", "policy_family"),
    "session_id": ("session_id", "conversation_id", "session"),
    "cached_tokens": ("cached_tokens",),
    "strict_priority": ("strict_priority",),
    "priority": ("priority_jump", "priority"),
    "name": ("request_id", "name", "id"),
}
"""Our fields and the column names that stand for them, likeliest first, in lower case with ``_`` between words."""

NEEDED = ("timestamp", "input_length")
QWEN_BLOCK_TOKENS = 16
LOOK_LINES = 200
SAMPLE_ROWS = 5
_MOONCAKE_NAMES = (
    {"input_length", "input_tokens"},
    {"output_length", "output_tokens"},
    {"timestamp", "created_time"},
)
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class TraceSpec:
    """How a trace file is to be read.

    ``columns`` says which column of the file holds which of our fields (:data:`FIELD_NAMES`); Mooncake files have fixed
    names. ``block_size_tokens`` is the size of the blocks in ``hash_ids``. Turns of one session wait for each other in
    Mooncake files, as in the real replay; in others they arrive at their timestamps. ``why_unit`` says where the time
    unit comes from.
    """

    format: TraceFormat = "mooncake"
    time_unit: TimeUnit = "ms"
    block_size_tokens: int = 512
    columns: tuple[tuple[str, str], ...] = ()
    delimiter: str = ","
    has_header: bool = True
    why_unit: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, object, Iterable[object]], ...] = (
            ("format", self.format, TRACE_FORMATS),
            ("time_unit", self.time_unit, TIME_UNITS),
            ("delimiter", self.delimiter, _DELIMITERS),
            *(("columns", name, FIELD_NAMES) for name, _ in self.columns),
        )
        for what, value, allowed in choices:
            if value not in allowed:
                raise WorkloadError(f"trace {what} {value!r} is unknown; there are: {', '.join(map(str, allowed))}")
        if type(self.block_size_tokens) is not int or self.block_size_tokens < 1:
            raise WorkloadError(f"trace block_size_tokens is {self.block_size_tokens!r}; at least 1 is allowed")
        if type(self.has_header) is not bool:
            raise WorkloadError(f"trace has_header is {self.has_header!r}; true or false is allowed")
        if not isinstance(self.why_unit, str):
            raise WorkloadError(f"trace why_unit is {self.why_unit!r}; text is allowed")

    @property
    def is_json(self) -> bool:
        """Whether lines are JSON objects."""
        return self.format in JSON_FORMATS

    def to_mapping(self) -> dict[str, object]:
        """The spec as plain JSON data."""
        plain: dict[str, object] = json.loads(json.dumps({f.name: getattr(self, f.name) for f in fields(self)}))
        return plain

    @classmethod
    def from_mapping(cls, data: Mapping[str, object]) -> TraceSpec:
        """Read what :meth:`to_mapping` wrote; raises :class:`WorkloadError` for anything else."""
        if data.get("closed_loop") is False:  # older specs say so, and nothing else is left of it
            data = {key: value for key, value in data.items() if key != "closed_loop"}
        known = {f.name for f in fields(cls)}
        unknown = [key for key in data if key not in known]
        if unknown:
            raise WorkloadError(f"trace spec: {unknown[0]!r} is unknown; allowed: {', '.join(sorted(known))}")
        pairs = data.get("columns", ())
        if not isinstance(pairs, list | tuple) or not all(
            isinstance(p, list | tuple) and len(p) == 2 and all(isinstance(part, str) for part in p) for p in pairs
        ):
            raise WorkloadError("trace spec: columns is no list of pairs [our field, column of the file]")
        return cls(**{**data, "columns": tuple((p[0], p[1]) for p in pairs)})  # type: ignore[arg-type]

    def text(self) -> str:
        """One line for a person: format, time unit and where it comes from, block size."""
        unit = UNIT_WORDS[self.time_unit] + (f" ({self.why_unit})" if self.why_unit else "")
        blocks = self.format == "mooncake" or "hash_ids" in dict(self.columns)
        size = f"; prefix blocks of {self.block_size_tokens:,} tokens" if blocks else ""
        return f"{FORMAT_WORDS[self.format]}; times are {unit}{size}"


@dataclass(frozen=True, slots=True)
class TraceLook:
    """A first look at a file: how it would be read, its columns, its first rows, and needed fields without a column.

    Every sample row has as many cells as there are columns, whatever stands in the file.
    """

    spec: TraceSpec
    column_names: tuple[str, ...]
    sample_rows: tuple[tuple[str, ...], ...]
    missing: tuple[str, ...]

    def require(self) -> TraceSpec:
        """The spec; raises :class:`WorkloadError` where a needed column was not found."""
        if self.missing:
            what = " and ".join(self.missing)
            there = names_text(self.column_names)
            raise WorkloadError(
                f"no column is known to hold {what}; the file has: {there}. Name it in a column mapping"
            )
        return self.spec


def look_at(source: TraceSource) -> TraceLook:
    """Recognise a file by its first lines. Raises :class:`WorkloadError` for what is no trace at all."""
    lines = [line.strip("\r\n") for line in islice(trace_lines(source), LOOK_LINES)]
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise WorkloadError("the trace is empty")
    if filled[0].lstrip().startswith("["):
        raise WorkloadError(
            "the file is a JSON list; a trace has one JSON object per line, without brackets around them"
        )
    return _look_at_json(filled) if filled[0].lstrip().startswith("{") else _look_at_csv(filled)


def _look_at_json(lines: Sequence[str]) -> TraceLook:
    rows = []
    for line in lines:
        try:
            rows.append(parse_row(line.strip()))
        except BadRowError:
            continue
    if not rows:
        raise WorkloadError("none of the first lines is a JSON object; a trace has one JSON object per line")
    names = tuple(dict.fromkeys(key for row in rows for key in row))
    samples = tuple(tuple(_sample(row.get(name)) for name in names) for row in rows[:SAMPLE_ROWS])
    if {"chat_id", "parent_chat_id"} <= set(names):
        spec = TraceSpec("qwen_bailian", "s", QWEN_BLOCK_TOKENS, _match(names), why_unit="the format's own")
    elif all(pair & set(names) for pair in _MOONCAKE_NAMES):
        spec = TraceSpec("mooncake", "ms", why_unit="the format's own")
        return TraceLook(
            _with_epoch(spec, [row.get("timestamp", row.get("created_time")) for row in rows]), names, samples, ()
        )
    else:
        spec = _with_unit(TraceSpec("jsonl", columns=_match(names)), lambda name: [row.get(name) for row in rows])
    return TraceLook(spec, names, samples, _missing(spec))


def _look_at_csv(lines: Sequence[str]) -> TraceLook:
    head = lines[0]
    try:
        refuse_broken_text(head)
    except BadRowError as problem:
        raise WorkloadError(f"the first line is {problem}") from None
    delimiter = max(_DELIMITERS, key=lambda mark: (len(cells_of(head, mark) or ()), -_DELIMITERS.index(mark)))
    cells = cells_of(head, delimiter) or [head]
    has_header = not any(is_number(cell) or is_date(cell) for cell in cells)
    names = column_names(cells, has_header)
    body = [cells_of(line, delimiter) or [] for line in lines[has_header:]]
    blank = [""] * len(names)
    samples = tuple(tuple(map(_printable, [*row, *blank][: len(names)])) for row in body[:SAMPLE_ROWS])
    known = {_plain(name) for name in names}
    spec = TraceSpec("csv", columns=_match(names), delimiter=delimiter, has_header=has_header)
    if {"contexttokens", "generatedtokens"} <= known:
        spec = replace(spec, format="azure", time_unit="date", why_unit="the format's own")
    elif {"request_tokens", "response_tokens"} <= known:
        spec = replace(spec, format="burstgpt", time_unit="s", why_unit="the format's own")
    else:
        at = {name: position for position, name in enumerate(names)}
        spec = _with_unit(spec, lambda name: [row[at[name]] for row in body if len(row) > at[name]])
    return TraceLook(spec, names, samples, _missing(spec))


def column_names(cells: Sequence[str], has_header: bool) -> tuple[str, ...]:
    """The names in a header line, or ``column 1``, ``column 2`` ... where there is none."""
    if not has_header:
        return tuple(f"column {number}" for number in range(1, len(cells) + 1))
    names = tuple(cell or f"column {number}" for number, cell in enumerate(cells, start=1))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise WorkloadError(f"the column {twice!r} stands twice in the header")
    return names


def cells_of(line: str, delimiter: str) -> list[str] | None:
    """The cells of one CSV line without blanks around them; None where quotes do not match."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        return None
    return [cell.strip() for cell in cells]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _match(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Which column holds which field, as far as the names tell."""
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(_plain(name), name)
    found = ((ours, next((by_plain[n] for n in others if n in by_plain), None)) for ours, others in FIELD_NAMES.items())
    return tuple((ours, name) for ours, name in found if name is not None)


def _missing(spec: TraceSpec) -> tuple[str, ...]:
    there = dict(spec.columns)
    return tuple(name for name in NEEDED if name not in there)


def _with_unit(spec: TraceSpec, values_of: Callable[[str], Sequence[object]]) -> TraceSpec:
    """The time unit by the column's name, else by what its values look like, else milliseconds."""
    name = dict(spec.columns).get("timestamp")
    if name is None:
        return spec
    values = values_of(name)
    if any(isinstance(value, str) and is_date(value) for value in values):
        return replace(spec, time_unit="date", why_unit="by the values")
    ending = _plain(name).rpartition("_")[2]
    unit = next((unit for unit in TIME_UNITS if unit == ending and unit != "date"), None)
    if unit is not None:
        return replace(spec, time_unit=unit, why_unit="by the column's name")
    return _with_epoch(replace(spec, why_unit="assumed: neither name nor values tell"), values)


def _with_epoch(spec: TraceSpec, values: Sequence[object]) -> TraceSpec:
    for value in values:
        number = _as_float(value)
        unit = epoch_unit(number) if number is not None else None
        if unit is not None and unit != spec.time_unit:
            return replace(spec, time_unit=unit, why_unit="the values look like time since 1970")
        if number is not None:
            break
    return spec


def _as_float(value: object) -> float | None:
    """A number of a first look; None for what is none."""
    if not isinstance(value, int | float) and not (isinstance(value, str) and is_number(value)):
        return None
    try:
        return float(value)
    except OverflowError:  # of a whole number; the row will be refused
        return None


def _printable(cell: str) -> str:
    """A cell without the stand-ins for bytes that are no UTF-8, which nothing can show."""
    return cell.encode("utf-8", "replace").decode("utf-8")


def _sample(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
