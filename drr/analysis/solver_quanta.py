"""Shares as small whole quanta, none above what its class's requests cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from drr.router.router import QUEUED
from drr.simulation.recording import Run

PRECISION = 0.004
"""How far a share may be from the one it stands for: less than half a point in a hundred."""
LARGEST = 1024
"""No quantum is larger; a share below a thousandth is none."""
CHEAP_PERCENT = 5


def cheap_costs(run: Run) -> dict[str, int]:
    """Per class what its cheap requests cost: the 5th percentile (nearest rank) of those that waited, in tokens."""
    costs: list[list[int]] = [[] for _ in run.class_names]
    for row, index in enumerate(run.class_index):
        if index >= 0 and run.outcomes.outcome[row] == QUEUED:
            costs[index].append(run.cost_tokens[row])
    ranked = {name: sorted(found) for name, found in zip(run.class_names, costs, strict=True) if found}
    return {name: found[math.ceil(CHEAP_PERCENT / 100 * len(found)) - 1] for name, found in ranked.items()}


def small_quanta(parts: Mapping[str, float], caps: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The smallest whole quanta with about these ratios; where ``caps`` leave no such, the nearest there are.

    ``parts`` are positive numbers by class, of which the ratios count; ``caps`` the largest quantum of a class.
    """
    names, wanted = list(parts), list(parts.values())
    top = max(wanted)
    best: tuple[float, list[int]] | None = None
    for largest in range(1, LARGEST + 1):
        quanta = [max(1, round(part / top * largest)) for part in wanted]
        if any(quantum > caps.get(name, LARGEST) for name, quantum in zip(names, quanta, strict=True)):
            break
        off = _off(quanta, wanted)
        if best is None or off < best[0]:
            best = (off, quanta)
        if off <= PRECISION:
            break
    quanta = best[1] if best is not None else [1] * len(names)
    divisor = math.gcd(*quanta)
    return tuple((name, quantum // divisor) for name, quantum in zip(names, quanta, strict=True))


def _off(quanta: Sequence[int], wanted: Sequence[float]) -> float:
    """The largest difference of a share from the wanted one, small shares counted by their own size."""
    have, want = sum(quanta), sum(wanted)
    pairs = [(q / have, w / want) for q, w in zip(quanta, wanted, strict=True)]
    return max(abs(a - b) / min(1.0, 4 * b) for a, b in pairs)
