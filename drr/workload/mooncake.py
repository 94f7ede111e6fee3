"""Mooncake JSONL traces, with the fields that Dynamo's replay understands.

One JSON object per line: ``timestamp`` and ``delay`` (ms), ``input_length`` and ``output_length`` (tokens),
``hash_ids`` (prefix blocks of ``trace_block_size`` tokens), ``session_id``, ``priority`` (the priority jump, whole
seconds), ``strict_priority``, ``policy_class``. Unknown keys and surplus ``hash_ids`` are ignored, blank lines too.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from drr.errors import WorkloadError
from drr.router.requests import RequestTable

PROGRESS_EVERY = 4096
PROBLEMS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a line was not taken. Lines count from 1."""

    line: int
    message: str

    def text(self) -> str:
        """One line for a person."""
        return f"line {self.line}: {self.message}"


@dataclass(slots=True)
class TraceReading:
    """What came out of a trace: the requests, the line each one stood on, and every line that was not taken."""

    requests: RequestTable = field(default_factory=RequestTable)
    lines: list[int] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)


class _BadRowError(ValueError):
    """A row cannot be taken; the text says which field, what it holds and what is allowed."""


def read_mooncake(
    source: Path | str | bytes | Iterable[str],
    *,
    trace_block_size: int = 512,
    lenient: bool = False,
    progress: Callable[[int], object] | None = None,
) -> TraceReading:
    """Read a trace from a path (``.gz`` too), from text or bytes, or from lines.

    Strict by default: any bad line raises :class:`WorkloadError` that names the first few of them. With ``lenient``
    bad lines are left out and listed in ``problems``. ``progress`` is called now and then with the lines read.
    """
    reading = TraceReading()
    for number, line in enumerate(_lines(source), start=1):
        text = line.strip()
        if not text:
            continue
        try:
            append_row(reading.requests, _parse(text), trace_block_size=trace_block_size)
        except _BadRowError as problem:
            reading.problems.append(RowProblem(number, str(problem)))
        else:
            reading.lines.append(number)
        if progress is not None and number % PROGRESS_EVERY == 0:
            progress(number)
    if reading.problems and not lenient:
        shown = "; ".join(p.text() for p in reading.problems[:PROBLEMS_SHOWN])
        more = len(reading.problems) - PROBLEMS_SHOWN
        tail = f"; and {more:,} more" if more > 0 else ""
        raise WorkloadError(f"{len(reading.problems):,} bad trace lines: {shown}{tail}")
    if not len(reading.requests):
        raise WorkloadError("the trace has no request: a trace has one JSON object per line")
    return reading


def _lines(source: Path | str | bytes | Iterable[str]) -> Iterator[str]:
    if isinstance(source, Path):
        yield from _file_lines(source)
        return
    if isinstance(source, bytes):
        if source[:2] == b"\x1f\x8b":
            source = gzip.decompress(source)
        try:
            source = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WorkloadError(f"the trace is not UTF-8 text: {error.reason} at byte {error.start:,}") from None
    yield from io.StringIO(source.removeprefix("\ufeff")) if isinstance(source, str) else source


def _file_lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            yield from io.TextIOWrapper(gzip.GzipFile(fileobj=raw) if packed else raw, "utf-8-sig")
    except OSError as error:
        raise WorkloadError(f"cannot read trace {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise WorkloadError(f"trace {path} is not UTF-8 text: {error.reason} at byte {error.start:,}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise _BadRowError(f"{name} is no number that a trace may hold")


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _BadRowError(f"the key {twice!r} stands twice")
    return row


def _parse(text: str) -> dict[str, object]:
    try:
        row = json.loads(text, parse_constant=_refuse_constant)
        if isinstance(row, dict) and text.count(":") > len(row):
            # More colons than keys: a key may stand twice, which plain parsing would not tell.
            row = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except json.JSONDecodeError as error:
        raise _BadRowError(f"no valid JSON: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, _BadRowError):
            raise
        raise _BadRowError(f"no valid JSON: {error}") from None
    if not isinstance(row, dict):
        raise _BadRowError('a JSON object is expected, like {"timestamp": 0, "input_length": 512, ...}')
    return row


def append_row(table: RequestTable, row: Mapping[str, object], *, trace_block_size: int) -> None:
    """Check one row (a parsed JSON object) and append it to the table; a bad row raises and appends nothing."""
    isl = _whole(row, "input_length", least=1)
    output = _whole(row, "output_length", least=0)
    hash_ids = row.get("hash_ids")
    ids: tuple[int, ...] = ()
    if hash_ids is not None:
        needed = -(-isl // trace_block_size)
        ids = _ids(hash_ids, needed)
    timestamp = row.get("timestamp")
    delay = row.get("delay")
    header = row.get("policy_class")
    session = row.get("session_id")
    table.isl_tokens.append(isl)
    try:
        rest = (
            None if timestamp is None else _finite("timestamp", timestamp),
            None if header is None else _text("policy_class", header),
            float(_integer(row, "priority")) if "priority" in row else 0.0,
            _whole(row, "strict_priority", least=0) if row.get("strict_priority") is not None else 0,
            None if session is None else _text("session_id", session),
            None if delay is None else _finite("delay", delay),
        )
    except _BadRowError:
        table.isl_tokens.pop()
        raise
    table.output_tokens.append(output)
    table.hash_ids.append(ids)
    table.timestamp_ms.append(rest[0])
    table.policy_header.append(rest[1])
    table.priority_jump.append(rest[2])
    table.strict_priority.append(rest[3])
    table.session.append(rest[4])
    table.delay_ms.append(rest[5])
    table.cached_tokens.append(-1)
    table.name.append("")


def table_from_rows(rows: Iterable[Mapping[str, object]], *, trace_block_size: int) -> RequestTable:
    """A request table from parsed rows (as recordings hold them); a bad row raises :class:`WorkloadError`."""
    table = RequestTable()
    for number, row in enumerate(rows, start=1):
        try:
            append_row(table, row, trace_block_size=trace_block_size)
        except _BadRowError as problem:
            raise WorkloadError(f"row {number}: {problem}") from None
    return table


def _whole(row: Mapping[str, object], name: str, *, least: int) -> int:
    value = row.get(name)
    if type(value) is int and value >= least:
        return value
    if isinstance(value, float) and value.is_integer() and value >= least:
        return int(value)
    if value is None:
        raise _BadRowError(f"{name} is missing; a whole number of at least {least} is needed")
    raise _BadRowError(f"{name} is {json.dumps(value)}; a whole number of at least {least} is allowed")


def _integer(row: Mapping[str, object], name: str) -> int:
    value = row[name]
    if value is None:
        return 0
    if type(value) is not int:
        raise _BadRowError(f"{name} is {json.dumps(value)}; a whole number is allowed")
    return value


def _finite(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _BadRowError(f"{name} is {value!r}; a finite number of milliseconds is allowed")
    return float(value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _BadRowError(f"{name} is {json.dumps(value)}; text is allowed")
    return value


def _ids(value: object, needed: int) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(item) is not int or item < 0 for item in value):
        raise _BadRowError("hash_ids has to be a list of whole numbers of at least 0")
    if len(value) < needed:
        raise _BadRowError(f"hash_ids holds {len(value)} blocks; input_length needs {needed}")
    return tuple(value)
