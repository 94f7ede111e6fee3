"""Mooncake JSONL traces, with the fields that Dynamo's replay understands.

One JSON object per line: ``timestamp`` and ``delay`` (ms), ``input_length`` and ``output_length`` (tokens),
``hash_ids`` (prefix blocks of ``trace_block_size`` tokens), ``session_id``, ``priority`` (the priority jump, whole
seconds), ``strict_priority``, ``policy_class``. The replay also takes the names in :data:`ALIASES`. Unknown keys and
surplus ``hash_ids`` are ignored, blank lines too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain, islice

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.workload.traces_json import Row, parse_row, parse_rows
from drr.workload.traces_lines import TraceSource, trace_lines
from drr.workload.traces_reading import BadRowError, RowProblem, TraceReading

__all__ = ["RowProblem", "TraceReading", "append_row", "read_mooncake", "table_from_rows"]

BATCH_LINES = 1024
"""Lines that are parsed together; progress is told after each batch."""

ALIASES = {
    "input_tokens": "input_length",
    "output_tokens": "output_length",
    "created_time": "timestamp",
    "delay_ms": "delay",
}
"""Other names of four fields; a row may not have both."""

MAX_UNSIGNED_64 = 2**64 - 1
MAX_UNSIGNED_32 = 2**32 - 1
MAX_BARE_TOKENS = 10**9
"""The longest prompt without block ids (with them, ``hash_ids`` has to be long enough)."""

MAX_SHOWN = 60
"""Characters of a bad value that a message quotes."""

PLAIN_FIELDS = frozenset({"timestamp", "input_length", "output_length", "hash_ids", "policy_class"})
SESSION_FIELDS = frozenset({"session_id", "delay", "priority", "strict_priority"})
FIELDS = PLAIN_FIELDS | SESSION_FIELDS
_CLOSER_LOOK = SESSION_FIELDS | ALIASES.keys()


def read_mooncake(
    source: TraceSource,
    *,
    trace_block_size: int = 512,
    lenient: bool = False,
    progress: Callable[[int], object] | None = None,
    keep_columns: bool = False,
) -> TraceReading:
    """Read a trace from a path (``.gz`` too), from text or bytes, or from lines.

    Strict by default: any bad line raises :class:`WorkloadError` that names the first few of them. With ``lenient``
    bad lines are left out and listed in ``problems``. ``progress`` is called now and then with the lines read.
    ``keep_columns`` keeps unknown keys as columns of the reading.
    """
    reading = TraceReading(block_size_tokens=trace_block_size)
    taker = MooncakeTaker(reading, keep_columns=keep_columns)
    lines = trace_lines(source)
    number = 0
    while batch := list(islice(lines, BATCH_LINES)):
        rows = parse_rows(batch)
        if rows is None or not taker.take_all(rows, number + 1):
            taker.take_lines(batch, number + 1)
        number += len(batch)
        if progress is not None:
            progress(number)
    return reading.finish(lenient=lenient)


class MooncakeTaker:
    """Moves parsed rows into a reading, and keeps what must be known about the rows before: open sessions."""

    def __init__(self, reading: TraceReading, *, keep_columns: bool = False) -> None:
        self._reading = reading
        self._keep_columns = keep_columns
        self._last_turn_ms: dict[str, float] = {}

    def take_lines(self, lines: Sequence[str], first_line: int) -> None:
        """Take lines one by one; every bad one becomes a problem of the reading."""
        for number, line in enumerate(lines, start=first_line):
            text = line.strip()
            if not text:
                continue
            try:
                self.take(parse_row(text), number)
            except BadRowError as problem:
                self._reading.problems.append(RowProblem(number, str(problem)))

    def take(self, row: Mapping[str, object], line: int) -> None:
        """Check one row, the rules of sessions included, and append it; raises :class:`BadRowError`."""
        reading = self._reading
        table = reading.requests
        append_row(table, row, trace_block_size=reading.block_size_tokens)
        session = table.session[-1]
        if session is not None:
            try:
                self._take_turn(session, table.timestamp_ms[-1], table.delay_ms[-1])
            except BadRowError:
                _drop_last(table)
                raise
        reading.lines.append(line)
        if self._keep_columns:
            extra = {key: value for key, value in row.items() if key not in FIELDS and key not in ALIASES}
            add_columns(reading, extra)

    def _take_turn(self, session: str, timestamp_ms: float | None, delay_ms: float | None) -> None:
        """Check a turn against the one before, as the replay does, and remember it."""
        last = self._last_turn_ms
        if session not in last:
            if delay_ms is not None:
                raise BadRowError("delay is not allowed on the first row of a session")
            if timestamp_ms is None:
                raise BadRowError("timestamp is missing on the first row of a session")
        elif delay_ms is not None:
            if delay_ms < 0:
                raise BadRowError(f"delay is {delay_ms:g}; at least 0 ms is allowed")
        # A turn with neither follows the one before at once.
        elif timestamp_ms is not None and timestamp_ms < last[session]:
            raise BadRowError(
                f"timestamp is {timestamp_ms:g}, before that of the session's turn before ({last[session]:g})"
            )
        if timestamp_ms is not None:
            last[session] = timestamp_ms

    def take_all(self, rows: Sequence[Row], first_line: int) -> bool:
        """Take rows that stand on consecutive lines, column by column; False, with nothing taken, if one may be bad."""
        reading = self._reading
        keys = set().union(*rows)
        if not keys.isdisjoint(_CLOSER_LOOK) or (self._keep_columns and not keys <= FIELDS):
            return False
        if not _append_plain(reading.requests, rows, keys, reading.block_size_tokens):
            return False
        reading.lines.extend(range(first_line, first_line + len(rows)))
        return True


def _append_plain(table: RequestTable, rows: Sequence[Row], keys: set[str], trace_block_size: int) -> bool:
    """Append rows of plain fields that are all as they should be; False, with nothing appended, if some are not."""
    count = len(rows)
    try:
        isl = [row["input_length"] for row in rows]
        output = [row["output_length"] for row in rows]
        stamps = [row["timestamp"] for row in rows]
        hash_ids = [row["hash_ids"] for row in rows]
        times = list(map(float, stamps))
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    headers = [row.get("policy_class") for row in rows] if "policy_class" in keys else [None] * count
    if not (
        set(map(type, isl)) == {int} == set(map(type, output))
        and set(map(type, stamps)) <= {int, float}
        and set(map(type, hash_ids)) == {list}
        and set(map(type, headers)) <= {str, type(None)}
        and min(isl) >= 1
        and min(output) >= 0
        and max(output) <= MAX_UNSIGNED_64
        and all(map(math.isfinite, times))
    ):
        return False
    if not (
        set(map(type, chain.from_iterable(hash_ids))) == {int}
        and min(chain.from_iterable(hash_ids)) >= 0
        and max(chain.from_iterable(hash_ids)) <= MAX_UNSIGNED_64
        and all(len(ids) * trace_block_size >= n for ids, n in zip(hash_ids, isl, strict=True))
    ):
        return False
    one_copy = {header: header for header in set(headers)}  # equal names share one object: small, and quick to look up
    table.isl_tokens += isl
    table.output_tokens += output
    table.timestamp_ms += times
    table.hash_ids += map(tuple, hash_ids)
    table.policy_header += [one_copy[header] for header in headers]
    table.priority_jump += [0.0] * count
    table.strict_priority += [0] * count
    table.session += [None] * count
    table.delay_ms += [None] * count
    table.cached_tokens += [-1] * count
    table.name += [""] * count
    return True


def _drop_last(table: RequestTable) -> None:
    """Take the last row out again."""
    for field in fields(table):
        column = getattr(table, field.name)
        if isinstance(column, list):
            column.pop()


def add_columns(reading: TraceReading, values: Mapping[str, object]) -> None:
    """Note what the row just appended says beside the request; numbers and structures as their JSON text."""
    rows = len(reading.requests)
    columns = reading.columns
    for key, value in values.items():
        column = columns.setdefault(key, [])
        column += [None] * (rows - 1 - len(column))
        column.append(value if isinstance(value, str) or value is None else json.dumps(value))
    for column in columns.values():
        if len(column) < rows:
            column += [None] * (rows - len(column))


def append_row(table: RequestTable, row: Mapping[str, object], *, trace_block_size: int) -> None:
    """Check one row (a parsed JSON object) and append it to the table; a bad row raises and appends nothing."""
    if not ALIASES.keys().isdisjoint(row):
        row = _canonical(row)
    isl = _whole(row, "input_length", least=1)
    output = _whole(row, "output_length", least=0)
    hash_ids = row.get("hash_ids")
    if hash_ids is None and isl > MAX_BARE_TOKENS:
        raise BadRowError(f"input_length is {isl:,}; without hash_ids at most {MAX_BARE_TOKENS:,} tokens are allowed")
    ids = () if hash_ids is None else _ids(hash_ids, -(-isl // trace_block_size))
    session = row.get("session_id")
    timestamp = row.get("timestamp")
    delay = row.get("delay")
    header = row.get("policy_class")
    strict = row.get("strict_priority")
    if session is None and delay is not None:
        raise BadRowError("delay is allowed only on later turns of a session_id")
    if session is None and timestamp is None:
        raise BadRowError("timestamp is missing; a number of milliseconds is needed")
    table.append(
        isl,
        output_tokens=output,
        timestamp_ms=None if timestamp is None else _finite("timestamp", timestamp),
        hash_ids=ids,
        policy_header=None if header is None else _text("policy_class", header),
        priority_jump=_jump(row),
        strict_priority=0 if strict is None else _whole(row, "strict_priority", least=0, most=MAX_UNSIGNED_32),
        session=None if session is None else _text("session_id", session),
        delay_ms=None if delay is None else _finite("delay", delay),
    )


def _canonical(row: Mapping[str, object]) -> Mapping[str, object]:
    """The row under the main names of its fields."""
    for other, name in ALIASES.items():
        if other in row and name in row:
            raise BadRowError(f"{name} stands twice, the second time as {other}")
    return {ALIASES.get(key, key): value for key, value in row.items()}


def table_from_rows(rows: Iterable[Mapping[str, object]], *, trace_block_size: int) -> RequestTable:
    """A request table from parsed rows (as recordings hold them); a bad row raises :class:`WorkloadError`."""
    table = RequestTable()
    for number, row in enumerate(rows, start=1):
        try:
            append_row(table, row, trace_block_size=trace_block_size)
        except BadRowError as problem:
            raise WorkloadError(f"row {number}: {problem}") from None
    return table


def shown(value: object) -> str:
    """A value as it stood in the file, cut where it is long."""
    if isinstance(value, float) and math.isinf(value):
        return "a number beyond 1e308"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _whole(row: Mapping[str, object], name: str, *, least: int, most: int = MAX_UNSIGNED_64) -> int:
    value = row.get(name)
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if type(number) is int and least <= number <= most:
        return number
    allowed = f"a whole number of at least {least}"
    if name not in row:
        raise BadRowError(f"{name} is missing; {allowed} is needed")
    if type(number) is int and number > most:
        allowed += f" and at most {most:,}"
    raise BadRowError(f"{name} is {shown(value)}; {allowed} is allowed")


def _jump(row: Mapping[str, object]) -> float:
    value = row.get("priority")
    if value is None:
        return 0.0
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise BadRowError(f"priority is {shown(value)}; a whole number from {-(2**31):,} to {2**31 - 1:,} is allowed")
    return float(value)


def _finite(name: str, value: object) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise BadRowError(f"{name} is {shown(value)}; a finite number of milliseconds is allowed")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadRowError(f"{name} is {shown(value)}; text is allowed")
    return value


def _ids(value: object, needed: int) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(item) is not int or not 0 <= item <= MAX_UNSIGNED_64 for item in value):
        raise BadRowError(f"hash_ids has to be a list of whole numbers from 0 to {MAX_UNSIGNED_64:,}")
    if len(value) < needed:
        raise BadRowError(f"hash_ids holds {len(value)} blocks; input_length needs {needed}")
    return tuple(value)
