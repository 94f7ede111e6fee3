"""A against B over many seeds, in a worker process: mean differences with their 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from drr.ui import runs
from drr.ui.job_bar import show_bar, waiting_text
from drr.ui.jobs import Job
from drr.ui.limits import REQUESTS_PER_RUN
from drr.ui.look import plain
from drr.ui.seeds_task import Result, SeedsTask
from drr.workload.experiment import Experiment

SEED_COUNTS = (5, 10, 20, 30)

_COUNT, _JOB, _DONE = "cmp:seeds", "cmp:seeds:job", "cmp:seeds:done"


@dataclass(slots=True)
class _Asked:
    """What was asked for: the experiments by digest and the number of seeds, and the job that does it."""

    key: tuple[str, str, int]
    job: Job


def _owner() -> str:
    return runs.owner_of(_COUNT)


def _ask(first: Experiment, second: Experiment) -> None:
    count: int = st.session_state[_COUNT]
    job = runs.run_store().pool.submit(_owner(), SeedsTask(first, second, count, REQUESTS_PER_RUN.value))
    st.session_state[_JOB] = _Asked((first.key, second.key, count), job)


def _cancel() -> None:
    runs.run_store().pool.cancel(_owner())


def show(first: Experiment, second: Experiment) -> Result | None:
    """The button, the progress, and the result once there is one for these very experiments."""
    state = st.session_state
    state.setdefault(_COUNT, SEED_COUNTS[1])
    state[_COUNT] = state[_COUNT]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox("Seeds", SEED_COUNTS, key=_COUNT, width=120)
        st.button(
            "Run over seeds",
            on_click=_ask,
            args=(first, second),
            help="Both sides with the same requests, drawn anew for every seed.",
        )
    asked: _Asked | None = state.get(_JOB)
    with st.container():
        if asked is not None:
            _follow(asked)
    done: tuple[tuple[str, str, int], Result] | None = state.get(_DONE)
    wanted = (first.key, second.key, state[_COUNT])
    return done[1] if done is not None and done[0] == wanted else None


def _follow(asked: _Asked) -> None:
    job = asked.job
    if not job.wait(runs.WAIT_SECONDS):
        _progress(job)
        return
    st.session_state[_JOB] = None
    if job.state == "done":
        st.session_state[_DONE] = (asked.key, cast("Result", job.result))
    elif job.state == "failed":
        st.error(f"No figures over seeds: {plain(job.error)}.")
    else:
        st.warning("The runs over seeds were cancelled.")


def _progress(job: Job) -> None:
    @st.fragment(run_every=runs.POLL_SECONDS)
    def progress() -> None:
        if job.is_over:
            st.rerun()
        ahead = runs.run_store().ahead_of(job)
        started = f"{job.over:,} of {job.total:,} runs" if job.total else "starting"
        text = waiting_text(ahead) if ahead else started
        show_bar(job.over, job.total, text, key="cmp:seeds:cancel", cancel=_cancel)

    progress()
