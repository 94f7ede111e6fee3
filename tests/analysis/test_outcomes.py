"""The result of a run in words: what the classes got, what the other cursor rule gives, and when there is no such."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drr.analysis.outcomes import class_figures, comparison, other_rule_line, result_line, shares, size_facts
from drr.charts.handout import facts
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.arbiters import ARBITERS, ArbiterName
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.manual import Action, Arrive, Call, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.workload.scenarios import scenario
from tests.simulation.building import add, queued_first, ring_of

NOBODY = Constraint(required_taints=frozenset({"big"}))
"""No worker may serve it: it waits, and ends as an error at the head of its lane."""


def two_rules(quanta: dict[str, int], costs: dict[str, list[int]], rule: CursorRule) -> Run:
    """One request per drain until the script ends: here the two rules part."""
    table, script = queued_first(costs)
    actions = [*script[:-1], Drain(), *[Finish()] * 6]
    return run_manual(ring_of(quanta), table, actions, capacity="one", cursor_rule=rule)


def waits_under_one_rule(rule: CursorRule) -> Run:
    """C finds the worker with a request of A (room for C) under one rule, and with one of B (none) under the other."""
    table, script = queued_first({"A": [50] * 20, "B": [100] * 20})
    late = add(table, "C", *[10] * 4)
    actions: list[Action] = [*script[:-1], Drain(), Finish(), *(Arrive(row) for row in late), *[Finish()] * 12]
    profile = ring_of({"A": 300, "B": 200, "C": 10}, prefill_busy_threshold=0)
    classes = (*profile.classes[:2], replace(profile.classes[2], prefill_busy_threshold=99))
    return run_manual(
        replace(profile, classes=classes), table, actions, capacity="policy", cursor_rule=rule, arrivals="bypass"
    )


def test_what_the_other_rule_gives_is_said_with_its_reason() -> None:
    run = two_rules({"A": 1_000, "B": 100}, {"A": [50] * 40, "B": [50] * 40}, "documented")
    line = other_rule_line(run)
    assert line.startswith("The shipped router (carry) gives A 1.")
    assert "× the tokens of B: A's quantum 1,000 is above its costs" in line


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_where_the_other_rule_leaves_a_class_nothing_no_ratio_is_named(rule: CursorRule) -> None:
    run = two_rules({"A": 1_000, "B": 100}, {"A": [50] * 40, "B": [50] * 40}, rule)
    found = comparison(run)
    assert found is not None
    assert found.got == (float("inf") if rule == "documented" else pytest.approx(1, abs=0.5))
    line = other_rule_line(run)
    assert "all the tokens" not in line
    assert ("gives B nothing beside A: " in line) == (rule == "carry")


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_the_ratio_of_the_other_rule_is_of_the_classes_that_wait_under_it(rule: CursorRule) -> None:
    """C waits under one rule only, so that one compares other classes."""
    run = waits_under_one_rule(rule)
    other = comparison(run.other_rule)
    mine = comparison(run)
    assert other is not None
    assert mine is not None
    assert (mine.first, mine.second) != (other.first, other.second)
    assert other.got is not None
    names = (run.class_names[other.first], run.class_names[other.second])
    assert f"gives {names[0]} " in other_rule_line(run)
    assert f" the tokens of {names[1]}" in other_rule_line(run)


@pytest.mark.parametrize("arbiter", [name for name in ARBITERS if name != "drr"])
@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_a_rival_arbiter_has_no_other_rule(arbiter: ArbiterName, rule: CursorRule) -> None:
    run = replace(scenario("premium_burst").experiment, arbiter=arbiter, cursor_rule=rule).run(record=False)
    line = other_rule_line(run)
    assert line == f"No cursor rule takes part: the arbiter is {ARBITERS[arbiter]}."
    assert "router" not in line


@pytest.mark.parametrize("count", [1, 3])
def test_what_waited_and_ended_in_errors_has_waited(count: int) -> None:
    table = RequestTable()
    add(table, "A", *[30] * count, constraint=NOBODY)
    script: list[Action] = [*(Arrive(row, wait=True) for row in range(count)), Call(count)]
    run = run_manual(ring_of({"A": 40, "B": 40}), table, script)
    assert [figures.errors for figures in class_figures(run)] == [count, 0]
    assert result_line(run) == "Only A ever waited, so there was nobody to share with."


def test_where_nothing_waited_that_is_said() -> None:
    run = replay(ring_of({"A": 40, "B": 40}), RequestTable())
    assert shares(run).compared == ()
    assert result_line(run).startswith("Nothing ever waited")


@pytest.mark.parametrize(
    ("names", "requests", "workers", "said"),
    [
        ("A", 1, 1, ("1 request", "1 class", "1 worker")),
        ("AB", 0, 2, ("0 requests", "2 classes", "2 workers")),
        ("A", 1_200, 1, ("1,200 requests", "1 class", "1 worker")),
    ],
)
def test_the_size_of_a_run_is_counted_in_words(names: str, requests: int, workers: int, said: tuple[str, ...]) -> None:
    table = RequestTable()
    add(table, "A", *[8] * requests)
    run = replay(ring_of(dict.fromkeys(names, 8)), table, workers=workers)
    assert size_facts(run) == said
    assert facts(run) == f"{', '.join(said)}, cursor rule documented. {result_line(run)}"
