"""The Lab: edit a policy, run it on a workload, see every decision."""

from __future__ import annotations

import streamlit as st

from drr.ui import lab_state, policy_tab, results, runs, stage_view, workers_tab, workload_scenarios, workload_tab

STALE = "Not from this text: the picture is of the last run."

lab_state.prepare()
st.session_state["lab:policy"] = policy_tab.current_text()
inputs = lab_state.inputs()

left, right = st.container(key="sides").columns([4, 9], gap="large")
with left:
    workload_scenarios.show(inputs.experiment)
    policy, workload, workers = st.tabs(["Policy", "Workload", "Workers"])
    with policy:
        asked_by_key = policy_tab.show(inputs.reading)
    with workload:
        workload_tab.show(inputs.problems)
    with workers:
        workers_tab.show()
    if st.button("Run", type="primary", width="stretch") or asked_by_key:
        runs.retry("lab")

with right:
    view = runs.run_of(inputs.experiment, "lab")
    if view.is_pending:
        runs.show_progress("lab")
    if view.error:
        st.error(view.error)
    if inputs.experiment is None:
        why = "This text is not valid" if not inputs.reading.ok else "The workload is not valid"
        kept = "; the picture is from the last valid input." if view.run is not None else "."
        st.warning(f"{why}{kept}")
    if view.run is not None:
        results.show_line(view.run)
        stage_view.show(view.run, slot="lab", stale="" if view.is_current else STALE)
        results.show_figures(view.run)
