"""Several traces as one file: what was read of each, on one clock, with everything that each says beside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_edit import ClockRule, merge_traces
from drr.workload.traces_export import mooncake_rows
from drr.workload.traces_formats import TraceSpec
from drr.workload.traces_reading import RowProblem, TraceReading

Progress = Callable[[int, int], object]

_OWN_NAMES = (
    *("timestamp", "input_length", "output_length", "hash_ids", "policy_class", "session_id", "cached_tokens"),
    *("strict_priority", "priority", "name", "delay"),
)
_COLUMNS = tuple((name, name) for name in _OWN_NAMES if name not in ("delay", "session_id"))


@dataclass(frozen=True, slots=True)
class MergedTrace:
    """The one file, and what came of reading the several: rows left out of each, what was assumed."""

    trace: TraceWorkload
    problems: tuple[RowProblem, ...]
    notes: tuple[str, ...]


def merge_files(
    files: Sequence[TraceWorkload],
    folder: Path,
    *,
    clock: ClockRule | None = None,
    shared_blocks: bool = False,
    progress: Progress | None = None,
) -> MergedTrace:
    """Read the files, put them on one clock (see :func:`merge_traces`) and write one file into ``folder``.

    It is named by its content, so equal files give an equal one. Column ``file`` says where a row comes from.
    Raises :class:`WorkloadError` where the traces do not go together.
    """
    done = 0

    def tell(_lines: int) -> None:
        if progress is not None:
            progress(done, len(files) + 1)

    readings = []
    for each in files:
        readings.append(each.whole(tell))
        done += 1
    merged = merge_traces(readings, clock=clock, shared_blocks=shared_blocks)
    data = "".join(_told(copy_lines(merged), tell)).encode()
    digest = hashlib.sha256(data).hexdigest()
    path = folder / digest
    path.write_bytes(data)
    name = " + ".join(reading.name for reading in readings)
    trace = TraceWorkload(name, digest, spec=copy_spec(merged), path=str(path))
    return MergedTrace(trace, tuple(merged.problems), tuple(merged.notes))


def copy_spec(reading: TraceReading) -> TraceSpec:
    """How to read :func:`copy_lines`."""
    size = reading.block_size_tokens
    if _has_sessions(reading.requests):
        return TraceSpec("mooncake", "ms", size, why_unit="written by Ringside")
    return TraceSpec("jsonl", "ms", size, _used(reading.requests), why_unit="written by Ringside")


def copy_lines(reading: TraceReading) -> Iterator[str]:
    """A reading as JSONL with all its columns, so that it reads back the same, but for names of rows beside sessions.

    Sessions need the Mooncake format. It has no names of rows, which are left out, and no fixed cache hits, which raise
    :class:`WorkloadError`.
    """
    table = reading.requests
    fixed = [hit >= 0 for hit in table.cached_tokens]
    if any(fixed) and (_has_sessions(table) or not all(fixed)):
        raise WorkloadError(
            "one of the files fixes cache hits (cached_tokens) and another has sessions or none: "
            "they cannot be put into one file. Leave its column cached_tokens out"
        )
    sessions = _has_sessions(table)
    names = {name: _free_name(name) for name in reading.columns}
    for row, line in enumerate(mooncake_rows(table, trace_block_size=reading.block_size_tokens)):
        if not sessions:
            if not table.hash_ids[row]:
                del line["hash_ids"]
            if fixed[row]:
                line["cached_tokens"] = table.cached_tokens[row]
            if table.name[row]:
                line["name"] = table.name[row]
        for column, values in reading.columns.items():
            if values[row] is not None:
                line[names[column]] = values[row]
        yield json.dumps(line) + "\n"


def _used(table: RequestTable) -> tuple[tuple[str, str], ...]:
    """Columns of the copy that hold anything: a column that is not there would change nothing but the notes."""
    unused = {
        "hash_ids": not any(table.hash_ids),
        "cached_tokens": all(hit < 0 for hit in table.cached_tokens),
        "policy_class": all(header is None for header in table.policy_header),
        "strict_priority": not any(table.strict_priority),
        "priority": not any(table.priority_jump),
        "name": not any(table.name),
    }
    return tuple(pair for pair in _COLUMNS if not unused.get(pair[0]))


def _has_sessions(table: RequestTable) -> bool:
    return any(session is not None for session in table.session)


def _free_name(column: str) -> str:
    """A column may be called like a field of the copy; it is not the field."""
    return f"{column} (column)" if column in (*_OWN_NAMES, "input_tokens", "output_tokens", "created_time") else column


def _told(lines: Iterator[str], tell: Callable[[int], object]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number % 1024 == 0:
            tell(number)
        yield line
