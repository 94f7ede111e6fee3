"""Two numbers varied at once: a heat map, and the waits traded against each other."""

from __future__ import annotations

import streamlit as st

from drr.analysis.sweep import Sweep
from drr.charts.tune import QUANTITIES, heat_figure
from drr.errors import DrrError
from drr.scheduler.ring import CURSOR_RULES
from drr.ui import tune, tune_point, tune_state, tune_work
from drr.ui.look import RULE_NAMES, theme
from drr.ui.tune_knobs import Knob, drawn_axis, knobs
from drr.ui.tune_work import Finished
from drr.workload.experiment import Experiment

TWO = "two"


def show(base: Experiment) -> bool:
    """The whole view; True when a point was sent to the Lab."""
    found = knobs(base)
    left, right = st.container(key="sides").columns([4, 9], gap="large")
    with left:
        across = tune.choose("Across", "tune:two:across", found)
        first = tune.show_range(TWO, across)
        up = tune.choose("Up", "tune:two:up", found, first=1)
        second = tune.show_range(TWO, up)
        seeds = tune.show_seeds()
        sweep, problem = _sweep(base, (across, up), (first, second), seeds)
        tune.show_run(TWO, sweep, problem)
    with right:
        tune_work.show_progress(TWO)
        done = tune_work.finished(TWO)
        if done is None:
            if not tune_work.is_at_work(TWO):
                st.info("Choose two numbers: every combination is run, and one figure of your choice is the colour.")
            return False
        tune.say_state(done, base)
        _heat(done)
        number = tune_point.chosen(TWO, done)
        goes = False
        if number is not None:
            goes = tune_point.show(TWO, done, number, tune.titles_of(done))
        else:
            st.caption("Click a cell or a mark to see its policy.")
        tune.trade(TWO, done)
        tune.downloads(TWO, done)
    return goes


def _sweep(
    base: Experiment, pair: tuple[Knob, Knob], ranges: tuple[tuple[float, float, int], ...], seeds: int
) -> tuple[Sweep | None, str]:
    """The sweep, or why there is none."""
    if pair[0].path == pair[1].path:
        return None, "choose two different numbers"
    if any(low >= high for low, high, _ in ranges):
        return None, "a range has to end above its start"
    try:
        axes = tuple(knob.axis(*span) for knob, span in zip(pair, ranges, strict=True))
        return Sweep(base=base, axes=axes, replications=seeds), ""
    except DrrError as error:
        return None, str(error)


def _heat(done: Finished) -> None:
    classes = tune.classes_of(done)
    tune_state.among("tune:two:class", classes)
    columns = st.columns([3, 2, 3], vertical_alignment="bottom")
    figure = columns[0].selectbox(
        "Colour shows", list(QUANTITIES), key="tune:two:figure", format_func=lambda name: QUANTITIES[name].title
    )
    name = columns[1].selectbox("of", classes, key="tune:two:class")
    rule = columns[2].segmented_control(
        "under", CURSOR_RULES, key="tune:two:rule", format_func=RULE_NAMES.__getitem__, required=True
    )
    assert rule is not None, "a required control has a choice"
    across, up = (drawn_axis(done.sweep.base, axis) for axis in done.sweep.axes)
    assert across is not None
    assert up is not None, "other sweeps are not put into this view"
    key = "tune:two:chart:heat"
    st.plotly_chart(
        heat_figure(done.means, figure, (across, up), policy_class=name, cursor_rule=rule, theme=theme()),
        key=key,
        theme=None,
        config=tune.CONFIG,
        on_select=lambda: tune_point.clicked(key, TWO),
        selection_mode="points",
        alt=f"{QUANTITIES[figure].title} of {name} over two numbers",
    )
