"""The stage with a slider, the sentence that explains the step, and the log around it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from drr.analysis.explain import explain
from drr.analysis.log import log_rows
from drr.charts.stage import stage_figure
from drr.simulation.recording import Run
from drr.ui.look import plain, theme

LOG_BEFORE, LOG_AFTER = 6, 2
STEP = "lab:step"


def show(run: Run, width: int) -> None:
    """Draw the stage of a run at the step of the slider."""
    last = run.n_steps - 1
    if last < 0:
        st.info("Nothing happened in this run: no request arrived.")
        return
    _keep_time(run)
    st.slider(
        "Step", -1, last, key=STEP, help="The picture is the state right after this step; -1 is before the first."
    )
    step: int = st.session_state[STEP]
    said = explain(run, step)
    st.info(f"**{plain(said.headline)}** {plain(said.text)}")
    figure = stage_figure(run, step, theme=theme(), width=width)
    st.plotly_chart(figure, key="lab:stage", theme=None, width="content", config={"displayModeBar": False})
    _log(run, step)


def _keep_time(run: Run) -> None:
    """After another run the playhead keeps its simulated time."""
    shown: tuple[int, float] | None = st.session_state.get("lab:shown")
    if shown is None:
        decisions = run.decision_steps
        st.session_state[STEP] = decisions[len(decisions) // 2] if decisions else run.n_steps - 1
    elif shown[0] != id(run):
        st.session_state[STEP] = min(max(run.step_at_time(shown[1]), -1), run.n_steps - 1)
    step = st.session_state[STEP]
    st.session_state["lab:shown"] = (id(run), run.times_ms[step] if step >= 0 else 0.0)


def _log(run: Run, step: int) -> None:
    start = max(step - LOG_BEFORE, 0)
    rows = list(log_rows(run, start, min(step + LOG_AFTER + 1, run.n_steps)))
    frame = pd.DataFrame(
        {
            "step": [f"▶ {row.step}" if row.step == step else str(row.step) for row in rows],
            "ms": [f"{row.time_ms:,.3f}" for row in rows],
            "what": [row.kind for row in rows],
            "class": [row.policy_class for row in rows],
            "request": [row.request for row in rows],
            "lane": [row.lane for row in rows],
            "cost": [row.cost_tokens for row in rows],
            "why": [row.why for row in rows],
        }
    )
    st.dataframe(frame, hide_index=True)
