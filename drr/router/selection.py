"""Which worker serves a request that may go: the least cost over all eligible endpoints, busy or not."""

from __future__ import annotations

import random
from collections.abc import Sequence

from drr.router.prefix import leading


class WorkerChoice:
    """The router's cost function over endpoints, and the blocks it needs to remember for it.

    Cost of an endpoint, in blocks: what it would have to prefill, max(0, (active + isl) / block - overlap), plus what
    it would have to keep, distinct active prompt blocks there + the request's full blocks - leading ones already active
    there. Exact ties are broken by a generator seeded per run (the real router breaks them at random).
    """

    def __init__(self, block_size: int, seed: int = 0, follow: Sequence[int | None] | None = None) -> None:
        self._block_size = block_size
        self._random = random.Random(seed)
        self._active: dict[int, dict[int, int]] = {}
        self._follow = follow
        self.not_cheapest: dict[int, tuple[int, tuple[int, ...]]] = {}
        """Per row: the followed endpoint and the cheapest ones, where the former was not among the latter."""

    def choose(
        self,
        request: int,
        eligible: Sequence[int],
        loads: Sequence[int],
        *,
        isl_tokens: int,
        overlaps: Sequence[int],
        chain: Sequence[int],
    ) -> int:
        """The endpoint for a request; ``overlaps`` are its cached leading blocks per endpoint, ``chain`` its blocks."""
        best: list[int] = []
        least = 0.0
        for endpoint in eligible:
            active = self._active.get(endpoint) or {}
            overlap = overlaps[endpoint] if overlaps else 0
            prefill = max(0.0, (loads[endpoint] + isl_tokens) / self._block_size - overlap)
            cost = prefill + (len(active) + len(chain) - leading(chain, active))
            if not best or cost < least:
                best = [endpoint]
                least = cost
            elif cost == least:
                best.append(endpoint)
        followed = self._follow[request] if self._follow is not None else None
        if followed is not None:
            if followed not in best:
                self.not_cheapest[request] = (followed, tuple(best))
            return followed
        return best[0] if len(best) == 1 else self._random.choice(best)

    def hold(self, endpoint: int, chain: Sequence[int]) -> None:
        """A request with these prompt blocks was dispatched to the endpoint."""
        active = self._active.setdefault(endpoint, {})
        for identity in chain:
            active[identity] = active.get(identity, 0) + 1

    def release(self, endpoint: int, chain: Sequence[int]) -> None:
        """A request with these prompt blocks ended there."""
        active = self._active[endpoint]
        for identity in chain:
            if active[identity] == 1:
                del active[identity]
            else:
                active[identity] -= 1
