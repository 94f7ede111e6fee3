from __future__ import annotations

import random

import pytest

from drr.errors import WorkloadError
from drr.policy.schema import synthetic_profile
from drr.router.requests import RequestTable
from drr.simulation.engine_options import EngineOptions
from drr.simulation.replay import replay
from drr.simulation.timing import PassTiming
from drr.workload.prefix_cache import bounded_caches, unbounded_cache
from drr.workload.traces import read_trace


def prompts(*rows):
    """Rows of (input tokens, block ids) or with output tokens, one second apart."""
    table = RequestTable()
    for number, (isl, ids, *output) in enumerate(rows):
        table.append(isl, hash_ids=ids, timestamp_ms=1000.0 * number, output_tokens=output[0] if output else 1)
    return table


HAND_CHECK = [(1537, (1, 2, 3, 10)), (1025, (4, 5, 11)), (1538, (1, 2, 3, 12))]


def test_the_hand_check_of_the_bounded_pool():
    figures = bounded_caches(prompts(*HAND_CHECK), trace_block_size=512, block_size=512, num_gpu_blocks=5)
    assert figures.cached_tokens == (0, 0, 1024)
    assert (figures.total_cached_tokens, figures.rows_with_hits, figures.cold_rows) == (1024, 1, 2)


def test_the_upper_bound_forgets_nothing():
    figures = unbounded_cache(prompts(*HAND_CHECK), trace_block_size=512)
    assert figures.cached_tokens == (0, 0, 1536)
    assert figures.cached_share == pytest.approx(1536 / (1537 + 1025 + 1538))


def test_only_full_blocks_count_and_a_chain_ends_at_its_first_gap():
    table = prompts((1000, (1, 2)), (1024, (1, 2)), (1024, (1, 2)), (1536, (1, 9, 2)), (512, (2,)), (100, ()))
    figures = unbounded_cache(table, trace_block_size=512)
    assert figures.cached_tokens == (0, 512, 1024, 512, 0, 0)
    assert figures.cold_rows == 2


def test_smaller_engine_blocks_reuse_the_same_tokens():
    table = prompts((1000, (1, 2)), (1000, (1, 3)), (1000, (1, 2)))
    assert unbounded_cache(table, trace_block_size=512, block_size=64).cached_tokens == (0, 512, 960)
    assert unbounded_cache(table, trace_block_size=512, block_size=100).cached_tokens == (0, 500, 1000)


@pytest.mark.parametrize("output", [0, 1, 600])
def test_a_row_is_cold_where_its_first_block_is_in_no_cache_whatever_may_be_reused(output):
    generator = random.Random(output)
    rows = [(512 * n, [generator.randrange(4), *range(10, 9 + n)], output) for n in generator.choices((1, 2, 3), k=60)]
    table = prompts((512, (7,), output), (512, (7,), output), *rows)
    figures = bounded_caches(table, trace_block_size=512, block_size=512, num_gpu_blocks=10_000)
    assert figures.cold_rows == unbounded_cache(table, trace_block_size=512).cold_rows == 5


def test_arrival_order_counts_not_file_order():
    table = prompts((512, (1,)), (512, (1,)))
    table.timestamp_ms = [10.0, 5.0]
    assert unbounded_cache(table, trace_block_size=512).cached_tokens == (512, 0)


def test_each_worker_has_its_own_cache():
    table = prompts(*[(513, (1, 2))] * 4)
    options = {"trace_block_size": 512, "block_size": 512, "num_gpu_blocks": 10}
    assert bounded_caches(table, workers=2, **options).cached_tokens == (0, 0, 512, 512)
    assert bounded_caches(table, endpoints=[0, 0, 0, 1], **options).cached_tokens == (0, 512, 512, 0)
    assert bounded_caches(table, endpoints=[0, -1, 0, 1], **options).cached_tokens == (0, 0, 512, 0)
    with pytest.raises(WorkloadError, match="2 workers are named for 4 requests"):
        bounded_caches(table, endpoints=[0, 1], **options)


def test_what_fits_into_no_pool_is_counted():
    figures = bounded_caches(prompts((5000, range(10))), trace_block_size=512, block_size=512, num_gpu_blocks=5)
    assert (figures.refused_rows, figures.cached_tokens) == (1, (0,))


@pytest.mark.parametrize(("block_size", "blocks"), [(512, 60), (512, 25), (64, 200), (100, 120)])
def test_with_one_sequence_the_bounded_model_is_the_engine(block_size, blocks):
    """A prompt's prefill time tells how many of its tokens the engine reused."""
    generator = random.Random(block_size + blocks)
    rows = []
    for _ in range(150):
        ids = [generator.randrange(3) + 10 * depth for depth in range(generator.randrange(1, 7))]
        rows.append((512 * len(ids) - generator.choice((0, 1, 30, 511)), ids, generator.choice((1, 2, 40, 300))))
    table = prompts(*rows)
    options = EngineOptions(
        max_num_seqs=1, max_num_batched_tokens=100_000, block_size=block_size, num_gpu_blocks=blocks
    )
    figures = bounded_caches(table, trace_block_size=512, block_size=block_size, num_gpu_blocks=blocks)
    run = replay(synthetic_profile(), table, engine=options, record=False)
    timing = PassTiming(options)
    for row, (isl, cached) in enumerate(zip(table.isl_tokens, figures.cached_tokens, strict=True)):
        admitted = run.first_admit_ms[row]
        assert run.first_token_ms[row] == admitted + timing.prefill_ms(1, isl, cached), row
    assert figures.rows_with_hits > 50
    assert figures.evicted_blocks > 100


@pytest.mark.parametrize(
    ("name", "percent"),
    [("mooncake_conversation", 32.0), ("mooncake_mixed_1000", 39.0), ("mooncake_synthetic", 29.2)],
)
def test_real_traces_have_the_known_upper_bound(shared_folder, name, percent):
    reading = read_trace(shared_folder / "traces" / f"{name}.jsonl")
    figures = unbounded_cache(reading.requests, trace_block_size=512)
    assert round(100 * figures.cached_share, 1) == percent
    bounded = bounded_caches(reading.requests, trace_block_size=512, block_size=512, num_gpu_blocks=2000)
    assert all(few <= many for few, many in zip(bounded.cached_tokens, figures.cached_tokens, strict=True))
    assert 0 < bounded.cached_share < figures.cached_share
