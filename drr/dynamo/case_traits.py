"""What a random replay case can look like: one field per trait, each the tuple of values to draw from."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random

PER_CLASS = frozenset({"orders", "thresholds", "quanta"})
"""Traits that every policy class draws anew; the others are drawn once per case."""


@dataclass(frozen=True, slots=True)
class Traits:
    """The values each trait is drawn from; the defaults are a broad mix on one worker with an ample pool."""

    workers: tuple[int, ...] = (1,)
    outputs: tuple[str, ...] = ("one", "few")
    """``one`` token, a ``few`` (1..50), ``long`` (20..120), ``some zero``."""
    arrivals: tuple[str, ...] = ("at once", "poisson", "bursts")
    priorities: tuple[bool, ...] = (False, True)
    orders: tuple[str, ...] = ("fcfs", "wspt")
    thresholds: tuple[str, ...] = ("tokens", "fraction", "both", "low")
    """``low`` stays near a typical prompt, so that capacity returns request by request."""
    quanta: tuple[str, ...] = ("small", "near")
    limits: tuple[str, ...] = ("none",)
    families: tuple[int, ...] = (1, 2, 3, 4)
    buckets: tuple[int, ...] = (1,)
    explicit_classes: tuple[int, ...] = (0, 0, 1)
    profile: tuple[str, ...] = ("root",)
    lengths: tuple[str, ...] = ("unlike",)
    """``unlike``: every prompt length once; ``equal``: a few lengths that repeat."""
    sharing: tuple[str, ...] = ("none",)
    """``prefixes`` of some groups, ``aligned`` (whole blocks of one group, so equal prompts), ``turns``."""
    caching: tuple[bool, ...] = (False,)
    pools: tuple[str, ...] = ("ample",)
    block_sizes: tuple[int, ...] = (16, 64, 512)
    trace_blocks: tuple[str, ...] = ("same",)
    chunking: tuple[bool, ...] = (True, True, False)
    budgets: tuple[str, ...] = ("fits",)
    """Whether the longest prompt fits the token budget where chunked prefill is off: ``fits`` or ``short``."""
    timing: tuple[str, ...] = ("polynomial", "polynomial", "fixed")
    speedups: tuple[float, ...] = (1.0,)
    decode_speedups: tuple[float, ...] = (1.0,)
    arrival_speedups: tuple[float, ...] = (1.0,)
    model_lengths: tuple[bool, ...] = (False,)
    turns: tuple[bool, ...] = (False,)

    def drawn(self, rng: Random) -> Traits:
        """These traits with one value left of each that is drawn once per case."""
        once = {f.name: (rng.choice(getattr(self, f.name)),) for f in fields(self) if f.name not in PER_CLASS}
        return replace(self, **once)
