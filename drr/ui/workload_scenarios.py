"""The scenario picker: a ready experiment with two sentences on what to watch in it."""

from __future__ import annotations

import streamlit as st

from drr.ui import lab_state
from drr.ui.look import plain
from drr.workload.experiment import Experiment
from drr.workload.scenarios import SCENARIOS, scenario

_TITLES = {each.name: each.title for each in SCENARIOS}


def show(experiment: Experiment | None) -> None:
    """Draw the picker; ``experiment`` is what the Lab holds now, None where that is not valid."""
    st.selectbox(
        "Scenario",
        list(_TITLES),
        index=None,
        key="lab:scenario",
        format_func=_TITLES.__getitem__,
        placeholder="your own",
        on_change=_load,
        help="Each one brings its policy, its workload and its workers; change what you like in the tabs below.",
    )
    with st.container():
        name: str | None = st.session_state["lab:scenario"]
        if name is None:
            return
        chosen = scenario(name)
        st.caption(f"**What to watch.** {plain(chosen.watch)}")
        if experiment != chosen.experiment:
            st.button(
                "Changed since: load it again",
                key="lab:scenario_again",
                on_click=_load,
                type="tertiary",
                help="Brings the scenario back as it was; Ctrl+Z in the policy editor brings your text back.",
            )


def _load() -> None:
    name: str | None = st.session_state["lab:scenario"]
    if name is None:
        return
    chosen = scenario(name)
    lab_state.load(chosen.experiment)
    # Typed queues are for stepping through, from the start.
    lab_state.stand_at(-1 if chosen.is_typed else None)
