"""Where a trace goes from the Traces page: into the Lab, or into a file that the real replay takes."""

from __future__ import annotations

import re
from typing import cast

import streamlit as st

from drr.errors import DrrError
from drr.ui import lab_state, traces_state
from drr.ui.limits import REQUESTS_PER_RUN
from drr.ui.look import plain
from drr.ui.runs import owner_of, run_store
from drr.ui.traces_tasks import MooncakeTask
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_survey import TraceSurvey

EXPORT_SECONDS = 120.0


def show(trace: TraceWorkload, found: TraceSurvey, *, left_out: int) -> bool:
    """Draw both ways out; True where the Lab has the trace now and is to be opened."""
    has_bad_rows = bool(left_out) and not st.session_state["traces:lenient"]
    blocked = has_bad_rows or bool(found.mapping_problem)
    too_many = REQUESTS_PER_RUN.exceeded(found.stats.rows)
    sent = st.button(
        "Open in the Lab", type="primary", width="stretch", disabled=blocked or bool(too_many), key="traces:send"
    )
    with st.container():
        if has_bad_rows:
            st.caption("Leave the bad rows out first.")
        if too_many:
            st.caption(plain(f"{too_many}. Cut a window, or export and run it with python -m drr run."))
    has_blocks = found.reuse is not None
    if sent:
        return _send(trace, has_blocks=has_blocks)
    task = MooncakeTask(trace, st.session_state["traces:rate"], traces_state.policy())
    st.download_button(
        "Download as Mooncake JSONL",
        lambda: exported(task),
        export_name(trace.name, found.stats.rows, left_out),
        "application/jsonl",
        disabled=blocked,
        on_click="ignore",
        width="stretch",
        key="traces:export",
        help="With policy_class on every request that has one: python -m drr run and the real replay take it as it is.",
    )
    st.caption(plain(_words(found, has_blocks=has_blocks)))
    return False


def _words(found: TraceSurvey, *, has_blocks: bool) -> str:
    state = st.session_state
    workers = f"{state['traces:workers']:,} worker{'s' if state['traces:workers'] != 1 else ''}"
    caches = (
        f" with {state['traces:num_gpu_blocks']:,} blocks of {state['traces:block_size']:,} tokens"
        if has_blocks
        else ""
    )
    text = f"The Lab runs exactly these requests on {workers}{caches}; everything else stays as it is there."
    if found.not_exported:
        text += f" The file cannot say: {', '.join(found.not_exported)}."
    return text


def _send(trace: TraceWorkload, *, has_blocks: bool) -> bool:
    try:
        experiment = traces_state.experiment_for(trace, has_blocks=has_blocks)
    except DrrError as error:
        st.error(plain(str(error)))
        return False
    lab_state.load(experiment)
    st.session_state["lab:tab"] = "Workload"
    return True


def exported(task: MooncakeTask) -> bytes:
    """The file, made in a worker process; raises :class:`DrrError` where it cannot be made."""
    job = run_store().pool.submit(owner_of("traces:export"), task)
    if not job.wait(EXPORT_SECONDS) or job.state != "done":
        raise DrrError(job.error or "the export took too long")
    return cast("bytes", job.result)


def export_name(name: str, rows: int, left_out: int) -> str:
    """A file name that says how many requests are in it, and how many rows of the original are not."""
    stem = re.sub(r"\.(jsonl|csv|json|txt)?(\.gz)?$", "", name) or "trace"
    stem = re.sub(r"[^\w.+-]+", "-", stem).strip("-.") or "trace"
    lost = f".{left_out}-left-out" if left_out else ""
    return f"{stem}.{rows}-requests{lost}.mooncake.jsonl"
