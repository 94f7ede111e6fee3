"""The figures in the fairness section of docs/drr.md come from runs."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from drr.analysis.fairness import fairness
from drr.scheduler.arbiters import ArbiterName
from drr.scheduler.ring import CursorRule
from drr.simulation.manual import run_manual
from drr.simulation.recording import Run
from tests.simulation.building import queued_first, ring_of
from tests.support import ROOT


@pytest.fixture(scope="module")
def section() -> str:
    text = (ROOT / "docs/drr.md").read_text(encoding="utf-8")
    return text.split("## How unfair can it get\n")[1].split("\n## ")[0]


def three_classes(quantum: int, arbiter: ArbiterName = "drr", rule: CursorRule = "documented") -> Run:
    table, script = queued_first({"W": [10] * 1_500, "K": [1_000] * 21, "J": [10] * 1_500})
    return run_manual(ring_of(dict.fromkeys("WKJ", quantum)), table, script, arbiter=arbiter, cursor_rule=rule)


def when_k_is_served(run: Run, requests: int) -> tuple[int, int]:
    """Tokens of W and J when so many requests of K are gone."""
    tokens = [0, 0, 0]
    for step in run.decision_steps:
        row = run.step_request[step]
        tokens[run.class_index[row]] += run.cost_tokens[row]
        if tokens[1] == 1_000 * requests:
            break
    return tokens[0], tokens[2]


@pytest.mark.parametrize("quantum", [1, 5, 9, 10])
def test_the_table_of_tokens_by_place_in_the_ring_is_that_of_runs(section: str, quantum: int) -> None:
    w, j = when_k_is_served(three_classes(quantum), 10)
    classic = when_k_is_served(three_classes(quantum, "classic_drr"), 10)
    assert f"| {quantum} | {w:,} | 10,000 | {j:,} | {classic[0]:,}, {classic[1]:,} |" in section


def test_the_distance_of_the_counterexample_is_that_of_a_run_and_grows_with_it(section: str) -> None:
    run = three_classes(5)
    distances = [(1_000 * n - when_k_is_served(run, n)[0]) // 5 for n in (10, 20)]
    assert f"K is {distances[0]} quanta ahead of W after 10,000 tokens" in section
    assert distances[1] == 2 * distances[0]
    assert 1 + Fraction(10, 5) + Fraction(1_000, 5) == 203
    assert "would be 203" in section


@pytest.mark.parametrize("rule", ["documented", "carry"])
def test_the_shares_of_the_long_run_are_those_of_both_rules(section: str, rule: CursorRule) -> None:
    found = re.search(r"(\d+) : (\d+) : (\d+)", section)
    assert found
    # A request of K is large, so the shares jump: they are taken half way between two of them.
    run = three_classes(5, rule=rule)
    before, after = when_k_is_served(run, 17), when_k_is_served(run, 18)
    tokens = [(before[0] + after[0]) / 2, 17_500, (before[1] + after[1]) / 2]
    got = [100 * each / sum(tokens) for each in tokens]
    assert all(abs(share - int(said)) <= 1 for share, said in zip(got, found.groups(), strict=True))


def test_the_example_that_reaches_the_bound_does(section: str) -> None:
    a, b = (re.search(rf"{name} \(quantum (\d+): ([\d ]+)\)", section) for name in "AB")
    assert a
    assert b
    quanta = {"A": int(a[1]), "B": int(b[1])}
    costs = {"A": list(map(int, a[2].split())), "B": list(map(int, b[2].split()))}
    table, script = queued_first(costs)
    (pair,) = fairness(run_manual(ring_of(quanta), table, script)).pairs
    assert pair.largest == pair.bound
    assert f"drift {float(pair.largest):.2f} quanta apart" in " ".join(section.split())
