"""Any trace file to requests: recognised by content, read line by line, every bad row named.

    look = look_at(path)                 # what kind of file, which columns, which units
    reading = read_trace(path, look.spec)

Other formats become Mooncake rows and pass the same checks. A number in a CSV cell is what JSON would take for a
number; text in JSON is no number. Times keep their distances exactly: they are converted as decimals, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from drr.errors import WorkloadError
from drr.workload.mooncake import BATCH_LINES, MooncakeTaker, add_columns, append_row, read_mooncake
from drr.workload.trace_stats import rows_earlier_than_before
from drr.workload.traces_formats import NEEDED, TraceSpec, cells_of, column_names, look_at
from drr.workload.traces_json import parse_row
from drr.workload.traces_lines import TraceSource, refuse_broken_text, trace_lines
from drr.workload.traces_reading import BadRowError, RowProblem, TraceReading, counted, names_text
from drr.workload.traces_values import (
    NS_PER_MS,
    NS_PER_SECOND,
    ids_of_cell,
    ms_of_cell,
    ms_of_json,
    ns_of_date,
    whole_of_cell,
)

Progress = Callable[[int], object]

_LEAST = {"input_length": 1, "output_length": 0, "cached_tokens": 0, "strict_priority": 0, "priority": -(2**31)}
_TEXTS = frozenset({"policy_class", "session_id", "name"})


def read_trace(
    source: TraceSource,
    spec: TraceSpec | None = None,
    *,
    name: str | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> TraceReading:
    """Read a trace as ``spec`` says, or as :func:`~drr.workload.traces_formats.look_at` recognises it.

    Strict by default: any bad row raises :class:`WorkloadError` that names the first few with line and reason; with
    ``lenient`` they are left out and listed in ``problems``. ``progress`` is told the lines read so far. Without a spec
    an iterator of lines is held in memory.
    """
    if spec is None:
        source = source if isinstance(source, Path | str | bytes) else list(source)
        spec = look_at(source).require()
    if spec.format == "mooncake" and spec.time_unit == "ms":
        reading = read_mooncake(
            source, trace_block_size=spec.block_size_tokens, lenient=lenient, progress=progress, keep_columns=True
        )
    else:
        reading = TraceReading(block_size_tokens=spec.block_size_tokens)
        taker = _MooncakeTimes(reading, spec) if spec.format == "mooncake" else _Taker(reading, spec)
        take = taker.take_cells if isinstance(taker, _Taker) and not spec.is_json else taker.take_json
        for number, line in enumerate(trace_lines(source), start=1):
            if progress is not None and number % BATCH_LINES == 0:
                progress(number)
            if not line.strip():
                continue
            try:
                refuse_broken_text(line)
                take(line.strip("\r\n"), number)
            except BadRowError as problem:
                reading.problems.append(RowProblem(number, str(problem)))
        reading.notes += taker.notes()
        reading.finish(lenient=lenient)
    reading.name = name if name is not None else source.name if isinstance(source, Path) else ""
    reading.notes[:0] = [spec.text(), *_order_notes(reading)]
    return reading


class _Clock:
    """Milliseconds from the values of the time column. Dates count from the whole second of the first one."""

    def __init__(self, spec: TraceSpec, column: str) -> None:
        self._unit = spec.time_unit
        self._column = column
        self.start_ns: int | None = None

    def ms(self, value: object, *, is_cell: bool) -> float:
        """Milliseconds on the trace's clock."""
        if self._unit == "date":
            ns = ns_of_date(self._column, value)
            if self.start_ns is None:
                self.start_ns = ns - ns % NS_PER_SECOND
            return (ns - self.start_ns) / NS_PER_MS
        if is_cell:
            return ms_of_cell(self._column, str(value), self._unit)
        return ms_of_json(self._column, value, self._unit)


class _MooncakeTimes:
    """Mooncake rows whose times are in another unit than milliseconds; ``delay`` stays milliseconds."""

    def __init__(self, reading: TraceReading, spec: TraceSpec) -> None:
        self._reading = reading
        self._rows = MooncakeTaker(reading, keep_columns=True)
        self._clock = _Clock(spec, "timestamp")

    def take_json(self, text: str, line: int) -> None:
        row = parse_row(text.strip())
        key = "created_time" if "created_time" in row else "timestamp"
        if row.get(key) is not None:
            row[key] = self._clock.ms(row[key], is_cell=False)
        self._rows.take(row, line)
        self._reading.clock_start_ns = self._clock.start_ns

    def notes(self) -> list[str]:
        return []


class _Taker:
    """Rows of every other format: named columns to the fields of a Mooncake row, the rest to side columns."""

    def __init__(self, reading: TraceReading, spec: TraceSpec) -> None:
        self._reading = reading
        self._spec = spec
        self._field_of = {column: ours for ours, column in spec.columns}
        self._column_of = dict(spec.columns)
        for needed in NEEDED:
            if needed not in self._column_of:
                raise WorkloadError(f"trace column mapping: no column is named for {needed}")
        self._clock = _Clock(spec, self._column_of["timestamp"])
        self._names: tuple[str, ...] = ()
        self._roots: dict[str, str] = {}
        self._empty_rows = 0
        self._empty_cached = 0

    def take_json(self, text: str, line: int) -> None:
        """Take a JSON object."""
        row = parse_row(text.strip())
        chat = _chat_root(row, self._roots) if self._spec.format == "qwen_bailian" else None
        self._take(row, line, is_cell=False, extra={} if chat is None else {"chat": chat})

    def take_cells(self, text: str, line: int) -> None:
        """Take a line of cells; the first one may be the header."""
        cells = cells_of(text, self._spec.delimiter)
        if cells is None:
            raise BadRowError("quotes do not match")
        if not self._names:
            self._names = column_names(cells, self._spec.has_header)
            lost = [name for name in self._field_of if name not in self._names]
            if lost:
                raise WorkloadError(f"the file has no column {lost[0]!r}; it has: {names_text(self._names)}")
            if self._spec.has_header:
                return
        if not any(cells):
            self._empty_rows += 1
            return
        if len(cells) != len(self._names):
            head = "header" if self._spec.has_header else "first row"
            raise BadRowError(f"{counted(len(cells), 'cell')}; the {head} has {len(self._names):,}")
        self._take(dict(zip(self._names, cells, strict=True)), line, is_cell=True, extra={})

    def _take(self, row: Mapping[str, object], line: int, *, is_cell: bool, extra: Mapping[str, object]) -> None:
        reading = self._reading
        values: dict[str, object] = {}
        bad: list[str] = []
        for column, ours in self._field_of.items():
            try:
                value = row.get(column)
                if ours == "timestamp":
                    if value is None:
                        raise BadRowError(f"{column} is missing")
                    values[ours] = self._clock.ms(value, is_cell=is_cell)
                elif is_cell and (value != "" or ours in ("input_length", "output_length")):
                    values[ours] = _of_cell(ours, column, str(value))
                elif not is_cell and column in row:
                    values[ours] = value
            except BadRowError as problem:
                bad.append(str(problem))
        if bad:
            raise BadRowError("; ".join(bad))
        if "output_length" not in self._column_of:
            values["output_length"] = 1
        session = values.pop("session_id", None)
        name = values.pop("name", None)
        cached = values.pop("cached_tokens", None)
        if session is not None:
            extra = {**extra, "session": session}
        if not is_cell and cached is not None and (type(cached) is not int or cached < 0):
            raise BadRowError(
                f"{self._column_of['cached_tokens']} is {cached!r}; a whole number of at least 0 is allowed"
            )
        try:
            append_row(reading.requests, values, trace_block_size=self._spec.block_size_tokens)
        except BadRowError as problem:
            raise BadRowError(self._in_words_of_the_file(str(problem))) from None
        reading.lines.append(line)
        reading.clock_start_ns = self._clock.start_ns
        if name is not None:
            reading.requests.name[-1] = str(name)
        if "cached_tokens" in self._column_of:
            self._empty_cached += cached is None
            reading.requests.cached_tokens[-1] = cached if isinstance(cached, int) else 0
        rest = {key: value if value != "" else None for key, value in row.items() if key not in self._field_of}
        add_columns(reading, {**rest, **extra})

    def _in_words_of_the_file(self, message: str) -> str:
        ours = message.split(" ", 1)[0]
        column = self._column_of.get(ours, ours)
        return column + message[len(ours) :]

    def notes(self) -> list[str]:
        """What was assumed while reading."""
        notes = []
        if "output_length" not in self._column_of:
            notes.append("no column for output tokens: every request generates 1 token")
        if self._empty_cached:
            notes.append(f"cached tokens empty in {counted(self._empty_cached, 'row')}: read as 0")
        if self._empty_rows:
            notes.append(f"{counted(self._empty_rows, 'row')} with nothing but empty cells ignored")
        if "session_id" in self._column_of or self._roots:
            notes.append(
                "sessions are kept as a column; requests arrive at their timestamps, not after the turn before"
            )
        return notes


def _of_cell(ours: str, column: str, text: str) -> object:
    if ours == "hash_ids":
        return ids_of_cell(column, text)
    if ours in _TEXTS:
        return text
    return whole_of_cell(column, text, least=_LEAST[ours])


def _chat_root(row: Mapping[str, object], roots: dict[str, str]) -> str:
    """The first chat of the conversation that a Qwen-Bailian row belongs to; ``parent_chat_id`` -1 starts one."""
    chat, parent = (str(row.get(key)) for key in ("chat_id", "parent_chat_id"))
    return roots.setdefault(chat, chat if parent == "-1" else roots.get(parent, parent))


def _order_notes(reading: TraceReading) -> Iterator[str]:
    """What is worth knowing about the times."""
    stamps = [stamp for stamp in reading.requests.timestamp_ms if stamp is not None]
    if reading.clock_start_ns is not None:
        start = datetime.fromtimestamp(reading.clock_start_ns // NS_PER_SECOND, UTC)
        yield f"time 0 is {start:%Y-%m-%d %H:%M:%S} (UTC where the file names no zone)"
    early = rows_earlier_than_before(stamps)
    if early:
        yield f"{counted(early, 'row')} earlier than one above: requests arrive by time, equal times in file order"
    shared = len(stamps) - len(set(stamps))
    if shared:
        yield f"{counted(shared, 'row')} at the same time as an earlier one: they arrive in file order"
