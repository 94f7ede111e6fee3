"""Taints and changes of workers as lines of text: ``0: large-memory`` and ``overload 0 @ 5 s``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drr.errors import WorkloadError
from drr.simulation.cluster import CHANGE_KINDS, Change, TimedChange

_WORKER = re.compile(r"[0-9]{1,6}")
_CHANGE = re.compile(r"\*?\s*(\S+)\s+([0-9]{1,6})\s*@\s*([0-9][0-9.e+-]*)\s*(ms|s|)\s*")


def read_changes(text: str) -> tuple[TimedChange, ...]:
    """Lines such as ``overload 0 @ 5 s``; raises :class:`WorkloadError` with the line and what is allowed."""
    found = []
    for number, line in _lines(text):
        match = _CHANGE.fullmatch(line)
        if match is None or match[1] not in CHANGE_KINDS or not match[4]:
            kinds = ", ".join(CHANGE_KINDS)
            raise WorkloadError(
                f"line {number}: {line[:60]!r}; one of {kinds}, a worker, @ and a time are needed, "
                "as in `overload 0 @ 5 s`"
            )
        try:
            at = float(match[3]) * (1000.0 if match[4] == "s" else 1.0)
        except ValueError:
            raise WorkloadError(f"line {number}: {match[3][:60]!r} is no number") from None
        kind = next(each for each in CHANGE_KINDS if each == match[1])
        found.append(TimedChange(at, Change(kind, int(match[2]))))
    return tuple(found)


def write_changes(changes: Sequence[TimedChange]) -> str:
    """Lines that :func:`read_changes` reads as the same changes."""
    return "\n".join(f"{c.change.what} {c.change.worker_id} @ {_time(c.at_ms)}" for c in changes)


def _time(ms: float) -> str:
    seconds = f"{ms / 1000.0:.12g}"
    if float(seconds) * 1000.0 == ms and "e" not in seconds:
        return f"{seconds} s"
    return f"{ms!r} ms"


def read_taints(text: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Lines such as ``0: large-memory h100``; raises :class:`WorkloadError` with the line and what is allowed."""
    found: dict[int, tuple[str, ...]] = {}
    for number, line in _lines(text):
        worker, _, rest = line.partition(":")
        names = tuple(rest.replace(",", " ").split())
        if _WORKER.fullmatch(worker.strip()) is None or not names:
            raise WorkloadError(
                f"line {number}: {line[:60]!r}; a worker and its taints are needed, as in `0: large-memory`"
            )
        if int(worker) in found:
            raise WorkloadError(f"line {number}: worker {int(worker)} has a line already")
        found[int(worker)] = names
    return tuple(found.items())


def write_taints(taints: Sequence[tuple[int, Sequence[str]]]) -> str:
    """Lines that :func:`read_taints` reads as the same taints."""
    return "\n".join(f"{worker}: {' '.join(names)}" for worker, names in taints)


def _lines(text: str) -> list[tuple[int, str]]:
    cut = ((number, line.split("#", 1)[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, line) for number, line in cut if line]
