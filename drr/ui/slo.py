"""The SLO line: targets per class, the share of requests that keep them, and the highest rate at which enough do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import pandas as pd
import streamlit as st

from drr.analysis.slo import RateSearch, SloFigures, Target, Trial, highest_rate, slo_figures
from drr.simulation.recording import Run
from drr.ui.catch_up import catch_up, note_due
from drr.ui.job_bar import show_bar
from drr.ui.jobs import Job
from drr.ui.limits import REQUESTS_PER_RUN
from drr.ui.look import plain
from drr.ui.runs import POLL_SECONDS, owner_of, run_store
from drr.ui.worker_process import Progress
from drr.workload.experiment import Experiment, TypedWorkload

TARGETS = "lab:slo"
"""Session state: class name -> (TTFT, end to end), ms or None."""
Targets = dict[str, tuple[float | None, float | None]]
_SEARCH = "lab:slo_search"
_TTFT, _WHOLE = "TTFT at most, ms", "end to end at most, ms"
_PER_TRIAL = 1000
_SLOT = "slo"
_Key = tuple[str, tuple[tuple[str, Target], ...], float]


@dataclass(frozen=True, slots=True)
class SearchTask:
    """A search for the highest rate, as a worker process takes it."""

    experiment: Experiment
    targets: tuple[tuple[str, Target], ...]
    share: float
    max_requests: int

    def run(self, progress: Progress) -> RateSearch:
        """Search; progress is told within every run too, so that it can be cancelled there."""
        made, expected = 0, 8

        def told(done: int, in_all: int) -> None:
            nonlocal made, expected
            made, expected = done, in_all
            progress(made * _PER_TRIAL, expected * _PER_TRIAL)

        def within(over: int, total: int) -> None:
            progress(
                made * _PER_TRIAL + (over * _PER_TRIAL // total if total else 0), max(expected, made + 1) * _PER_TRIAL
            )

        def run_at(ratio: float) -> Run:
            sped_up = replace(self.experiment, arrival_speedup_ratio=self.experiment.arrival_speedup_ratio * ratio)
            return sped_up.run(within, max_requests=self.max_requests, record=False)

        return highest_rate(run_at, dict(self.targets), share=self.share, progress=told)


@dataclass(slots=True)
class _Search:
    """What was asked for, and the job that looks for it."""

    key: _Key
    job: Job


def show(run: Run, experiment: Experiment | None) -> None:
    """Draw targets and shares of the run on the stage; ``experiment`` is what the search varies."""
    if experiment is None or isinstance(experiment.workload, TypedWorkload):
        return
    held: Targets = st.session_state.setdefault(TARGETS, {})
    targets = {
        name: Target(*times) for name, times in held.items() if name in run.class_names and times != (None, None)
    }
    panel = st.expander(
        "Service levels: how many requests are in time", expanded=bool(targets), key="lab:slo:panel", on_change=note_due
    )
    if not panel.open:
        return
    with panel:
        figures = {each.name: each for each in slo_figures(run, targets)} if targets else {}
        _table(run, held, figures)
        if not targets:
            st.caption("Write the longest TTFT or end-to-end time a class may take, and the share that keeps it shows.")
            return
        st.markdown(plain(slo_line(list(figures.values()))))
        _search(experiment, targets)


def slo_line(figures: list[SloFigures]) -> str:
    """The shares in one line."""
    said = []
    for each in figures:
        if each.met_share is None:
            said.append(f"{each.name} has no request")
        else:
            said.append(f"{each.name} {_percent(each.met_share)} of {each.requests:,} requests")
    return "In time: " + "; ".join(said) + "."


def _percent(share: float) -> str:
    """A share that says 100 % only where all are meant."""
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"


def _table(run: Run, held: Targets, figures: Mapping[str, SloFigures]) -> None:
    rows = []
    for name in run.class_names:
        ttft, whole = held.get(name, (None, None))
        found = figures.get(name)
        rows.append(
            {
                "class": name,
                _TTFT: ttft,
                _WHOLE: whole,
                "TTFT kept": found.ttft_share if found else None,
                "end to end kept": found.end_to_end_share if found else None,
                "both kept": found.met_share if found else None,
            }
        )
    frame = pd.DataFrame(rows).astype(dict.fromkeys((_TTFT, _WHOLE), float))
    time = st.column_config.NumberColumn(min_value=0.0, format="localized")
    share = st.column_config.NumberColumn(format="percent")
    kept = ["TTFT kept", "end to end kept", "both kept"]
    revision = st.session_state.get("lab:slo_revision", 0)
    key = f"lab:slo_table:{revision}"
    st.data_editor(
        frame,
        key=key,
        hide_index=True,
        placeholder="–",
        disabled=["class", *kept],
        column_config={_TTFT: time, _WHOLE: time, **dict.fromkeys(kept, share)},
        on_change=_take,
        args=(key, run.class_names),
        alt="Targets per class, and the share of requests that keep them",
    )


def _take(key: str, names: tuple[str, ...]) -> None:
    """Put what was written into the targets; a new table follows, with the shares of the new targets."""
    held: Targets = st.session_state[TARGETS]
    for row, cells in st.session_state[key]["edited_rows"].items():
        ttft, whole = held.get(names[int(row)], (None, None))
        held[names[int(row)]] = (cells.get(_TTFT, ttft), cells.get(_WHOLE, whole))
    st.session_state["lab:slo_revision"] = st.session_state.get("lab:slo_revision", 0) + 1


# The highest rate


def _search(experiment: Experiment, targets: Mapping[str, Target]) -> None:
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    percent = left.number_input("Share that has to be in time, %", 1.0, 100.0, 95.0, key="lab:slo_share", format="%g")
    key = (experiment.key, tuple(sorted(targets.items())), percent / 100.0)
    right.button(
        "Find the highest rate that keeps this",
        key="lab:slo_find",
        width="stretch",
        on_click=_find,
        args=(SearchTask(experiment, key[1], key[2], REQUESTS_PER_RUN.value), key),
    )
    search: _Search | None = st.session_state.get(_SEARCH)
    if search is None or search.key != key:
        return
    if not search.job.is_over:
        _progress(search)
    elif search.job.state == "done":
        st.markdown(plain(search_line(cast("RateSearch", search.job.result), key[2])))
    elif search.job.state == "cancelled":
        st.caption("The search was cancelled.")
    else:
        st.error(plain(search.job.error))


def _find(task: SearchTask, key: _Key) -> None:
    st.session_state[_SEARCH] = _Search(key, run_store().pool.submit(owner_of(_SLOT), task))


def _progress(search: _Search) -> None:
    @st.fragment(run_every=POLL_SECONDS)
    def progress() -> None:
        catch_up()
        job = search.job
        if job.is_over:
            st.rerun()
        text = f"run {job.over // _PER_TRIAL + 1:,} of about {job.total // _PER_TRIAL:,}" if job.total else "waiting …"
        cancel, owner = run_store().cancel, owner_of(_SLOT)
        show_bar(job.over, job.total, text, key="lab:slo_cancel", cancel=cancel, args=(owner,))

    progress()


def search_line(search: RateSearch, share: float) -> str:
    """What the search found, in words."""
    trials = f"{len(search.trials):,} runs"
    if search.best is None:
        slowest = min(search.trials, key=lambda each: each.speedup_ratio)
        return f"Even at {_rate(slowest)} fewer than {share * 100:g} % are in time ({trials})."
    found = f"The highest rate is {_rate(search.best)}, {search.best.speedup_ratio:.3g} times this workload"
    if search.next_miss is None:
        return f"{found}; nothing faster was tried ({trials})."
    late = min(
        (each for each in search.next_miss.figures if each.met_share is not None),
        key=lambda each: each.met_share or 0.0,
        default=None,
    )
    why = f": {late.name} has {_percent(late.met_share or 0.0)} in time" if late is not None else ""
    return f"{found}; at {_rate(search.next_miss)} it is missed{why} ({trials})."


def _rate(trial: Trial) -> str:
    return "an unknown rate" if trial.per_second is None else f"{trial.per_second:,.3g} requests/s"
