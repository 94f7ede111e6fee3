"""Sweeps of the Tune page: run slice by slice in a worker process, with progress, a cancel, and what is finished."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import cast

import pandas as pd
import streamlit as st

from drr.analysis.sweep import Sweep, Trial
from drr.analysis.sweep_frame import PROBLEM, intervals_frame, sweep_frame
from drr.analysis.sweep_running import Progress, SweepResult, TrialResult
from drr.ui import runs
from drr.ui.job_bar import show_bar, waiting_text
from drr.ui.jobs import Job
from drr.ui.limits import REQUESTS_PER_RUN
from drr.ui.look import plain
from drr.ui.tune_tasks import SweepSlice

OWNER = "tune"
POLL_SECONDS = 0.3
MOST_KEPT = 5_000
"""Experiments of earlier sweeps of a session that are not run again where a later sweep has them too."""
_KEPT = "tune:kept"


@dataclass(slots=True)
class Work:
    """A sweep on its way: all its trials, what is known of them, and the job that does the next slice."""

    sweep: Sweep
    trials: tuple[Trial, ...]
    job: Job
    known: dict[str, TrialResult] = field(default_factory=dict)
    known_before: int = 0
    """Experiments whose results earlier sweeps had left."""
    started_s: float = field(default_factory=time.monotonic)

    def left(self) -> tuple[Trial, ...]:
        """What is still to be run, each key once."""
        return tuple({trial.key: trial for trial in self.trials if trial.key not in self.known}.values())

    def progress(self) -> Progress:
        """How far it is."""
        total, over = len({trial.key for trial in self.trials}), len(self.known)
        spent, made = time.monotonic() - self.started_s, over - self.known_before
        return Progress(over, total, spent / made * (total - over) if made else None)


@dataclass(frozen=True, slots=True)
class Finished:
    """A sweep with its tables; ``missing`` counts the experiments that were cancelled."""

    sweep: Sweep
    frame: pd.DataFrame
    means: pd.DataFrame
    missing: int
    problems: tuple[str, ...]


def _work(view: str) -> str:
    return f"tune:{view}:work"


def _finished(view: str) -> str:
    return f"tune:{view}:finished"


def point_key(view: str) -> str:
    """Where the session keeps the point of a view that was clicked last."""
    return f"tune:{view}:point"


def start(view: str, sweep: Sweep) -> None:
    """Begin a sweep for a view of the page; what the page was working on is given up."""
    trials = tuple(sweep.trials())
    state = st.session_state
    for key in [key for key in state if str(key).startswith("tune:") and str(key).endswith(":work")]:
        state[key] = None
    kept: dict[str, TrialResult] = state.setdefault(_KEPT, {})
    known = {trial.key: kept[trial.key] for trial in trials if trial.key in kept}
    left = tuple(trial for trial in trials if trial.key not in known)
    work = Work(sweep, trials, _submit(left), known, known_before=len(known))
    state[_work(view)], state[f"tune:{view}:error"] = work, ""
    state.pop(point_key(view), None)


def _submit(trials: tuple[Trial, ...]) -> Job:
    return runs.run_store().pool.submit(runs.owner_of(OWNER), SweepSlice(trials, REQUESTS_PER_RUN.value))


def _cancel(view: str) -> None:
    """Give up what is left and keep what is finished."""
    runs.run_store().pool.cancel(runs.owner_of(OWNER))
    work: Work | None = st.session_state.get(_work(view))
    if work is not None:
        _finish(view, work)


def _finish(view: str, work: Work) -> None:
    state = st.session_state
    state[_work(view)] = None
    _take_over(work)
    done = [(trial, work.known[trial.key]) for trial in work.trials if trial.key in work.known]
    if not any(result.rows for _, result in done):
        problems = dict.fromkeys(result.problem for _, result in done if result.problem)
        state[f"tune:{view}:error"] = next(iter(problems), "Nothing was finished before it was cancelled.")
        return
    trials, results = zip(*done, strict=True)
    result = SweepResult(work.sweep, trials, results, len(done))
    frame = sweep_frame(result)
    problems = dict.fromkeys(problem for _, problem in result.problems)
    state[_finished(view)] = Finished(
        work.sweep, frame, intervals_frame(frame), len(work.trials) - len(done), tuple(problems)
    )


def _take_over(work: Work) -> None:
    """Take over what the job has handed over so far, for this sweep and for later ones."""
    finished = dict(cast("list[tuple[str, TrialResult]]", work.job.parts))
    work.known.update(finished)
    kept: dict[str, TrialResult] = st.session_state.setdefault(_KEPT, {})
    kept.update(finished)
    for key in list(kept)[:-MOST_KEPT]:
        del kept[key]


def _advance(view: str, work: Work) -> bool:
    """Take over what is done, and ask for the next slice after one; True when nothing is left to wait for."""
    job, is_over = work.job, work.job.is_over
    _take_over(work)
    if not is_over:
        return False
    if job.state == "done" and (left := work.left()):
        work.job = _submit(left)
        return False
    if job.state == "failed":
        st.session_state[f"tune:{view}:error"] = job.error
    _finish(view, work) if work.known else st.session_state.update({_work(view): None})
    return True


def show_progress(view: str) -> None:
    """Progress with the time that is left and a cancel button, while the view's sweep is on its way."""
    state = st.session_state
    work: Work | None = state.get(_work(view))
    if work is not None:
        # A small sweep is there at once, and then no bar comes and goes.
        work.job.wait(runs.WAIT_SECONDS)
        if _advance(view, work):
            work = None
    with st.container():
        if work is not None:
            _bar(view)
        elif error := state.get(f"tune:{view}:error"):
            st.error(plain(error))


def _bar(view: str) -> None:
    @st.fragment(run_every=POLL_SECONDS)
    def progress() -> None:
        work: Work | None = st.session_state.get(_work(view))
        if work is None or _advance(view, work):
            st.rerun()
        found = work.progress()
        ahead = 0 if found.over else runs.run_store().ahead_of(work.job)
        text = waiting_text(ahead) if ahead else found.text()
        show_bar(found.over, found.total, text, key=f"tune:{view}:cancel", cancel=_cancel, args=(view,))

    progress()


def is_at_work(view: str) -> bool:
    """Whether a sweep of the view is on its way."""
    return st.session_state.get(_work(view)) is not None


def put(view: str, sweep: Sweep, frame: pd.DataFrame) -> None:
    """Show a sweep that was saved in a view, as if it had just been finished."""
    problems = tuple(dict.fromkeys(problem for problem in frame[PROBLEM] if problem))
    st.session_state.pop(point_key(view), None)
    st.session_state[_finished(view)] = Finished(sweep, frame, intervals_frame(frame), 0, problems)


def finished(view: str) -> Finished | None:
    """The last sweep of a view that was finished or cancelled."""
    found: Finished | None = st.session_state.get(_finished(view))
    return found
