"""Typed queues: the lines, what the workers do, and buttons that add to the lines at the playhead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from drr.policy import Diagnostic
from drr.simulation.recording import Run
from drr.simulation.state import DISPATCH_KINDS
from drr.ui import workload_findings
from drr.ui.lab_state import STAGE
from drr.ui.player.component import current_view, go_to
from drr.ui.run_task import RunResult
from drr.workload.experiment import Experiment, TypedWorkload
from drr.workload.link import FILE_SUFFIX, to_file
from drr.workload.typed import load_typed
from drr.workload.typed_edits import with_arrival, with_change

CAPACITIES = {
    "open": "workers are never busy",
    "one": "a worker does one request at a time",
    "policy": "the policy's busy thresholds decide",
}
BLOCK_OR_FREE = "Block or free"
"""What a click on a worker of the stage does."""
_SIGNS = (
    "`@2` after 2 dispatches · `!1` strict priority · `^5` jump, s · `>0` worker 0 only · `/80` cached · "
    "`* hold 0 @2` · `* free 0 @4`"
)
_HELP = (
    "`A (60): 25 45 10` is class A with a quantum of 60 and three requests. What may follow a number, without a blank: "
    "`@n` it arrives after n dispatches, `!n` strict priority, `^s` priority jump in seconds, `>w` pinned to worker w, "
    "`/c` of its tokens c are cached. Lines with `*` change a worker after so many dispatches: hold, free, overload, "
    "recover, join, leave, finish."
)


def show(diagnostics: Sequence[Diagnostic], experiment: Experiment | None) -> None:
    """Draw the lines and what belongs to them."""
    text: str = st.session_state["lab:typed"]
    st.text_area("Tokens of each request, one class per line", key="lab:typed", height=168, help=_HELP)
    with st.container():
        workload_findings.show(text, diagnostics)
    st.caption(_SIGNS)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.selectbox("Capacity", list(CAPACITIES), key="lab:capacity", format_func=CAPACITIES.__getitem__)
    right.toggle(
        "Own quanta",
        key="lab:typed_alone",
        help="On: the numbers in parentheses are the quanta, the policy is not used. Off: the lines name classes or "
        "families of the policy.",
    )
    if experiment is not None and isinstance(experiment.workload, TypedWorkload):
        _at_the_playhead(experiment, experiment.workload)
        _save(experiment)


def _at_the_playhead(experiment: Experiment, typed: TypedWorkload) -> None:
    """Buttons that add a request or a change of a worker after the dispatches the stage shows."""
    profile = experiment.profile() if experiment.policy_text.strip() else None
    names = load_typed(typed.text, profile).class_names
    st.markdown("**At the playhead**", help="Adds to the lines above, after the dispatches the stage shows now.")
    which, tokens, button = st.columns([2, 2, 2], vertical_alignment="bottom")
    which.selectbox("Class", names, key="typed:class")
    tokens.number_input("Tokens", 1, 1_000_000, 30, key="typed:tokens")
    button.button("Arrive", key="typed:arrive", on_click=_arrive, width="stretch")
    st.caption("Click a worker on the stage to block it, busy for every class, and again to free it.")


def dispatches_at(run: Run, step: int) -> int:
    """How many requests had been dispatched right after a step."""
    return sum(kind in DISPATCH_KINDS for kind in run.kinds[: step + 1])


def is_held(run: Run, step: int, worker: int) -> bool:
    """Whether a worker is kept busy by a line of the script, once all that happens after that dispatch has happened."""
    after = dispatches_at(run, step)
    while step + 1 < run.n_steps and dispatches_at(run, step + 1) == after:
        step += 1
    mine = [each for each in run.state_at(step).endpoints if each.worker_id == worker]
    return bool(mine) and all(all(limit == -1 for limit in each.limits_tokens) for each in mine)


def _arrive() -> None:
    state = st.session_state
    run, step = _on_stage()
    after = dispatches_at(run, step) if run is not None else 0
    state["lab:typed"] = with_arrival(state["lab:typed"], state["typed:class"], state["typed:tokens"], after=after)
    _stay(run, step)


def block_or_free(endpoint: int) -> None:
    """Block the worker of an endpoint at the playhead, or free it where it is blocked; a callback."""
    run, step = _on_stage()
    if run is not None:
        st.session_state["lab:typed"] = with_press(st.session_state["lab:typed"], run, step, endpoint)
        _stay(run, step)


def with_press(text: str, run: Run, step: int, endpoint: int) -> str:
    """The lines with one more, which blocks the worker of an endpoint at a step of their run, or frees it."""
    worker = run.inputs.endpoint_keys[endpoint][0]
    change: Literal["free", "hold"] = "free" if is_held(run, step, worker) else "hold"
    return with_change(text, change, worker, after=dispatches_at(run, step))


def _stay(run: Run | None, step: int) -> None:
    """Have the playhead where what was added has happened: at the end of the same moment."""
    if run is not None and step >= 0:
        go_to(STAGE, time_ms=run.times_ms[step])


def _on_stage() -> tuple[Run | None, int]:
    """The run on the stage and the step of its playhead."""
    result: RunResult | None = st.session_state.get("lab:result")
    return (None, -1) if result is None else (result.run, current_view(result.run, STAGE).step)


def _save(experiment: Experiment) -> None:
    st.download_button(
        "Save as a scenario file",
        lambda: to_file(experiment),
        f"lesson{FILE_SUFFIX}",
        "application/json",
        on_click="ignore",
        type="tertiary",
        help="The lines, the quanta, the workers and the cursor rule; drop it on this page another day.",
    )
