"""The random case generator: repeatable, valid, and each category about what it says."""

from __future__ import annotations

import pytest

from drr.dynamo.case import rows_have_identity
from drr.dynamo.cases import CATEGORIES, random_case
from drr.dynamo.compare import profile_of
from drr.simulation.engine_options import EngineOptions
from drr.workload.mooncake import table_from_rows


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_and_a_seed_always_make_the_same_valid_case(category):
    for seed in range(5):
        case = random_case(category, seed)
        assert case == random_case(category, seed)
        assert case != random_case(category, seed + 1)
        assert 20 <= len(case.rows) <= 152
        assert rows_have_identity(case.rows)
        assert profile_of(case).classes
        EngineOptions.from_mapping(case.engine)
        assert len(table_from_rows(case.rows, trace_block_size=case.trace_block_size)) == len(case.rows)


def cases_of(category: str, count: int = 12):
    return [random_case(category, seed) for seed in range(count)]


def test_categories_insist_on_what_their_name_says():
    assert all(case.workers > 1 for case in cases_of("several-output-50"))
    assert all(row["output_length"] == 1 for case in cases_of("output-1") for row in case.rows)
    assert all(any(row["output_length"] == 0 for row in case.rows) for case in cases_of("output-0"))
    assert all(len({row["timestamp"] for row in case.rows}) == 1 for case in cases_of("at-once"))
    assert all(any("delay" in row for row in case.rows) for case in cases_of("turns"))
    assert all(case.trace_block_size != case.engine["block_size"] for case in cases_of("trace-blocks"))
    assert all("max_model_len" in case.engine for case in cases_of("max-model-len"))
    assert all("model_name" in case.options for case in cases_of("model-profile"))
    assert all(case.policy_yaml == "" for case in cases_of("no-policy-file"))
    assert any("queue_limit_per_worker" in case.policy_yaml for case in cases_of("queue-limits"))
    assert all(case.engine["enable_prefix_caching"] for case in cases_of("second-copies"))


def test_second_copies_really_repeat_whole_block_aligned_prompts():
    for case in cases_of("second-copies"):
        size = case.engine["block_size"]
        whole = [tuple(row["hash_ids"]) for row in case.rows if row["input_length"] % size == 0]
        assert len(set(whole)) < len(whole)


def test_pools_of_several_workers_fit_every_request_so_that_no_replay_aborts_there():
    for case in cases_of("several-eviction"):
        size = case.engine["block_size"]
        largest = max(row["input_length"] + row["output_length"] for row in case.rows)
        assert -(-largest // size) <= case.engine["num_gpu_blocks"]
