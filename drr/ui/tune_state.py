"""What the Tune page holds for a session, and the experiment of the Lab that it starts from."""

from __future__ import annotations

import streamlit as st

from drr.analysis.sweep_figures import SHARE, WAIT_P95
from drr.ui import held, lab_state
from drr.ui.compare_state import with_policy
from drr.workload.experiment import Experiment

ONE, TWO, GOALS, SAVED = "One number", "Two numbers", "Goals", "Saved"
VIEWS = (ONE, TWO, GOALS, SAVED)
SEEDS = (1, 3, 5, 10, 20)

DEFAULTS: dict[str, object] = {
    "tune:view": ONE,
    "tune:one:knob": None,
    "tune:two:across": None,
    "tune:two:up": None,
    "tune:seeds": 3,
    "tune:wait": WAIT_P95,
    "tune:classes": None,
    "tune:two:figure": SHARE,
    "tune:two:class": None,
    "tune:two:rule": "carry",
    "tune:goal_lines": "",
    "tune:goal_rule": "both",
    "tune:goal_seeds": 10,
    "tune:trade:across": None,
    "tune:trade:up": None,
    "tune:slo:across": None,
    "tune:slo:up": None,
    "tune:save:name": "",
}


def prepare() -> None:
    """Give every value of the page its default, and hold on to those whose widgets are not on the page now."""
    lab_state.prepare()
    held.hold("Tune", DEFAULTS)


def base() -> Experiment | None:
    """The Lab's experiment with its policy as a text; None where it is not valid."""
    experiment = lab_state.inputs().experiment
    return None if experiment is None else with_policy(experiment)


def among(key: str, allowed: list[str], *, first: int = 0) -> None:
    """Keep a choice within what there is to choose: the policy in the Lab may have changed."""
    if st.session_state[key] not in allowed and allowed:
        st.session_state[key] = allowed[min(first, len(allowed) - 1)]
