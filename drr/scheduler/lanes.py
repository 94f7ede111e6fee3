"""The lanes of one policy class, and the question which waiting request may go next.

A class has one shared lane (requests that any eligible endpoint may serve) and one exact-worker lane per endpoint that
requests are pinned to. A lane is a heap, and only its head may be dispatched: nothing overtakes inside a lane, but a
blocked lane does not stop another lane of its class.

A waiting request is a plain tuple, best first in tuple order; it is the snapshot that was taken when the request was
enqueued and never changes while the request waits. The sequence number is unique, so comparisons end there.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, Protocol

Entry = tuple[int, float, int, int, int]
"""(-strict priority, -policy score, enqueue sequence, request row, scheduling cost in tokens)"""

SEQUENCE: Final = 2
REQUEST: Final = 3
COST: Final = 4

Candidate = tuple[Entry, int]
"""The best dispatchable head of a class, and the lane it stands in."""

SHARED: Final = -1
"""Stands for the shared lane where an exact endpoint's index could stand."""


def fcfs_score(priority_jump: float, arrival_s: float) -> float:
    """Score of a request under ``fcfs``: higher goes first. A jump of one second outweighs one second of age."""
    return max(priority_jump, 0.0) - max(arrival_s, 0.0)


def wspt_score(priority_jump: float, cost_tokens: int) -> float:
    """Score of a request under ``wspt`` (shortest processing time, scaled by the priority jump): higher goes first."""
    return (1.0 + max(priority_jump, 0.0)) / cost_tokens


class Gate(Protocol):
    """Answers whether a lane head has to wait. Questions are pure: they reserve nothing."""

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        """Whether every endpoint that may serve ``request`` is busy for the class."""

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        """Whether the pinned ``endpoint`` is busy for the class."""


class _HeadIndex:
    """A heap of (head, endpoint) pairs, each at most once, however often it is pushed."""

    __slots__ = ("_known", "pairs")

    def __init__(self) -> None:
        self.pairs: list[tuple[Entry, int]] = []
        self._known: set[tuple[Entry, int]] = set()

    def push(self, entry: Entry, endpoint: int) -> None:
        """Add a pair unless it is there."""
        pair = (entry, endpoint)
        if pair not in self._known:
            self._known.add(pair)
            heappush(self.pairs, pair)

    def pop(self) -> None:
        """Drop the best pair."""
        self._known.discard(heappop(self.pairs))


class ClassLanes:
    """All lanes of one class. ``size`` is the number of waiting requests.

    The heads of the exact lanes stand in one heap, so that the best one is found without asking every lane. A lane that
    was found blocked is parked and not asked again until :meth:`endpoint_changed` or a better head wakes it; the shared
    lane likewise until any endpoint changed. ``head_checks`` counts the questions asked.
    """

    __slots__ = (
        "_exact",
        "_gate",
        "_heads",
        "_parked",
        "_parked_heads",
        "_shared",
        "_shared_parked",
        "class_index",
        "head_checks",
        "size",
    )

    def __init__(self, class_index: int, gate: Gate) -> None:
        self.class_index = class_index
        self.size = 0
        self.head_checks = 0
        self._gate = gate
        self._shared: list[Entry] = []
        self._shared_parked = False
        self._exact: dict[int, list[Entry]] = {}
        # Both indexes hold (head, endpoint) and may hold stale pairs, dropped when they come to the top: a pair
        # of _heads counts while it is its lane's head and the lane is not parked, one of _parked_heads while parked.
        self._heads = _HeadIndex()
        self._parked_heads = _HeadIndex()
        self._parked: set[int] = set()

    def push(self, entry: Entry, endpoint: int = SHARED) -> bool:
        """Add a request to the shared lane or the exact lane of ``endpoint``; True when it became the lane's head."""
        self.size += 1
        if endpoint == SHARED:
            shared = self._shared
            heappush(shared, entry)
            if shared[0] is not entry:
                return False
            self._shared_parked = False
            return True
        lane = self._exact.setdefault(endpoint, [])
        heappush(lane, entry)
        if lane[0] is not entry:
            return False
        self._parked.discard(endpoint)
        self._heads.push(entry, endpoint)
        return True

    def candidate(self) -> Candidate | None:
        """The best dispatchable head and its lane, or None where every head is blocked or nothing waits."""
        best: Entry | None = None
        shared = self._shared
        if shared and not self._shared_parked:
            self.head_checks += 1
            if self._gate.shared_is_blocked(self.class_index, shared[0][REQUEST]):
                self._shared_parked = True
            else:
                best = shared[0]
        if self._heads.pairs:
            exact = self._best_exact(best)
            if exact is not None:
                return exact
        return None if best is None else (best, SHARED)

    def _best_exact(self, rival: Entry | None) -> Candidate | None:
        """The best dispatchable exact head that beats ``rival``; lanes found blocked on the way are parked."""
        heads = self._heads
        while heads.pairs:
            pair = heads.pairs[0]
            entry, endpoint = pair
            lane = self._exact.get(endpoint)
            if lane is None or lane[0] is not entry or endpoint in self._parked:
                heads.pop()
                continue
            if rival is not None and rival < entry:
                return None
            self.head_checks += 1
            if not self._gate.exact_is_blocked(self.class_index, entry[REQUEST], endpoint):
                return pair
            heads.pop()
            self._parked.add(endpoint)
            self._parked_heads.push(entry, endpoint)
        return None

    def take(self, endpoint: int) -> Entry:
        """Remove and return the head of a lane."""
        self.size -= 1
        if endpoint == SHARED:
            return heappop(self._shared)
        lane = self._exact[endpoint]
        entry = heappop(lane)
        if lane:
            self._heads.push(lane[0], endpoint)
        else:
            del self._exact[endpoint]
        return entry

    def best_head(self) -> Entry | None:
        """The best head of all lanes, whether it may go or not; None where nothing waits."""
        best = self._shared[0] if self._shared else None
        for index, parked in ((self._heads, False), (self._parked_heads, True)):
            while index.pairs:
                entry, endpoint = index.pairs[0]
                lane = self._exact.get(endpoint)
                if lane is not None and lane[0] is entry and (endpoint in self._parked) is parked:
                    if best is None or entry < best:
                        best = entry
                    break
                index.pop()
        return best

    def endpoint_changed(self, endpoint: int) -> None:
        """An endpoint may serve more than before: the lanes that waited for it will be asked again."""
        self._shared_parked = False
        if endpoint in self._parked:
            self._parked.discard(endpoint)
            self._heads.push(self._exact[endpoint][0], endpoint)

    def lanes(self) -> dict[int, list[Entry]]:
        """Ordered contents of every lane in use: first the shared one (:data:`SHARED`), then the exact ones."""
        found = {SHARED: sorted(self._shared)} if self._shared else {}
        found.update((endpoint, sorted(self._exact[endpoint])) for endpoint in sorted(self._exact))
        return found

    def _check(self) -> None:
        """Assert every invariant of the structure (for tests)."""
        lanes = [self._shared, *self._exact.values()]
        assert self.size == sum(map(len, lanes)), "size counts every waiting request"
        for lane in lanes:
            assert all(lane[(i - 1) // 2] <= lane[i] for i in range(1, len(lane))), "a lane is a heap"
        sequences = [entry[2] for lane in lanes for entry in lane]
        assert len(set(sequences)) == len(sequences), "no request waits twice"
        assert all(self._exact.values()), "an exact lane exists only while something waits in it"
        assert set(self._exact) >= self._parked, "only existing lanes are parked"
        for endpoint, lane in self._exact.items():
            index = self._parked_heads if endpoint in self._parked else self._heads
            assert any(e is lane[0] and n == endpoint for e, n in index.pairs), "every exact head is indexed"
        assert not self._shared_parked or self._shared, "an empty shared lane is not parked"
