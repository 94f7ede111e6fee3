"""The KV pool of one worker: blocks that are free, held, or idle (cached and held by nobody).

Two pools behind one interface: :class:`AnonymousPool` where prefix caching is off (blocks have no identity, so counting
them is enough) and :class:`CachingPool` where they have one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from drr.router.prefix import NO_BLOCKS


class AnonymousPool:
    """Blocks without identity: nothing is ever reused."""

    caches = False

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.held = 0
        self._held_by: dict[int, int] = {}

    def hits(self, chain: Sequence[int], limit: int) -> int:
        """How many leading blocks of a chain are cached: none here."""
        return 0

    def held_hits(self, chain: Sequence[int], hits: int) -> int:
        """How many of the first ``hits`` blocks somebody holds: none here."""
        return 0

    def grow(self, request: int, blocks: int, chain: Sequence[int] = NO_BLOCKS, hits: int = 0) -> bool:
        """Let a request hold ``blocks`` blocks in all, or nothing more and False where the pool is short."""
        missing = blocks - self._held_by.get(request, 0)
        if missing > 0:
            if missing > self.blocks - self.held:
                return False
            self.held += missing
            self._held_by[request] = blocks
        return True

    def publish(self, request: int, chain: Sequence[int], full_blocks: int) -> None:
        """Name the full blocks of a request: nothing to do here."""

    def release(self, request: int) -> None:
        """Give back all blocks of a request."""
        self.held -= self._held_by.pop(request, 0)

    def take_events(self) -> list[tuple[bool, int]]:
        """What the router is told: nothing here."""
        return []


class CachingPool:
    """Blocks with identities. A block is a number; several physical copies of one identity may exist.

    Hits use the oldest copy: the one that was named first. Blocks go back last block first; a named block that nobody
    holds is idle, and idle blocks are evicted in the order in which they were given back. ``stored`` events come with
    an identity's first copy, ``removed`` events with the eviction of its last.
    """

    caches = True

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.held = 0
        self._free = blocks
        self._created = 0
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._count: dict[int, int] = {}
        self._identity: dict[int, int] = {}
        self._copies: dict[int, list[int]] = {}
        self._blocks_of: dict[int, list[int]] = {}
        self._named_of: dict[int, int] = {}
        self._events: list[tuple[bool, int]] = []

    def hits(self, chain: Sequence[int], limit: int) -> int:
        """How many leading blocks of a chain, at most ``limit``, are cached without a gap. A look refreshes nothing."""
        for count, identity in enumerate(chain):
            if count == limit or identity not in self._copies:
                return count
        return len(chain)

    def held_hits(self, chain: Sequence[int], hits: int) -> int:
        """How many of the first ``hits`` blocks of a chain are held by somebody."""
        return sum(self._copies[identity][0] in self._count for identity in chain[:hits])

    def grow(self, request: int, blocks: int, chain: Sequence[int] = NO_BLOCKS, hits: int = 0) -> bool:
        """Let a request hold ``blocks`` blocks in all, its first ``hits`` being cached ones; all or nothing."""
        mine = self._blocks_of.get(request)
        have = 0 if mine is None else len(mine)
        missing = blocks - have - hits
        if missing > 0:
            idle_hits = hits - self.held_hits(chain, hits) if hits else 0
            if missing > self.blocks - self.held - idle_hits:
                return False
        if mine is None:
            mine = self._blocks_of[request] = []
        for identity in chain[:hits]:
            self._attach(self._copies[identity][0], mine)
        self._named_of[request] = max(self._named_of.get(request, 0), hits)
        for _ in range(missing):
            if self._free:
                self._free -= 1
            else:
                self._evict()
            self._created += 1
            self._attach(self._created, mine)
        return True

    def _attach(self, block: int, mine: list[int]) -> None:
        count = self._count.get(block, 0)
        if not count:
            self.held += 1
            self._idle.pop(block, None)
        self._count[block] = count + 1
        mine.append(block)

    def _evict(self) -> None:
        """Drop the idle block that was given back first; its children stay."""
        block, _ = self._idle.popitem(last=False)
        identity = self._identity.pop(block)
        copies = self._copies[identity]
        copies.remove(block)
        if not copies:
            del self._copies[identity]
            self._events.append((False, identity))

    def publish(self, request: int, chain: Sequence[int], full_blocks: int) -> None:
        """Name the first ``full_blocks`` blocks of a request after its chain; they can be reused from now on."""
        named = self._named_of.get(request, 0)
        if full_blocks <= named:
            return
        mine = self._blocks_of[request]
        for position in range(named, full_blocks):
            block, identity = mine[position], chain[position]
            self._identity[block] = identity
            copies = self._copies.get(identity)
            if copies is None:
                self._copies[identity] = [block]
                self._events.append((True, identity))
            else:
                copies.append(block)
        self._named_of[request] = full_blocks

    def release(self, request: int) -> None:
        """Give back all blocks of a request, last block first, so that tails are evicted before heads."""
        self._named_of.pop(request, None)
        for block in reversed(self._blocks_of.pop(request, [])):
            if self._count[block] > 1:
                self._count[block] -= 1
                continue
            del self._count[block]
            self.held -= 1
            if block in self._identity:
                self._idle[block] = None
            else:
                self._free += 1

    def take_events(self) -> list[tuple[bool, int]]:
        """Return (stored, identity) events since the last time, in order of occurrence, and forget them."""
        events = self._events
        self._events = []
        return events

    def _check(self) -> None:
        """Assert every invariant of the pool (for tests)."""
        assert self.held == len(self._count), "held counts the blocks that somebody holds"
        assert self._free + len(self._idle) + self.held == self.blocks, "every block is free, idle or held"
        assert not self._idle.keys() & self._count.keys(), "an idle block is held by nobody"
        assert all(block in self._identity for block in self._idle), "an idle block has an identity"
        counted: dict[int, int] = {}
        for mine in self._blocks_of.values():
            for block in mine:
                counted[block] = counted.get(block, 0) + 1
        assert counted == self._count, "counts are the number of holders"
        copies = sorted(block for blocks in self._copies.values() for block in blocks)
        assert copies == sorted(self._identity), "every named block is a copy of its identity"


Pool = AnonymousPool | CachingPool
