"""What came out, in words and in figures."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import pandas as pd
import streamlit as st

from drr.analysis.outcomes import class_figures, other_rule_line, result_line, size_facts
from drr.simulation.recording import Run
from drr.ui.look import RULE_NAMES, plain

# Made once per run, since going through all requests takes long for large runs, and each when it is first shown.
_LINES: WeakKeyDictionary[Run, tuple[str, str]] = WeakKeyDictionary()
_FIGURES: WeakKeyDictionary[Run, pd.DataFrame] = WeakKeyDictionary()


def show_line(run: Run) -> None:
    """The result in one sentence, and beneath it what the other cursor rule gives."""
    if run not in _LINES:
        _LINES[run] = result_line(run), other_rule_line(run)
    line, other_line = _LINES[run]
    st.subheader(plain(line), anchor=False)
    facts = " · ".join((*size_facts(run), f"cursor rule: {RULE_NAMES[run.cursor_rule]}"))
    st.caption(f"{plain(facts)} · **{plain(other_line)}**")


def _frame(run: Run) -> pd.DataFrame:
    """Figures of merit, one line per class."""
    rows = []
    for f in class_figures(run):
        rows.append(
            {
                "class": f.name,
                "quantum": f.quantum,
                "asked share": f.asked_share,
                "got share": f.got_share,
                "requests": f.requests,
                "at once": f.immediate,
                "by decision": f.dispatched,
                "still waiting": f.still_waiting,
                "refused": f.refused,
                "errors": f.errors,
                "tokens": f.service_tokens,
                "wait p50, ms": f.wait.p50,
                "wait p95, ms": f.wait.p95,
                "wait p99, ms": f.wait.p99,
                "TTFT p50, ms": f.ttft.p50,
                "TTFT p95, ms": f.ttft.p95,
                "blocked, ms": f.backlogged_ms,
            }
        )
    return pd.DataFrame(rows)


def show_figures(run: Run) -> None:
    """Figures of merit per class."""
    if run not in _FIGURES:
        _FIGURES[run] = _frame(run)
    frame = _FIGURES[run]
    share = st.column_config.NumberColumn(format="percent")
    number = st.column_config.NumberColumn(format="localized")
    columns = {name: (share if "share" in name else number) for name in frame.columns if name != "class"}
    st.dataframe(frame, hide_index=True, column_config=columns)
