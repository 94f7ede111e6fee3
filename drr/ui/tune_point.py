"""A point of a sweep that was clicked, or quanta that were found: the policy it stands for, and the way to the Lab."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import streamlit as st

from drr.analysis.compare import policy_diff
from drr.analysis.sweep import Value, with_settings
from drr.analysis.sweep_figures import ASKED, REFUSED, SHARE, WAIT_P95, WITHOUT_SERVICE
from drr.analysis.sweep_frame import HALF_WIDTH
from drr.errors import DrrError
from drr.ui import lab_state
from drr.ui.look import plain
from drr.ui.tune_work import Finished, point_key
from drr.workload.experiment import Experiment

_TO_LAB = "tune:to_lab"


def clicked(key: str, view: str) -> None:
    """Take the point that was clicked in a picture; to be called when its selection changes."""
    event: Any = st.session_state[key]
    points = [point for point in event["selection"]["points"] if point.get("customdata") is not None]
    if points:
        data = points[-1]["customdata"]
        st.session_state[point_key(view)] = int(data[0] if isinstance(data, list) else data)


def chosen(view: str, found: Finished) -> int | None:
    """The point of a view that was clicked last, where the sweep has one of that number."""
    number = st.session_state.get(point_key(view))
    return number if number in set(found.means["point"]) else None


def settings_text(settings: dict[str, Value], titles: dict[str, str]) -> str:
    """What a point is, in words: premium: quantum, tokens = 256."""
    return "; ".join(f"{titles.get(path, path)} = {_value(value)}" for path, value in settings.items())


def _value(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def show(view: str, found: Finished, number: int, titles: dict[str, str]) -> bool:
    """Draw a point with its figures and the difference of its policy; True when it was sent to the Lab."""
    points = {point.number: dict(point.settings) for point in found.sweep.points()}
    settings = points[number]
    st.markdown(f"**Chosen:** {plain(settings_text(settings, titles))}")
    rows = found.means[found.means["point"] == number]
    st.dataframe(figures_table(rows), hide_index=True)
    try:
        made = with_settings(found.sweep.base, tuple(settings.items()))
    except DrrError as error:
        st.error(plain(str(error)))
        return False
    return show_way_to_lab(view, found.sweep.base, made)


def figures_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Figures of one point for people, a line per rule and class."""
    lines = []
    numbers = rows.astype(dict.fromkeys((ASKED, SHARE, WAIT_P95, WITHOUT_SERVICE, REFUSED), float))
    halves = [figure + HALF_WIDTH for figure in (SHARE, WAIT_P95, WITHOUT_SERVICE)]
    for _, row in numbers.astype(dict.fromkeys(halves, float)).iterrows():
        lines.append(
            {
                "rule": row["cursor_rule"],
                "class": row["policy_class"],
                "asked": _percent(row[ASKED]),
                "got": _percent(row[SHARE], row[SHARE + HALF_WIDTH]),
                "wait, 95 of 100 within": _time(row[WAIT_P95], row[WAIT_P95 + HALF_WIDTH]),
                "longest without service": _time(row[WITHOUT_SERVICE], row[WITHOUT_SERVICE + HALF_WIDTH]),
                "refused": f"{row[REFUSED]:,.4g}",
            }
        )
    return pd.DataFrame(lines)


def _percent(value: float, half: float = 0.0) -> str:
    """A share with half its interval; both may be NaN, as everything that is missing in a table."""
    if math.isnan(value):
        return "–"
    return f"{value * 100:.1f}{f' ± {half * 100:.1f}' if half > 0 else ''} %"


def _time(value: float, half: float) -> str:
    """A time given in ms with half its interval, in seconds."""
    if math.isnan(value):
        return "–"
    return f"{value / 1000:,.2f}{f' ± {half / 1000:,.2f}' if half > 0 else ''} s"


def show_way_to_lab(view: str, before: Experiment, after: Experiment) -> bool:
    """The difference of two policies and a button that puts the second into the Lab; True when it was pressed."""
    text = policy_diff(before.policy_text, after.policy_text)
    if text:
        st.code("\n".join(text.splitlines()[2:]), language="diff")
    elif before == after:
        st.caption("This is the policy as it is.")
    else:
        st.caption("The policy stays as it is; what changes is the workload or the cluster.")
    if st.button("Open in the Lab", key=f"{_TO_LAB}:{view}", type="primary"):
        lab_state.load(after)
        return True
    return False
