"""The KV pool against a plain model: a list of blocks, looked through from end to end."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from drr.simulation.kv_pool import AnonymousPool, CachingPool

# A chain is a path in a tree: equal identities mean equal blocks before them.
CHAINS = [
    tuple(int(f"{digits[: i + 1]}") for i in range(len(digits))) for digits in ("11111", "11222", "13333", "22222")
]


@dataclass
class Block:
    identity: int | None = None
    named: int = 0
    holders: list[int] = field(default_factory=list)
    given_back: int = 0


@dataclass
class Naive:
    """Every block that ever got something, in a list; the others are free."""

    blocks: int
    used: list[Block] = field(default_factory=list)
    of: dict[int, list[Block]] = field(default_factory=dict)
    events: list[tuple[bool, int]] = field(default_factory=list)
    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def copies(self, identity: int) -> list[Block]:
        found = [(block.identity == identity, block) for block in self.used]
        return sorted((block for same, block in found if same), key=lambda block: block.named)

    def hits(self, chain: tuple[int, ...], limit: int) -> int:
        count = 0
        while count < min(limit, len(chain)) and self.copies(chain[count]):
            count += 1
        return count

    def held(self) -> int:
        return sum(bool(block.holders) for block in self.used)

    def held_hits(self, chain: tuple[int, ...], hits: int) -> int:
        return sum(bool(self.copies(identity)[0].holders) for identity in chain[:hits])

    def grow(self, request: int, blocks: int, chain: tuple[int, ...], hits: int) -> bool:
        attached = [self.copies(identity)[0] for identity in chain[:hits]]
        fresh = blocks - len(self.of.get(request, [])) - hits
        available = self.blocks - self.held() - sum(not block.holders for block in attached)
        if fresh > available and fresh > 0:
            return False
        mine = self.of.setdefault(request, [])
        for block in attached:
            block.holders.append(request)
            mine.append(block)
        for _ in range(fresh):
            if len(self.used) == self.blocks:
                idle = [block for block in self.used if not block.holders]
                victim = min(idle, key=lambda block: block.given_back)
                self.used.remove(victim)
                assert victim.identity is not None
                if not self.copies(victim.identity):
                    self.events.append((False, victim.identity))
            block = Block(holders=[request])
            self.used.append(block)
            mine.append(block)
        return True

    def publish(self, request: int, chain: tuple[int, ...], full: int) -> None:
        for block, identity in zip(self.of[request][:full], chain, strict=False):
            if block.identity is None:
                if not self.copies(identity):
                    self.events.append((True, identity))
                block.identity, block.named = identity, self.tick()

    def release(self, request: int) -> None:
        for block in reversed(self.of.pop(request, [])):
            block.holders.remove(request)
            if not block.holders:
                block.given_back = self.tick()
                if block.identity is None:
                    self.used.remove(block)


class PoolMachine(RuleBasedStateMachine):
    """Requests are admitted, grow, publish and leave in any order."""

    @initialize(blocks=st.integers(1, 9))
    def start(self, blocks: int) -> None:
        self.pool = CachingPool(blocks)
        self.model = Naive(blocks)
        self.number = 0
        self.chain_of: dict[int, tuple[int, ...]] = {}
        self.told: set[int] = set()

    @rule(chain=st.sampled_from(CHAINS), limit=st.integers(0, 5), extra=st.integers(0, 3))
    def admit(self, chain: tuple[int, ...], limit: int, extra: int) -> None:
        hits = self.model.hits(chain, limit)
        assert self.pool.hits(chain, limit) == hits
        assert self.pool.held_hits(chain, hits) == self.model.held_hits(chain, hits)
        self.number += 1
        granted = self.pool.grow(self.number, hits + extra, chain, hits)
        assert granted == self.model.grow(self.number, hits + extra, chain, hits)
        if granted:
            self.chain_of[self.number] = chain

    @precondition(lambda self: self.chain_of)
    @rule(data=st.data(), more=st.integers(-1, 3))
    def grow(self, data: st.DataObject, more: int) -> None:
        request = data.draw(st.sampled_from(sorted(self.chain_of)))
        blocks = len(self.model.of[request]) + more
        assert self.pool.grow(request, blocks) == self.model.grow(request, blocks, (), 0)

    @precondition(lambda self: self.chain_of)
    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(sorted(self.chain_of)))
        chain = self.chain_of[request]
        full = data.draw(st.integers(0, min(len(chain), len(self.model.of[request]))))
        self.pool.publish(request, chain, full)
        self.model.publish(request, chain, full)

    @precondition(lambda self: self.chain_of)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(sorted(self.chain_of)))
        del self.chain_of[request]
        self.pool.release(request)
        self.model.release(request)

    @rule()
    def the_router_is_told(self) -> None:
        events = self.pool.take_events()
        assert events == self.model.events
        self.model.events = []
        for stored, identity in events:
            assert stored == (identity not in self.told)
            (self.told.add if stored else self.told.remove)(identity)
        assert self.told == {block.identity for block in self.model.used if block.identity is not None}

    @invariant()
    def the_pools_agree(self) -> None:
        if hasattr(self, "pool"):
            self.pool._check()
            assert self.pool.held == self.model.held()
            for chain in CHAINS:
                assert self.pool.hits(chain, 99) == self.model.hits(chain, 99)


TestPool = PoolMachine.TestCase
TestPool.settings = settings(stateful_step_count=40)


def test_of_two_copies_the_one_that_was_named_first_is_the_oldest() -> None:
    pool = CachingPool(4)
    for request in (1, 2):
        assert pool.grow(request, 1)
    pool.publish(2, (7,), 1)  # 1 holds the older block, which is no copy of anything yet
    pool.publish(1, (7,), 1)
    pool.release(2)
    assert pool.held_hits((7,), 1) == 0
    assert pool.grow(3, 1, (7,), 1)
    assert (pool.held, pool.held_hits((7,), 1)) == (2, 1)


def test_blocks_go_back_last_first_so_tails_are_evicted_before_heads() -> None:
    pool = CachingPool(3)
    chain = CHAINS[0][:3]
    assert pool.grow(1, 3, chain)
    pool.publish(1, chain, 3)
    pool.release(1)
    assert pool.grow(2, 1)
    assert pool.hits(chain, 3) == 2
    assert pool.take_events() == [*((True, identity) for identity in chain), (False, chain[2])]
    pool._check()


def test_growth_is_all_or_nothing() -> None:
    for pool in (CachingPool(4), AnonymousPool(4)):
        assert pool.grow(1, 3)
        assert not pool.grow(2, 2)
        assert pool.held == 3
        assert pool.grow(2, 1)
        assert not pool.grow(1, 4)
        pool.release(1)
        assert pool.held == 1


def test_a_second_copy_is_evicted_on_its_own_and_the_router_hears_of_the_last_one_alone() -> None:
    pool = CachingPool(2)
    for request in (1, 2):
        assert pool.grow(request, 1)
        pool.publish(request, (7,), 1)
    assert pool.take_events() == [(True, 7)]
    pool.release(1)
    pool.release(2)
    assert pool.grow(3, 1)
    assert pool.take_events() == []
    assert pool.hits((7,), 1) == 1
    assert pool.grow(4, 1)
    assert pool.take_events() == [(False, 7)]
