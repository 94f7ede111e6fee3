"""What the Compare page shows of two runs: the verdict, both stages, the first difference, figures, the text diff."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from drr.analysis.compare import (
    COUNTS,
    SHARE,
    Difference,
    FigureRow,
    Interval,
    figure_rows,
    first_difference,
    policy_diff,
    reasons,
    requests_digest,
)
from drr.analysis.explain_words import MINUS
from drr.analysis.fairness import fairness, gap_text
from drr.analysis.outcomes import result_line
from drr.simulation.recording import Run
from drr.ui import compare_seeds, compare_state, lab_state, runs
from drr.ui.look import plain
from drr.ui.player.component import current_view, go_to, player
from drr.workload.experiment import Experiment

BY_DECISION, BY_TIME = "by decision", "by time"
_HOW, _DECISION, _SHOWN, _PAIR = "cmp:how", "cmp:decision", "cmp:shown", "cmp:pair"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs that belong together, and the experiments they were made from."""

    first: Run
    second: Run
    experiments: tuple[Experiment, Experiment]

    @property
    def key(self) -> tuple[str, str]:
        """What is found out about the pair is kept under this."""
        return self.experiments[0].key, self.experiments[1].key


def run_side(side: str, experiment: Experiment | None, problem: str) -> Run | None:
    """The run of a side; None where it is not there (yet), with progress and trouble said."""
    slot = f"cmp:{side}"
    view = runs.run_of(experiment, slot)
    state = runs.show_state(view, slot)
    if problem:
        state.error(f"The policy of {side} is not valid: {plain(problem)}.")
    return view.run if view.is_current else None


def pair_of(
    experiments: tuple[Experiment | None, Experiment | None], both: tuple[Run | None, Run | None]
) -> Pair | None:
    """The two runs of two experiments, the last pair there was while one of them is missing."""
    first, second = both
    note = st.container()
    if first is not None and second is not None and experiments[0] is not None and experiments[1] is not None:
        st.session_state[_PAIR] = Pair(first, second, (experiments[0], experiments[1]))
    elif _PAIR in st.session_state:
        note.caption("What follows is the last comparison that was complete.")
    found: Pair | None = st.session_state.get(_PAIR)
    return found


@st.cache_data(max_entries=32, show_spinner=False)
def _difference(key: tuple[str, str], *, _first: Run, _second: Run) -> Difference | None:
    return first_difference(_first, _second)


@st.cache_data(max_entries=32, show_spinner=False)
def _rows(key: tuple[str, str], *, _first: Run, _second: Run) -> list[FigureRow]:
    return figure_rows(_first, _second)


@st.cache_data(max_entries=32, show_spinner=False)
def _apart(key: tuple[str, str], *, _first: Run, _second: Run) -> list[str]:
    """How far service per quantum drifted apart on each side, beside its bound."""
    worst = [(run, fairness(run).worst) for run in (_first, _second)]
    return [
        gap_text(pair, run.class_names) if pair is not None else "no two classes ever waited together."
        for run, pair in worst
    ]


# --- the verdict -----------------------------------------------------------------------------------------------------


def show_verdict(pair: Pair) -> None:
    """Both results in words, that the requests are the same, and why the runs differ or do not."""
    first, second = pair.first, pair.second
    left, right = st.columns(2, gap="large")
    for column, side, run in ((left, "A", first), (right, "B", second)):
        column.markdown(f"**{side}:** {plain(result_line(run))}")
    st.info("**Why:** " + " ".join(plain(text) for text in reasons(first, second)))
    digests = {requests_digest(run.requests) for run in (first, second)}
    if len(digests) == 1:
        st.caption(
            f"Both ran the same {len(first.requests):,} requests, byte for byte (SHA-256 {digests.pop()[:12]}…)."
        )
    else:
        st.warning("A and B did not run the same requests, so their figures cannot be compared.")


# --- both stages -----------------------------------------------------------------------------------------------------


def show_stages(pair: Pair) -> None:
    """The first difference in words, and both stages with one playhead."""
    key, first, second = pair.key, pair.first, pair.second
    found = _difference(key, _first=first, _second=second)
    most = max(len(first.decision_steps), len(second.decision_steps), 1)
    state = st.session_state
    state.setdefault(_HOW, BY_DECISION)
    if state.get(_SHOWN) != key:
        state[_SHOWN] = key
        state[_DECISION] = min(found.decision if found is not None and found.decision else 1, most)
        _move_both(first, second)
    # Without its slider on the page the number may be forgotten; the players say what they show.
    state[_DECISION] = min(max(state.get(_DECISION, 1), 1), most)
    state[_HOW] = state[_HOW]
    _show_difference(found, first, second)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.segmented_control(
            "Scrub together", (BY_DECISION, BY_TIME), key=_HOW, label_visibility="collapsed", required=True
        )
        by = "in simulated time" if state[_HOW] == BY_TIME else "decision by decision"
        st.caption(f"Move or play either stage: the other one follows {by}.")
    _both(pair, most)


@st.fragment
def _both(pair: Pair, most: int) -> None:
    """Both players in one fragment: they report at the same moment, and then Streamlit runs only one."""
    state = st.session_state
    by_time = state[_HOW] == BY_TIME
    decision: int = state.get(_DECISION, 1)
    linked = "cmp" if by_time else "decision:cmp"
    with st.container():
        if not by_time and most > 1:
            decision = state[_DECISION] = _shown_decision(pair.first, decision)
            both = (pair.first, pair.second)
            st.slider("Decision of A and B", 1, most, key=_DECISION, on_change=_move_both, args=both)
    columns = st.container(key="cmp_stages").columns(2, gap="medium")
    for column, side, run in zip(columns, compare_state.SIDES, (pair.first, pair.second), strict=True):
        with column:
            arbitration = compare_state.ARBITRATION[state[compare_state.key_of(side, "arbitration")]]
            st.markdown(f"**{side}** · {plain(arbitration)}")
            if run.n_steps:
                start = _decision_step(run, decision)
                player(run, key=f"cmp:{side}", parts=(), linked=linked, start=start, own_fragment=False)
            else:
                st.info("Nothing happened in this run: no request arrived.")


def _shown_decision(run: Run, before: int) -> int:
    """The number of the last decision A's stage shows; the other side may have more of them than A."""
    steps = run.decision_steps
    shown = bisect_right(steps, current_view(run, f"cmp:{compare_state.SIDES[0]}", _decision_step(run, before)).step)
    return max(shown, 1) if shown < len(steps) else max(before, shown)


def _decision_step(run: Run, decision: int) -> int:
    """The step of a decision by its number; the last one where there are not so many, -1 where there is none."""
    steps = run.decision_steps
    return steps[min(decision, len(steps)) - 1] if len(steps) else -1


def _move_both(first: Run, second: Run) -> None:
    decision: int = st.session_state[_DECISION]
    for side, run in zip(compare_state.SIDES, (first, second), strict=True):
        go_to(f"cmp:{side}", step=_decision_step(run, decision))


def _show_difference(found: Difference | None, first: Run, second: Run) -> None:
    if found is None:
        st.success("A and B differ at no step.")
        return
    with st.container(border=True):
        where = f"decision {found.decision:,}" if found.decision else f"step {(found.first_step or 0) + 1:,}"
        time = first.times_ms[found.first_step] if found.first_step is not None else None
        head, button = st.columns([5, 1], vertical_alignment="center")
        at = f" at {time:,.1f} ms" if time is not None else ""
        head.markdown(f"◆ **First difference: {where}{at}**")
        button.button("Go there", on_click=_go_to_difference, args=(found,), width="stretch", key="cmp:go")
        left, right = st.columns(2, gap="large")
        for column, side, said in ((left, "A", found.first_said), (right, "B", found.second_said)):
            text = "nothing more happens." if said is None else f"{plain(said.headline)} {plain(said.text)}"
            column.markdown(f"**{side}:** {text}")


def _go_to_difference(found: Difference) -> None:
    for side, step in zip(compare_state.SIDES, (found.first_step, found.second_step), strict=True):
        if step is not None:
            go_to(f"cmp:{side}", step=step)
    if found.decision:
        st.session_state[_DECISION] = found.decision


# --- figures ---------------------------------------------------------------------------------------------------------


def show_figures(pair: Pair, over_seeds: dict[tuple[str, str], Interval] | None) -> None:
    """Figures of both runs with their differences, and those over seeds where they were asked for."""
    rows = _rows(pair.key, _first=pair.first, _second=pair.second)
    frame = pd.DataFrame(
        {
            "class": [row.policy_class for row in rows],
            "figure": [row.figure for row in rows],
            "A": [_text(row.figure, row.first) for row in rows],
            "B": [_text(row.figure, row.second) for row in rows],
            "B minus A": [_text(row.figure, row.difference, is_difference=True) for row in rows],
        }
    )
    if over_seeds is not None:
        found = [over_seeds.get((row.policy_class, row.figure)) for row in rows]
        frame["B minus A over seeds, 95 %"] = [
            _interval(row.figure, each) for row, each in zip(rows, found, strict=True)
        ]
    right = {name: st.column_config.TextColumn(alignment="right") for name in frame.columns[2:]}
    st.dataframe(frame, hide_index=True, column_config=right, height=min(35 * len(frame) + 37, 640))
    for side, text in zip(compare_state.SIDES, _apart(pair.key, _first=pair.first, _second=pair.second), strict=True):
        st.caption(f"{side}: {plain(text)}")


def _text(figure: str, value: float | None, *, is_difference: bool = False) -> str:
    sign = "+" if is_difference else ""
    if value is None:
        return "–"
    if value == 0:
        sign = ""
    if figure == SHARE:
        text = f"{100 * value:{sign}.1f}" + (" points" if is_difference else " %")
    else:
        digits = 0 if figure in COUNTS and value == int(value) else 2
        text = f"{value:{sign},.{digits}f}"
    return text.replace("-", MINUS)


def _interval(figure: str, found: Interval | None) -> str:
    if found is None:
        return "–"
    if found.half_width == 0:
        return f"{_text(figure, found.mean, is_difference=True)}, always"
    mean = _text(figure, round(found.mean, 4), is_difference=True)
    scale = 100 if figure == SHARE else 1
    return f"{mean} ± {found.half_width * scale:,.2f}{'' if found.is_clear else ' (may be 0)'}"


def show_seeds(pair: Pair) -> dict[tuple[str, str], Interval] | None:
    """Runs over seeds, and what to make of them."""
    found = compare_seeds.show(*pair.experiments)
    if found is not None and all(each.half_width == 0 for each in found.values()):
        st.caption("The same in every seed: nothing about this workload is drawn at random.")
    return found


# --- the policies ----------------------------------------------------------------------------------------------------


def show_policies(pair: Pair) -> str | None:
    """The text diff, and the ways to the Lab; the side to open there where a button was pressed."""
    first, second = pair.experiments
    text = policy_diff(first.policy_text, second.policy_text)
    if text:
        st.code(text, language="diff")
    else:
        st.caption("The two policies are the same text.")
    with st.container(horizontal=True, gap="small"):
        for side, experiment in zip(compare_state.SIDES, (first, second), strict=True):
            if st.button(f"Open {side} in the Lab", key=f"cmp:send:{side}"):
                lab_state.prepare()
                lab_state.load(experiment)
                return side
    return None
