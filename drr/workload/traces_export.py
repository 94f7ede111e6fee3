"""Requests as Mooncake JSONL with ``policy_class``: a file that the real router's replay takes as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.workload.mooncake import MAX_UNSIGNED_64
from drr.workload.traces_reading import counted


def mooncake_lines(table: RequestTable, *, trace_block_size: int) -> Iterator[str]:
    """One line per request, in row order; see :func:`mooncake_rows`."""
    for row in mooncake_rows(table, trace_block_size=trace_block_size):
        yield json.dumps(row) + "\n"


def mooncake_rows(table: RequestTable, *, trace_block_size: int) -> Iterator[dict[str, object]]:
    """One object per request. Prompts without block ids get fresh ones: the replay wants ids everywhere.

    Raises :class:`WorkloadError` for a priority jump that is no whole number of seconds (the format has no others).
    """
    free_id = 1 + max((max(ids) for ids in table.hash_ids if ids), default=-1)
    for row, isl in enumerate(table.isl_tokens):
        ids = table.hash_ids[row]
        if not ids:
            needed = -(-isl // trace_block_size)
            ids = tuple(range(free_id, free_id + needed))
            free_id += needed
            if free_id > MAX_UNSIGNED_64:
                raise WorkloadError("the trace uses up all block ids, none is left for prompts without")
        line: dict[str, object] = {}
        stamp, delay, jump = table.timestamp_ms[row], table.delay_ms[row], table.priority_jump[row]
        if stamp is not None:
            line["timestamp"] = _short(stamp)
        line |= {"input_length": isl, "output_length": table.output_tokens[row], "hash_ids": ids}
        if table.session[row] is not None:
            line["session_id"] = table.session[row]
        if delay is not None:
            line["delay"] = _short(delay)
        if jump:
            if not float(jump).is_integer():
                raise WorkloadError(
                    f"row {row + 1}: the priority jump is {jump:g} s; the format has whole seconds only"
                )
            line["priority"] = int(jump)
        if table.strict_priority[row]:
            line["strict_priority"] = table.strict_priority[row]
        if table.policy_header[row] is not None:
            line["policy_class"] = table.policy_header[row]
        yield line


def write_mooncake(table: RequestTable, path: Path, *, trace_block_size: int) -> None:
    """Write the requests to a file; raises :class:`WorkloadError` where it cannot be written."""
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(mooncake_lines(table, trace_block_size=trace_block_size))
    except OSError as error:
        raise WorkloadError(f"cannot write {path}: {error.strerror or error}") from None


def not_exported(table: RequestTable) -> tuple[str, ...]:
    """What the format cannot say, in words; empty where the file says everything."""
    fixed = sum(hit >= 0 for hit in table.cached_tokens)
    lost = []
    if table.constraints:
        lost.append(f"worker pins and taints of {counted(len(table.constraints), 'request')}")
    if fixed:
        lost.append(f"fixed cache hits of {counted(fixed, 'request')}")
    return tuple(lost)


def _short(ms: float) -> int | float:
    return int(ms) if ms.is_integer() else ms
