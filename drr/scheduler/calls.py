"""What arbitration calls say about themselves, kept in flat columns.

The ring notes one byte per class visit, the candidate it saw, and four numbers per call. That is enough to rebuild
every deficit exactly (:func:`replay_call`), because which class stands where in a scan follows from the cursor and
every grant follows from the rule that fired.
"""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence, Sequence
from enum import IntEnum
from typing import NamedTuple


class VisitRule(IntEnum):
    """The rule that fired when an arbitration call looked at one class."""

    EMPTY = 0
    """Nothing waits: the deficit is set to 0."""
    BLOCKED = 1
    """Requests wait but no lane head is dispatchable: deficit kept, nothing granted."""
    KEPT_PAYS = 2
    """The kept deficit pays for the head, no quantum granted: the class wins."""
    GRANT_PAYS = 3
    """One quantum granted, now the head can be paid: the class wins."""
    GRANT_SHORT = 4
    """One quantum granted, still short of the head's cost."""
    BULK_PAYS = 5
    """Bulk virtual rounds granted, now the head can be paid: the class wins."""
    BULK_SHORT = 6
    """Bulk virtual rounds granted, still short."""
    BULK_BEHIND = 7
    """Bulk virtual rounds granted to a class behind the winner; the scan did not reach it."""
    CARRY_PAYS = 8
    """The class carried from the last call pays its next head from the kept deficit (rule ``carry``): it wins."""
    CARRY_BLOCKED = 9
    """The carried class has no dispatchable head: the carry is forgotten."""
    CARRY_SHORT = 10
    """The carried class cannot pay its head without a new quantum: the carry is forgotten."""
    KEPT_SHORT = 11
    """Rival arbiters: the class had its quantum of this round, and what is left does not pay for the next head."""
    CHOSEN = 12
    """Rival arbiters without deficits: their own order names the class: it wins."""
    PASSED = 13
    """Rival arbiters without deficits: the class has a candidate, but their own order prefers another."""


WINNING_RULES = frozenset(
    {VisitRule.KEPT_PAYS, VisitRule.GRANT_PAYS, VisitRule.BULK_PAYS, VisitRule.CARRY_PAYS, VisitRule.CHOSEN}
)
QUANTUM_RULES = frozenset({VisitRule.GRANT_PAYS, VisitRule.GRANT_SHORT})
BULK_RULES = frozenset({VisitRule.BULK_PAYS, VisitRule.BULK_SHORT, VisitRule.BULK_BEHIND})
CARRY_RULES = frozenset({VisitRule.CARRY_PAYS, VisitRule.CARRY_BLOCKED, VisitRule.CARRY_SHORT})

# As plain ints for loops over hundreds of thousands of visits, where enum members cost several times as much.
_WINNING, _QUANTUM, _BULK, _CARRY = (
    frozenset(map(int, rules)) for rules in (WINNING_RULES, QUANTUM_RULES, BULK_RULES, CARRY_RULES)
)
_EMPTY, _CHOSEN, _GRANT_SHORT = int(VisitRule.EMPTY), int(VisitRule.CHOSEN), int(VisitRule.GRANT_SHORT)


class CallLog:
    """Columns of all arbitration calls of a run; ``wide`` keeps rounds of more than 63 bits.

    ``rules`` and ``heads`` have one item per class visit (a :class:`VisitRule` and a request row, -1 for none); the
    others one item per call: where its visits end, cursor and carried class afterwards, bulk rounds. ``classes`` names
    the class of every visit where the arbiter has an order of its own; for the ring it follows from the cursor.
    """

    __slots__ = ("carried", "classes", "cursors", "heads", "rounds", "rules", "visit_ends")

    def __init__(self, *, wide: bool = False) -> None:
        self.rules = array("B")
        self.heads = array("i")
        self.classes: array[int] | None = None
        self.visit_ends = array("q")
        self.cursors = array("i")
        self.carried = array("i")
        self.rounds: MutableSequence[int] = [] if wide else array("q")

    def __len__(self) -> int:
        """Number of calls."""
        return len(self.visit_ends)

    def name_classes(self) -> None:
        """From now on every visit names its class."""
        self.classes = array("i")

    def note(self, rule: int, head: int, class_index: int) -> None:
        """Write one visit that names its class."""
        self.rules.append(rule)
        self.heads.append(head)
        if self.classes is not None:
            self.classes.append(class_index)

    def close(self, cursor: int, carried: int, rounds: int) -> None:
        """End the call that is being written."""
        self.visit_ends.append(len(self.rules))
        self.cursors.append(cursor)
        self.carried.append(carried)
        self.rounds.append(rounds)

    def visits(self, call: int) -> range:
        """Positions of the visits of one call."""
        return range(self.visit_ends[call - 1] if call else 0, self.visit_ends[call])


class Visit(NamedTuple):
    """What one arbitration call did to one class, in the order in which it happened. Figures are tokens."""

    class_index: int
    rule: VisitRule
    deficit_before: int
    granted_tokens: int
    """One quantum in the first scan, the bulk grant in the second, else 0."""
    head: int
    """Request row of the candidate that was looked at, -1 where there was none."""
    head_cost_tokens: int
    charged_tokens: int
    """The head's cost where the class won, else 0."""
    deficit_after: int


def visited_classes(rules: Sequence[int], cursor: int, carried: int, classes: int) -> list[int]:
    """The class of every visit of a call that began with this ``cursor`` and ``carried`` class.

    A carry look comes first; then the first scan goes round from the cursor; bulk visits name, in the same order, the
    classes that were granted a quantum and stayed short.
    """
    order: list[int] = []
    short: list[int] = []
    scanned = 0
    bulk = 0
    for rule in rules:
        if rule in _CARRY:
            order.append(carried)
        elif rule in _BULK:
            order.append(short[bulk])
            bulk += 1
        else:
            index = (cursor + scanned) % classes
            scanned += 1
            order.append(index)
            if rule == _GRANT_SHORT:
                short.append(index)
    return order


def replay_call(
    log: CallLog,
    call: int,
    deficits: list[int],
    *,
    quanta: Sequence[int],
    costs: Sequence[int],
    emptied: bool,
    with_visits: bool = True,
) -> list[Visit]:
    """Rebuild one call: returns its visits and brings ``deficits`` (tokens per class) from before the call to after it.

    ``costs`` gives the scheduling cost per request row, ``emptied`` tells whether the dispatch left its class empty
    (its deficit then falls to 0). Without ``with_visits`` only the deficits are brought forward.
    """
    visits: list[Visit] = []
    span = log.visits(call)
    rules = log.rules[span.start : span.stop]
    if log.classes is not None:
        order: Sequence[int] = log.classes[span.start : span.stop]
    else:
        cursor = log.cursors[call - 1] if call else 0
        carried = log.carried[call - 1] if call else -1
        order = visited_classes(rules, cursor, carried, len(quanta))
    for position, index in zip(span, order, strict=True):
        rule = log.rules[position]
        head = log.heads[position]
        cost = costs[head] if head >= 0 else 0
        before = after = deficits[index]
        granted = charged = 0
        if rule in _QUANTUM:
            granted = quanta[index]
        elif rule in _BULK:
            granted = quanta[index] * log.rounds[call]
        if rule in _WINNING:
            charged = cost
        if rule == _EMPTY or (charged and emptied):
            after = 0
        elif rule != _CHOSEN:
            after = before + granted - charged
        deficits[index] = after
        if with_visits:
            visits.append(Visit(index, VisitRule(rule), before, granted, head, cost, charged, after))
    return visits
