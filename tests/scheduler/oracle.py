"""A slow, plain model of the ring, from the rules alone: lists, ``sorted``, and one complete round at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Waiting:
    """A request in a lane. ``lane`` is None for the shared lane, anything else names an exact one."""

    row: int
    cost: int
    number: int
    strict: int = 0
    jump: float = 0.0
    arrival_s: float = 0.0
    lane: object = None

    def key(self, wspt: bool) -> tuple[float, float, int]:
        """Best first: strict priority, then the score of the class's order, then earlier enqueue."""
        jump = max(self.jump, 0.0)
        score = (1.0 + jump) / self.cost if wspt else jump - max(self.arrival_s, 0.0)
        return (-self.strict, -score, self.number)


class Looked(NamedTuple):
    """What a call did to one class: rule, grant, head, charge, deficit before and after."""

    class_index: int
    rule: str
    before: int
    granted: int
    head: int
    charged: int
    after: int


class Called(NamedTuple):
    """One call: what was dispatched (None for nothing), what it looked at, rounds granted in bulk."""

    winner: Waiting | None
    visits: list[Looked]
    rounds: int


Blocked = Callable[[int, Waiting], bool]


@dataclass
class SlowRing:
    """Classes as (quantum, wspt) pairs in ring order."""

    classes: Sequence[tuple[int, bool]]
    carry: bool
    waiting: list[list[Waiting]] = field(init=False)
    deficits: list[int] = field(init=False)
    cursor: int = 0
    carried: int | None = None

    def __post_init__(self) -> None:
        self.waiting = [[] for _ in self.classes]
        self.deficits = [0 for _ in self.classes]

    def enqueue(self, index: int, request: Waiting) -> None:
        self.waiting[index].append(request)

    def lane(self, index: int, lane: object) -> list[Waiting]:
        wspt = self.classes[index][1]
        return sorted((r for r in self.waiting[index] if r.lane == lane), key=lambda r: r.key(wspt))

    def heads(self, index: int) -> list[Waiting]:
        """The heads of all lanes of a class, best first."""
        lanes = {request.lane for request in self.waiting[index]}
        return sorted((self.lane(index, lane)[0] for lane in lanes), key=lambda r: r.key(self.classes[index][1]))

    def candidate(self, index: int, blocked: Blocked) -> Waiting | None:
        return next((head for head in self.heads(index) if not blocked(index, head)), None)

    def call(self, blocked: Blocked) -> Called:
        visits: list[Looked] = []
        carried, self.carried = self.carried, None
        if carried is not None:
            candidate = self.candidate(carried, blocked)
            deficit = self.deficits[carried]
            if candidate is None:
                visits.append(Looked(carried, "CARRY_BLOCKED", deficit, 0, -1, 0, deficit))
            elif candidate.cost > deficit:
                visits.append(Looked(carried, "CARRY_SHORT", deficit, 0, candidate.row, 0, deficit))
            else:
                return self.dispatch(carried, candidate, "CARRY_PAYS", visits)
        return self.scan(blocked, visits)

    def scan(self, blocked: Blocked, visits: list[Looked]) -> Called:
        count = len(self.classes)
        candidates: list[tuple[int, Waiting]] = []
        for index in [*range(self.cursor, count), *range(self.cursor)]:
            before = self.deficits[index]
            if not self.waiting[index]:
                self.deficits[index] = 0
                visits.append(Looked(index, "EMPTY", before, 0, -1, 0, 0))
                continue
            candidate = self.candidate(index, blocked)
            if candidate is None:
                visits.append(Looked(index, "BLOCKED", before, 0, -1, 0, before))
                continue
            if candidate.cost <= before:
                return self.dispatch(index, candidate, "KEPT_PAYS", visits)
            quantum = self.classes[index][0]
            self.deficits[index] += quantum
            if candidate.cost <= self.deficits[index]:
                return self.dispatch(index, candidate, "GRANT_PAYS", visits, granted=quantum)
            visits.append(Looked(index, "GRANT_SHORT", before, quantum, candidate.row, 0, before + quantum))
            candidates.append((index, candidate))
        if not candidates:
            return Called(None, visits, 0)
        return self.rounds(candidates, visits)

    def rounds(self, candidates: list[tuple[int, Waiting]], visits: list[Looked]) -> Called:
        """Nobody could pay: one complete round after the other, until somebody can."""
        before = list(self.deficits)
        rounds = 0
        while all(candidate.cost > self.deficits[index] for index, candidate in candidates):
            rounds += 1
            for index, _ in candidates:
                self.deficits[index] += self.classes[index][0]
        place = next(i for i, (index, candidate) in enumerate(candidates) if candidate.cost <= self.deficits[index])
        behind = []
        for position, (index, candidate) in enumerate(candidates):
            looked = Looked(
                index,
                "BULK_SHORT" if position < place else "BULK_BEHIND",
                before[index],
                self.deficits[index] - before[index],
                candidate.row,
                0,
                self.deficits[index],
            )
            if position < place:
                visits.append(looked)
            elif position > place:
                behind.append(looked)
        index, candidate = candidates[place]
        granted = self.deficits[index] - before[index]
        called = self.dispatch(index, candidate, "BULK_PAYS", visits, granted=granted)
        return Called(called.winner, called.visits + behind, rounds)

    def dispatch(self, index: int, winner: Waiting, rule: str, visits: list[Looked], *, granted: int = 0) -> Called:
        before = self.deficits[index] - granted
        self.waiting[index].remove(winner)
        left = self.deficits[index] - winner.cost
        following = (index + 1) % len(self.classes)
        self.cursor = following
        if not self.waiting[index]:
            left = 0
        elif self.carry:
            self.carried = index if left > 0 else None
        elif self.heads(index)[0].cost <= left:
            self.cursor = index
        self.deficits[index] = left
        visits.append(Looked(index, rule, before, granted, winner.row, winner.cost, left))
        return Called(winner, visits, 0)
