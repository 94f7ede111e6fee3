"""What was saved: keep a run or a sweep under a name, look at one, put it back, compare two."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, cast

import pandas as pd
import streamlit as st

from drr.analysis.saved import (
    NAME,
    NAME_CHARACTERS,
    VARIABLE,
    Saved,
    compare_saved,
    free_place,
    load,
    save_sweep,
    saved_figures,
    saved_in,
)
from drr.analysis.sweep import Sweep
from drr.errors import DrrError
from drr.ui import lab_state, runs, tune_state, tune_work
from drr.ui.job_bar import show_bar
from drr.ui.jobs import Job
from drr.ui.limits import REQUESTS_PER_RUN
from drr.ui.look import plain
from drr.ui.tune_knobs import drawn_axis
from drr.ui.tune_tasks import KeepTask
from drr.workload.experiment import Experiment

LAB_RUN = "the Lab's run"
_SWEEPS = {"the sweep over one number": "one", "the sweep over two numbers": "two"}
_NAME, _WHAT, _JOB, _SAID = "tune:save:name", "tune:save:what", "tune:save:job", "tune:save:said"
_TABLE = "tune:saved:table"


def folder() -> Path | None:
    """The folder of what is saved on this server, None where nobody named one."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def show(base: Experiment | None) -> bool:
    """The whole view; True when something was put into the Lab."""
    place = folder()
    if place is None:
        st.info("Runs and sweeps can be kept under a name once Ringside knows a folder for them. Start it like this:")
        st.code(f"{VARIABLE}=~/ringside-saved make run", language="bash")
        return False
    left, right = st.container(key="sides").columns([4, 9], gap="large")
    with left:
        _keep(place, base)
    with right:
        found = saved_in(place)
        if not found:
            st.info("Nothing is saved yet. Give the Lab's run or a sweep a name and keep it.")
            return False
        return _list(place, found)


def _keep(place: Path, base: Experiment | None) -> None:
    """Keep what there is under a name."""
    choices = [LAB_RUN] if base is not None else []
    done_sweeps = {name: tune_work.finished(view) for name, view in _SWEEPS.items()}
    # One that was cancelled would not be the same when it is run again.
    choices += [name for name, done in done_sweeps.items() if done is not None and not done.missing]
    if not choices:
        return
    what = st.selectbox("Keep", choices, key=_WHAT)
    name = st.text_input("Name", key=_NAME, placeholder="premium-4-to-1", max_chars=80).strip()
    fits = bool(NAME.fullmatch(name))
    with st.container():
        if name and not fits:
            st.caption(plain(f"{NAME_CHARACTERS} are allowed."))
    if st.button("Keep it", type="primary", width="stretch", disabled=not fits):
        st.session_state[_SAID] = ("", "")
        try:
            free_place(place, name)
            if what == LAB_RUN:
                assert base is not None
                task = KeepTask(place, name, base, REQUESTS_PER_RUN.value)
                st.session_state[_JOB] = runs.run_store().pool.submit(runs.owner_of(tune_work.OWNER), task)
            else:
                done = tune_work.finished(_SWEEPS[what])
                assert done is not None
                save_sweep(place, name, done.sweep, done.frame)
                st.session_state[_SAID] = ("success", f"{name} is kept.")
        except DrrError as error:
            st.session_state[_SAID] = ("error", str(error))
    _follow()


def _follow() -> None:
    state = st.session_state
    job: Job | None = state.get(_JOB)
    if job is not None:
        name = cast("KeepTask", job.task).name
        if not job.wait(5 * runs.WAIT_SECONDS):
            _wait(job)
            return
        state[_JOB] = None
        is_done = job.state == "done"
        said = f"{name} is kept." if is_done else f"{name} was not kept: {job.error}."
        state[_SAID] = ("success" if is_done else "error", said)
    kind, text = state.get(_SAID, ("", ""))
    if text:
        (st.success if kind == "success" else st.error)(plain(text))


def _wait(job: Job) -> None:
    @st.fragment(run_every=tune_work.POLL_SECONDS)
    def progress() -> None:
        if job.is_over:
            st.rerun()
        cancel, owner = runs.run_store().cancel, runs.owner_of(tune_work.OWNER)
        text = "running what is to be kept"
        show_bar(job.over, job.total, text, key="tune:save:cancel", cancel=cancel, args=(owner,), is_narrow=True)

    progress()


def _list(place: Path, found: list[Saved]) -> bool:
    """Everything there is; one chosen is shown, two are compared."""
    lines = [
        {
            "name": each.name,
            "kind": each.kind if not each.problem else "–",
            "saved": str(each.manifest.get("saved_at", "–")).replace("T", " ").removesuffix("+00:00"),
            "what": each.problem or each.line(),
        }
        for each in found
    ]
    event: Any = st.dataframe(
        pd.DataFrame(lines), key=_TABLE, hide_index=True, on_select="rerun", selection_mode="multi-row"
    )
    rows = [row for row in event["selection"]["rows"] if row < len(found)]
    if not rows:
        st.caption("Choose one to see it or to put it back, two to compare them. Times are UTC.")
        return False
    try:
        chosen = [load(place, found[row].name) for row in rows[:2]]
        if len(chosen) == 2:
            st.markdown(f"**{plain(chosen[1].name)}** against **{plain(chosen[0].name)}**")
            st.dataframe(readable(compare_saved(*chosen)), hide_index=True)
            return False
        return _one(chosen[0])
    except DrrError as error:
        st.error(plain(str(error)))
        return False


_TITLES = {
    "cursor_rule": "rule",
    "policy_class": "class",
    "got_share": "share",
    "wait_p50_ms": "median wait, s",
    "wait_p95_ms": "wait, 95 of 100 within, s",
    "refused": "refused",
    "service_tokens": "tokens",
}


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of figures for people: shares in percent, times in seconds, counts with separators."""
    if "figure" in frame.columns:
        shown = frame.copy()
        for name in frame.columns[list(frame.columns).index("figure") + 1 :]:
            cells = zip(frame["figure"], frame[name], strict=True)
            shown[name] = [_cell(figure, value, is_difference=name == "difference") for figure, value in cells]
        shown["figure"] = [_TITLES[figure] for figure in frame["figure"]]
        return shown.rename(columns=_TITLES)
    figures = [name for name in frame.columns if name in _TITLES and frame[name].dtype.kind == "f"]
    shown = frame.assign(**{name: [_cell(name, value) for value in frame[name]] for name in figures})
    return shown.rename(columns=_TITLES)


def _cell(figure: str, value: float, *, is_difference: bool = False) -> str:
    if math.isnan(value):
        return "–"
    sign = "+" if is_difference and value else ""
    if figure == "got_share":
        return f"{value * 100:{sign}.1f}" + (" points" if is_difference else " %")
    if figure.endswith("_ms"):
        return f"{value / 1000:{sign},.2f}"
    return f"{value:{sign},.1f}".removesuffix(".0")


def _one(saved: Saved) -> bool:
    st.markdown(f"**{plain(saved.name)}**: {plain(saved.line())}")
    st.dataframe(readable(saved_figures(saved)), hide_index=True)
    with st.container(horizontal=True, gap="small"):
        to_lab = st.button("Open in the Lab", key="tune:saved:lab", type="primary")
        if saved.kind == "sweep" and _can_be_drawn(saved.sweep()):
            st.button("Show its pictures", key="tune:saved:pictures", on_click=_pictures, args=(saved,))
        data = saved.table_path.read_bytes()
        st.download_button("Download its table", data, saved.table_path.name, key="tune:saved:file", on_click="ignore")
    if to_lab:
        lab_state.load(saved.experiment())
    return to_lab


def _can_be_drawn(sweep: Sweep) -> bool:
    """Whether there is a view for it: a line of numbers, or a grid of two."""
    if len(sweep.axes) > 2 or (sweep.sample is not None and len(sweep.axes) == 2):
        return False
    return all(drawn_axis(sweep.base, axis) is not None for axis in sweep.axes)


def _pictures(saved: Saved) -> None:
    """Put a sweep back into the view it came from."""
    sweep = saved.sweep()
    view, name = ("one", tune_state.ONE) if len(sweep.axes) == 1 else ("two", tune_state.TWO)
    tune_work.put(view, sweep, saved.table())
    st.session_state["tune:view"] = name
