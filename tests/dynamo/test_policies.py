"""Policy mutants: repeatable, and as likely to stay valid as to break."""

from __future__ import annotations

import json

import pytest

from drr.dynamo import verify
from drr.dynamo.case import ReplayAnswer
from drr.dynamo.cases import random_case
from drr.dynamo.compare import ours
from drr.dynamo.policies import policy_case, random_policy
from drr.dynamo.policy_seeds import SEED_DATA, SEED_FILES
from drr.dynamo.process import RouterFailureError
from drr.dynamo.verify import PolicyDisagreement
from drr.errors import DrrError
from drr.policy import load_policy, read_policy


def test_a_seed_always_makes_the_same_mutant():
    assert [random_policy(seed) for seed in range(200)] == [random_policy(seed) for seed in range(200)]
    assert len({random_policy(seed) for seed in range(200)}) > 150


def test_a_fair_part_of_the_mutants_stays_valid():
    accepted = sum(read_policy(random_policy(seed)).ok for seed in range(200))
    assert 40 < accepted < 120


@pytest.mark.parametrize("text", [*SEED_FILES, *map(json.dumps, SEED_DATA)])
def test_every_seed_is_valid(text):
    assert load_policy(text)


@pytest.mark.parametrize("text", [text for text in SEED_FILES if not load_policy(text).sections])
def test_the_workload_that_compares_meanings_makes_requests_wait(text):
    case = policy_case(text, load_policy(text), 1)
    assert case == policy_case(text, load_policy(text), 1)
    answer = ours(case)
    assert answer.observed is not None
    assert sum(row.outcome == "queued" for row in answer.observed) > 10


@pytest.mark.parametrize("what", ["ended (signal 9)", "gave no answer within 20 s"])
def test_a_crash_of_the_loader_is_no_verdict_on_any_file(monkeypatch, what):
    """Whatever ours says: neither the same verdict nor the other one, and a kind of its own."""

    class Broken:
        def __init__(self, **options: object) -> None:
            pass

        def __enter__(self):
            return self

        def __exit__(self, *exception: object) -> None:
            pass

        def ask(self, question):
            raise RouterFailureError(f"the real router's process {what}")

    monkeypatch.setattr(verify, "RouterProcess", Broken)
    result = verify.verify_policies(20)
    assert (result.files, result.accepted, result.replayed) == (20, 0, 0)
    assert not result.ok
    assert {each.own is None for each in result.disagreements} == {True, False}
    (kind,) = result.kinds
    assert kind.startswith("the real loader gives no verdict: the real router")


def test_what_cannot_be_kept_is_an_error_with_its_name(tmp_path):
    (tmp_path / "file").write_text("")
    difference = verify.Difference(random_case("output-1", 0), "text", ReplayAnswer(None), None)
    for each, name in ((difference, "output-1-0.json"), (PolicyDisagreement(3, b"x", None, None), "policy-3.yaml")):
        with pytest.raises(DrrError, match=f"cannot write .*{name}"):
            each.save(tmp_path / "file" / "beneath")
        assert each.save(tmp_path / "new" / "folder").name == name


def test_disagreements_of_one_cause_are_one_kind():
    first = PolicyDisagreement(1, b"", 'unknown field "abc" at line 3', None)
    second = PolicyDisagreement(2, b"", 'unknown field "x" at line 7', None)
    third = PolicyDisagreement(3, b"", None, "unknown key 'x'")
    assert first.kind == second.kind
    assert first.kind.startswith("only the real loader refuses: unknown field")
    assert third.kind.startswith("only our reading refuses: unknown key")
