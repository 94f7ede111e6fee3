"""Ours and the real router on the same questions: every row bit for bit, every policy verdict."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from drr.dynamo import verify
from drr.dynamo.case import ObservedRow, ReplayCase, with_row_identity
from drr.dynamo.cases import CATEGORIES, random_case
from drr.dynamo.policies import real_verdict
from drr.dynamo.process import RouterProcess
from drr.dynamo.replay import replay_many, replay_real
from drr.dynamo.verify import verify_policies, verify_router
from drr.errors import DrrError

pytestmark = pytest.mark.router


@pytest.fixture(scope="module")
def router():
    with RouterProcess() as process:
        yield process


@pytest.fixture(scope="module")
def recordings(shared_folder):
    with gzip.open(shared_folder / "conformance" / "router_replay.json.gz") as file:
        return json.load(file)


def test_two_cases_of_every_category_are_identical():
    result = verify_router(2 * len(CATEGORIES), seed=20_000)
    assert [(d.case.case_id, d.text) for d in result.differences] == []
    assert result.identical == result.cases == 2 * len(CATEGORIES)
    assert sum(count.queued_rows for count in result.counts.values()) > 1000


def test_damaged_policy_files_get_the_same_verdict():
    result = verify_policies(300, seed=20_000)
    assert [(d.seed, d.kind) for d in result.disagreements] == []
    assert [(d.case.case_id, d.text) for d in result.differences] == []
    assert 60 < result.accepted < 240
    assert result.replayed > 40


def test_the_recordings_are_what_the_installed_router_says(recordings):
    """With several workers the real router breaks ties at random, so only single workers repeat."""
    recordings = [recording for recording in recordings if recording["workers"] == 1]
    answers = replay_many(ReplayCase.from_mapping(recording) for recording in recordings)
    for (case, answer), recording in zip(answers, recordings, strict=True):
        assert answer.aborted_because == recording["replay_aborted_because"], case.case_id
        rows = recording["observed"]
        assert answer.observed == (None if rows is None else tuple(ObservedRow(**row) for row in rows)), case.case_id


def test_the_recorded_policy_verdicts_are_what_the_installed_loader_says(shared_folder, router):
    for file in json.loads((shared_folder / "conformance" / "policy_files.json").read_text()):
        assert real_verdict(file["latin1"].encode("latin1"), router) == file["rejected_because"], file["name"]


@pytest.mark.parametrize("category", ["output-50", "cache-eviction", "small-pool", "bursts"])
def test_the_late_session_that_names_rows_changes_nothing_before_it(router, category):
    case = random_case(category, 5)
    alone = replay_real(case, router=router)
    # One more row of a length that exists makes the late session necessary; it comes late enough to change nothing.
    last = dict(case.rows[-1], timestamp=max(row["timestamp"] for row in case.rows) + 1e8)
    doubled = with_row_identity(replace(case, rows=(*case.rows, last)))
    assert len(doubled.rows) == len(case.rows) + 3
    both = replay_real(doubled, router=router)
    assert alone.observed is not None
    assert both.observed is not None
    assert both.observed[: len(case.rows)] == alone.observed


def test_a_wrong_engine_is_caught_counted_and_saved(monkeypatch, tmp_path, router):
    def with_other_quanta(case, follow=None):
        broken = case.policy_yaml.replace("quantum: ", "quantum: 1")
        return right_ours(replace(case, policy_yaml=broken), follow)

    right_ours = verify.ours
    monkeypatch.setattr(verify, "ours", with_other_quanta)
    result = verify_router(6, seed=0, categories=["many-classes"])
    assert not result.ok
    assert result.cases == result.identical + len(result.differences) == 6
    difference = result.differences[0]
    assert difference.text.startswith("row ")
    saved = json.loads(difference.save(tmp_path).read_text())
    assert saved["difference"] == difference.text
    again = ReplayCase.from_mapping(saved)
    assert again.to_mapping() == difference.case.to_mapping()
    monkeypatch.undo()
    assert verify.compare_case(again, router) is None


def test_progress_is_told_and_may_cancel():
    told = []

    def stop_at_three(done, total, case_id):
        told.append((done, total, case_id))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify_router(10, seed=4, categories=["output-1", "fcfs"], progress=stop_at_three)
    assert told == [(0, 10, "output-1/4"), (1, 10, "fcfs/4"), (2, 10, "output-1/5"), (3, 10, "fcfs/5")]


def test_an_unknown_category_is_refused_with_the_list():
    with pytest.raises(DrrError, match=r"unknown category 'nope'; there are: output-1, "):
        verify_router(1, categories=["nope"])
