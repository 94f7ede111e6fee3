"""Rival arbiters behind the ring's interface, to compare Deficit Round Robin with. Chosen per run, never in a policy.

They see the same lanes, candidates and blocked heads as the ring; only the order between the classes is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from drr.scheduler.calls import CallLog, VisitRule
from drr.scheduler.lanes import COST, REQUEST, SEQUENCE, Candidate, ClassLanes
from drr.scheduler.ring import CursorRule, Dispatch, Ring

ArbiterName = Literal["drr", "classic_drr", "quantum_per_request", "round_robin", "strict", "fcfs"]

ARBITERS: dict[ArbiterName, str] = {
    "drr": "Deficit Round Robin as the router does it",
    "classic_drr": "classic DRR (Shreedhar and Varghese 1996)",
    "quantum_per_request": "one quantum per request (the common mistake)",
    "round_robin": "round robin by request",
    "strict": "strict priority in file order",
    "fcfs": "first come, first served over all classes",
}


class Arbiter(Protocol):
    """What the router asks of an arbiter: ``deficits`` in tokens per class, ``cursor`` and ``carried`` class."""

    deficits: list[int]
    cursor: int
    carried: int

    def pop_next(self) -> Dispatch | None:
        """One arbitration call: the request that goes, already taken from its lane, or None."""


def make_arbiter(
    name: ArbiterName,
    lanes: Sequence[ClassLanes],
    quanta: Sequence[int],
    cursor_rule: CursorRule = "documented",
    log: CallLog | None = None,
) -> Arbiter:
    """The arbiter of this name; only ``drr`` has a cursor rule."""
    if name == "drr":
        return Ring(lanes, quanta, cursor_rule, log)
    return _RIVALS[name](lanes, quanta, log)


class _Rival:
    """What all rivals share: lanes, deficits, a cursor, and how a visit and a dispatch are noted."""

    def __init__(self, lanes: Sequence[ClassLanes], quanta: Sequence[int], log: CallLog | None = None) -> None:
        self._lanes = list(lanes)
        self._quanta = list(quanta)
        self._log = log
        if log is not None:
            log.name_classes()
        self.deficits = [0] * len(self._lanes)
        self.cursor = 0
        self.carried = -1

    def _visit(self, index: int, rule: VisitRule, candidate: Candidate | None = None) -> None:
        if self._log is not None:
            self._log.note(int(rule), -1 if candidate is None else candidate[0][REQUEST], index)

    def _look(self, index: int) -> Candidate | None:
        """The candidate of a class; one without is noted as empty (losing its deficit) or blocked."""
        if not self._lanes[index].size:
            self.deficits[index] = 0
            self._visit(index, VisitRule.EMPTY)
            return None
        candidate = self._lanes[index].candidate()
        if candidate is None:
            self._visit(index, VisitRule.BLOCKED)
        return candidate

    def _take(self, index: int, candidate: Candidate) -> None:
        """Take the winner from its lane; an emptied class has no deficit left."""
        self._lanes[index].take(candidate[1])
        if not self._lanes[index].size:
            self.deficits[index] = 0

    def _go(self, index: int, candidate: Candidate, cursor: int, rounds: int = 0) -> Dispatch:
        """End the call: the winner, already taken, goes."""
        entry, lane = candidate
        self.cursor = cursor
        if self._log is not None:
            self._log.close(cursor, -1, rounds)
        return Dispatch(index, entry[REQUEST], entry[COST], lane)

    def _nothing(self) -> None:
        if self._log is not None:
            self._log.close(self.cursor, -1, 0)

    def _after(self, index: int) -> int:
        return index + 1 if index + 1 < len(self._lanes) else 0


class ClassicDrr(_Rival):
    """Deficit Round Robin as M. Shreedhar and G. Varghese have it ("Efficient Fair Queuing Using Deficit Round-Robin",
    IEEE/ACM Transactions on Networking 4(3), 1996): a list of active classes, one quantum when a class comes to the
    front, service while the deficit pays for the head, then to the back of the list.

    A class becomes active, at the back of the list, when something waits in it. Where nobody on the list can pay within
    a round, all rounds in which nobody pays are granted at once. The paper knows no blocked class: here one keeps its
    place, its deficit and what is left of its turn, and the turn passes over it, so a call that finds everybody blocked
    changes nothing. The cursor stands on the class whose turn goes on, else on the first of the list.
    """

    def __init__(self, lanes: Sequence[ClassLanes], quanta: Sequence[int], log: CallLog | None = None) -> None:
        super().__init__(lanes, quanta, log)
        self._active: list[int] = []
        self._in_turn: set[int] = set()
        """Classes that had the quantum of their turn and have not spent it."""

    def pop_next(self) -> Dispatch | None:
        """One call: go on with the list from its front; a second time round where nobody could pay."""
        self._update_list()
        found = [(index, candidate) for index in self._active if (candidate := self._look(index)) is not None]
        if not found:
            self._nothing()
            return None
        for index, candidate in found:
            if self._turn_pays(index, candidate):
                return self._serve(index, candidate, 0)
        # Now every candidate was moved to the back, in this order, and none has a quantum left from an open turn.
        skipped = min(-((self.deficits[i] - c[0][COST]) // self._quanta[i]) for i, c in found) - 1
        if skipped:
            for index, candidate in found:
                self.deficits[index] += skipped * self._quanta[index]
                self._visit(index, VisitRule.BULK_SHORT, candidate)
        winner = next((index, candidate) for index, candidate in found if self._turn_pays(index, candidate))
        return self._serve(*winner, skipped)

    def _update_list(self) -> None:
        """Classes in which something waits now and that are not on the list join it at the back, in file order."""
        listed = set(self._active)
        self._active += [index for index, lanes in enumerate(self._lanes) if lanes.size and index not in listed]

    def _turn_pays(self, index: int, candidate: Candidate) -> bool:
        """Begin a class's turn with one quantum, or go on with it; without enough for the head it ends."""
        had = index in self._in_turn
        if not had:
            self.deficits[index] += self._quanta[index]
        if candidate[0][COST] <= self.deficits[index]:
            self._visit(index, VisitRule.KEPT_PAYS if had else VisitRule.GRANT_PAYS, candidate)
            self._in_turn.add(index)
            return True
        self._visit(index, VisitRule.KEPT_SHORT if had else VisitRule.GRANT_SHORT, candidate)
        self._end_turn(index)
        return False

    def _end_turn(self, index: int) -> None:
        self._in_turn.discard(index)
        self._active.remove(index)
        self._active.append(index)

    def _serve(self, index: int, candidate: Candidate, skipped: int) -> Dispatch:
        """Charge the class; its turn goes on while what is left pays for its next head, blocked or not."""
        self.deficits[index] -= candidate[0][COST]
        self._take(index, candidate)
        head = self._lanes[index].best_head()
        if head is None:
            self._in_turn.discard(index)
            self._active.remove(index)
        elif head[COST] > self.deficits[index]:
            self._end_turn(index)
        front = self._active[0] if self._active else self._after(index)
        return self._go(index, candidate, index if index in self._in_turn else front, skipped)


class QuantumPerRequest(_Rival):
    """The wrong variant: every look at a class grants a quantum, even where the kept deficit would pay for the head."""

    def pop_next(self) -> Dispatch | None:
        """One call: one or more rounds from the cursor, a quantum at every look."""
        candidates: list[tuple[int, Candidate]] = []
        index = self.cursor
        for _ in self._lanes:
            candidate = self._look(index)
            if candidate is not None:
                self.deficits[index] += self._quanta[index]
                if candidate[0][COST] <= self.deficits[index]:
                    self._visit(index, VisitRule.GRANT_PAYS, candidate)
                    return self._pay(index, candidate, 0)
                self._visit(index, VisitRule.GRANT_SHORT, candidate)
                candidates.append((index, candidate))
            index = self._after(index)
        if not candidates:
            self._nothing()
            return None
        rounds = min(-((self.deficits[i] - c[0][COST]) // self._quanta[i]) for i, c in candidates)
        winner: tuple[int, Candidate] | None = None
        for i, candidate in candidates:
            self.deficits[i] += rounds * self._quanta[i]
            pays = winner is None and candidate[0][COST] <= self.deficits[i]
            if pays:
                winner = (i, candidate)
            behind = VisitRule.BULK_BEHIND if winner is not None else VisitRule.BULK_SHORT
            self._visit(i, VisitRule.BULK_PAYS if pays else behind, candidate)
        assert winner is not None, "the class that needs the fewest rounds can pay after them"
        return self._pay(*winner, rounds)

    def _pay(self, index: int, candidate: Candidate, rounds: int) -> Dispatch:
        self.deficits[index] -= candidate[0][COST]
        self._take(index, candidate)
        head = self._lanes[index].best_head()
        stays = head is not None and head[COST] <= self.deficits[index]
        return self._go(index, candidate, index if stays else self._after(index), rounds)


class RoundRobin(_Rival):
    """One request per class and turn, whatever it costs."""

    def pop_next(self) -> Dispatch | None:
        """One call: the first class from the cursor on that has a candidate."""
        index = self.cursor
        for _ in self._lanes:
            candidate = self._look(index)
            if candidate is not None:
                self._visit(index, VisitRule.CHOSEN, candidate)
                self._take(index, candidate)
                return self._go(index, candidate, self._after(index))
            index = self._after(index)
        self._nothing()
        return None


class StrictPriority(_Rival):
    """The first class in file order that has a candidate, always."""

    def pop_next(self) -> Dispatch | None:
        """One call: the classes in file order."""
        for index in range(len(self._lanes)):
            candidate = self._look(index)
            if candidate is not None:
                self._visit(index, VisitRule.CHOSEN, candidate)
                self._take(index, candidate)
                return self._go(index, candidate, 0)
        self._nothing()
        return None


class GlobalFcfs(_Rival):
    """The candidate that was enqueued first, whatever its class (inside a class its own order decides)."""

    def pop_next(self) -> Dispatch | None:
        """One call: compare the candidates of all classes."""
        found = [
            (index, candidate) for index in range(len(self._lanes)) if (candidate := self._look(index)) is not None
        ]
        if not found:
            self._nothing()
            return None
        winner = min(found, key=lambda pair: pair[1][0][SEQUENCE])
        for index, candidate in found:
            self._visit(index, VisitRule.CHOSEN if index == winner[0] else VisitRule.PASSED, candidate)
        self._take(*winner)
        return self._go(*winner, 0)


_RIVALS: dict[ArbiterName, Callable[[Sequence[ClassLanes], Sequence[int], CallLog | None], Arbiter]] = {
    "classic_drr": ClassicDrr,
    "quantum_per_request": QuantumPerRequest,
    "round_robin": RoundRobin,
    "strict": StrictPriority,
    "fcfs": GlobalFcfs,
}
