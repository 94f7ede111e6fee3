"""What a workload spec says: streams of requests, each with its arrivals, lengths, cache hits and constraints.

Specs are YAML, see :mod:`drr.workload.spec_reading`; requests come of them in :mod:`drr.workload.generate`. All values
are frozen, so equal specs are equal values. Shares are numbers from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from drr.workload.arrivals import Arrivals
from drr.workload.distributions import Distribution

MAX_REQUESTS = 10_000_000
"""Most requests of one workload."""
MAX_TOKENS = 10_000_000
"""Longest prompt or answer that a spec may ask for."""
MAX_STREAMS = 1_000


@dataclass(frozen=True, slots=True)
class FixedHits:
    """Of every prompt the share ``share`` at its head is one of ``groups`` common prefixes (system prompts)."""

    share: float
    groups: int = 1


@dataclass(frozen=True, slots=True)
class BetaHits:
    """Like :class:`FixedHits`, but each request draws its share from Beta(alpha, beta)."""

    alpha: float
    beta: float
    groups: int = 1


@dataclass(frozen=True, slots=True)
class SessionHits:
    """Conversations: a turn's prompt is the one before, its answer, and ``input_tokens`` new tokens.

    A conversation ends after ``turns``, or before a prompt would be longer than ``max_prompt_tokens``.
    """

    turns: Distribution
    max_prompt_tokens: int = 131_072


CacheHits = FixedHits | BetaHits | SessionHits


@dataclass(frozen=True, slots=True)
class Pinned:
    """A share of the requests is pinned to one of the workers (worker id, dp rank or None), all alike."""

    share: float
    workers: tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True)
class AllowedWorkers:
    """A share of the requests may be served by these worker ids only."""

    share: float
    workers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RequiredTaints:
    """A share of the requests needs a worker that has all these taints."""

    share: float
    taints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StrictShare:
    """A share of the requests has this strict priority; whatever no share takes has 0."""

    share: float
    level: int


@dataclass(frozen=True, slots=True)
class JumpShare:
    """A share of the requests has this priority jump; whatever no share takes has none."""

    share: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Requests of one kind. ``header`` is their policy header (family or class), None for none.

    ``requests`` counts every turn of every conversation. An open stream needs ``requests``, ``duration_ms`` or both; a
    burst and a closed loop need ``requests``. ``think_time_ms`` stands between turns and in closed loops.
    """

    name: str
    header: str | None
    arrivals: Arrivals
    input_tokens: Distribution
    output_tokens: Distribution
    requests: int | None = None
    start_ms: float = 0.0
    duration_ms: float | None = None
    think_time_ms: Distribution | None = None
    cache_hits: CacheHits | None = None
    pinned: Pinned | None = None
    allowed_workers: AllowedWorkers | None = None
    required_taints: RequiredTaints | None = None
    strict_priority: tuple[StrictShare, ...] = ()
    priority_jump: tuple[JumpShare, ...] = ()
    missing_header_share: float = 0.0
    unknown_header_share: float = 0.0


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """A whole workload: equal specs give equal requests, byte for byte.

    Streams draw independently of each other: changing one leaves the requests of the others as they are.
    ``trace_block_size`` is the tokens of one prefix block; shared prefixes are whole blocks.
    """

    streams: tuple[Stream, ...]
    seed: int = 0
    trace_block_size: int = 512
