"""The requests of a run as columns: what arrives, before anything has happened to it."""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, field, fields

WIDE_TOKENS = 1 << 62
"""From here on figures may not fit 64 bits, and columns of Python ints are used."""


def token_column(rows: int, most_tokens: int) -> MutableSequence[int]:
    """Zeros for as many rows, in 64 bits where no figure will be above ``most_tokens`` and that fits."""
    return [0] * rows if most_tokens >= WIDE_TOKENS else array("q", bytes(8 * rows))


@dataclass(frozen=True, slots=True)
class Constraint:
    """Which endpoints may serve a request. The default allows every endpoint.

    ``pin_worker`` with ``pin_rank`` names one endpoint; without a rank it means the worker's only rank, and on a worker
    with several ranks it is an allow-list of that worker. ``required_taints`` must all be present on the worker.
    """

    pin_worker: int | None = None
    pin_rank: int | None = None
    allowed_workers: frozenset[int] | None = None
    required_taints: frozenset[str] = frozenset()


@dataclass(slots=True)
class RequestTable:
    """One row per request, in file order (the row number is the request's identity everywhere).

    Lengths are tokens, times milliseconds. ``hash_ids`` name the prompt's prefix blocks of ``trace_block_size`` tokens;
    an empty tuple stands for a prompt that shares nothing. ``cached_tokens`` fixes a cache hit instead of looking at
    any cache (teaching runs); -1 leaves it to the cache. All columns have the same length.
    """

    isl_tokens: list[int] = field(default_factory=list)
    output_tokens: list[int] = field(default_factory=list)
    timestamp_ms: list[float | None] = field(default_factory=list)
    hash_ids: list[tuple[int, ...]] = field(default_factory=list)
    policy_header: list[str | None] = field(default_factory=list)
    priority_jump: list[float] = field(default_factory=list)
    strict_priority: list[int] = field(default_factory=list)
    session: list[str | None] = field(default_factory=list)
    delay_ms: list[float | None] = field(default_factory=list)
    cached_tokens: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    constraints: dict[int, Constraint] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.isl_tokens)

    def append(
        self,
        isl_tokens: int,
        *,
        output_tokens: int = 1,
        timestamp_ms: float | None = 0.0,
        hash_ids: Sequence[int] = (),
        policy_header: str | None = None,
        priority_jump: float = 0.0,
        strict_priority: int = 0,
        session: str | None = None,
        delay_ms: float | None = None,
        cached_tokens: int = -1,
        name: str = "",
        constraint: Constraint | None = None,
    ) -> int:
        """Add a row and return its number."""
        row = len(self.isl_tokens)
        self.isl_tokens.append(isl_tokens)
        self.output_tokens.append(output_tokens)
        self.timestamp_ms.append(timestamp_ms)
        self.hash_ids.append(tuple(hash_ids))
        self.policy_header.append(policy_header)
        self.priority_jump.append(priority_jump)
        self.strict_priority.append(strict_priority)
        self.session.append(session)
        self.delay_ms.append(delay_ms)
        self.cached_tokens.append(cached_tokens)
        self.name.append(name)
        if constraint is not None:
            self.constraints[row] = constraint
        return row

    def head(self, rows: int) -> RequestTable:
        """A new table of the first ``rows`` rows."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        kept = {name: column[:rows] for name, column in columns.items() if isinstance(column, list)}
        return RequestTable(**kept, constraints={row: c for row, c in self.constraints.items() if row < rows})

    def label(self, row: int) -> str:
        """The name a person sees: the given one, else ``request N``."""
        return self.name[row] or f"request {row}"
