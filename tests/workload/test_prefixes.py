"""Cache hits of generated workloads, as the mock engine's own caches find them."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean, pstdev
from typing import Any

import pytest

from drr.policy import load_policy
from drr.policy.samples import sample
from drr.router.requests import RequestTable
from drr.simulation.engine_options import EngineOptions
from drr.simulation.replay import replay
from drr.workload.arrivals import ClosedLoop, Constant
from drr.workload.distributions import Fixed, Uniform
from drr.workload.spec import BetaHits, FixedHits, SessionHits
from tests.workload.support import Z, made, stream


def cached_shares(hits: Any, **how: Any) -> tuple[list[float], RequestTable]:
    """What the mock engine's own prefix cache makes of it: the cached share of every prompt at its arrival."""
    profile = load_policy(sample("premium_4_to_1").text()).profile_for()
    made_of = {"arrivals": Constant(0.5), "requests": 400, "input_tokens": Uniform(2000, 6000), **how}
    table = made(stream(cache_hits=hits, **made_of), trace_block_size=64)
    engine = EngineOptions(num_gpu_blocks=1_000_000)
    run = replay(profile, table, engine=engine, trace_block_size=64)
    cached = run.outcomes.cached_tokens
    return [c / n for c, n in zip(cached, table.isl_tokens, strict=True)], table


def test_a_fixed_share_is_what_the_worker_caches_really_hit() -> None:
    shares, _ = cached_shares(FixedHits(0.6, groups=2))
    warm = shares[100:]  # by then a prefix as long as any is cached, up to the last few tokens
    # The rest to whole blocks is rounded at random, by less than one of at least 31 blocks.
    assert all(abs(share - 0.6) < 64 / 2000 for share in warm[:10])
    assert abs(fmean(warm) - 0.6) <= Z * (64 / 2000) / math.sqrt(len(warm))
    assert shares[0] == 0


def test_a_beta_share_is_what_the_worker_caches_really_hit() -> None:
    shares, _ = cached_shares(BetaHits(2, 3), requests=1500, arrivals=Constant(2))
    warm = shares[500:]
    deviation = math.sqrt(2 * 3 / (25 * 6))
    # A prompt whose prefix is longer than all before it hits a little less than it draws: allow one point.
    assert abs(fmean(warm) - 0.4) <= Z * deviation / math.sqrt(len(warm)) + 0.01
    assert abs(pstdev(warm) - deviation) < 0.02


def test_a_session_grows_turn_by_turn_and_hits_what_was_said_before() -> None:
    shares, table = cached_shares(
        SessionHits(Fixed(4)), requests=40, input_tokens=Uniform(300, 900), output_tokens=Uniform(5, 90)
    )
    assert len(set(table.session)) == 10
    for start in range(0, 40, 4):
        for row in range(start + 1, start + 4):
            before = table.isl_tokens[row - 1] + table.output_tokens[row - 1]
            assert 300 <= table.isl_tokens[row] - before <= 900
            blocks = len(table.hash_ids[row - 1])
            assert table.hash_ids[row][:blocks] == table.hash_ids[row - 1]
            whole_blocks = table.isl_tokens[row - 1] // 64 * 64
            assert shares[row] * table.isl_tokens[row] == pytest.approx(whole_blocks)
        assert shares[start] == 0


def test_conversations_end_before_the_longest_prompt_and_within_the_requests() -> None:
    table = made(stream(cache_hits=SessionHits(Fixed(100), 2000), input_tokens=Fixed(600), requests=50))
    assert len(table) == 50
    assert max(table.isl_tokens) <= 2000
    assert Counter(Counter(table.session).values())[3] == 16
    ids = {i for row, t in enumerate(table.timestamp_ms) if t is not None for i in table.hash_ids[row]}
    assert len(ids) == 17 * 2


@pytest.mark.parametrize("requests", [3, 20, 31])
@pytest.mark.parametrize("turns", [Fixed(1), Fixed(5), Uniform(1, 40)], ids=str)
def test_no_client_of_a_closed_loop_goes_on_with_the_conversation_of_another(requests: int, turns: Any) -> None:
    table = made(
        stream(arrivals=ClosedLoop(3), requests=requests, cache_hits=SessionHits(turns), input_tokens=Fixed(512))
    )
    blocks: dict[str | None, set[int]] = {}
    for session, ids in zip(table.session, table.hash_ids, strict=True):
        blocks.setdefault(session, set()).update(ids)
    if requests > 3:  # a client with one request has no session
        assert len(blocks) == 3
        assert sum(map(len, blocks.values())) == len(set().union(*blocks.values()))
    starts = [row for row, stamp in enumerate(table.timestamp_ms) if stamp is not None]
    assert [table.isl_tokens[row] for row in starts] == [512] * 3


def test_closed_loop_clients_hold_one_conversation_after_the_other() -> None:
    table = made(stream(arrivals=ClosedLoop(2), requests=20, cache_hits=SessionHits(Fixed(5)), input_tokens=Fixed(512)))
    assert [n // 512 for n in table.isl_tokens] == [1, 2, 3, 4, 5] * 4
    assert len(set(table.session)) == 2
