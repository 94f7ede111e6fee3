"""The Lab: edit a policy, run it on a workload, see every decision."""

from __future__ import annotations

import streamlit as st

from drr.ui import (
    catch_up,
    doctor_panel,
    export,
    file_bar,
    front_door,
    lab_state,
    policy_tab,
    quantum_sliders,
    results,
    runs,
    share,
    slo,
    stage_view,
    workers_tab,
    workload_scenarios,
    workload_tab,
    workload_typed,
)
from drr.ui.look import plain

front_door.require("Lab")
stage_view.warm_up()

STALE = "Not from this text: the picture is of the last run."

file_bar.start()
lab_state.prepare()
share.open_link(lab_state.stand_at)
# Where a slider's edit came with a message of another part, its own callback may not have been called.
quantum_sliders.take_edits(policy_tab.current_text, lab_state.load_policy_text)
st.session_state["lab:policy"] = policy_tab.current_text()
file_bar.follow()
catch_up.note_drawn()
inputs = lab_state.inputs()

left, right = st.container(key="sides").columns([4, 9], gap="large")
with left:
    workload_scenarios.show(inputs.experiment)
    policy, workload, workers = st.tabs(lab_state.TABS, key=lab_state.TAB, on_change="rerun")
    with policy:
        asked_by_key = policy_tab.show(inputs)
        policy_tab.show_commands(inputs.reading)
    # Behind another tab there is no width to draw in, so it waits until it is opened.
    if workload.open:
        with workload:
            workload_tab.show(inputs)
    if workers.open:
        with workers:
            workers_tab.show(inputs.experiment)
    st.button("Run", key="lab:run", type="primary", width="stretch", on_click=runs.retry, args=("lab",))
    if asked_by_key:
        runs.forget("lab")
    doctor = st.container()

with right:
    view = runs.run_of(inputs.experiment, "lab")
    state = runs.show_state(view, "lab")
    if inputs.experiment is None:
        why = "This text is not valid" if not inputs.reading.ok else "The workload is not valid"
        reason = f": {inputs.problems[0]}" if inputs.problems else ""
        kept = "The picture is from the last valid input." if view.run is not None else ""
        state.warning(f"{why}{plain(reason)}. {kept}")
    if view.run is not None:
        results.show_line(view.run)
        if view.is_current:
            stage_view.arrive(view.run, lab_state.take_arrival(), slot="lab")
        by_hand = view.is_current and workload_tab.is_typed(inputs)
        stage_view.show(
            view.run,
            slot="lab",
            stale="" if view.is_current else STALE,
            on_worker=workload_typed.block_or_free if by_hand else None,
            press_worker=workload_typed.BLOCK_OR_FREE,
        )
        # The browser takes long to load what draws tables and the like, and the stage matters more.
        if stage_view.is_up("lab"):
            export.show(view.run, slot="lab", title="A run in Ringside")
            results.show_figures(view.run)
            slo.show(view.run, inputs.experiment)

with doctor:
    # Typed queues may carry quanta of their own; then there is no policy text to put others into.
    has_text = inputs.experiment is not None and bool(inputs.experiment.policy_text.strip())
    doctor_panel.show(view, go_to=policy_tab.show_step, use=policy_tab.use_quanta if has_text else None)
