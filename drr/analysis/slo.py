"""Service level objectives: how many requests keep their targets, and the highest rate at which enough of them do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from drr.errors import WorkloadError
from drr.simulation.recording import Run

MOST_DOUBLINGS = 12
"""The search looks from 1/4,096 of the given rate to 4,096 times it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Longest times from arrival to first token and to last token that a class promises, ms; None promises nothing."""

    ttft_ms: float | None = None
    end_to_end_ms: float | None = None


@dataclass(frozen=True, slots=True)
class SloFigures:
    """How one class keeps its target. Shares are of ``requests``, and None where there are none or nothing is promised.

    Refused and failed requests and those that still wait or run at the end miss every target. Requests that end without
    a token have no times and are left out.
    """

    name: str
    target: Target
    requests: int
    ttft_share: float | None
    end_to_end_share: float | None
    met_share: float | None
    """Requests that keep both."""


def slo_figures(run: Run, targets: Mapping[str, Target]) -> list[SloFigures]:
    """Figures of the classes with a target, in ring order; a target of an unknown class raises WorkloadError."""
    unknown = [name for name in targets if name not in run.class_names]
    if unknown:
        known = ", ".join(run.class_names)
        raise WorkloadError(f"there is a target for class {unknown[0]!r}, but the policy has only: {known}")
    promised = [targets.get(name) for name in run.class_names]
    counts = [[0, 0, 0, 0] for _ in promised]
    ended = set(run.completion_order)
    for row, index in enumerate(run.class_index):
        target = promised[index] if index >= 0 else None
        arrival = run.arrival_ms[row]
        if target is None or arrival is None:
            continue
        first, last = run.first_token_ms[row], run.last_token_ms[row]
        if first is None and row in ended:
            continue
        in_time = (
            target.ttft_ms is None or (first is not None and first - arrival <= target.ttft_ms),
            target.end_to_end_ms is None
            or (last is not None and row in ended and last - arrival <= target.end_to_end_ms),
        )
        for place, kept in enumerate((True, *in_time, all(in_time))):
            counts[index][place] += kept
    return [
        _figures(name, target, count)
        for name, target, count in zip(run.class_names, promised, counts, strict=True)
        if target is not None
    ]


def _figures(name: str, target: Target, count: list[int]) -> SloFigures:
    requests, ttft, end_to_end, both = count
    nothing = target.ttft_ms is None and target.end_to_end_ms is None
    return SloFigures(
        name,
        target,
        requests,
        ttft / requests if requests and target.ttft_ms is not None else None,
        end_to_end / requests if requests and target.end_to_end_ms is not None else None,
        both / requests if requests and not nothing else None,
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """One rate that was tried. ``per_second`` is the mean rate of arrivals, None where they take no time."""

    speedup_ratio: float
    per_second: float | None
    figures: tuple[SloFigures, ...]
    is_met: bool


@dataclass(frozen=True, slots=True)
class RateSearch:
    """What a search found. ``best`` is the fastest trial that keeps the targets, None where none does.

    ``next_miss`` is the slowest trial above it that does not, None where even the fastest that may be tried keeps them.
    Between the two nothing was tried; they differ by the tolerance of the search. Trials are in the order in which they
    were made. A faster workload may by chance keep a target that a slower one misses; the search does not look for it.
    """

    best: Trial | None
    next_miss: Trial | None
    trials: tuple[Trial, ...]


class SearchProgress(Protocol):
    """Is called after every trial with (trials made, trials expected in all); whatever it raises ends the search."""

    def __call__(self, made: int, expected: int, /) -> object:
        """So many of about so many trials are done."""


def highest_rate(
    run_at: Callable[[float], Run],
    targets: Mapping[str, Target],
    *,
    share: float = 0.95,
    tolerance: float = 0.02,
    progress: SearchProgress | None = None,
) -> RateSearch:
    """Search for the highest arrival rate at which every class with a target has at least ``share`` of it met.

    ``run_at(speedup_ratio)`` runs the workload with its arrivals sped up so many times (``replay`` does it with
    ``arrival_speedup_ratio``; ``record=False`` is enough). The rate is doubled or halved until it passes from met to
    missed, then bisected until both differ by less than the share ``tolerance``.
    """
    if not any(t.ttft_ms is not None or t.end_to_end_ms is not None for t in targets.values()):
        raise WorkloadError("the search needs at least one class with a TTFT or end-to-end target")
    trials: list[Trial] = []
    halvings = max(math.ceil(math.log2(1 / math.log2(1 + tolerance))), 0)

    def attempt(ratio: float, left: int) -> Trial:
        run = run_at(ratio)
        figures = tuple(slo_figures(run, targets))
        met = [each.met_share for each in figures if each.met_share is not None]
        trial = Trial(ratio, arrival_rate(run), figures, bool(met) and min(met) >= share)
        trials.append(trial)
        if progress is not None:
            progress(len(trials), len(trials) + left)
        return trial

    first = attempt(1.0, halvings + 1)
    if first.per_second is None:
        raise WorkloadError("all requests arrive at once, so there is no rate to search: give the workload arrivals")
    factor = 2.0 if first.is_met else 0.5
    low: Trial | None = first if first.is_met else None
    high: Trial | None = None if first.is_met else first
    for step in range(1, MOST_DOUBLINGS + 1):
        trial = attempt(factor**step, halvings)
        low, high = (trial, high) if trial.is_met else (low, trial)
        if trial.is_met != first.is_met:
            break
    while low is not None and high is not None and high.speedup_ratio / low.speedup_ratio > 1 + tolerance:
        halvings -= 1
        trial = attempt(math.sqrt(low.speedup_ratio * high.speedup_ratio), max(halvings, 0))
        low, high = (trial, high) if trial.is_met else (low, trial)
    return RateSearch(low, high, tuple(trials))


def arrival_rate(run: Run) -> float | None:
    """Mean rate of arrivals, requests per second, from the first to the last; None where they take no time."""
    times = [time for time in run.arrival_ms if time is not None]
    span_ms = max(times) - min(times) if times else 0.0
    return (len(times) - 1) * 1000.0 / span_ms if span_ms > 0 else None
