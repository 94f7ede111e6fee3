"""The Tune page: one number of the Lab's experiment varied, and what follows for shares, waits, refusals, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from io import BytesIO

import pandas as pd
import streamlit as st

from drr.analysis.sweep import Sweep
from drr.analysis.sweep_figures import JAIN, REFUSED, SHARE
from drr.analysis.sweep_frame import sheet
from drr.analysis.words import counted, listed
from drr.charts.tune import Goalposts, lines_figure, trade_figure
from drr.errors import DrrError
from drr.ui import tune_point, tune_state, tune_work
from drr.ui.limits import RUNS_PER_SWEEP
from drr.ui.look import plain, theme
from drr.ui.quantum_sliders import CLASS_SLOTS
from drr.ui.tune_knobs import Knob, drawn_axis, knobs
from drr.ui.tune_work import Finished
from drr.workload.experiment import Experiment

ONE = "one"
CONFIG = {"displayModeBar": False}
STEPS = 9
WAITS = {
    "wait_p50_ms": "median wait",
    "wait_p95_ms": "95 of 100 wait at most",
    "wait_p99_ms": "99 of 100 wait at most",
    "ttft_p95_ms": "first token, 95 of 100 within",
    "without_service_ms": "longest without service",
}
_MOST_LINES = 4
"""Classes that are drawn unasked; with two rules and intervals more of them cannot be told apart."""
KEY_TO_RULES = "Full line: documented · dashed with open marks: shipped (carry) · dotted: asked for"


def show_start(base: Experiment | None) -> None:
    """What is tuned: the experiment of the Lab, in one line."""
    if base is None:
        st.warning("What the Lab holds is not valid, so there is nothing to tune. Mend it there first.")
        if st.button("Go to the Lab"):
            st.switch_page("pages/lab.py")
        return
    quanta = listed([f"{each.name} {each.quantum:,}" for each in base.profile().classes])
    st.caption(f"From the Lab: quanta {plain(quanta)}; {counted(base.workers, 'worker')}.")


def show_range(slot: str, knob: Knob) -> tuple[float, float, int]:
    """Where a range begins and ends, and in how many steps."""
    held: dict[str, tuple[float, float, int]] = st.session_state.setdefault("tune:ranges", {})
    low, high, steps = held.get(f"{slot}:{knob.path}", (knob.low, knob.high, STEPS if slot == ONE else 7))
    made = int if knob.is_whole else float
    columns = st.columns(3)
    keys = [f"tune:{slot}:{part}:{knob.path}" for part in ("from", "to", "steps")]
    ends = [
        column.number_input(name, value=made(value), min_value=made(0), key=key)
        for column, name, value, key in zip(columns, ("From", "To"), (low, high), keys, strict=False)
    ]
    count = columns[2].number_input("Points", 2, 40, value=steps, key=keys[2])
    held[f"{slot}:{knob.path}"] = (ends[0], ends[1], count)
    return float(ends[0]), float(ends[1]), count


def choose(label: str, key: str, found: Sequence[Knob], *, first: int = 0) -> Knob:
    """The number to vary."""
    titles = {knob.path: knob.title for knob in found}
    tune_state.among(key, list(titles), first=first)
    path = st.selectbox(label, list(titles), key=key, format_func=titles.__getitem__)
    return next(knob for knob in found if knob.path == path)


def show_seeds() -> int:
    """How often each point is run."""
    seeds: int = st.selectbox(
        "Seeds per point",
        tune_state.SEEDS,
        key="tune:seeds",
        help="Each point is run so often with other random draws, and the intervals come of it.",
    )
    return seeds


def show_run(view: str, sweep: Sweep | None, problem: str) -> None:
    """The button that starts a sweep, and why it cannot."""
    count = 0 if sweep is None else sweep.size * sweep.replications
    too_many = RUNS_PER_SWEEP.exceeded(count)
    if st.button(
        f"Run {counted(count, 'experiment')}" if count else "Run",
        key=f"tune:{view}:run",
        type="primary",
        width="stretch",
        disabled=sweep is None or too_many is not None,
    ):
        assert sweep is not None
        tune_work.start(view, sweep)
    with st.container():
        if problem or too_many:
            st.error(plain(f"{problem or too_many}."))


def show_one(base: Experiment) -> bool:
    """The whole view; True when a point was sent to the Lab."""
    found = knobs(base)
    left, right = st.container(key="sides").columns([4, 9], gap="large")
    with left:
        knob = choose("What to vary", "tune:one:knob", found)
        low, high, steps = show_range(ONE, knob)
        seeds = show_seeds()
        sweep, problem = None, "the range has to end above its start"
        if low < high:
            try:
                sweep, problem = Sweep(base=base, axes=(knob.axis(low, high, steps),), replications=seeds), ""
            except DrrError as error:
                problem = str(error)
        show_run(ONE, sweep, problem)
        if tune_work.finished(ONE) is not None:
            st.selectbox("Waits are shown as", list(WAITS), key="tune:wait", format_func=WAITS.__getitem__)
            _choose_classes()
    with right:
        tune_work.show_progress(ONE)
        done = tune_work.finished(ONE)
        if done is None:
            if not tune_work.is_at_work(ONE):
                st.info(
                    "Choose a number of the policy or of the workload and run it over a range: you see what every "
                    "class gets, how long it waits and what is refused, under the documented rule and on the shipped "
                    "router."
                )
            return False
        say_state(done, base)
        number = tune_point.chosen(ONE, done)
        _pictures(done)
        goes = False
        with st.container():
            if number is not None:
                goes = tune_point.show(ONE, done, number, titles_of(done))
            else:
                st.caption("Click a mark to see its policy.")
        trade(ONE, done)
        downloads(ONE, done)
    return goes


def titles_of(done: Finished) -> dict[str, str]:
    """What the settings of a sweep are called."""
    return {knob.path: knob.title for knob in knobs(done.sweep.base)}


def say_state(done: Finished, base: Experiment) -> None:
    """That a picture is of something else than what stands beside it, or not of all of it."""
    with st.container():
        if done.sweep.base.key != base.key:
            st.caption("These figures are of an earlier experiment in the Lab; run again for the present one.")
        if done.missing:
            st.warning(f"{counted(done.missing, 'experiment')} cancelled; the figures are of the others.")
        for problem in done.problems[:3]:
            st.warning(plain(f"Points without figures: {problem}."))


def classes_of(done: Finished) -> list[str]:
    """The classes of a sweep in ring order."""
    return list(dict.fromkeys(done.means["policy_class"]))


def _choose_classes() -> None:
    """Which classes are drawn, where there are many."""
    done = tune_work.finished(ONE)
    if done is not None and len(names := classes_of(done)) > _MOST_LINES:
        st.session_state["tune:classes"] = _drawn_classes(done)
        st.multiselect("Classes shown", names, key="tune:classes", max_selections=8)


def _drawn_classes(done: Finished) -> list[str]:
    """The chosen classes; at first the one whose number is varied, and the next ones."""
    names = classes_of(done)
    chosen = [name for name in names if name in (st.session_state["tune:classes"] or ())]
    if chosen or len(names) <= _MOST_LINES:
        return chosen if len(names) > _MOST_LINES else names
    varied = [name for name in names if done.sweep.axes[0].path.startswith(f"policy_classes.{name}.")]
    return list(dict.fromkeys([*varied, *names]))[:_MOST_LINES]


def _pictures(done: Finished) -> None:
    """Share, wait, refusals and fairness over the number."""
    axis = drawn_axis(done.sweep.base, done.sweep.axes[0])
    assert axis is not None, "other sweeps are not put into this view"
    classes = _drawn_classes(done)
    left, right = st.columns(2, gap="medium")
    figures = [(left, SHARE), (right, st.session_state["tune:wait"]), (left, JAIN)]
    is_refused = done.means[REFUSED].fillna(0).gt(0).any()
    if is_refused:
        figures.append((right, REFUSED))
    for column, figure in figures:
        key = f"tune:one:chart:{figure}"
        made = lines_figure(
            done.means, figure, axis, classes=classes, theme=theme(), keep=st.session_state.get(CLASS_SLOTS)
        )
        with column:
            st.plotly_chart(
                made,
                key=key,
                theme=None,
                config=CONFIG,
                on_select=partial(tune_point.clicked, key, ONE),
                selection_mode="points",
                alt=f"{figure} over {axis.title}",
            )
    if not is_refused:
        right.caption("No request was refused at any point.")
    st.caption(KEY_TO_RULES)


def trade(view: str, done: Finished) -> None:
    """The wait of one class against that of another, with the limits that are promised."""
    classes = classes_of(done)
    if len(classes) < 2:
        return
    st.markdown("**One class's wait against another's**, 95 of 100 within")
    tune_state.among("tune:trade:across", classes)
    tune_state.among("tune:trade:up", classes, first=1)
    columns = st.columns(4, vertical_alignment="bottom")
    across = columns[0].selectbox("Across", classes, key="tune:trade:across")
    up = columns[1].selectbox("Up", classes, key="tune:trade:up")
    limits = [
        column.number_input(
            f"{name}: at most, s", min_value=0.0, value=None, key=f"tune:slo:{side}", placeholder="no limit"
        )
        for column, name, side in zip(columns[2:], (across, up), ("across", "up"), strict=True)
    ]
    if across == up:
        st.caption("Choose two different classes.")
        return
    goals = Goalposts(*(None if limit is None else limit * 1000 for limit in limits))
    labels = {p.number: tune_point.settings_text(dict(p.settings), titles_of(done)) for p in done.sweep.points()}
    key = f"tune:{view}:chart:trade"
    st.plotly_chart(
        trade_figure(done.means, (across, up), goals=goals, now=now_point(done), theme=theme(), label=labels),
        key=key,
        theme=None,
        config=CONFIG,
        on_select=lambda: tune_point.clicked(key, view),
        selection_mode="points",
        alt=f"Waits of {across} against those of {up}",
    )


def now_point(done: Finished) -> int | None:
    """The point that is the policy as it is, where the sweep has it."""
    now = {knob.path: knob.now for knob in knobs(done.sweep.base)}
    for point in done.sweep.points():
        if all(now.get(path) == value for path, value in point.settings):
            return point.number
    return None


def downloads(view: str, done: Finished) -> None:
    """The tables as files."""
    with st.container(horizontal=True, gap="small"):
        for name, frame in (("all runs", done.frame), ("means", done.means)):
            stem = f"sweep-{name.replace(' ', '-')}"
            st.download_button(
                f"CSV, {name}",
                partial(_csv, frame),
                f"{stem}.csv",
                "text/csv",
                key=f"tune:{view}:csv:{name}",
                on_click="ignore",
            )
            st.download_button(
                f"Parquet, {name}",
                partial(_parquet, frame),
                f"{stem}.parquet",
                key=f"tune:{view}:parquet:{name}",
                on_click="ignore",
            )


def _csv(frame: pd.DataFrame) -> bytes:
    return sheet(frame).encode()


def _parquet(frame: pd.DataFrame) -> bytes:
    file = BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()
