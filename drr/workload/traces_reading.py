"""What comes out of a trace file: requests, where each stood, what was not taken and why, what else the file says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from drr.errors import WorkloadError
from drr.router.requests import RequestTable

PROBLEMS_SHOWN = 5
NAMES_SHOWN = 40
LONGEST_NAME = 60


class BadRowError(ValueError):
    """A row cannot be taken; the text says which field, what it holds and what is allowed."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a line was not taken. Lines count from 1."""

    line: int
    message: str

    def text(self) -> str:
        """One line for a person."""
        return f"line {self.line:,}: {self.message}"


@dataclass(slots=True)
class TraceReading:
    """The requests of a trace, the line each one stood on, and every line that was not taken.

    ``columns`` holds what the file says beside the requests (one text or None per row), for class mappings. ``notes``
    says in plain words what was assumed or changed. ``block_size_tokens`` is the size of a prefix block in
    ``hash_ids``. ``clock_start_ns`` is the moment of timestamp 0 (ns since 1970 UTC) where the file has dates.
    """

    requests: RequestTable = field(default_factory=RequestTable)
    lines: list[int] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)
    columns: dict[str, list[str | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    name: str = ""
    block_size_tokens: int = 512
    clock_start_ns: int | None = None

    def counts_text(self) -> str:
        """``3 rows loaded, 2 left out`` (or without the second half where nothing was)."""
        loaded = counted(len(self.requests), "row") + " loaded"
        return f"{loaded}, {len(self.problems):,} left out" if self.problems else loaded

    def finish(self, *, lenient: bool) -> TraceReading:
        """Refuse bad lines unless lenient, and a trace without requests in any case."""
        if self.problems and (not lenient or not len(self.requests)):
            raise WorkloadError(problems_text(self.problems))
        if not len(self.requests):
            raise WorkloadError("the trace has no request: a trace has one request per line")
        return self


def problems_text(problems: Sequence[RowProblem]) -> str:
    """How many lines are bad, with the first few of them."""
    shown = "; ".join(p.text() for p in problems[:PROBLEMS_SHOWN])
    more = len(problems) - PROBLEMS_SHOWN
    tail = f"; and {more:,} more" if more > 0 else ""
    return f"{counted(len(problems), 'bad trace line')}: {shown}{tail}"


def names_text(names: Iterable[str]) -> str:
    """Names of columns as an error lists them: the first few, cut where they are long; ``none`` for none."""
    found = list(names)
    short = [name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..." for name in found[:NAMES_SHOWN]]
    more = [f"and {len(found) - NAMES_SHOWN:,} more"] if len(found) > NAMES_SHOWN else []
    return ", ".join([*short, *more]) or "none"


def counted(number: int, what: str) -> str:
    """``1 row``, ``1,024 rows``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
