"""One arbitration call (``Ring.pop_next``) against cost, quantum, number of classes and number of exact lanes.

Bars: no dependence on cost or quantum (within 1.3 x in one run where the call takes the same path, and the same counted
work), at most two visits per class and call, exactly one head check per lane that must be looked at, time linear in the
classes and like L log L in the lanes. Times are processor time; points take turns and each counts with its least
disturbed round.

``python benchmarks/arbitration.py [--rounds N] [--write]``
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from support import Figures

from drr.scheduler.calls import CallLog
from drr.scheduler.lanes import SHARED, ClassLanes
from drr.scheduler.ring import Ring

DEAR_COSTS = tuple(10**power for power in range(4, 19, 2))
"""Far above the quantum of 512: every other call grants bulk rounds."""
CHEAP_COSTS = (1, 512)
"""Paid from the kept deficit, and by one quantum."""
QUANTA = (1, 10**2, 10**4, 10**6, 10**9)
CLASSES = (1, 10, 100, 1_000)
LANES = (1, 10, 100, 1_000, 10_000)
CALLS = 400
SAME_TIME_BAR = 1.3
GROWTH_BAR = 3.0
"""Time per unit of counted work at the largest size over that at size 100: what caches of the processor may take."""


class EveryOtherBusy:
    """A gate: shared lanes are never blocked, exact lanes of odd endpoints always are."""

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        return False

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        return bool(endpoint % 2)


class Work(NamedTuple):
    """What some calls took."""

    seconds: float
    calls: int
    visits: int
    head_checks: int


@dataclass(frozen=True, slots=True)
class Point:
    """A ring full of requests of ``cost(class, position)`` tokens, and how many calls to make; None: until empty."""

    quantum: int
    cost: Callable[[int, int], int]
    classes: int = 2
    depth: int = CALLS
    calls: int | None = CALLS
    exact_lanes: bool = False

    def _ring(self, log: CallLog | None) -> tuple[Ring, list[ClassLanes]]:
        gate = EveryOtherBusy()
        lanes = [ClassLanes(index, gate) for index in range(self.classes)]
        for index, waiting in enumerate(lanes):
            for position in range(self.depth):
                entry = (0, float(position), position, position, self.cost(index, position))
                waiting.push(entry, position if self.exact_lanes else SHARED)
        return Ring(lanes, [self.quantum] * self.classes, "documented", log), lanes

    def work(self, *, counted: bool = False) -> Work:
        """Make the calls. Visits are known only where they are ``counted``, which takes time of its own."""
        log = CallLog(wide=True) if counted else None
        ring, lanes = self._ring(log)
        calls = 0
        gc.collect()
        gc.disable()
        started = time.process_time()
        while calls != self.calls:
            calls += 1
            if ring.pop_next() is None:
                break
        seconds = time.process_time() - started
        gc.enable()
        return Work(seconds, calls, len(log.rules) if log is not None else 0, sum(each.head_checks for each in lanes))


def fastest(points: Mapping[int, Point], rounds: int) -> dict[int, Work]:
    """The least disturbed of some rounds, per point."""
    found: dict[int, Work] = {}
    for turn in range(rounds):
        for key in points if turn % 2 == 0 else reversed(points):
            work = points[key].work()
            found[key] = min(found.get(key, work), work)
    return found


def against_cost_and_quantum(figures: Figures, rounds: int) -> None:
    costs = {cost: Point(512, lambda _, __, cost=cost: cost) for cost in (*CHEAP_COSTS, *DEAR_COSTS)}
    quanta = {quantum: Point(quantum, lambda _, __: 10**12) for quantum in QUANTA}
    for name, points, alike in (("cost", costs, DEAR_COSTS), ("quantum", quanta, QUANTA)):
        times = {key: work.seconds / work.calls * 1e6 for key, work in fastest(points, rounds).items()}
        visits = {key: points[key].work(counted=True).visits / CALLS for key in points}
        for key in points:
            figures.add(f"{name} {key:,}", times[key], f"µs per call, {visits[key]:.2f} visits")
        among = [times[key] for key in alike]
        figures.add(f"{name}: dearest / cheapest on the same path", max(among) / min(among), bar=SAME_TIME_BAR)
        figures.add(f"{name}: most visits - fewest", max(map(visits.get, alike)) - min(map(visits.get, alike)), bar=0.0)


def against_classes(figures: Figures, rounds: int) -> None:
    """Costs far above the quantum and all different, so that nearly every call scans the whole ring twice."""
    draw = random.Random(1)
    points = {}
    for classes in CLASSES:
        costs = [[draw.randint(10**6, 2 * 10**6) for _ in range(CALLS // 4 + 1)] for _ in range(classes)]
        points[classes] = Point(
            1, lambda index, position, costs=costs: costs[index][position], classes, CALLS // 4 + 1, CALLS // 4
        )
    times = {key: work.seconds / work.calls * 1e6 for key, work in fastest(points, rounds).items()}
    visits = {key: point.work(counted=True).visits / (CALLS // 4) for key, point in points.items()}
    for classes in CLASSES:
        figures.add(f"classes {classes:,}", times[classes], f"µs per call, {visits[classes]:,.1f} visits")
    figures.add("classes: most visits per class and call", max(visits[c] / c for c in CLASSES), bar=2.0)
    per_visit = {classes: times[classes] / visits[classes] for classes in CLASSES}
    figures.add("classes: time per visit, 1,000 / 100", per_visit[1_000] / per_visit[100], bar=GROWTH_BAR)


def against_lanes(figures: Figures, rounds: int) -> None:
    """One class with a request in each of L exact lanes, every other one blocked, drained until nothing goes."""
    points = {lanes: Point(10**9, lambda _, __: 1, 1, lanes, None, exact_lanes=True) for lanes in LANES}
    found = fastest(points, rounds)
    for lanes, work in found.items():
        figures.add(f"lanes {lanes:,}", work.seconds / lanes * 1e6, f"µs per lane, {work.head_checks:,} head checks")
    figures.add("lanes: most head checks per lane", max(w.head_checks / lanes for lanes, w in found.items()), bar=1.0)
    per_unit = {lanes: work.seconds / (lanes * math.log2(lanes)) for lanes, work in found.items() if lanes > 1}
    figures.add("lanes: time / (L log L), 10,000 / 100", per_unit[10_000] / per_unit[100], bar=GROWTH_BAR)


def main() -> int:
    """Measure, print, and say with the exit code whether the bars are met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds over all points (default 15)")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = Figures()
    against_cost_and_quantum(figures, options.rounds)
    against_classes(figures, options.rounds)
    against_lanes(figures, options.rounds)
    return figures.finish("benchmarks/arbitration.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
