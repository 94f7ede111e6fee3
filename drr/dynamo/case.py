"""What is asked of the real router and what it answers: one replay case, one observed row per trace row.

The JSON form (:meth:`ReplayCase.to_mapping`) is that of the recordings, so a saved case can be replayed anywhere.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from drr.errors import DrrError

LATE_MS = 1.0e9
"""How long after the last timestamp the session comes that makes rows tell themselves apart: 11.5 days."""


class ObservedRow(NamedTuple):
    """What happened to one trace row; times in ms since the first arrival, ``None`` where it never happened."""

    outcome: str
    """``immediate`` (sent at once, outside the ring), ``queued`` (released by the ring), ``refused`` or ``error``."""
    released_at_ms: float | None
    worker: int | None
    first_admit_ms: float | None
    first_token_ms: float | None
    last_token_ms: float | None


@dataclass(frozen=True, slots=True)
class ReplayCase:
    """One replay: a policy file, a trace and a cluster of equal workers.

    ``policy_yaml`` empty means no policy file (the router's synthetic class). ``engine`` holds the mock engine's own
    option names. ``options`` may hold ``arrival_speedup_ratio``, ``model_name`` and, without a policy file,
    ``router_queue_threshold`` and ``router_queue_policy``. ``rows`` are trace rows in line order.
    """

    policy_yaml: str
    workers: int
    engine: Mapping[str, Any]
    trace_block_size: int
    options: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    category: str = ""
    seed: int = 0

    @property
    def case_id(self) -> str:
        """``category/seed``, enough to make a generated case again."""
        return f"{self.category}/{self.seed}"

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> ReplayCase:
        """Read the form of the recordings; keys that are no part of the question (the observations) are left out."""
        return cls(
            policy_yaml=mapping["policy_yaml"],
            workers=mapping["workers"],
            engine=mapping["engine"],
            trace_block_size=mapping["trace_block_size"],
            options=mapping["options"],
            rows=mapping["rows"],
            category=mapping.get("category", ""),
            seed=mapping.get("seed", 0),
        )

    def to_mapping(self) -> dict[str, Any]:
        """The case in the form of the recordings, fit for JSON."""
        return {
            "category": self.category,
            "seed": self.seed,
            "workers": self.workers,
            "policy_yaml": self.policy_yaml,
            "engine": dict(self.engine),
            "trace_block_size": self.trace_block_size,
            "options": dict(self.options),
            "rows": [dict(row) for row in self.rows],
        }

    def trace_text(self) -> str:
        """The rows as a JSONL trace file, one row per line and nothing else, so that line numbers are row numbers."""
        return "".join(json.dumps(dict(row)) + "\n" for row in self.rows)


@dataclass(frozen=True, slots=True)
class ReplayAnswer:
    """The answer to a :class:`ReplayCase`: rows in trace line order, or why there are none.

    ``aborted_because`` is the real router's own message (a refused request, a stuck engine, a trace or policy it does
    not accept); ``failed_because`` says that its process crashed or went over the time limit, which is no verdict.
    """

    observed: tuple[ObservedRow, ...] | None
    aborted_because: str | None = None
    failed_because: str | None = None
    wall_time_ms: float | None = None
    """The router's own figure: simulation alone, without reading the trace."""
    elapsed_ms: float | None = None
    """Around the whole call: reading the trace, simulating, handing out per-request results."""
    details: tuple[Mapping[str, Any], ...] | None = field(default=None, repr=False)
    """Everything the router reports per row, in trace line order, when it was asked for."""
    not_cheapest: Mapping[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """In a run of ours that follows: rows whose followed worker was not among the cheapest, with both."""

    @property
    def workers_followed(self) -> tuple[int | None, ...] | None:
        """The worker of every row, for a run of ours that is to break ties the same way."""
        return None if self.observed is None else tuple(row.worker for row in self.observed)


def session_of(row: Mapping[str, Any]) -> str | None:
    """The session a row belongs to, ``None`` when it stands alone."""
    session = row.get("session_id")
    return None if session is None else str(session)


def has_later_turns(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether some session has more than one turn; only then does the router report sessions (and so line numbers)."""
    turns = Counter(session for row in rows if (session := session_of(row)) is not None)
    return any(count > 1 for count in turns.values())


def rows_have_identity(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the router's unordered answer can be put back into line order as it is."""
    return has_later_turns(rows) or len({row.get("input_length") for row in rows}) == len(rows)


def with_row_identity(case: ReplayCase) -> ReplayCase:
    """The same case, with a two-turn session far behind the last row if its rows could not be told apart otherwise.

    The router reports rows in random order under random ids. Where prompt lengths repeat, only a trace with a
    multi-turn session makes it report line numbers. The late session finds the cluster idle and so changes nothing
    before it, except for the number of requests in flight that a stuck replay names: compare both sides on this case.
    """
    if rows_have_identity(case.rows):
        return case
    speedup = float(case.options.get("arrival_speedup_ratio", 1.0))
    last_ms = max((float(row["timestamp"]) for row in case.rows if row.get("timestamp") is not None), default=0.0)
    late_ms = last_ms + LATE_MS * speedup
    sessions = {session_of(row) for row in case.rows}
    session = next(name for name in ("zz" + "z" * i for i in range(len(sessions) + 1)) if name not in sessions)
    free_id = 1 + max((block for row in case.rows for block in row.get("hash_ids") or ()), default=0)
    extra = [
        {
            "timestamp": late_ms + turn,
            "input_length": length,
            "output_length": 1,
            "hash_ids": [free_id + turn * length + i for i in range(-(-length // case.trace_block_size))],
            "session_id": session,
        }
        for turn, length in ((0, 3), (1, 5))
    ]
    return replace(case, rows=(*case.rows, *extra))


def in_line_order(rows: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put the router's ``answers`` (one per row, any order) into the line order of ``rows``.

    Raises :class:`~drr.errors.DrrError` when the answers don't belong to these rows.
    """
    if has_later_turns(rows):
        found = {(answer["session_id"], answer["turn_index"]): answer for answer in answers}
        turns: Counter[str] = Counter()
        keys: list[Any] = []
        for line, row in enumerate(rows, start=1):
            session = session_of(row)
            name = f"request_{line}" if session is None else session
            keys.append((name, turns[name]))
            turns[name] += 1
    else:
        found = {answer["input_length"]: answer for answer in answers}
        keys = [row["input_length"] for row in rows]
    try:
        ordered = [found[key] for key in keys]
    except KeyError as missing:
        raise DrrError(f"the real router reports no row {missing.args[0]!r}") from None
    if len(answers) != len(rows) or len(set(keys)) != len(rows):
        raise DrrError(f"the real router reports {len(answers):,} requests for {len(rows):,} trace rows")
    return ordered
