"""Calls of rival arbiters are told by their own rules, and every figure in the sentences is that of the run."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from drr.analysis.explain import explain, explain_visit
from drr.analysis.log import log_rows
from drr.scheduler.arbiters import ARBITERS, ArbiterName
from drr.scheduler.calls import WINNING_RULES
from drr.simulation.manual import Call, run_manual
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS
from tests.analysis.test_explain_truth import check_arithmetic
from tests.simulation.building import queued_first, ring_of
from tests.simulation.strategies import ManualInputs, manual_inputs

RIVALS = tuple(name for name in ARBITERS if name != "drr")


def run_of(arbiter: ArbiterName) -> Run:
    table, script = queued_first({"A": [25, 45, 10], "B": [50, 30], "C": [20, 250]})
    return run_manual(ring_of(dict.fromkeys("ABC", 60)), table, [*script[:-1], Call(7)], arbiter=arbiter)


def told(arbiter: ArbiterName, decision: int) -> str:
    run = run_of(arbiter)
    return explain(run, run.decision_steps[decision - 1]).text


def test_each_rival_says_why_its_winner_goes() -> None:
    assert "A goes: it is the next class in turn with a request that may go; its cost of 25 tokens" in told(
        "round_robin", 1
    )
    assert told("strict", 4).startswith("A is empty. B goes: it is the first class in file order")
    assert "A goes: of the 3 heads that may go, a2 was enqueued first" in told("fcfs", 2)
    assert "35 kept + 60 granted = 95 tokens; it pays 45 and has 50 left" in told("classic_drr", 4)
    assert "affordable already, so its turn goes on" in told("classic_drr", 4)
    assert "so its turn ends and it goes to the back of the list" in told("classic_drr", 1)
    assert "stays in turn and is granted a quantum again" in told("quantum_per_request", 4)


def test_classic_drr_tells_of_the_rounds_that_were_granted_at_once() -> None:
    run = run_of("classic_drr")
    step = run.decision_steps[6]
    assert "2 more rounds in which nobody can pay were granted at once" in explain(run, step).text
    assert explain_visit(run, step, 1) == (
        "C: needs ⌈(250 − 100) / 60⌉ = 3 rounds; 2 rounds in which nobody can pay are granted at once: "
        "100 + 2 × 60 = 220 tokens."
    )


def test_the_log_says_why_in_few_words() -> None:
    reasons = {arbiter: log_rows(run_of(arbiter), kinds=CALL_KINDS)[0].why for arbiter in RIVALS}
    assert reasons["round_robin"] == "next in turn"
    assert reasons["strict"] == "first in file order"
    assert reasons["fcfs"] == "enqueued first"
    assert reasons["classic_drr"] == "0 kept + 60 granted = 60 pays 25, 35 left; cursor moves to B"


@given(manual_inputs(most=18), st.sampled_from(RIVALS))
def test_every_step_of_a_rival_run_is_told_truthfully(inputs: ManualInputs, arbiter: ArbiterName) -> None:
    run = run_manual(inputs.profile, inputs.requests, inputs.script, arbiter=arbiter, **inputs.settings)
    rows = list(log_rows(run))
    assert len(rows) == run.n_steps
    for step in range(run.n_steps):
        said = explain(run, step)
        assert said.text.endswith(".")
        for text in (said.text, *(line.text for line in said.details)):
            check_arithmetic(text)
            assert not re.search(r"\bcarr(y|ied)\b", text)
        if run.kinds[step] in CALL_KINDS:
            after = run.state_at(step)
            assert len(said.details) == len(after.visits)
            assert "virtual round" not in said.text
            for visit in after.visits:
                if visit.rule in WINNING_RULES:
                    assert f"{visit.charged_tokens:,}" in said.text
