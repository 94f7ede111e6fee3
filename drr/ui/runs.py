"""Runs for the pages: made in worker processes, kept by experiment, waited for with progress.

Runs are kept by the digest of their experiment, so equal experiments of two sessions share one run and nobody can see
what he did not put in.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from drr.analysis.doctor import Finding
from drr.simulation.recording import Run
from drr.ui.catch_up import catch_up, note_due
from drr.ui.job_bar import show_bar, waiting_text
from drr.ui.jobs import Job, RunPool
from drr.ui.limits import KEPT_RUNS, REQUESTS_PER_RUN
from drr.ui.look import plain
from drr.ui.run_task import RunResult, RunTask
from drr.workload.experiment import Experiment

WAIT_SECONDS = 0.6
"""How long a page waits for a run before it shows progress instead; most runs of the samples take less."""
POLL_SECONDS = 0.25
_SLICE_SECONDS = 0.02


class RunStore:
    """The last results by experiment digest, and the pool that makes new ones."""

    def __init__(self, pool: RunPool, keep: int) -> None:
        self._pool = pool
        self._keep = keep
        self._results: OrderedDict[str, RunResult] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def pool(self) -> RunPool:
        """The worker processes, for what is no run of an experiment."""
        return self._pool

    def get(self, key: str) -> RunResult | None:
        """A kept result."""
        with self._lock:
            result = self._results.get(key)
            if result is not None:
                self._results.move_to_end(key)
            return result

    def submit(self, owner: str, task: RunTask) -> Job:
        """Ask for a run; what the owner asked for before is given up."""
        return self._pool.submit(owner, task)

    def take(self, key: str, job: Job) -> RunResult | None:
        """Keep and return the result of a finished job."""
        if job.state != "done":
            return None
        result = cast("RunResult", job.result)
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._keep:
                self._results.popitem(last=False)
        return result

    def cancel(self, owner: str) -> None:
        """Give up what an owner asked for."""
        self._pool.cancel(owner)

    def ahead_of(self, job: Job) -> int:
        """How many runs have to end before a queued job starts."""
        return self._pool.ahead_of(job)


@st.cache_resource(show_spinner=False)
def run_store() -> RunStore:
    """The store of this server."""
    return RunStore(RunPool(), KEPT_RUNS.value)


@dataclass(slots=True)
class Pending:
    """The run a page waits for."""

    key: str
    job: Job


@dataclass(frozen=True, slots=True)
class RunView:
    """What a page has to show for an experiment.

    ``run`` is the wanted one where ``is_current``, else the last one there was; ``findings`` are the doctor's about it;
    ``error`` says why there is no new one.
    """

    run: Run | None
    is_current: bool
    is_pending: bool
    error: str = ""
    findings: tuple[Finding, ...] = ()


def run_of(experiment: Experiment | None, slot: str) -> RunView:
    """The run of an experiment for one place on a page (``slot``): kept, made while we wait, or on its way.

    Without an experiment (the input is not valid) it is the last run of the slot, marked as not current, and what was
    still on its way is given up.
    """
    store = run_store()
    if experiment is None:
        if st.session_state.get(f"{slot}:pending") is not None:
            store.cancel(owner_of(slot))
            st.session_state[f"{slot}:pending"] = None
        return _view(slot, is_current=False)
    key = experiment.key
    result = store.get(key)
    pending: Pending | None = st.session_state.get(f"{slot}:pending")
    if result is None:
        if pending is None or pending.key != key:
            pending = Pending(key, store.submit(owner_of(slot), RunTask(experiment, REQUESTS_PER_RUN.value)))
            st.session_state[f"{slot}:pending"] = pending
        wait_a_moment(pending.job)
        result = store.take(key, pending.job)
        if result is None:
            waits = pending.job.state in ("queued", "running")
            return _view(slot, is_current=False, is_pending=waits, error="" if waits else pending.job.error)
    elif pending is not None and pending.key != key:
        store.cancel(owner_of(slot))
    st.session_state[f"{slot}:pending"] = None
    st.session_state[f"{slot}:result"] = result
    return _view(slot, is_current=True)


def shown_run(slot: str) -> Run | None:
    """The last run there was for a place on a page."""
    last: RunResult | None = st.session_state.get(f"{slot}:result")
    return None if last is None else last.run


def _view(slot: str, *, is_current: bool, is_pending: bool = False, error: str = "") -> RunView:
    last: RunResult | None = st.session_state.get(f"{slot}:result")
    run, found = (None, ()) if last is None else (last.run, last.findings)
    return RunView(run, is_current, is_pending, error, found)


def wait_a_moment(job: Job) -> None:
    """Wait for a young job. Looking at the session state lets a newer edit end the waiting (and this script run)."""
    until = job.submitted_s + WAIT_SECONDS
    while not job.wait(_SLICE_SECONDS) and time.monotonic() < until:
        _ = st.session_state.get("session_id")


def owner_of(slot: str) -> str:
    """Who asks: a session and a place on its page."""
    session = st.session_state.setdefault("session_id", uuid.uuid4().hex)
    return f"{session}:{slot}"


def show_state(view: RunView, slot: str) -> DeltaGenerator:
    """Progress and trouble of a run, in a block that is there even when empty.

    So what stands below keeps its place on the page, and with it the stage its life in the browser. More of the kind
    can be added to the block.
    """
    block = st.container()
    with block:
        if view.is_pending:
            _show_progress(slot)
        _show_trouble(view, slot)
    return block


def _show_progress(slot: str) -> None:
    """Progress and a cancel button while a run is on its way; the page reruns when it is there."""

    @st.fragment(run_every=POLL_SECONDS)
    def progress() -> None:
        catch_up()
        pending: Pending | None = st.session_state.get(f"{slot}:pending")
        if pending is None or pending.job.is_over:
            st.rerun()
        job = pending.job
        text, cancel = progress_text(job, run_store().ahead_of(job)), run_store().cancel
        show_bar(job.over, job.total, text, key=f"{slot}:cancel", cancel=cancel, args=(owner_of(slot),))

    progress()


def progress_text(job: Job, ahead: int) -> str:
    """How far a job is, in words; ``ahead`` is how many runs come before it."""
    if job.state == "queued":
        return waiting_text(ahead)
    return f"running: {job.over:,} of {job.total:,} requests" if job.total else "running …"


def _show_trouble(view: RunView, slot: str) -> None:
    """Why there is no new run, with a button to try again."""
    if not view.error:
        return
    said, button = st.columns([5, 1], vertical_alignment="center")
    if view.error == "cancelled":
        said.warning("The run was cancelled.", icon=None)
    else:
        said.error(f"No new picture: {plain(view.error)}.")
    button.button("Retry", key=f"{slot}:retry", on_click=retry, args=(slot,))


def retry(slot: str) -> None:
    """Forget a failed run, so that the next look asks for it again; a callback."""
    forget(slot)
    note_due()


def forget(slot: str) -> None:
    """Have the next look ask for the run again, where it failed."""
    st.session_state[f"{slot}:pending"] = None
