"""The figures of one point of a sweep: per cursor rule and class, from runs without recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from drr.analysis.fairness import jain_index
from drr.analysis.outcomes import class_figures
from drr.errors import WorkloadError
from drr.router.router import QUEUED
from drr.scheduler.ring import CursorRule
from drr.simulation.recording import Run
from drr.workload.experiment import Experiment, Progress

SHARE, ASKED = "got_share", "asked_share"
WAIT_P95, TTFT_P95 = "wait_p95_ms", "ttft_p95_ms"
WITHOUT_SERVICE = "without_service_ms"
JAIN, REFUSED = "jain", "refused"
COUNTS = ("requests", "immediate", "dispatched", REFUSED, "errors", "still_waiting", "service_tokens")
"""The figures that are whole numbers."""
FIGURES = (
    *(ASKED, SHARE, JAIN),
    *("wait_p50_ms", WAIT_P95, "wait_p99_ms", "ttft_p50_ms", TTFT_P95, "ttft_p99_ms", WITHOUT_SERVICE),
    *COUNTS,
)
"""Names of the figures, as columns. Shares are 0 to 1 while all compared classes wait, times are ms."""
FIGURES_VERSION = 1
"""Goes up when the same point may have other figures, so that none of an older release are taken for them."""


@dataclass(frozen=True, slots=True)
class ClassRow:
    """What one class got under one cursor rule; ``values`` in the order of :data:`FIGURES`, None for none."""

    cursor_rule: CursorRule
    policy_class: str
    values: tuple[float | None, ...]

    def __getitem__(self, figure: str) -> float | None:
        """One figure by its name."""
        return self.values[FIGURES.index(figure)]


def point_rows(
    experiment: Experiment,
    rules: Sequence[CursorRule],
    *,
    max_requests: int | None = None,
    progress: Progress | None = None,
) -> list[ClassRow]:
    """Run an experiment under each of ``rules`` and take the figures, rules in order, classes in ring order.

    A run that ends early as the real replay would (see :attr:`Run.aborted_because`) raises :class:`WorkloadError`: its
    figures would be those of another workload.
    """
    first = replace(experiment, cursor_rule=rules[0]).run(progress, max_requests=max_requests, record=False)
    rows = rows_of(first)
    for rule in rules[1:]:
        rows += rows_of(first.other_rule if first.cursor_rule != rule else first)
    return rows


def rows_of(run: Run) -> list[ClassRow]:
    """The figures of one run per class; it may be without recording."""
    if run.aborted_because is not None:
        raise WorkloadError(f"the run ended early: {run.aborted_because}")
    jain = jain_index(run)
    rows = []
    for each, waited_ms in zip(class_figures(run), without_service_ms(run), strict=True):
        wait, ttft = each.wait, each.ttft
        values = (
            *(each.asked_share, each.got_share, jain),
            *(wait.p50, wait.p95, wait.p99, ttft.p50, ttft.p95, ttft.p99, waited_ms),
            *(each.requests, each.immediate, each.dispatched, each.refused, each.errors, each.still_waiting),
            each.service_tokens,
        )
        rows.append(ClassRow(run.cursor_rule, each.name, values))
    return rows


def without_service_ms(run: Run) -> list[float]:
    """Per class the longest it had requests waiting and was not served, ms: :attr:`Drought.longest_ms` from columns.

    Requests that end in a selection error at the head of their lane leave no time behind and are passed over.
    """
    outcomes = run.outcomes
    events: list[list[tuple[float, int]]] = [[] for _ in run.class_names]
    end_ms = 0.0
    for row, index in enumerate(outcomes.class_index):
        arrival, released = outcomes.arrival_ms[row], outcomes.released_ms[row]
        last = run.last_token_ms[row]
        end_ms = max(end_ms, arrival or 0.0, last or 0.0)
        if index < 0 or outcomes.outcome[row] != QUEUED or arrival is None:
            continue
        events[index].append((arrival, 1))
        if released is not None:
            events[index].append((released, -1))
            end_ms = max(end_ms, released)
    return [_longest(sorted(of_class), end_ms) for of_class in events]


def _longest(events: Sequence[tuple[float, int]], end_ms: float) -> float:
    """The longest time between two dispatches, or between the first to wait and the next dispatch."""
    waiting, since, longest = 0, 0.0, 0.0
    for at_ms, change in events:
        if change < 0:
            # One that leaves in the moment it came is sorted before itself: then nothing waited.
            longest = max(longest, at_ms - since) if waiting else longest
            since = at_ms
        elif not waiting:
            since = at_ms
        waiting += change
    return max(longest, end_ms - since) if waiting else longest
