"""One place of a page that shows the result of a task: made in a worker process, kept by task, waited for.

Equal tasks give equal results, so a result is kept under its task, for this session. What the place asked for before is
given up when it asks for something else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import streamlit as st

from drr.ui.job_bar import show_bar, waiting_text
from drr.ui.jobs import Job
from drr.ui.look import plain
from drr.ui.runs import POLL_SECONDS, owner_of, run_store, wait_a_moment
from drr.ui.worker_process import Task

KEPT = 8

Result = TypeVar("Result")


@dataclass(slots=True)
class _Asked:
    """What a place asked for last, and the job that makes it."""

    task: Task
    job: Job


@dataclass(frozen=True, slots=True)
class Answer(Generic[Result]):
    """``result`` is that of the task asked for, ``last`` the newest there is; ``error`` says why there is no result."""

    result: Result | None
    last: Result | None
    is_pending: bool = False
    error: str = ""


def ask(slot: str, task: Task, kind: type[Result]) -> Answer[Result]:
    """The result of a task of ``kind`` for a place: kept, made while we wait a moment, or on its way."""
    state = st.session_state
    kept: OrderedDict[Task, Result] = state.setdefault(f"{slot}:kept", OrderedDict())
    asked: _Asked | None = state.get(f"{slot}:asked")
    if task in kept:
        if asked is not None and asked.task != task:
            run_store().cancel(owner_of(slot))
        state[f"{slot}:asked"] = None
        kept.move_to_end(task)
        return Answer(kept[task], kept[task])
    if asked is None or asked.task != task:
        asked = state[f"{slot}:asked"] = _Asked(task, run_store().pool.submit(owner_of(slot), task))
    wait_a_moment(asked.job)
    last = next(reversed(kept.values()), None)
    if not asked.job.is_over:
        return Answer(None, last, is_pending=True)
    if asked.job.state != "done":
        return Answer(None, last, error=asked.job.error)
    kept[task] = cast("Result", asked.job.result)
    state[f"{slot}:asked"] = None
    while len(kept) > KEPT:
        kept.popitem(last=False)
    return Answer(kept[task], kept[task])


def forget(slot: str) -> None:
    """Give up what the place asked for; the next look asks again."""
    run_store().cancel(owner_of(slot))
    st.session_state[f"{slot}:asked"] = None


def show_state(slot: str, answer: Answer[Any], words: Callable[[Job], str], *, trouble: str = "") -> None:
    """Progress or trouble, in a block that is there even when empty: what follows keeps its place on the page.

    ``words`` say how far a job is; ``trouble`` comes before the reason why there is no result.
    """
    with st.container():
        if answer.is_pending:
            _show_progress(slot, words)
        if answer.error:
            _show_trouble(slot, trouble + answer.error)


def _show_progress(slot: str, words: Callable[[Job], str]) -> None:
    """Progress and a cancel button while a task is on its way; the page reruns when it is over."""

    @st.fragment(run_every=POLL_SECONDS)
    def progress() -> None:
        asked: _Asked | None = st.session_state.get(f"{slot}:asked")
        if asked is None or asked.job.is_over:
            st.rerun()
        job = asked.job
        ahead = run_store().ahead_of(job)
        text = waiting_text(ahead) if ahead else words(job)
        cancel, owner = run_store().cancel, owner_of(slot)
        show_bar(job.over, job.total, text, key=f"{slot}:cancel", cancel=cancel, args=(owner,), is_narrow=True)

    progress()


def _show_trouble(slot: str, error: str) -> None:
    """Why there is no result, with a button to try again."""
    said, button = st.columns([5, 2], vertical_alignment="center")
    if error == "cancelled":
        said.warning("Cancelled.", icon=None)
    else:
        said.error(plain(error[:1].upper() + error[1:]))
    button.button("Retry", key=f"{slot}:retry", on_click=forget, args=(slot,))
