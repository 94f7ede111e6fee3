"""From goals to quanta: a search that runs the engine, and says what it predicts and what stands in the way.

Quanta are looked for as parts of a whole, one part per class that a goal names (the others keep their proportions), and
tried as small whole numbers. The search starts at what the goals ask for and at the policy as it is, moves one part at
a time by smaller and smaller factors, and takes whatever comes nearer to all goals; of quanta that keep them all it
takes those nearest to the start, or those that give most to the class with ``max``. What was found is then run with
seeds the search has not seen, and these figures are the prediction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from drr.analysis.compare import MOST_SEEDS, interval, with_seed
from drr.analysis.solver_goals import Goal
from drr.analysis.solver_quanta import cheap_costs, small_quanta
from drr.analysis.solver_words import binding, headroom, notes
from drr.analysis.sweep import own_seed, policy_path
from drr.analysis.sweep_figures import ClassRow, rows_of
from drr.errors import WorkloadError
from drr.policy.edits import set_value
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.workload.experiment import Experiment

Progress = Callable[[int, int], object]
Quanta = tuple[tuple[str, int], ...]
Rows = dict[tuple[int, CursorRule], list[ClassRow]]
"""Figures by seed and rule."""

STEPS = (4.0, 2.0, 1.4, 1.15, 1.05)
"""Factors by which a part of the whole is moved, one after the other."""
WIDEST = 64.0
"""No class gets more than so many times, or less than one so-many-th of, its part of the start."""
MOST_CANDIDATES = 120
KEPT_SHARE = 0.9
"""A limit counts as kept where at least so many of the seeds keep it."""
MARGINS = (1.0, 0.93, 0.85)
"""Parts of a limit that are aimed at, one after the other, until the seeds of the prediction keep the limit too."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """One goal under one rule over the seeds of the prediction.

    ``low`` and ``high`` bound the figure of one further run in about 95 of 100 cases: Student's interval for one more
    value, widened to what was seen, since the longest wait of a run is nothing normal. ``kept`` counts the seeds that
    keep the goal. None where some seed has no such figure.
    """

    goal: Goal
    cursor_rule: CursorRule
    mean: float | None
    low: float | None
    high: float | None
    kept: int
    seeds: int
    is_met: bool


@dataclass(frozen=True, slots=True)
class Solution:
    """What was found. ``experiment`` has the new policy; ``binding`` says in words which limit binds, if any does.

    ``rows`` are the figures of the seeds of the prediction, ``runs`` how many runs of the engine it took.
    """

    experiment: Experiment
    quanta: Quanta
    before: Quanta
    is_met: bool
    predicted: tuple[Predicted, ...]
    binding: str
    notes: tuple[str, ...]
    rows: Rows
    runs: int


def solve(
    experiment: Experiment,
    goals: Sequence[Goal],
    *,
    rules: Sequence[CursorRule] = CURSOR_RULES,
    seeds: int = 10,
    progress: Progress | None = None,
    max_requests: int | None = None,
    most_seconds: float = math.inf,
) -> Solution:
    """Look for quanta with which the goals are kept under each of ``rules``.

    ``progress(candidates tried, at most so many)`` may raise to end the search; after ``most_seconds`` it ends with the
    best that was found so far, and says so. Raises :class:`WorkloadError` where there is nothing to look for.
    """
    if experiment.arbiter != "drr":
        raise WorkloadError("quanta decide under the router's own arbiter alone; choose Deficit Round Robin")
    if not experiment.policy_text.strip():
        raise WorkloadError("there is no policy to find quanta for")
    if not 2 <= seeds <= MOST_SEEDS:
        raise WorkloadError(f"{seeds} seeds; 2 to {MOST_SEEDS} are allowed")
    search = _Search(experiment, tuple(goals), tuple(rules), seeds, _Terms(progress, max_requests, most_seconds))
    return search.solution()


def with_quanta(experiment: Experiment, quanta: Sequence[tuple[str, int]]) -> Experiment:
    """The experiment with these quanta, every other character of its policy as it is."""
    text = experiment.policy_text
    for name, quantum in quanta:
        text = set_value(text, policy_path(experiment, f"policy_classes.{name}.quantum"), quantum)
    return replace(experiment, policy_text=text)


@dataclass(slots=True)
class _Candidate:
    """Quanta that were tried, the parts they stand for, and how far they are from the goals."""

    quanta: Quanta
    parts: dict[str, float]
    rows: Rows
    violations: dict[Goal, float] = field(default_factory=dict)
    score: tuple[float, float, float] = (math.inf, math.inf, math.inf)

    @property
    def keeps_all(self) -> bool:
        return not any(self.violations.values())


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a search may take, and whom it tells."""

    progress: Progress | None
    max_requests: int | None
    most_seconds: float


class _Search:
    def __init__(
        self,
        experiment: Experiment,
        goals: tuple[Goal, ...],
        rules: tuple[CursorRule, ...],
        seeds: int,
        terms: _Terms,
    ) -> None:
        self._base, self._goals, self._rules = experiment, goals, rules
        self._progress, self._max_requests = terms.progress, terms.max_requests
        self._until_s = time.monotonic() + terms.most_seconds
        self._first_seed = own_seed(experiment)
        self._seeds, self._asked_seeds = seeds, seeds
        self._runs = 0
        self._known: dict[Quanta, Rows] = {}
        self._tried: list[_Candidate] = []
        self._margin = 1.0
        classes = experiment.profile().classes
        self._before = tuple((c.name, c.quantum) for c in classes)
        first = self._run_once(experiment, self._first_seed)
        self.costs = self._costs(experiment)
        self._caps = dict(self.costs) if "carry" in rules else {}
        if self._seeds > 1 and self._run_once(experiment, self._first_seed + 1) == first:
            self._seeds = 1  # nothing is drawn at random, so one seed says it all
        named = {name for goal in goals for name in (goal.policy_class, goal.other) if name is not None}
        if any(goal.policy_class is None for goal in goals):
            named |= set(self.costs)
        self._free = [c.name for c in classes if c.name in named]
        self._rest = [c.name for c in classes if c.name not in named]

    # Running

    def _run_once(self, experiment: Experiment, seed: int) -> list[list[ClassRow]]:
        """The figures of one seed under each rule."""
        seeded = experiment if seed == self._first_seed else with_seed(experiment, seed)
        found = []
        run = None
        for rule in self._rules:
            if run is None:
                made = replace(seeded, cursor_rule=rule)
                run = made.run(self._within, max_requests=self._max_requests, record=False)
                found.append(rows_of(run))
            else:
                found.append(rows_of(run.other_rule))
            self._runs += 1
        return found

    def _costs(self, experiment: Experiment) -> dict[str, int]:
        self._runs += 1
        return cheap_costs(experiment.run(self._within, max_requests=self._max_requests, record=False))

    def _within(self, over: int, total: int) -> None:
        if self._progress is not None:
            self._progress(len(self._known), MOST_CANDIDATES)

    def _rows(self, quanta: Quanta) -> Rows:
        known = self._known.get(quanta)
        if known is None:
            self._within(0, 0)
            changed = with_quanta(self._base, quanta)
            known = {}
            for seed in range(self._first_seed, self._first_seed + self._seeds):
                known.update(self._by_rule(seed, self._run_once(changed, seed)))
            self._known[quanta] = known
        return known

    def _by_rule(self, seed: int, found: list[list[ClassRow]]) -> Rows:
        return {(seed, rule): rows for rule, rows in zip(self._rules, found, strict=True)}

    # Judging

    def _candidate(self, parts: Mapping[str, float]) -> _Candidate:
        parts = _normal(parts)
        whole = dict(parts)
        rest = {name: quantum for name, quantum in self._before if name in self._rest}
        for name in self._rest:
            whole[name] = parts.get("", 1.0) * rest[name] / max(rest.values())
        whole.pop("", None)
        ordered = {name: whole[name] for name, _ in self._before}
        quanta = small_quanta(ordered, self._caps)
        made = _Candidate(quanta, parts, self._rows(quanta))
        self._judge(made)
        self._tried.append(made)
        return made

    def _judge(self, candidate: _Candidate) -> None:
        gained = 0.0
        for goal in self._goals:
            worst = 0.0
            for rule in self._rules:
                values = [goal.measured(rows) for (_, each), rows in candidate.rows.items() if each == rule]
                worst = max(worst, self._aimed(goal).violation(_typical(goal, values)))
                if goal.relation == "max":
                    gained += sum(value or 0.0 for value in values) / len(values)
            candidate.violations[goal] = worst
        far = sum(abs(math.log(part / self._start[name])) for name, part in candidate.parts.items())
        found = candidate.violations.values()
        # Nearest is what misses its worst goal by least; the others break ties, or nothing would pull at them.
        missed = max(found) + 0.05 * sum(found)
        candidate.score = (round(missed, 6), -round(gained, 6), round(far, 6))

    def _aimed(self, goal: Goal) -> Goal:
        """The goal with its limit drawn in by the margin; shares are aimed at as they are."""
        if goal.is_share or not goal.is_limit:
            return goal
        return replace(goal, value=goal.value * (self._margin if goal.relation == "<=" else 1 / self._margin))

    # Searching

    def _asked_parts(self) -> dict[str, float]:
        """The start: shares that are asked for, and for what is left the policy as it is."""
        now = dict(self._before)
        groups = {name: float(now[name]) for name in self._free}
        if self._rest:
            groups[""] = float(max(now[name] for name in self._rest))
        total = sum(groups.values())
        parts = {name: part / total for name, part in groups.items()}
        asked = {
            goal.policy_class: goal.value
            for goal in self._goals
            if goal.is_share
            and goal.other is None
            and goal.relation != "max"
            and goal.policy_class is not None
            and (goal.relation == "=" or goal.violation(parts[goal.policy_class]) > 0)
        }
        others = sum(part for name, part in parts.items() if name not in asked)
        left = max(1 - sum(asked.values()), 0.01)
        made = {name: asked.get(name, part / others * left if others else part) for name, part in parts.items()}
        ratios = [goal for goal in self._goals if goal.other is not None]
        for goal in ratios * len(ratios):  # over again, since a class may stand in several of them
            assert goal.policy_class is not None, "a ratio is between two classes"
            assert goal.other is not None
            made[goal.policy_class] = made[goal.other] * goal.value / (1 - goal.value)
        return made

    def _search(self) -> _Candidate:
        """The best candidate there is with the margin in force."""
        best = self._candidate(self._start)
        now = dict(self._before)
        current = {name: float(now[name]) for name in self._free}
        if self._rest:
            current[""] = float(max(now[name] for name in self._rest))
        best = min(best, self._candidate(current), key=lambda each: each.score)
        for step in STEPS:
            moved = True
            while moved and len(self._known) < MOST_CANDIDATES and not self._is_enough(best):
                around = [self._candidate(parts) for parts in self._around(best.parts, step)]
                nearest = min(around, key=lambda each: each.score, default=best)
                moved = nearest.score < best.score
                best = nearest if moved else best
        return best

    def _is_enough(self, best: _Candidate) -> bool:
        """Whether nothing can be better (all goals are kept at the start, none asks for more), or time is up."""
        if time.monotonic() > self._until_s:
            return True
        return best.keeps_all and best.score[2] == 0 and all(goal.relation != "max" for goal in self._goals)

    def _around(self, parts: Mapping[str, float], step: float) -> list[dict[str, float]]:
        found = []
        for name in parts if len(parts) > 2 else list(parts)[:1]:
            for factor in (step, 1 / step):
                part = parts[name] * factor
                if 1 / WIDEST <= part / self._start[name] <= WIDEST:
                    found.append({**parts, name: part})
        return found

    def solution(self) -> Solution:
        """Search, predict, and search again with a margin while the prediction misses what the search kept."""
        self._start = _normal(self._asked_parts())
        best = None
        for margin in MARGINS:
            self._margin = margin
            self._tried = []
            found = self._search()
            if best is not None and not found.keeps_all:
                break
            best = found
            rows = self._fresh(best.quanta)
            predicted = self._predicted(rows)
            if not best.keeps_all or all(each.is_met for each in predicted):
                break
        assert best is not None
        is_met = all(each.is_met for each in predicted)
        beyond = "" if is_met else headroom(self.costs, self._goals, self._rules)
        said = notes(best.quanta, self._rules, self.costs, self._before, self._seeds == 1)
        tried = [(each.quanta, each.parts, each.violations) for each in self._tried]
        return Solution(
            experiment=with_quanta(self._base, best.quanta),
            quanta=best.quanta,
            before=self._before,
            is_met=is_met,
            predicted=predicted,
            binding=binding(best.parts, tried) if is_met else "",
            notes=(*filter(None, [beyond, self._in_time()]), *said),
            rows=rows,
            runs=self._runs,
        )

    def _in_time(self) -> str:
        if time.monotonic() <= self._until_s:
            return ""
        return "Time was up before the search had ended: this is the best so far. `python -m drr solve` takes its time."

    def _fresh(self, quanta: Quanta) -> Rows:
        """The figures of seeds the search has not seen; the same again where nothing is drawn at random."""
        if self._seeds == 1:
            return self._rows(quanta)
        changed = with_quanta(self._base, quanta)
        first = self._first_seed + self._seeds
        rows: Rows = {}
        for seed in range(first, first + min(2 * self._asked_seeds, MOST_SEEDS)):
            rows.update(self._by_rule(seed, self._run_once(changed, seed)))
        return rows

    def _predicted(self, rows: Rows) -> tuple[Predicted, ...]:
        return tuple(
            predict(goal, rule, [goal.measured(each) for (_, of_rule), each in rows.items() if of_rule == rule])
            for goal in self._goals
            for rule in self._rules
        )


def _normal(parts: Mapping[str, float]) -> dict[str, float]:
    """Parts of a whole that add up to 1."""
    total = math.fsum(parts.values())
    return {name: part / total for name, part in parts.items()}


def _typical(goal: Goal, values: Sequence[float | None]) -> float | None:
    """What is compared with a goal: the mean of a share, and of a limit the value that nine of ten seeds keep."""
    given = [value for value in values if value is not None]
    if len(given) < len(values) or not given:
        return None
    if not goal.is_limit:
        return math.fsum(given) / len(given)
    ordered = sorted(given, reverse=goal.relation == ">=")
    return ordered[math.ceil(KEPT_SHARE * len(ordered)) - 1]


def predict(goal: Goal, rule: CursorRule, values: Sequence[float | None]) -> Predicted:
    """What is to be expected of a goal, from its figure over several seeds (see :class:`Predicted`)."""
    kept = sum(goal.violation(value) == 0 for value in values)
    is_met = goal.violation(_typical(goal, values)) == 0
    given = [value for value in values if value is not None]
    if len(given) < len(values) or not given:
        return Predicted(goal, rule, None, None, None, kept, len(values), is_met)
    if len(given) == 1:
        return Predicted(goal, rule, given[0], given[0], given[0], kept, 1, is_met)
    found = interval(given)
    # From the interval of the mean to that of one further value: t s / sqrt(n) becomes t s sqrt(1 + 1/n).
    reach = found.half_width * math.sqrt(len(given) + 1)
    low, high = min(found.mean - reach, *given), max(found.mean + reach, *given)
    return Predicted(goal, rule, found.mean, low, high, kept, len(given), is_met)
