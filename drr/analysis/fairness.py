"""How fair a run was: service per quantum of classes that wait together, and how long a class waits for its turn.

Definitions and the proof of the bound: docs/drr.md, section "How unfair can it get".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from drr.analysis.outcomes import shares
from drr.scheduler.calls import VisitRule
from drr.scheduler.lanes import SHARED
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind

_JOINS = int(StepKind.QUEUED)
_LEAVES = frozenset({int(StepKind.DECISION), int(StepKind.HEAD_ERROR)})
_CALLS = frozenset(map(int, CALL_KINDS))


@dataclass(frozen=True, slots=True)
class PairGap:
    """Two classes and the largest difference of their service per quantum over any time in which both waited.

    ``largest`` is in quanta (tokens charged to a class over its quantum), exact; it arose between the state after
    ``from_step`` and the state after ``to_step``. ``bound`` is what it can never exceed, None where nothing is proven;
    ``why_unbounded`` then says which condition fails.
    """

    first: int
    second: int
    largest: Fraction
    from_step: int
    to_step: int
    bound: Fraction | None
    why_unbounded: str = ""


@dataclass(frozen=True, slots=True)
class Drought:
    """The longest a class had requests waiting and was not served: time (ms), and tokens others were served."""

    longest_ms: float
    most_tokens: int


@dataclass(frozen=True, slots=True)
class Fairness:
    """Fairness of a run. ``droughts`` has one item per class in ring order, ``jain`` is None where nothing was shared.

    Jain's index is (sum x)^2 / (n sum x^2) over x = tokens per quantum while all compared classes waited: 1 when every
    class got exactly its part, 1/n when one class got everything.
    """

    pairs: tuple[PairGap, ...]
    jain: float | None
    droughts: tuple[Drought, ...]

    @property
    def worst(self) -> PairGap | None:
        """The pair with the largest difference; None where no two classes ever waited together."""
        return max(self.pairs, key=lambda pair: pair.largest, default=None)


@dataclass(slots=True)
class _Spell:
    """One time in which both classes of a pair wait: the running difference, scaled by both quanta, and its range."""

    difference: int = 0
    low: tuple[int, int] = (0, -1)
    high: tuple[int, int] = (0, -1)


def fairness(run: Run) -> Fairness:
    """Fairness figures of a recorded run."""
    walk = _Walk(run)
    for step, (kind, row) in enumerate(zip(run.kinds, run.step_request, strict=True)):
        if kind == _JOINS:
            walk.join(step, run.class_index[row])
        elif kind in _LEAVES:
            walk.leave(step, run.class_index[row], run.cost_tokens[row])
    walk.end()
    conditions = _Conditions(run)
    quanta = [c.quantum for c in run.profile.classes]
    pairs = []
    for (i, j), (scaled, start, end) in sorted(walk.widest.items()):
        why = conditions.failing(i, j)
        bound = None if why else gap_bound(conditions.largest_cost[i], quanta[i], conditions.largest_cost[j], quanta[j])
        pairs.append(PairGap(i, j, Fraction(scaled, quanta[i] * quanta[j]), start, end, bound, why))
    droughts = tuple(map(Drought, walk.longest_ms, walk.most_tokens))
    return Fairness(tuple(pairs), jain_index(run), droughts)


def gap_bound(first_cost: int, first_quantum: int, second_cost: int, second_quantum: int) -> Fraction:
    """The bound of docs/drr.md: 1 + (m_i - 1)/Q_i + (m_j - 1)/Q_j quanta, m the largest cost of a class in tokens."""
    return 1 + Fraction(first_cost - 1, first_quantum) + Fraction(second_cost - 1, second_quantum)


def jain_index(run: Run) -> float | None:
    """Jain's index of a run, see :class:`Fairness`; it needs no recording."""
    found = shares(run)
    if not found.is_measured:
        return None
    got = [Fraction(found.joint_tokens[i], run.profile.classes[i].quantum) for i in found.compared]
    return float(sum(got) ** 2 / (len(got) * sum(x * x for x in got)))


class _Walk:
    """Goes through a run once and keeps, per pair and class, what stretches longest."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._quanta = [c.quantum for c in run.profile.classes]
        count = len(self._quanta)
        self._waiting = [0] * count
        self._backlogged: list[int] = []
        self._spells: dict[tuple[int, int], _Spell] = {}
        self.widest: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._since_ms = [0.0] * count
        self._since_tokens = [0] * count
        self._tokens = 0
        self.longest_ms = [0.0] * count
        self.most_tokens = [0] * count

    def join(self, step: int, index: int) -> None:
        self._waiting[index] += 1
        if self._waiting[index] > 1:
            return
        for other in self._backlogged:
            pair = (min(index, other), max(index, other))
            self._spells[pair] = _Spell(low=(0, step), high=(0, step))
            self.widest.setdefault(pair, (0, step, step))
        self._backlogged.append(index)
        self._restart(step, index)

    def leave(self, step: int, index: int, cost_tokens: int) -> None:
        """The class is charged; the request counts as waiting until now."""
        for other in self._backlogged:
            if other != index:
                self._charge(step, index, other, cost_tokens)
        self._close(index, self._run.times_ms[step])
        self._tokens += cost_tokens
        self._restart(step, index)
        self._waiting[index] -= 1
        if not self._waiting[index]:
            self._backlogged.remove(index)

    def end(self) -> None:
        """What waits at the end of the run has waited until then."""
        for index in self._backlogged:
            self._close(index, self._run.times_ms[-1])

    def _charge(self, step: int, index: int, other: int, cost_tokens: int) -> None:
        pair = (min(index, other), max(index, other))
        spell = self._spells[pair]
        change = cost_tokens * self._quanta[other]
        spell.difference += change if index == pair[0] else -change
        if spell.difference > spell.high[0]:
            spell.high = (spell.difference, step)
        elif spell.difference < spell.low[0]:
            spell.low = (spell.difference, step)
        else:
            return
        width = spell.high[0] - spell.low[0]
        if width > self.widest[pair][0]:
            steps = sorted((spell.low[1], spell.high[1]))
            self.widest[pair] = (width, steps[0], steps[1])

    def _restart(self, step: int, index: int) -> None:
        self._since_ms[index] = self._run.times_ms[step]
        self._since_tokens[index] = self._tokens

    def _close(self, index: int, now_ms: float) -> None:
        self.longest_ms[index] = max(self.longest_ms[index], now_ms - self._since_ms[index])
        self.most_tokens[index] = max(self.most_tokens[index], self._tokens - self._since_tokens[index])


class _Conditions:
    """Under which the bound is proven: see docs/drr.md. ``largest_cost`` is per class, of what ever waited (tokens)."""

    def __init__(self, run: Run) -> None:
        self._run = run
        requests = run.requests
        count = len(run.class_names)
        self.largest_cost = [1] * count
        self._prefers = [c.queue_policy == "wspt" for c in run.profile.classes]
        self._pins = [False] * count
        # By record, not by outcome: what waited and ended as an error at the head of its lane was charged too.
        for step, kind in enumerate(run.kinds):
            if kind != _JOINS:
                continue
            row = run.step_request[step]
            index = run.class_index[row]
            self.largest_cost[index] = max(self.largest_cost[index], run.cost_tokens[row])
            if requests.strict_priority[row] or requests.priority_jump[row] > 0:
                self._prefers[index] = True
            if run.step_endpoint[step] != SHARED:
                self._pins[index] = True
        self._passed_over = set(_passed_over_while_blocked(run))

    def failing(self, *pair: int) -> str:
        """The first condition that a pair of classes does not meet, in words; empty where the bound holds."""
        run = self._run
        arbiter = run.inputs.arbiter
        if arbiter not in ("drr", "classic_drr"):
            return "the arbiter is not Deficit Round Robin"
        if arbiter == "drr" and run.cursor_rule == "carry":
            return "under rule carry a class may be served less than a quantum per ring round, whatever its deficit"
        for index in pair:
            name, quantum = run.class_names[index], run.profile.classes[index].quantum
            if arbiter == "drr" and quantum < self.largest_cost[index]:
                return (
                    f"{name}'s quantum {quantum:,} is below its largest cost {self.largest_cost[index]:,}, "
                    "and virtual rounds favour classes by their place in the ring"
                )
            if self._prefers[index]:
                return f"the head of {name} may change while it waits (wspt, priorities)"
            if self._pins[index]:
                return f"{name} has exact-worker lanes, so its best head need not be the one that goes"
            if index in self._passed_over:
                return f"{name} was blocked while another class was served"
        return ""


def _passed_over_while_blocked(run: Run) -> Iterator[int]:
    """Classes that a call which dispatched something passed over as blocked."""
    recorder = run.recorder
    assert recorder is not None, "asked of recorded runs only"
    if VisitRule.BLOCKED not in recorder.calls.rules:
        return
    for walker in run.snapshots.walk():
        if run.kinds[walker.step] in _CALLS and run.step_request[walker.step] >= 0:
            yield from (visit.class_index for visit in walker.visits if visit.rule == VisitRule.BLOCKED)


def gap_text(pair: PairGap, names: Sequence[str]) -> str:
    """The largest difference of a pair in words, beside its bound."""
    start = f"{names[pair.first]} and {names[pair.second]} were at most {float(pair.largest):,.2f} quanta apart"
    if pair.bound is not None:
        return f"{start}; more than {float(pair.bound):,.2f} cannot happen."
    return f"{start}. No bound: {pair.why_unbounded}."
