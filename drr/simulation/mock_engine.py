"""One aggregated, vLLM-like mock engine: which requests a pass works on, and how long it takes.

A pass is a prefill part and then a decode part; all tokens of a pass appear at its end. Figures are tokens and blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from drr.router.prefix import BlockIdentities
from drr.router.requests import token_column
from drr.simulation.engine_options import EngineOptions
from drr.simulation.kv_pool import AnonymousPool, CachingPool, Pool
from drr.simulation.timing import PassTiming


class EngineRequests:
    """What the engines know of every request, by row. A row is on one engine at a time: all share the columns."""

    def __init__(
        self,
        isl_tokens: list[int],
        target_tokens: list[int],
        chains: list[Sequence[int]] | None,
        *,
        block_size: int,
    ) -> None:
        rows = len(isl_tokens)
        self.isl_tokens = isl_tokens
        self.target_tokens = target_tokens
        """Tokens to generate: the output length, cut where the model's length ends."""
        self.chains = chains
        """Block identities, extended when blocks with generated tokens fill up; None without prefix caching."""
        self.known_tokens = list(isl_tokens)
        """Prompt and generated so far."""
        most_tokens = max(isl_tokens, default=0) + max(target_tokens, default=0) + block_size
        self.computed_tokens = token_column(rows, most_tokens)
        self.room_tokens = token_column(rows, most_tokens)
        """What the blocks that a request holds have room for."""
        self.first_admit_ms: list[float | None] = [None] * rows
        self.first_token_ms: list[float | None] = [None] * rows
        self.last_token_ms: list[float | None] = [None] * rows


class MockEngine:
    """The engine of one endpoint. :meth:`start_pass` and :meth:`end_pass` alternate.

    After a pass started, ``admitted`` holds the requests it admitted for the first time, and ``refused`` those it
    refused, which are signalled when it ends.
    """

    def __init__(
        self, options: EngineOptions, timing: PassTiming, requests: EngineRequests, identities: BlockIdentities
    ) -> None:
        self.waiting: deque[int] = deque()
        self.running: list[int] = []
        self.admitted: list[int] = []
        self.refused: list[int] = []
        self.pool: Pool = (CachingPool if options.enable_prefix_caching else AnonymousPool)(options.num_gpu_blocks)
        self._options = options
        self._model_len = options.max_model_len or 1 << 62
        self._block_size = options.block_size
        self._timing = timing
        self._requests = requests
        self._identities = identities
        self._emitting: list[int] = []
        self._ended_empty: list[int] = []
        # Sums over the pass that is being put together (SPEC of the timing model: see PassTiming).
        self._budget = 0
        self._prefilling = 0
        self._isl_sum = 0
        self._prefix_sum = 0
        self._context = 0

    def start_pass(self, now_ms: float) -> float | None:
        """Put the next pass together; returns when it ends, or None where there is nothing it could do."""
        self._budget = self._options.max_num_batched_tokens
        self._prefilling = self._isl_sum = self._prefix_sum = self._context = 0
        self.admitted.clear()
        worked = False
        preempted = False
        requests = self._requests
        computed = requests.computed_tokens
        known = requests.known_tokens
        position = 0
        while position < len(self.running) and self._budget > 0:
            request = self.running[position]
            chunk = min(known[request] - computed[request], self._budget)
            while not self._make_room(request, computed[request] + chunk):
                preempted = True
                if self._preempt_newest() == request:
                    break
            else:
                self._schedule(request, chunk)
                worked = True
                position += 1
                continue
            break
        if self.waiting and not preempted and len(self.running) < self._options.max_num_seqs:
            worked = self._admit(now_ms) or worked
        if not worked and not self.refused:
            return None
        prefill = self._timing.prefill_ms(self._prefilling, self._isl_sum, self._prefix_sum)
        return now_ms + prefill + self._timing.decode_ms(self._context)

    def _make_room(self, request: int, tokens: int) -> bool:
        """Let a running request hold blocks for this many tokens; False where the pool is short."""
        room = self._requests.room_tokens
        if tokens > room[request]:
            blocks = -(-tokens // self._block_size)
            if not self.pool.grow(request, blocks):
                return False
            room[request] = blocks * self._block_size
        return True

    def _preempt_newest(self) -> int:
        """Throw the newest running request back to the front of the queue, its blocks given back; returns it."""
        victim = self.running.pop()
        self.pool.release(victim)
        self._requests.computed_tokens[victim] = 0
        self._requests.room_tokens[victim] = 0
        self.waiting.appendleft(victim)
        return victim

    def _schedule(self, request: int, chunk: int) -> None:
        """Work on ``chunk`` tokens of a request that has the blocks for them."""
        requests = self._requests
        before = requests.computed_tokens[request]
        after = before + chunk
        requests.computed_tokens[request] = after
        self._budget -= chunk
        isl = requests.isl_tokens[request]
        if before < isl:
            self._prefilling += 1
            self._isl_sum += min(after, isl)
            self._prefix_sum += before
        if requests.chains is not None:
            self._publish(request, after)
        known = requests.known_tokens[request]
        if after == known:
            if requests.target_tokens[request] == 0:
                self._ended_empty.append(request)
            else:
                self._emitting.append(request)
                if known > isl:
                    self._context += known

    def _publish(self, request: int, computed_tokens: int) -> None:
        """Name the blocks that are full now; those with generated tokens get an identity of their own first."""
        assert self._requests.chains is not None
        chain = self._requests.chains[request]
        full = computed_tokens // self._block_size
        if len(chain) < full:
            chain = self._requests.chains[request] = [
                *chain,
                *(self._identities.fresh() for _ in range(full - len(chain))),
            ]
        self.pool.publish(request, chain, full)

    def _admit(self, now_ms: float) -> bool:
        """Admit from the head of the queue while slots, budget and blocks allow; True when one was admitted."""
        requests = self._requests
        size = self._block_size
        pool = self.pool
        waiting = self.waiting
        admitted = False
        while waiting and len(self.running) < self._options.max_num_seqs:
            request = waiting[0]
            known = requests.known_tokens[request]
            blocks = -(-known // size)
            if requests.first_admit_ms[request] is None and (
                blocks > pool.blocks or requests.isl_tokens[request] >= self._model_len
            ):
                self.refused.append(waiting.popleft())
                continue
            had_budget = self._budget > 0
            if not self._admit_head(request, known, blocks):
                break
            admitted = True
            waiting.popleft()
            self.running.append(request)
            if requests.first_admit_ms[request] is None:
                requests.first_admit_ms[request] = now_ms
                self.admitted.append(request)
            if not had_budget:
                break
        return admitted

    def _admit_head(self, request: int, known: int, blocks: int) -> bool:
        """Give the head of the queue its cached blocks and a first chunk, if budget and pool allow."""
        requests = self._requests
        size = self._block_size
        pool = self.pool
        chain: Sequence[int] = ()
        hits = held_hits = 0
        if requests.chains is not None:
            chain = requests.chains[request]
            # The last known token has to be computed for a token to come out; without output there is none to come.
            limit = (known - 1) // size if requests.target_tokens[request] else known // size
            hits = pool.hits(chain, limit)
            held_hits = pool.held_hits(chain, hits)
        reused = hits * size
        chunk = known - reused
        if chunk > self._budget:
            chunk = self._budget
            if not chunk or (
                not self._options.enable_chunked_prefill and requests.isl_tokens[request] - reused > self._budget
            ):
                return False
        if blocks - held_hits > pool.blocks - pool.held:
            return False
        granted = -(-(reused + chunk) // size)
        grown = pool.grow(request, granted, chain, hits)
        assert grown, "what fits whole fits in part"
        requests.computed_tokens[request] = reused
        requests.room_tokens[request] = granted * size
        self._schedule(request, chunk)
        return True

    def end_pass(self, now_ms: float) -> list[tuple[int, bool, bool]]:
        """End the pass: returns (request, finished, first token now or never) in the order of the signals.

        Requests that finish without a token are signalled first, refused ones last; all leave slot and blocks.
        """
        requests = self._requests
        signals = [(request, True, True) for request in self._ended_empty]
        finished = set(self._ended_empty)
        for request in self._ended_empty:
            self.pool.release(request)
        for request in self._emitting:
            known = requests.known_tokens[request] + 1
            requests.known_tokens[request] = known
            generated = known - requests.isl_tokens[request]
            first = generated == 1
            if first:
                requests.first_token_ms[request] = now_ms
            if generated == requests.target_tokens[request]:
                requests.last_token_ms[request] = now_ms
                signals.append((request, True, first))
                finished.add(request)
                self.pool.release(request)
            elif first:
                signals.append((request, False, True))
        if finished:
            self.running = [request for request in self.running if request not in finished]
        signals.extend((request, True, True) for request in self.refused)
        self._ended_empty = []
        self._emitting = []
        self.refused = []
        return signals
