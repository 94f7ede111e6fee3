"""Runs for the pages: made in worker processes, kept by experiment, waited for with progress.

Runs are kept by the digest of their experiment, so equal experiments of two sessions share one run and nobody can see
what he did not put in.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import cast

import streamlit as st

from drr.simulation.recording import Run
from drr.ui.jobs import Job, RunPool
from drr.ui.limits import KEPT_RUNS, REQUESTS_PER_RUN
from drr.ui.worker_process import Progress
from drr.workload.experiment import Experiment

WAIT_SECONDS = 0.6
"""How long a page waits for a run before it shows progress instead; most runs of the samples take less."""
POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class RunTask:
    """An experiment as a worker process takes it."""

    experiment: Experiment
    max_requests: int

    def run(self, progress: Progress) -> Run:
        """Run it, within the limits."""
        return self.experiment.run(progress, max_requests=self.max_requests)


class RunStore:
    """The last runs by experiment digest, and the pool that makes new ones."""

    def __init__(self, pool: RunPool, keep: int) -> None:
        self._pool = pool
        self._keep = keep
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Run | None:
        """A kept run."""
        with self._lock:
            run = self._runs.get(key)
            if run is not None:
                self._runs.move_to_end(key)
            return run

    def submit(self, owner: str, experiment: Experiment) -> Job:
        """Ask for a run; what the owner asked for before is given up."""
        return self._pool.submit(owner, RunTask(experiment, REQUESTS_PER_RUN.value))

    def take(self, key: str, job: Job) -> Run | None:
        """Keep and return the run of a finished job."""
        if job.state != "done":
            return None
        run = cast("Run", job.result)
        with self._lock:
            self._runs[key] = run
            while len(self._runs) > self._keep:
                self._runs.popitem(last=False)
        return run

    def cancel(self, owner: str) -> None:
        """Give up what an owner asked for."""
        self._pool.cancel(owner)


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

    ``run`` is the wanted one where ``is_current``, else the last one there was; ``error`` says why there is no new one.
    """

    run: Run | None
    is_current: bool
    is_pending: bool
    error: str = ""


def run_of(experiment: Experiment | None, slot: str) -> RunView:
    """The run of an experiment for one place on a page (``slot``): kept, made while we wait, or on its way.

    Without an experiment (the input is not valid) it is the last run of the slot, marked as not current.
    """
    store = run_store()
    last: Run | None = st.session_state.get(f"{slot}:run")
    if experiment is None:
        return RunView(last, is_current=False, is_pending=False)
    key = experiment.key
    run = store.get(key)
    pending: Pending | None = st.session_state.get(f"{slot}:pending")
    if run is None:
        if pending is None or pending.key != key:
            pending = Pending(key, store.submit(_owner(slot), experiment))
            st.session_state[f"{slot}:pending"] = pending
        pending.job.wait(WAIT_SECONDS)
        run = store.take(key, pending.job)
        if run is None:
            waits = pending.job.state in ("queued", "running")
            return RunView(last, is_current=False, is_pending=waits, error="" if waits else pending.job.error)
    st.session_state[f"{slot}:pending"] = None
    st.session_state[f"{slot}:run"] = run
    return RunView(run, is_current=True, is_pending=False)


def _owner(slot: str) -> str:
    """Who asks: a session and a place on its page."""
    session = st.session_state.setdefault("session_id", uuid.uuid4().hex)
    return f"{session}:{slot}"


def show_progress(slot: str) -> None:
    """Progress and a cancel button while a run is on its way; the page reruns when it is there."""

    @st.fragment(run_every=POLL_SECONDS)
    def progress() -> None:
        pending: Pending | None = st.session_state.get(f"{slot}:pending")
        if pending is None or pending.job.finished.is_set():
            st.rerun()
        job = pending.job
        bar, button = st.columns([5, 1], vertical_alignment="center")
        share = job.over / job.total if job.total else 0.0
        text = f"running: {job.over:,} of {job.total:,} requests" if job.total else f"{job.state} …"
        bar.progress(share, text=text)
        button.button("Cancel", key=f"{slot}:cancel", on_click=run_store().cancel, args=(_owner(slot),))

    progress()


def retry(slot: str) -> None:
    """Forget a failed run, so that the next look asks for it again."""
    st.session_state[f"{slot}:pending"] = None
