"""Prompts and their prefix blocks: what makes cache hits real.

A prompt of n tokens has ceil(n / block) block ids; engines and router find a hit where leading ids are equal, so a
shared prefix is a run of equal ids at the head. Every stream has a range of ids of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from drr.workload.distributions import sampler
from drr.workload.spec import BetaHits, FixedHits, SessionHits, WorkloadSpec

STREAM_IDS = 1 << 42
"""Ids of one stream; with a thousand streams all of them are exact in a double, as readers of JSON may need."""
GROUP_IDS = 1 << 24
"""Ids of one common prefix: more blocks than the longest prompt can have."""


class Prompts(Protocol):
    """Draws the prompts of a stream one after the other."""

    def next(self, answer_tokens: int) -> tuple[int, tuple[int, ...]]:
        """Length in tokens and block ids of the next prompt; its answer will have ``answer_tokens``."""

    def goes_on(self) -> bool:
        """Whether the conversation has another turn."""

    def end(self) -> None:
        """The conversation is over."""


Aspect = Callable[[str], Random]


def prompts_of(spec: WorkloadSpec, index: int, aspect: Aspect) -> Prompts:
    """The prompts of stream ``index``; ``aspect`` makes the generator of one of its aspects."""
    hits = spec.streams[index].cache_hits
    if isinstance(hits, SessionHits):
        return _Conversations(spec, index, hits, aspect)
    if hits is not None:
        return _CommonPrefixes(spec, index, hits, aspect)
    return _Distinct(spec, index, aspect)


class _Single:
    """Prompts that stand alone."""

    def goes_on(self) -> bool:
        return False

    def end(self) -> None:
        pass


class _Distinct(_Single):
    """Prompts that share nothing: no ids at all."""

    def __init__(self, spec: WorkloadSpec, index: int, aspect: Aspect) -> None:
        self._length = sampler(spec.streams[index].input_tokens, aspect("input tokens"), 1)

    def next(self, answer_tokens: int) -> tuple[int, tuple[int, ...]]:
        return self._length(), ()


class _CommonPrefixes(_Single):
    """Prompts whose first blocks are those of one of a few common prefixes.

    The wanted share of a prompt is rounded to whole blocks up or down at random, so that the mean is kept.
    """

    def __init__(self, spec: WorkloadSpec, index: int, hits: FixedHits | BetaHits, aspect: Aspect) -> None:
        self._length = sampler(spec.streams[index].input_tokens, aspect("input tokens"), 1)
        self._block = spec.trace_block_size
        self._share = _share_drawer(hits, aspect("cache hits"))
        self._rounding = aspect("cache rounding").random
        self._group = aspect("cache groups").random
        self._groups = hits.groups
        self._base = index * STREAM_IDS
        self._unique = self._base + hits.groups * GROUP_IDS

    def next(self, answer_tokens: int) -> tuple[int, tuple[int, ...]]:
        tokens = self._length()
        wanted = self._share() * tokens / self._block
        shared = min(int(wanted + self._rounding()), tokens // self._block)
        start = self._base + int(self._group() * self._groups) * GROUP_IDS
        own = -(-tokens // self._block) - shared
        first = self._unique
        self._unique += own
        return tokens, (*range(start, start + shared), *range(first, first + own))


def _share_drawer(hits: FixedHits | BetaHits, random: Random) -> Callable[[], float]:
    if isinstance(hits, FixedHits):
        share = hits.share
        return lambda: share
    alpha, beta = hits.alpha, hits.beta
    return lambda: random.betavariate(alpha, beta)


class _Conversations:
    """Prompts that grow turn by turn: the one before, its answer, and new tokens."""

    def __init__(self, spec: WorkloadSpec, index: int, hits: SessionHits, aspect: Aspect) -> None:
        self._new_tokens = sampler(spec.streams[index].input_tokens, aspect("input tokens"), 1)
        self._turns = sampler(hits.turns, aspect("turns"), 1)
        self._longest = hits.max_prompt_tokens
        self._block = spec.trace_block_size
        self._first_id = index * STREAM_IDS
        self._left = 0
        self._tokens = 0
        self._said = 0
        self._upcoming = self._new_tokens()

    def goes_on(self) -> bool:
        return self._left > 0 and self._said + self._upcoming <= self._longest

    def end(self) -> None:
        self._left = 0

    def next(self, answer_tokens: int) -> tuple[int, tuple[int, ...]]:
        if not self.goes_on():
            self._first_id += -(-self._tokens // self._block)
            self._left = self._turns()
            self._said = 0
        self._tokens = min(self._said + self._upcoming, self._longest)
        self._said = self._tokens + answer_tokens
        self._left -= 1
        self._upcoming = self._new_tokens()
        blocks = -(-self._tokens // self._block)
        return self._tokens, tuple(range(self._first_id, self._first_id + blocks))
