"""Fairness figures against brute force, and the bound of docs/drr.md against random runs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drr.analysis.fairness import Fairness, fairness, gap_bound, gap_text
from drr.policy.schema import PolicyClass
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.arbiters import ArbiterName
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.state import StepKind
from tests.simulation.building import SEED_ENGINE, add, queued_first, ring_of, sample_profile
from tests.simulation.strategies import ManualInputs, ReplayInputs, manual_inputs, replay_inputs


def brute_force(run: Run, i: int, j: int) -> Fraction | None:
    """The largest difference by its definition: every pair of steps between which both classes always wait."""
    quanta = [c.quantum for c in run.profile.classes]
    states = [run.state_at(step) for step in range(-1, run.n_steps)]
    served = [[0] * len(quanta)]
    for state in states[1:]:
        row = list(served[-1])
        if state.kind in (StepKind.DECISION, StepKind.HEAD_ERROR):
            row[state.class_index] += run.cost_tokens[state.request]
        served.append(row)
    best: Fraction | None = None
    for start in range(len(states)):
        for end in range(start, len(states)):
            # The last record may empty a class: what it lets go still waited when the call began.
            if not all(
                states[at].classes[c].waiting_requests for at in range(start, max(end, start + 1)) for c in (i, j)
            ):
                break
            got = [Fraction(served[end][c] - served[start][c], quanta[c]) for c in (i, j)]
            best = max(best or Fraction(0), abs(got[0] - got[1]))
    return best


def pair_of(found: Fairness, i: int, j: int) -> Fraction | None:
    return next((pair.largest for pair in found.pairs if (pair.first, pair.second) == (i, j)), None)


@given(manual_inputs(most=14))
def test_the_largest_difference_is_that_of_the_definition(inputs: ManualInputs) -> None:
    run = run_manual(inputs.profile, inputs.requests, inputs.script, **inputs.settings)
    assume(run.n_steps < 60)
    found = fairness(run)
    for i, j in combinations(range(len(run.class_names)), 2):
        assert pair_of(found, i, j) == brute_force(run, i, j)


NOBODY = Constraint(required_taints=frozenset({"big"}))
"""No worker may serve it: charged at the head of its lane, and an error."""


@st.composite
def runs_with_a_bound(draw: st.DrawFn) -> Run:
    """Two classes whose quanta are no smaller than their costs, a third one as it comes; arrivals at any time."""
    largest = {name: draw(st.integers(1, 40)) for name in "AB"}
    quanta = {name: cost + draw(st.integers(0, 60)) for name, cost in largest.items()}
    quanta["C"] = draw(st.integers(1, 20))
    largest["C"] = 40
    names = draw(st.permutations("ABC"))
    capacity = draw(st.sampled_from(["open", "one"]))
    table = RequestTable()
    script: list[Action] = []
    for _ in range(draw(st.integers(0, 40))):
        if draw(st.integers(0, 4)):
            name = draw(st.sampled_from(names))
            # Where others are blocked, such a head goes all the same, so that they are passed over.
            nobody_may = draw(st.sampled_from([None, None, None, NOBODY])) if capacity == "open" else None
            row = table.append(draw(st.integers(1, largest[name])), policy_header=name, constraint=nobody_may)
            script.append(Arrive(row, wait=True))
        else:
            script.append(draw(st.sampled_from([Call(1), Call(3), Finish(), Drain()])))
    script += [Call(len(table))] if capacity == "open" else [Drain(), *[Finish()] * len(table)]
    return run_manual(
        ring_of({name: quanta[name] for name in names}),
        table,
        script,
        capacity=capacity,
        arbiter=draw(st.sampled_from(["drr", "drr", "classic_drr"])),
    )


@given(runs_with_a_bound())
def test_quanta_no_smaller_than_the_costs_keep_the_difference_below_the_bound(run: Run) -> None:
    for pair in fairness(run).pairs:
        names = {run.class_names[pair.first], run.class_names[pair.second]}
        if "C" not in names or run.inputs.arbiter == "classic_drr":
            assert pair.bound is not None
        assert pair.bound is None or pair.largest <= pair.bound


@given(manual_inputs(), st.sampled_from(["drr", "classic_drr"]))
def test_the_bound_holds_wherever_it_is_claimed(inputs: ManualInputs, arbiter: ArbiterName) -> None:
    run = run_manual(inputs.profile, inputs.requests, inputs.script, arbiter=arbiter, **inputs.settings)
    for pair in fairness(run).pairs:
        assert (pair.bound is None) == bool(pair.why_unbounded)
        assert pair.bound is None or pair.largest <= pair.bound


@given(replay_inputs())
def test_the_bound_holds_in_replays_wherever_it_is_claimed(inputs: ReplayInputs) -> None:
    run = replay(inputs.profile, inputs.requests, **inputs.settings)
    for pair in fairness(run).pairs:
        assert pair.bound is None or pair.largest <= pair.bound


def test_the_bound_is_reached() -> None:
    """Nothing smaller can be proven: A has 9 tokens left and takes two turns, while B ends its only one with 9 left."""
    table, script = queued_first({"A": [1, 10, 9, 10], "B": [10, 9, 10, 10]})
    run = run_manual(ring_of({"A": 10, "B": 19}), table, script)
    (pair,) = fairness(run).pairs
    assert pair.bound == gap_bound(10, 10, 10, 19) == 1 + Fraction(9, 10) + Fraction(9, 19)
    assert pair.largest == pair.bound


@pytest.mark.parametrize("name", ["A", "B"])
def test_the_bound_counts_what_ended_as_an_error_at_the_head_of_its_lane(name: str) -> None:
    """Such a head is charged like any other, so it may be the largest cost."""
    table, script = queued_first({"A": [2] * 9, "B": [3] * 9})
    add(table, name, 30, constraint=NOBODY)
    script = [Arrive(18, wait=True), *script[:-1], Call(19)]
    run = run_manual(ring_of({"A": 30, "B": 30}), table, script)
    assert StepKind.HEAD_ERROR in run.kinds
    (pair,) = fairness(run).pairs
    costs = {"A": 2, "B": 3, name: 30}
    assert pair.bound == gap_bound(costs["A"], 30, costs["B"], 30)
    assert pair.largest <= pair.bound


@pytest.mark.parametrize("change", [{"strict_priority": 1}, {"priority_jump": 2.0}])
def test_priorities_of_a_head_that_ended_as_an_error_void_the_bound(change: dict[str, float]) -> None:
    table, script = queued_first({"A": [5, 5], "B": [5, 5]})
    add(table, "A", 5, constraint=NOBODY, **change)
    run = run_manual(ring_of({"A": 5, "B": 5}), table, [Arrive(4, wait=True), *script[:-1], Call(5)])
    assert StepKind.HEAD_ERROR in run.kinds
    (pair,) = fairness(run).pairs
    assert "priorities" in pair.why_unbounded


def far_apart(arbiter: ArbiterName = "drr") -> Run:
    """W, K and J with quanta of 5: the heads of W and J cost 10, those of K 1,000."""
    table, script = queued_first({"W": [10] * 700, "K": [1_000] * 11, "J": [10] * 700})
    return run_manual(ring_of(dict.fromkeys("WKJ", 5)), table, [*script[:-1], Call(1_347)], arbiter=arbiter)


def test_quanta_below_the_costs_have_no_bound() -> None:
    found = fairness(far_apart())
    w_and_k = found.pairs[0]
    usual = 1 + Fraction(10, 5) + Fraction(1_000, 5)
    assert w_and_k.bound is None
    assert "quantum 5 is below its largest cost" in w_and_k.why_unbounded
    assert w_and_k.largest > 3 * usual
    classic = fairness(far_apart("classic_drr")).pairs[0]
    assert classic.bound is not None
    assert classic.largest <= classic.bound < usual


def test_rule_carry_has_no_bound() -> None:
    apart = []
    for length in (40, 80, 160):
        table, script = queued_first({"A": [50] * length, "B": [50] * length})
        script = [*script[:-1], Drain(), *[Finish()] * (2 * length)]
        run = run_manual(ring_of({"A": 1_000, "B": 100}), table, script, capacity="one", cursor_rule="carry")
        (pair,) = fairness(run).pairs
        assert pair.bound is None
        assert "carry" in pair.why_unbounded
        apart.append(pair.largest)
    assert apart[1] > 1.9 * apart[0]
    assert apart[2] > 1.9 * apart[1]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"strict_priority": 1}, "priorities"),
        ({"priority_jump": 2.0}, "priorities"),
    ],
)
def test_priorities_void_the_bound(change: dict[str, float], word: str) -> None:
    table, script = queued_first({"A": [5, 5], "B": [5, 5]}, **change)
    (pair,) = fairness(run_manual(ring_of({"A": 5, "B": 5}), table, script)).pairs
    assert word in pair.why_unbounded


def test_a_class_that_was_passed_over_while_blocked_voids_the_bound() -> None:
    table = RequestTable()
    for name, worker in (("A", 0), ("B", 1), ("A", 0), ("B", 1)):
        table.append(5, policy_header=name, constraint=Constraint(allowed_workers=frozenset({worker})))
    script = [*(Arrive(row, wait=True) for row in range(4)), Change("hold", 0), Call(3)]
    (pair,) = fairness(run_manual(ring_of({"A": 5, "B": 5}), table, script, workers=2)).pairs
    assert pair.why_unbounded == "A was blocked while another class was served"


def test_jains_index_is_one_for_exact_parts_and_falls_with_distance() -> None:
    def jain(rule: str) -> float:
        table, script = queued_first({"A": [50] * 100, "B": [50] * 100})
        script = [*script[:-1], Drain(), *[Finish()] * 110]
        run = run_manual(ring_of({"A": 1_000, "B": 100}), table, script, capacity="one", cursor_rule=rule)  # type: ignore[arg-type]
        value = fairness(run).jain
        assert value is not None
        return value

    assert jain("documented") == pytest.approx(1, abs=0.02)
    # 1 : 1 of 10 : 1 asked: x = 1 and 10, (11)^2 / (2 * 101).
    assert jain("carry") == pytest.approx(121 / 202, abs=0.02)


def test_a_drought_is_the_longest_time_and_the_most_tokens_without_service() -> None:
    table, script = queued_first({"A": [50] * 20, "B": [50] * 2})
    run = run_manual(ring_of({"A": 500, "B": 50}), table, script)
    a, b = fairness(run).droughts
    assert b.most_tokens == 500
    assert a.most_tokens == 50
    assert (a.longest_ms, b.longest_ms) == (0.0, 0.0)


def test_a_class_that_waits_until_the_end_has_its_drought_counted() -> None:
    profile = sample_profile("premium_4_to_1")
    table = RequestTable()
    for _ in range(20):
        table.append(512, policy_header="premium")
        table.append(512, policy_header="regular")
    run = replay(profile, table, engine=SEED_ENGINE)
    premium, regular = fairness(run).droughts
    assert regular.most_tokens == 4 * 512
    assert regular.longest_ms > premium.longest_ms > 0


def test_the_seed_experiment_stays_far_below_its_bound() -> None:
    profile = sample_profile("premium_4_to_1")
    table = RequestTable()
    for _ in range(320):
        table.append(512, policy_header="premium")
        table.append(512, policy_header="regular")
    found = fairness(replay(profile, table, engine=SEED_ENGINE))
    (pair,) = found.pairs
    # regular's quantum 128 is below the cost 512, so nothing is proven, and yet it stays within 4 quanta of 128.
    assert "regular's quantum 128" in pair.why_unbounded
    assert pair.largest <= 4
    assert "quanta apart" in gap_text(pair, ("premium", "regular"))


def test_runs_without_any_waiting_have_no_pairs() -> None:
    run = replay(ring_of({"A": 5, "B": 5}), RequestTable())
    found = fairness(run)
    assert (found.pairs, found.jain, found.worst) == ((), None, None)


def test_policy_order_wspt_voids_the_bound() -> None:
    table, script = queued_first({"A": [5, 5], "B": [5, 5]})
    profile = ring_of({"A": 5, "B": 5}, queue_policy="wspt")
    assert isinstance(profile.classes[0], PolicyClass)
    (pair,) = fairness(run_manual(profile, table, script)).pairs
    assert "wspt" in pair.why_unbounded
