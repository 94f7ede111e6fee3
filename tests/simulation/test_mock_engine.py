"""The mock engine: hand checks of its rules, through whole replays and pass by pass."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.router.prefix import BlockIdentities, leading
from drr.router.requests import RequestTable
from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.simulation.mock_engine import EngineRequests, MockEngine
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.timing import PassTiming, duration_ms
from tests.simulation.building import ring_of
from tests.simulation.strategies import ReplayInputs, replay_inputs
from tests.support import ROOT

FIXED = FixedTiming(10.0, 2.0)


def serve(*lengths: tuple[int, int], **options: Any) -> Run:
    """Requests of (prompt, output) tokens, all at once, on one worker that never queues at the router."""
    table = RequestTable()
    for isl, output in lengths:
        table.append(isl, output_tokens=output)
    settings: dict[str, Any] = {"enable_prefix_caching": False, "timing_model": FIXED, **options}
    return replay(ring_of({"A": 1}), table, engine=EngineOptions(**settings))


def test_four_prompts_of_512_prefill_in_one_pass_of_49_36_ms_and_their_first_tokens_are_free() -> None:
    run = serve(*[(512, 1)] * 4, timing_model=None)
    assert set(run.first_token_ms) == set(run.last_token_ms) == {PassTiming(EngineOptions()).prefill_ms(4, 2_048, 0)}
    assert round(run.first_token_ms[0] or 0, 2) == 49.36


def test_only_requests_that_emitted_before_cost_decode_time() -> None:
    run = serve((100, 3), (50, 1))
    # Pass 1: both prefill, nobody had emitted. Passes 2 and 3: one decode each.
    assert run.first_token_ms == [10.0, 10.0]
    assert run.last_token_ms == [14.0, 10.0]


def test_decode_time_counts_prompt_and_what_was_generated_so_far() -> None:
    options = EngineOptions(enable_prefix_caching=False)
    run = serve((100, 3), timing_model=None)
    timing = PassTiming(options)
    first = 0.0 + timing.prefill_ms(1, 100, 0) + 0.0
    second = first + 0.0 + timing.decode_ms(101)
    assert run.first_token_ms == [first]
    assert run.last_token_ms == [second + 0.0 + timing.decode_ms(102)]


def test_output_0_ends_at_the_end_of_its_prefill_without_a_token_and_is_signalled_first() -> None:
    run = serve((100, 1), (100, 0), (100, 1))
    assert run.first_token_ms == [10.0, None, 10.0]
    assert run.last_token_ms == [10.0, None, 10.0]
    assert list(run.completion_order) == [1, 0, 2]


def test_a_prompt_as_long_as_the_model_is_refused_and_generation_stops_at_its_length() -> None:
    run = serve((99, 5), (100, 1), (98, 5), max_model_len=100)
    assert run.first_admit_ms == [0.0, None, 0.0]
    assert run.outcome == ["immediate"] * 3
    assert run.refused_by_engine == {1}
    assert run.last_token_ms == [10.0, None, 12.0], "one token fits after 99, two after 98"


def test_a_refused_request_is_signalled_after_all_others_of_its_pass() -> None:
    run = serve((1_000, 1), (100, 1), max_model_len=500)
    assert list(run.completion_order) == [1, 0]


def test_a_prompt_that_outgrows_the_pool_is_refused_and_the_next_one_served() -> None:
    run = serve((641, 1), (640, 1), block_size=64, num_gpu_blocks=10)
    assert run.first_admit_ms == [None, 0.0]
    assert run.refused_by_engine == {0}
    reason = run.reason(0)
    assert reason is not None
    assert "refused by the engine" in reason


def test_a_request_that_outgrows_the_whole_pool_while_it_generates_ends_the_replay() -> None:
    run = serve((640, 5), (64, 1), block_size=64, num_gpu_blocks=10)
    assert run.aborted_because is not None
    assert "effect-free zero-duration pass with 2 in-flight requests remaining" in run.aborted_because


def test_chunks_fill_the_budget_of_a_pass_and_each_pass_costs_its_own_prefill() -> None:
    run = serve((250, 1), max_num_batched_tokens=100)
    assert run.first_token_ms == [30.0]
    timing = PassTiming(EngineOptions())
    chunked = serve((250, 1), max_num_batched_tokens=100, timing_model=None)
    now = 0.0
    for before, after in ((0, 100), (100, 200), (200, 250)):
        now = now + timing.prefill_ms(1, after, before) + 0.0
    assert chunked.first_token_ms == [now]


def test_without_chunked_prefill_a_prompt_waits_for_a_whole_budget() -> None:
    together = serve((60, 1), (60, 1), max_num_batched_tokens=100)
    assert together.first_token_ms == [10.0, 20.0]
    assert together.first_admit_ms == [0.0, 0.0], "chunked: the second starts with the 40 that are left"
    apart = serve((60, 1), (60, 1), max_num_batched_tokens=100, enable_chunked_prefill=False)
    assert apart.first_admit_ms == [0.0, 10.0]
    never = serve((101, 1), (10, 1), max_num_batched_tokens=100, enable_chunked_prefill=False)
    assert never.first_admit_ms == [None, None], "its head waits for ever, and so does what is behind it"
    assert never.aborted_because is not None


def test_running_requests_come_before_waiting_ones_and_slots_are_limited() -> None:
    run = serve((10, 3), (10, 1), (10, 1), max_num_seqs=2)
    assert run.first_admit_ms == [0.0, 0.0, 10.0]
    # Pass 2 decodes the first and prefills the third.
    assert run.first_token_ms == [10.0, 10.0, 22.0]
    assert run.last_token_ms == [24.0, 10.0, 22.0]


def test_the_newest_running_request_is_preempted_and_goes_to_the_front() -> None:
    # 4 blocks of 10: both take 2 (15 tokens, 16 .. 20 fit), the first needs a third at its 21st token.
    run = serve((15, 9), (15, 9), (5, 1), block_size=10, num_gpu_blocks=4)
    assert run.first_admit_ms[:2] == [0.0, 0.0]
    last = [time or 0.0 for time in run.last_token_ms]
    assert last[0] < last[1], "the older one is served to its end"
    # The third needs one block, but the preempted second stands in front of it.
    assert (run.first_admit_ms[2] or 0.0) >= last[0]
    assert run.first_token_ms[1] == 10.0, "a token that came stays"
    assert run.completion_order[0] == 0


def test_recomputed_tokens_of_its_own_output_cost_no_prefill_time() -> None:
    options = EngineOptions(enable_prefix_caching=False, block_size=10, num_gpu_blocks=4)
    table = [15, 15]
    requests = EngineRequests(table, [9, 9], None, block_size=10)
    engine = MockEngine(options, PassTiming(options), requests, BlockIdentities(10, 10))
    engine.waiting.extend([0, 1])
    now = 0.0
    preempted_at = None
    while engine.waiting or engine.running:
        end = engine.start_pass(now)
        assert end is not None
        if requests.computed_tokens[1] == 0 and preempted_at is None and now > 0:
            preempted_at = requests.known_tokens[1]
        if preempted_at is not None and requests.computed_tokens[1] == preempted_at:
            # It is admitted again: 15 prompt tokens and what it had generated, of which only the prompt is charged.
            timing = PassTiming(options)
            assert end == now + timing.prefill_ms(1, 15, 0) + timing.decode_ms(engine._context)
            break
        engine.end_pass(end)
        now = end
    assert preempted_at is not None
    assert preempted_at > 15


def test_the_pool_evicts_the_oldest_release_tail_first() -> None:
    """Pool of 5 blocks of 512, one slot: the second prompt takes 2 free blocks and evicts block 3, not 1."""
    table = RequestTable()
    for second, (isl, ids) in enumerate([(1_537, (1, 2, 3, 10)), (1_025, (4, 5, 11)), (1_538, (1, 2, 3, 12))]):
        table.append(isl, hash_ids=ids, timestamp_ms=second * 1_000.0)
    engine = EngineOptions(max_num_seqs=1, block_size=512, num_gpu_blocks=5)
    run = replay(ring_of({"A": 1}), table, engine=engine)
    assert list(run.outcomes.cached_tokens) == [0, 0, 1_024]
    assert list(run.cost_tokens) == [1_537, 1_025, 514]
    timing = PassTiming(engine)
    assert run.first_token_ms[2] == 2_000.0 + timing.prefill_ms(1, 1_538, 1_024)


def test_a_prompt_that_is_cached_whole_computes_its_last_block_again() -> None:
    table = RequestTable()
    for second in range(2):
        table.append(1_024, hash_ids=(1, 2), timestamp_ms=second * 1_000.0)
    run = replay(ring_of({"A": 1}), table, engine=EngineOptions(block_size=512))
    assert list(run.outcomes.cached_tokens) == [0, 1_024]
    assert list(run.cost_tokens) == [1_024, 1]
    assert run.first_token_ms[1] == 1_000.0 + duration_ms(4.209989e-07 * 512**2 + 1.518344e-02 * 512 + 16.50142)


def test_blocks_are_usable_in_the_pass_that_publishes_them() -> None:
    table = RequestTable()
    for _ in range(2):
        table.append(1_024, hash_ids=(1, 2))
    engine = EngineOptions(block_size=512)
    run = replay(ring_of({"A": 1}), table, engine=engine)
    # Both missed at the router (cost 1,024), but the second reuses a block: 2 requests, 2,048 tokens, 512 before.
    assert list(run.cost_tokens) == [1_024, 1_024]
    assert run.first_token_ms == [PassTiming(engine).prefill_ms(2, 2_048, 512)] * 2


@given(
    isl=st.integers(1, 60),
    size=st.integers(1, 12),
    step=st.integers(1, 12),
    split=st.integers(0, 60),
)
def test_identities_are_equal_exactly_as_far_as_the_token_streams_are(
    isl: int, size: int, step: int, split: int
) -> None:
    identities = BlockIdentities(size, step)
    count = -(-isl // step)
    first = tuple(range(count))
    second = tuple(i if i < split else 1_000 + i for i in range(count))
    stream = [[ids[token // step] for token in range(isl)] for ids in (first, second)]
    same = next((i for i, pair in enumerate(zip(*stream, strict=True)) if pair[0] != pair[1]), isl)
    chains = [identities.chain(isl, ids) for ids in (first, second)]
    assert [len(chain) for chain in chains] == [isl // size] * 2
    assert leading(chains[0], set(chains[1])) == min(same, isl) // size
    assert identities.chain(isl, first) == chains[0]
    fresh = identities.chain(isl, ())
    assert not set(fresh) & {*chains[0], *chains[1], *identities.chain(isl, ())}


@given(inputs=replay_inputs(most=15))
def test_engines_respect_slots_and_pool_and_end_every_request_once(inputs: ReplayInputs) -> None:
    engines: list[MockEngine] = []
    options: EngineOptions = inputs.settings["engine"]
    original = MockEngine.start_pass

    def start_pass(self: MockEngine, now_ms: float) -> float | None:
        end = original(self, now_ms)
        if self not in engines:
            engines.append(self)
        assert len(self.running) <= options.max_num_seqs
        assert self.pool.held <= options.num_gpu_blocks
        assert options.max_num_batched_tokens >= options.max_num_batched_tokens - self._budget >= 0
        if self.pool.caches:
            self.pool._check()  # type: ignore[union-attr]
        assert end is None or end >= now_ms
        return end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MockEngine, "start_pass", start_pass)
        run = replay(inputs.profile, inputs.requests, **inputs.settings)
    assert len(set(run.completion_order)) == len(run.completion_order)
    for row in range(len(inputs.requests)):
        times = [run.arrival_ms[row], run.first_admit_ms[row], run.first_token_ms[row], run.last_token_ms[row]]
        there = [time for time in times if time is not None]
        assert there == sorted(there)
    if run.aborted_because is None:
        for engine in engines:
            assert not engine.running
            assert not engine.waiting
            assert engine.pool.held == 0


def test_nothing_is_done_inside_an_assertion() -> None:
    """``python -O`` leaves assertions out, and every run is the same."""
    code = (
        "from drr.workload.scenarios import build, scenario\n"
        "for name in ('premium_burst', 'cache_flips', 'join_leave', 'hot_worker'):\n"
        "    run = build(scenario(name))\n"
        "    print(run.result_rows(), list(run.completion_order), run.other_rule.result_rows())\n"
    )
    with_assertions, without = (
        subprocess.run([sys.executable, *flag, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for flag in ([], ["-O"])
    )
    assert with_assertions == without != ""
