"""What a page is told of a trace: all of it follows from the file, its window and its mapping."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from drr.errors import WorkloadError
from drr.policy import load_policy
from drr.policy.samples import sample
from drr.simulation.engine_options import EngineOptions
from drr.workload.experiment import Experiment
from drr.workload.mapping import ClassMapping
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_survey import FIRST_BLOCK, NO_HEADER, bounded_reuse, survey

POLICY = sample("premium_4_to_1").text()
ROWS = [
    {"timestamp": 1000 * row, "input_length": 600 + 100 * row, "output_length": row, "hash_ids": [row % 2, 9, 9]}
    | {"client": "a" if row < 3 else "b"}
    for row in range(6)
]


@pytest.fixture
def trace(tmp_path: Path) -> TraceWorkload:
    path = tmp_path / "six.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)) + "\n{broken\n")
    return TraceWorkload("six.jsonl", "six", lenient=True, path=str(path))


@pytest.fixture
def profile():
    return load_policy(POLICY).profile_for()


def test_a_survey_counts_what_was_read_and_what_was_not(trace, profile):
    found = survey(trace, profile)
    assert (found.rows_in_file, found.stats.rows, found.whole_span_ms) == (7, 6, 5000.0)
    assert [each.line for each in found.problems] == [7]
    assert found.whole.requests == found.series.requests[:1]
    assert found.column(FIRST_BLOCK).top == (("0", 3), ("1", 3))
    assert found.column("client").top == (("a", 3), ("b", 3))
    assert found.column("nothing") is None
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_window_and_a_mapping_change_what_is_counted_but_not_the_whole(trace, profile):
    mapping = ClassMapping("column", column="client", given=(("a", "premium"), ("b", "regular")))
    found = survey(replace(trace, window_ms=(1000.0, 5000.0), mapping=mapping), profile)
    assert found.stats.rows == 4
    assert sum(found.whole.requests[0]) == 6
    assert [(each.class_name, each.requests) for each in found.classes] == [("premium", 2), ("regular", 2)]
    assert dict(found.inputs) == {"premium": ((700, 800), (1, 1)), "regular": ((900, 1000), (1, 1))}
    assert dict(found.outputs)["regular"] == ((3, 4), (1, 1))


def test_without_a_policy_requests_go_by_header(trace):
    mapping = ClassMapping("first_block", headers=("gold",))
    found = survey(replace(trace, mapping=mapping), None)
    assert found.classes == ()
    assert set(found.series.groups) == {"gold", NO_HEADER}


def test_a_mapping_that_does_not_fit_is_told_and_the_figures_stay(trace, profile):
    found = survey(replace(trace, mapping=ClassMapping("column", column="tier")), profile)
    assert "no column 'tier'" in found.mapping_problem
    assert found.stats.rows == 6


def test_reuse_over_time_adds_up_to_reuse_in_all(trace, profile):
    reuse = survey(trace, profile).reuse
    # Rows 2..5 find the first block of their kind, rows 4 and 5 nothing more: only full blocks count.
    assert reuse.cached_tokens == 4 * 512
    assert (reuse.cold_rows, reuse.rows_with_hits) == (2, 4)
    hit = sum(1 for share in reuse.shares if share)
    assert hit == 4
    assert sum(share is not None for share in reuse.shares) == 6


def test_bounded_caches_save_less_and_say_what_they_evicted(trace):
    plenty = bounded_reuse(trace, workers=1, block_size=512, num_gpu_blocks=100)
    none = bounded_reuse(trace, workers=1, block_size=512, num_gpu_blocks=2)
    assert plenty.cached_tokens == 4 * 512
    assert (plenty.evicted_blocks, plenty.refused_rows) == (0, 0)
    assert none.cached_tokens < plenty.cached_tokens
    assert none.evicted_blocks > 0
    assert none.refused_rows == 1, "1,100 tokens and an answer fit into no two blocks"
    assert bounded_reuse(trace, workers=2, block_size=512, num_gpu_blocks=100).cached_tokens == 4 * 512


def test_progress_rises_and_may_end_the_survey(trace, profile):
    seen: list[int] = []
    survey(trace, profile, lambda done, whole: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] <= 1000

    def stop(done: int, whole: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(replace(trace, sha256="again"), profile, stop)
    with pytest.raises(KeyboardInterrupt):
        bounded_reuse(trace, workers=1, block_size=512, num_gpu_blocks=100, progress=stop)


def test_the_lab_runs_what_the_survey_counts(trace, profile):
    mapping = ClassMapping("first_block")
    part = replace(trace, window_ms=(2000.0, None), spread=True, mapping=mapping)
    run = Experiment(policy_text=POLICY, workload=part, engine=EngineOptions(block_size=512)).run()
    found = survey(part, profile)
    assert len(run.requests) == found.stats.rows == 4
    per_class = [run.class_names[index] for index in run.class_index]
    assert {each.class_name: each.requests for each in found.classes} == {
        name: per_class.count(name) for name in run.class_names
    }


def test_a_window_without_requests_is_refused_in_words(trace, profile):
    with pytest.raises(WorkloadError, match="no request arrives from 90,000"):
        survey(replace(trace, window_ms=(90_000.0, None)), profile)
