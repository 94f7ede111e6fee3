"""The Traces page put together: one source made of the files, its survey, and what both sides show of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from drr.ui import job_slot, traces_look, traces_panel, traces_send, traces_state
from drr.ui.traces_tasks import SurveyTask
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_merge import MergedTrace
from drr.workload.traces_reading import RowProblem
from drr.workload.traces_survey import TraceSurvey

MERGE_SLOT, SURVEY_SLOT = "traces:merge", "traces:survey"
_NO_PROBLEMS: Sequence[RowProblem] = ()
_NO_NOTES: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The one file that everything else is about, and what came of merging where there are several files."""

    trace: TraceWorkload
    problems: Sequence[RowProblem] = _NO_PROBLEMS
    notes: Sequence[str] = _NO_NOTES


@dataclass(frozen=True, slots=True)
class View:
    """The workload that the page makes of the source, and its survey: the newest there is."""

    source: Source
    trace: TraceWorkload
    found: TraceSurvey
    is_current: bool

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Every row that cannot be read."""
        return (*self.source.problems, *self.found.problems)


def source() -> Source | None:
    """The file, or the merged one; None while it is not there (progress or trouble is shown then)."""
    files = traces_state.files()
    if not traces_panel.all_readable():
        return None
    if len(files) == 1:
        return Source(files[0])
    answer = job_slot.ask(MERGE_SLOT, traces_state.merge_task(), MergedTrace)
    job_slot.show_state(MERGE_SLOT, answer, lambda job: f"merging: {job.over:,} of {len(files):,} files read")
    merged = answer.result
    return None if merged is None else Source(merged.trace, merged.problems, merged.notes)


def look(made: Source | None) -> View | None:
    """The survey of the source, the last one of the page while the wanted one is on its way."""
    if made is None:
        return None
    trace = traces_state.cut(made.trace)
    answer = job_slot.ask(SURVEY_SLOT, SurveyTask(trace, traces_state.policy()), TraceSurvey)
    job_slot.show_state(SURVEY_SLOT, answer, lambda job: f"reading and measuring: {job.over / 10:.0f} %")
    if answer.result is not None:
        view = View(made, trace, answer.result, True)
        st.session_state["traces:view"] = view
        return view
    last: View | None = st.session_state.get("traces:view")
    # Figures of another file would be misleading; those of another window or mapping are only old.
    return replace(last, is_current=False) if last is not None and last.source == made else None


def show_controls(view: View | None) -> bool:
    """Window, classes and the ways out; True where the Lab is to be opened."""
    if traces_panel.all_readable():
        st.markdown("**Window and rate**")
        traces_panel.show_window(None if view is None else view.found)
    if view is None:
        return False
    st.markdown("**Classes**")
    traces_panel.show_classes(view.found)
    if not view.is_current:
        return False
    return traces_send.show(view.trace, view.found, left_out=len(view.problems))


def show_look(view: View | None) -> None:
    """The pictures and figures."""
    if view is None:
        return
    found = view.found
    with st.container():
        if not view.is_current:
            st.caption("What follows is from before the last change.")
    with st.container():
        traces_look.show_result(view.trace, found)
    rows = found.rows_in_file + len(view.source.problems)
    notes = [*view.source.notes, *(note for note in found.notes if not view.source.notes or "Ringside" not in note)]
    with st.container():
        traces_look.show_counts(found, view.problems, notes, rows_in_file=rows)
    traces_look.show_arrivals(view.trace, found)
    traces_look.show_pictures(found)
    if view.is_current:
        traces_look.show_reuse(view.trace, found)
