"""The right side of the Traces page: what was read, and what it looks like."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from drr.analysis.log import safe_cell
from drr.charts.traces import BOUNDED, UPPER_BOUND, reuse_figure, tokens_figure, whole_figure
from drr.charts.workload import lengths_figure
from drr.ui import job_slot, traces_state
from drr.ui.look import plain, theme
from drr.ui.traces_tasks import CacheTask
from drr.ui.workload_trace import stats_line, window_text
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_reading import RowProblem, counted
from drr.workload.traces_survey import Lengths, Reuse, TraceSurvey

PROBLEMS_SHOWN = 500
CACHE_SLOT = "traces:cache"
_CONFIG = {"displayModeBar": False}
_SELECTED = "traces:selected"


def show_result(trace: TraceWorkload, found: TraceSurvey) -> None:
    """One line that says what there is, in the window where one is cut."""
    stats, rate = found.stats, st.session_state["traces:rate"]
    text = f"{stats.rows:,} requests"
    if trace.window_ms is not None:
        text = (
            f"{stats.rows:,} of {found.rows_in_file - len(found.problems):,} requests, {window_text(trace.window_ms)}"
        )
    faster = "" if rate == 1.0 else f", {rate:,g} × as fast"
    st.subheader(plain(text + faster), anchor=False)
    reuse = found.reuse
    cached = f"; at most {reuse.cached_share * 100:.1f} % of the prompt tokens can be cache hits" if reuse else ""
    st.caption(plain(stats_line(stats) + cached))


def show_counts(found: TraceSurvey, problems: Sequence[RowProblem], notes: Sequence[str], *, rows_in_file: int) -> None:
    """Rows loaded and left out; every bad row with its line and reason; what was assumed."""
    loaded = rows_in_file - len(problems)
    if not problems:
        st.caption(f"✓ {counted(loaded, 'row')} loaded, none left out")
    else:
        said = f"{counted(len(problems), 'row')} of {rows_in_file:,} cannot be read"
        if st.session_state["traces:lenient"]:
            st.warning(f"△ {counted(loaded, 'row')} loaded, {len(problems):,} left out")
        else:
            text, button = st.columns([3, 2], vertical_alignment="center")
            text.error(f"{said}. Mend the file, or go on without them.")
            button.button("Leave them out", on_click=traces_state.leave_out, width="stretch", key="traces:leave_out")
        with st.expander("Rows that cannot be read, and why", expanded=not st.session_state["traces:lenient"]):
            _show_problems(problems)
    with st.expander("How it was read"):
        for note in notes:
            st.caption(plain(note))


def _show_problems(problems: Sequence[RowProblem]) -> None:
    shown = [{"line": each.line, "reason": each.message} for each in problems[:PROBLEMS_SHOWN]]
    number = st.column_config.NumberColumn(format="localized", width="small")
    st.dataframe(pd.DataFrame(shown), hide_index=True, column_config={"line": number})
    if len(problems) > PROBLEMS_SHOWN:
        st.caption(f"and {len(problems) - PROBLEMS_SHOWN:,} more; the CSV has them all")
    st.download_button(
        "Download as CSV",
        lambda: problems_csv(problems),
        "rows-left-out.csv",
        "text/csv",
        key="traces:problems_csv",
        on_click="ignore",
    )


def problems_csv(problems: Sequence[RowProblem]) -> str:
    """Line and reason of every bad row, safe in a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("line", "reason"))
    writer.writerows((each.line, safe_cell(each.message)) for each in problems)
    return text.getvalue()


# Pictures


def show_arrivals(trace: TraceWorkload, found: TraceSurvey) -> None:
    """The whole trace, and the window in it; dragging over the picture cuts another one."""
    window = trace.window_ms
    head, button = st.columns([4, 1], vertical_alignment="center")
    head.caption("Arrivals, whole trace · drag over the picture to cut a window")
    if window is not None:
        button.button("Whole trace", key="traces:whole", on_click=traces_state.whole, width="stretch")
    end_ms = found.whole.bin_ms * len(found.whole.requests[0])
    marked = None
    if window is not None:
        marked = (window[0], end_ms if window[1] is None else min(window[1], end_ms))
    figure, unit_ms = whole_figure(found.whole, window_ms=marked, theme=theme())
    st.plotly_chart(
        figure,
        key=f"{_SELECTED}:{window}",
        theme=None,
        config=_CONFIG,
        on_select=lambda: _select(f"{_SELECTED}:{window}", unit_ms),
        selection_mode="box",
        alt="Arrivals per second over the whole trace",
    )


def _select(key: str, unit_ms: float) -> None:
    boxes = st.session_state[key].selection.box
    if boxes:
        first, last = sorted(max(0.0, edge * unit_ms / 1e3) for edge in boxes[0]["x"])
        if last > first:
            st.session_state["traces:from_s"], st.session_state["traces:to_s"] = round(first, 3), round(last, 3)


def show_pictures(found: TraceSurvey) -> None:
    """Requests and tokens per class, tokens over time, lengths."""
    _show_per_class(found)
    st.caption("Prompt tokens over time, by class" + (", before the rate is changed" if _is_scaled() else ""))
    _chart(tokens_figure(found.series, theme=theme()), "tokens", "Prompt tokens per second by class")
    left, right = st.columns(2)
    with left:
        st.caption("Prompt lengths")
        _chart(lengths_figure(_samples(found.inputs), theme=theme()), "inputs", "Prompt lengths by class")
    with right:
        none = found.stats.zero_output_rows
        st.caption("Output lengths" + (f", without {none:,} requests that generate nothing" if none else ""))
        outputs = _samples(found.outputs)
        _chart(lengths_figure(outputs, theme=theme(), what="output"), "outputs", "Output lengths by class")


def _is_scaled() -> bool:
    return bool(st.session_state["traces:rate"] != 1.0)


def _samples(lengths: tuple[tuple[str, Lengths], ...]) -> dict[str, tuple[list[int], list[float]]]:
    made: dict[str, tuple[list[int], list[float]]] = {}
    for name, (values, counts) in lengths:
        kept = [(value, float(count)) for value, count in zip(values, counts, strict=True) if value > 0]
        if kept:
            made[name] = ([value for value, _ in kept], [count for _, count in kept])
    return made


def _chart(figure: Any, name: str, alt: str) -> None:
    st.plotly_chart(figure, key=f"traces:chart:{name}", theme=None, config=_CONFIG, alt=alt)


def _show_per_class(found: TraceSurvey) -> None:
    if not found.classes:
        return
    total = max(sum(each.input_tokens for each in found.classes), 1)
    rows = [
        {
            "class": each.class_name,
            "requests": each.requests,
            "prompt tokens": each.input_tokens,
            "share": each.input_tokens / total,
            "output tokens": each.output_tokens,
        }
        for each in found.classes
    ]
    number = st.column_config.NumberColumn(format="localized")
    config: dict[str, Any] = dict.fromkeys(("requests", "prompt tokens", "output tokens"), number)
    config["share"] = st.column_config.NumberColumn(format="percent", help="Of all prompt tokens")
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=config)
    if found.unknown_headers:
        names = ", ".join(f"{name} ({count:,})" for name, count in found.unknown_headers[:4])
        st.warning(plain(f"Headers that the policy does not know, served in its default family: {names}"))


# Reuse


def show_reuse(trace: TraceWorkload, found: TraceSurvey) -> None:
    """The upper bound beside bounded caches per worker, in figures and over time."""
    upper = found.reuse
    if upper is None:
        st.caption("Reuse: this trace has no prefix blocks, so nothing is known about it.")
        return
    st.caption("Reuse: prompt tokens that a prefix cache saves")
    workers, size, blocks = st.columns(3)
    workers.number_input("Workers", 1, 256, key="traces:workers")
    size.number_input("Tokens per block", 1, 1_000_000, key="traces:block_size")
    blocks.number_input("Blocks per worker", 1, 100_000_000, key="traces:num_gpu_blocks")
    state = st.session_state
    task = CacheTask(trace, state["traces:workers"], state["traces:block_size"], state["traces:num_gpu_blocks"])
    answer = job_slot.ask(CACHE_SLOT, task, Reuse)
    bounded = answer.result
    job_slot.show_state(CACHE_SLOT, answer, lambda job: f"bounded caches: {job.over:,} of {job.total:,} requests")
    shares = {UPPER_BOUND: upper.shares} | ({} if bounded is None else {BOUNDED: bounded.shares})
    _chart(reuse_figure(shares, bin_ms=upper.bin_ms, theme=theme()), "reuse", "Cached share over time")
    st.dataframe(
        pd.DataFrame([_reuse_row(UPPER_BOUND, upper), *([] if bounded is None else [_reuse_row(BOUNDED, bounded)])]),
        hide_index=True,
        column_config={
            "cached": st.column_config.NumberColumn(format="percent", help="Of all prompt tokens"),
            **dict.fromkeys(
                ("tokens", "requests with hits", "cold starts", "evicted blocks"),
                st.column_config.NumberColumn(format="localized"),
            ),
        },
    )
    st.caption(_reuse_words(found, bounded))


def _reuse_row(name: str, reuse: Reuse) -> dict[str, object]:
    return {
        "cache": name,
        "cached": reuse.cached_share,
        "tokens": reuse.cached_tokens,
        "requests with hits": reuse.rows_with_hits,
        "cold starts": reuse.cold_rows,
        "evicted blocks": reuse.evicted_blocks,
    }


def _reuse_words(found: TraceSurvey, bounded: Reuse | None) -> str:
    size = found.block_size_tokens
    text = (
        f"Upper bound: one shared cache without end, whole blocks of {size:,} tokens. Bounded: requests go to the "
        "workers in turn, one after the other; the oldest blocks given back are evicted first. Both start empty (cold "
        "start): a first sight of a prompt is a miss, so a slice of a longer trace shows less reuse than the whole."
    )
    if bounded is not None and bounded.refused_rows:
        text += f" {counted(bounded.refused_rows, 'request')} fit into no worker and count as uncached."
    return text
