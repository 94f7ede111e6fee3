"""Deficit Round Robin over policy classes: every change of a deficit and of the ring cursor stands in this file.

One call of :meth:`Ring.pop_next` returns at most one request. Deficits, costs and quanta are whole numbers of tokens of
any size, and nothing here loops per token or per round: a head of 10^18 tokens takes the same two scans as one of 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from drr.scheduler.calls import CallLog, VisitRule
from drr.scheduler.lanes import COST, REQUEST, Candidate, ClassLanes

CursorRule = Literal["documented", "carry"]
"""What the cursor does after a dispatch: as Dynamo documents it, or as its releases do it (see docs/drr.md)."""

CURSOR_RULES: tuple[CursorRule, ...] = ("documented", "carry")

_EMPTY, _BLOCKED = int(VisitRule.EMPTY), int(VisitRule.BLOCKED)
_KEPT_PAYS, _GRANT_PAYS, _GRANT_SHORT = int(VisitRule.KEPT_PAYS), int(VisitRule.GRANT_PAYS), int(VisitRule.GRANT_SHORT)
_BULK_PAYS, _BULK_SHORT, _BULK_BEHIND = int(VisitRule.BULK_PAYS), int(VisitRule.BULK_SHORT), int(VisitRule.BULK_BEHIND)
_CARRY_PAYS, _CARRY_BLOCKED, _CARRY_SHORT = (
    int(VisitRule.CARRY_PAYS),
    int(VisitRule.CARRY_BLOCKED),
    int(VisitRule.CARRY_SHORT),
)


class Dispatch(NamedTuple):
    """The request an arbitration call let go: its class, its row, its cost in tokens, and the lane it came from."""

    class_index: int
    request: int
    cost_tokens: int
    lane: int


class Ring:
    """The classes in file order, one deficit each, and one cursor.

    ``lanes[i]`` holds what waits in class i, ``quanta[i]`` is its quantum in tokens per ring round. With a ``log``
    every call notes what happened to every class it visited; without one nothing is noted.
    """

    __slots__ = ("_carry_rule", "_lanes", "_log", "_quanta", "carried", "cursor", "deficits")

    def __init__(
        self,
        lanes: Sequence[ClassLanes],
        quanta: Sequence[int],
        cursor_rule: CursorRule = "documented",
        log: CallLog | None = None,
    ) -> None:
        self._lanes = list(lanes)
        self._quanta = list(quanta)
        self._carry_rule = cursor_rule == "carry"
        self._log = log
        self.deficits = [0] * len(self._lanes)
        self.cursor = 0
        self.carried = -1
        """Class that the next call looks at first (rule ``carry``), -1 for none."""

    def pop_next(self) -> Dispatch | None:
        """Run one arbitration call: the request that goes, already taken from its lane and charged, or None.

        A carried class is looked at first. Then the ring is scanned once from the cursor: an empty class loses its
        deficit, a blocked one keeps it, every other class pays its head from what it has or from one quantum more.
        Where nobody can pay, all candidates are granted the same number of virtual rounds, just enough for one to pay.
        """
        if self.carried >= 0:
            return self._look_at_carried()
        return self._scan(-1, None)

    def _look_at_carried(self) -> Dispatch | None:
        """Serve the carried class if it can pay its head as things stand; else forget the carry and scan the ring."""
        carried = self.carried
        self.carried = -1
        candidate = self._lanes[carried].candidate()
        log = self._log
        if candidate is None:
            if log is not None:
                log.rules.append(_CARRY_BLOCKED)
                log.heads.append(-1)
            return self._scan(carried, None)
        entry = candidate[0]
        pays = entry[COST] <= self.deficits[carried]
        if log is not None:
            log.rules.append(_CARRY_PAYS if pays else _CARRY_SHORT)
            log.heads.append(entry[REQUEST])
        return self._dispatch(carried, candidate, 0) if pays else self._scan(carried, candidate)

    def _scan(self, known: int, known_candidate: Candidate | None) -> Dispatch | None:
        """The normal scan. What the carry look found out about class ``known`` is not asked again."""
        lanes = self._lanes
        deficits = self.deficits
        quanta = self._quanta
        log = self._log
        index = self.cursor
        classes = len(lanes)
        short: list[tuple[int, Candidate]] = []
        for _ in range(classes):
            queued = lanes[index]
            candidate: Candidate | None = None
            if not queued.size:
                deficits[index] = 0
                rule = _EMPTY
            else:
                candidate = queued.candidate() if index != known else known_candidate
                if candidate is None:
                    rule = _BLOCKED
                else:
                    cost = candidate[0][COST]
                    if cost <= deficits[index]:
                        rule = _KEPT_PAYS
                    else:
                        deficits[index] += quanta[index]
                        rule = _GRANT_PAYS if cost <= deficits[index] else _GRANT_SHORT
            if log is not None:
                log.rules.append(rule)
                log.heads.append(-1 if candidate is None else candidate[0][REQUEST])
            if candidate is not None:
                if rule != _GRANT_SHORT:
                    return self._dispatch(index, candidate, 0)
                short.append((index, candidate))
            index += 1
            if index == classes:
                index = 0
        if short:
            return self._grant_bulk_rounds(short)
        if log is not None:
            log.close(self.cursor, -1, 0)
        return None

    def _grant_bulk_rounds(self, short: list[tuple[int, Candidate]]) -> Dispatch:
        """Nobody can pay: grant every candidate the fewest whole rounds after which one of them can, in exact integers.

        The first in scan order that can pay goes; classes behind it keep what they were given.
        """
        deficits = self.deficits
        quanta = self._quanta
        log = self._log
        rounds = min(-((deficits[i] - candidate[0][COST]) // quanta[i]) for i, candidate in short)
        winner: tuple[int, Candidate] | None = None
        for index, candidate in short:
            deficits[index] += quanta[index] * rounds
            if winner is not None:
                rule = _BULK_BEHIND
            elif candidate[0][COST] <= deficits[index]:
                winner = (index, candidate)
                rule = _BULK_PAYS
            else:
                rule = _BULK_SHORT
            if log is not None:
                log.rules.append(rule)
                log.heads.append(candidate[0][REQUEST])
        assert winner is not None, "the class that needs the fewest rounds can pay after them"
        return self._dispatch(*winner, rounds)

    def _dispatch(self, index: int, candidate: Candidate, rounds: int) -> Dispatch:
        """Charge the winner, take its head from the lane and move the cursor by the run's cursor rule."""
        entry, lane = candidate
        queued = self._lanes[index]
        queued.take(lane)
        left = self.deficits[index] - entry[COST]
        after = index + 1 if index + 1 < len(self._lanes) else 0
        if not queued.size:
            left = 0
        elif self._carry_rule:
            if left > 0:
                self.carried = index
        else:
            head = queued.best_head()
            if head is not None and head[COST] <= left:
                after = index
        self.deficits[index] = left
        self.cursor = after
        if self._log is not None:
            self._log.close(after, self.carried, rounds)
        return Dispatch(index, entry[REQUEST], entry[COST], lane)

    def _check(self) -> None:
        """Assert every invariant of the ring (for tests)."""
        assert all(deficit >= 0 for deficit in self.deficits), "no deficit is negative"
        assert 0 <= self.cursor < len(self._lanes), "the cursor stands on a class"
        assert -1 <= self.carried < len(self._lanes), "a carry names a class"
        for lanes in self._lanes:
            lanes._check()
        if self.carried >= 0:
            assert self._lanes[self.carried].size, "an empty class is not carried"
            assert self.deficits[self.carried] > 0, "a class without deficit is not carried"
