"""Policy mutants: repeatable, and as likely to stay valid as to break."""

from __future__ import annotations

import json

import pytest

from drr.dynamo.compare import ours
from drr.dynamo.policies import policy_case, random_policy
from drr.dynamo.policy_seeds import SEED_DATA, SEED_FILES
from drr.dynamo.verify import PolicyDisagreement
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


def test_disagreements_of_one_cause_are_one_kind():
    first = PolicyDisagreement(1, b"", 'unknown field "abc" at line 3', None)
    second = PolicyDisagreement(2, b"", 'unknown field "x" at line 7', None)
    third = PolicyDisagreement(3, b"", None, "unknown key 'x'")
    assert first.kind == second.kind
    assert first.kind.startswith("only the real loader refuses: unknown field")
    assert third.kind.startswith("only our reading refuses: unknown key")
