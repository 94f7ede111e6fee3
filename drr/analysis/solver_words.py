"""What the solver has to say about its quanta: which limit binds, why they are small, what stands in the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from drr.analysis.solver_goals import Goal
from drr.analysis.words import listed
from drr.scheduler.ring import CursorRule

if TYPE_CHECKING:
    from drr.analysis.solver import Predicted, Solution

NEAR = math.log(2.0)
"""Candidates within a factor of two are near enough to say what binds."""
_Tried = tuple[tuple[tuple[str, int], ...], dict[str, float], dict[Goal, float]]


def quanta_text(quanta: Sequence[tuple[str, int]]) -> str:
    """Quanta for people: premium 3, regular 1."""
    return ", ".join(f"{name} {quantum:,}" for name, quantum in quanta)


def binding(parts: Mapping[str, float], tried: Sequence[_Tried]) -> str:
    """Which limit the nearest quanta miss that were tried and miss one; "" where all near ones keep them."""
    missing = []
    for quanta, other, violations in tried:
        limits = {goal: violation for goal, violation in violations.items() if goal.is_limit and violation}
        if limits:
            far = sum(abs(math.log(part / parts[name])) for name, part in other.items())
            missing.append((far, quanta, limits))
    distance, quanta, violations = min(missing, key=lambda each: each[0], default=(math.inf, (), {}))
    if distance > NEAR:
        return ""
    worst = max(violations, key=lambda goal: violations[goal])
    return f"What binds is “{worst.text()}”: with {quanta_text(quanta)} it is missed."


def notes(
    quanta: Sequence[tuple[str, int]],
    rules: Sequence[CursorRule],
    costs: Mapping[str, int],
    before: Sequence[tuple[str, int]],
    is_certain: bool,
) -> tuple[str, ...]:
    """What else is to be known: why the quanta are small, and whether chance plays a part."""
    said = []
    if "carry" in rules and costs:
        cheapest = min(costs.values())
        if any(quantum >= cheapest for _, quantum in quanta):
            at = ", none above what its cheap requests cost"
        else:
            at = f", all below what cheap requests cost ({cheapest:,} tokens)"
        said.append(
            f"The quanta are small{at}: where capacity comes back one request at a time, the shipped router (carry) "
            "serves a class at most one request per ring round, and what a quantum has above the cost is lost. "
            "Small quanta cost nothing: whole rounds are granted in one step."
        )
        lost = [name for name, quantum in before if name in costs and quantum > costs[name]]
        if lost:
            have = "have" if len(lost) > 1 else "has"
            said.append(f"As the policy is, {listed(lost)} {have} a quantum above that.")
    if is_certain:
        said.append("Nothing about this workload is drawn at random, so every run gives the same figures.")
    return tuple(said)


def verdict(solution: Solution) -> str:
    """What was found in one or two sentences."""
    if solution.is_met:
        same = " (the quanta as they are)" if solution.quanta == solution.before else ""
        said = f"{quanta_text(solution.quanta)}{same} keeps every goal."
        return f"{said} {solution.binding}".strip()
    closest = f"What comes closest is {quanta_text(solution.quanta)}"
    missed = [each for each in solution.predicted if not each.is_met]
    if any(each.mean is None and each.goal.is_share for each in missed):
        return (
            "It cannot be done: the classes never waited together, so there is no share to be had and quanta decide "
            "nothing. More traffic at once, or lower busy thresholds, would make them wait."
        )
    words = [f"“{each.goal.text()}” under {each.cursor_rule}: {_got(each)}" for each in missed]
    return f"It cannot be done with quanta alone. {closest}; it misses {listed(words)}."


def _got(each: Predicted) -> str:
    """What came instead of what a goal asks for."""
    got = each.goal.shown(each.mean)
    return got if each.seeds == 1 or not each.goal.is_limit else f"{got}, kept in {each.kept} of {each.seeds} runs"


def headroom(costs: Mapping[str, int], goals: Sequence[Goal], rules: Sequence[CursorRule]) -> str:
    """That a ratio is beyond what whole quanta below the costs can give, "" where it is not."""
    cheapest = min(costs.values(), default=0)
    for goal in goals:
        if goal.other is None or "carry" not in rules or not cheapest:
            continue
        ratio = max(goal.value / (1 - goal.value), (1 - goal.value) / goal.value)
        if ratio > cheapest:
            return (
                f"“{goal.text()}” is beyond the shipped router. Cheap requests cost {cheapest:,} tokens; a class is "
                f"served at most one of them per ring round, so nothing beyond {cheapest:,} : 1 can be had."
            )
    return ""
