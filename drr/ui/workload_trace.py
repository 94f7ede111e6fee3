"""A trace file: recognised, its reading open to change, its requests given to classes, shown before it runs."""

from __future__ import annotations

import hashlib
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from drr.charts.workload import arrivals_figure, lengths_figure
from drr.errors import DrrError
from drr.policy.schema import Profile
from drr.ui import trace_fields, workload_mapping
from drr.ui.lab_state import StoredTrace
from drr.ui.limits import UPLOAD_BYTES
from drr.ui.look import plain, theme
from drr.workload.mapping import ClassMapping, apply, preview, unknown_headers
from drr.workload.trace_stats import TraceStats, over_time, trace_stats
from drr.workload.trace_workload import TraceWorkload, Window
from drr.workload.traces_formats import TraceLook, TraceSpec, look_at
from drr.workload.traces_reading import TraceReading

PROBLEMS_SHOWN = 100
_LENGTHS_DRAWN = 20_000


def show(profile: Profile | None) -> None:
    """Draw the upload and, where there is a trace, everything about it."""
    st.file_uploader(
        "Trace: Mooncake, Azure, BurstGPT, Qwen, or other JSONL and CSV (.gz too)",
        key="lab:upload",
        on_change=_take_upload,
        max_upload_size=max(1, UPLOAD_BYTES.value // 2**20),
    )
    with st.container():
        if st.session_state.get("lab:trace_error"):
            st.error(plain(st.session_state["lab:trace_error"]))
    trace: StoredTrace | None = st.session_state["lab:trace"]
    if trace is None or trace.path is None:
        return
    look = look_of(str(trace.path), trace.sha256)
    spec: TraceSpec = st.session_state["lab:trace_spec"] or look.spec
    st.markdown(f"**{plain(trace.name)}**: {plain(spec.text())}")
    with st.expander("Read it differently: unit of time, columns", expanded=bool(trace_fields.lost(spec))):
        trace_fields.show(look, spec, f"trace:{st.session_state['lab:revision']}", _set_spec)
    try:
        reading = reading_of(str(trace.path), trace.sha256, spec)
        part = _part(reading)
    except DrrError as error:
        st.error(plain(str(error)))
        return
    with st.container():
        _counts(reading)
    st.caption(plain(stats_line(stats_of(str(trace.path), trace.sha256, spec))))
    with st.container():
        _show_part(part)
    workload_mapping.show(part.columns, profile, has_blocks=any(part.requests.hash_ids))
    rows = st.session_state["lab:first_rows"]
    st.number_input(
        "First rows only", 1, max(len(part.requests), rows or 1), None, key="lab:first_rows", placeholder="all"
    )
    if profile is not None:
        _per_class(part, profile)
    with st.expander("First rows of the file, and notes"):
        st.dataframe(pd.DataFrame(list(look.sample_rows), columns=_unique(look.column_names)), hide_index=True)
        for note in reading.notes:
            st.caption(plain(note))


def _unique(names: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(names))


# Reading


@lru_cache(maxsize=8)
def look_of(path: str, sha256: str) -> TraceLook:
    """The first look at a stored file; kept by its digest."""
    return look_at(Path(path))


def reading_of(path: str, sha256: str, spec: TraceSpec) -> TraceReading:
    """A stored file as the spec reads it, bad rows left out; kept by its digest."""
    return TraceWorkload(Path(path).name, sha256, spec=spec, lenient=True, path=path).whole()


@lru_cache(maxsize=4)
def stats_of(path: str, sha256: str, spec: TraceSpec) -> TraceStats:
    """Figures of a stored file."""
    return trace_stats(reading_of(path, sha256, spec))


def _span(ms: float) -> str:
    if ms >= 120_000:
        return f"{ms / 60_000:,.1f} minutes"
    return f"{ms / 1000:,.1f} s" if ms >= 1000 else f"{ms:,.0f} ms"


def stats_line(stats: TraceStats) -> str:
    """The figures of a trace in one line."""
    parts = [_span(stats.span_ms)]
    if stats.rows_per_second is not None:
        parts.append(f"{stats.rows_per_second:,.3g} requests/s")
    parts.append(
        f"prompts p50 {stats.input.p50:,.0f}, p95 {stats.input.p95:,.0f}, largest {stats.input.largest:,.0f} tokens"
    )
    parts.append(f"outputs p50 {stats.output.p50:,.0f}, p95 {stats.output.p95:,.0f} tokens")
    if stats.sessions:
        parts.append(f"{stats.sessions:,} sessions")
    if stats.cache is not None:
        parts.append(f"at most {stats.cache.cached_share * 100:.0f} % of the prompt tokens can be cache hits")
    return "; ".join(parts)


def _counts(reading: TraceReading) -> None:
    """Rows loaded and left out, the latter with line and reason."""
    if not reading.problems:
        st.caption(f"✓ {reading.counts_text()}")
        return
    st.warning(f"△ {reading.counts_text()}")
    with st.expander("Lines left out, and why"):
        shown = [{"line": each.line, "reason": each.message} for each in reading.problems[:PROBLEMS_SHOWN]]
        st.dataframe(pd.DataFrame(shown), hide_index=True)
        if len(reading.problems) > PROBLEMS_SHOWN:
            st.caption(f"and {len(reading.problems) - PROBLEMS_SHOWN:,} more")


def _set_spec(spec: TraceSpec) -> None:
    st.session_state["lab:trace_spec"] = spec


def _part(reading: TraceReading) -> TraceReading:
    """The window of the trace that the Traces page chose."""
    window, spread = st.session_state["lab:trace_window"], st.session_state["lab:trace_spread"]
    return TraceWorkload("", "", window_ms=window, spread=spread).part_of(reading)


def _show_part(part: TraceReading) -> None:
    """Which part of the trace runs, where it is not the whole."""
    said = part_text(st.session_state["lab:trace_window"], spread=st.session_state["lab:trace_spread"])
    if said:
        text, button = st.columns([3, 2], vertical_alignment="center")
        text.markdown(plain(f"{said}: {len(part.requests):,} requests."))
        button.button("Whole trace", key="trace:whole", on_click=_take_whole, width="stretch")


def part_text(window_ms: Window | None, *, spread: bool) -> str:
    """A window and made-up times in words; "" where there is neither."""
    said = []
    if window_ms is not None:
        said.append(f"The window {window_text(window_ms)} of the trace")
    if spread:
        said.append("equal times spread over the tick, which makes them up" if said else "Equal times are spread")
    return ", ".join(said)


def window_text(window_ms: Window) -> str:
    """``from 30 s to 60 s``."""
    first, last = window_ms
    return f"from {_seconds(first)} s to " + ("the end" if last is None else f"{_seconds(last)} s")


def _seconds(ms: float) -> str:
    return f"{ms / 1000:,.3f}".rstrip("0").rstrip(".")


def _take_whole() -> None:
    st.session_state["lab:trace_window"], st.session_state["lab:trace_spread"] = None, False


# Classes


def _per_class(reading: TraceReading, profile: Profile) -> None:
    """Requests and tokens per class, and the two small pictures."""
    mapping: ClassMapping = st.session_state["lab:class_mapping"]
    try:
        table = apply(mapping, reading.requests, profile, columns=reading.columns)
    except DrrError as error:
        st.error(plain(str(error)))
        return
    rows = st.session_state["lab:first_rows"]
    table = table if rows is None else table.head(rows)
    total = max(sum(table.isl_tokens), 1)
    shown = [
        {
            "class": each.class_name,
            "requests": each.requests,
            "prompt tokens": each.input_tokens,
            "share": each.input_tokens / total,
            "output tokens": each.output_tokens,
        }
        for each in preview(table, profile)
    ]
    number = st.column_config.NumberColumn(format="localized")
    config: dict[str, Any] = {name: number for name in shown[0] if name not in ("class", "share")}
    config["share"] = st.column_config.NumberColumn(format="percent", help="Of all prompt tokens")
    st.dataframe(pd.DataFrame(shown), hide_index=True, column_config=config)
    unknown = unknown_headers(table, profile)
    if unknown:
        names = ", ".join(f"{name} ({count:,})" for name, count in list(unknown.items())[:4])
        st.warning(plain(f"Headers the policy does not know are served as {profile.default_policy_family}: {names}"))
    groups = [
        profile.classes[profile.class_index(header, isl)].name
        for header, isl in zip(table.policy_header, table.isl_tokens, strict=True)
    ]
    series = over_time(table, groups, bins=60)
    per_second = 1000.0 / series.bin_ms
    rates = {
        name: [n * per_second for n in counts] for name, counts in zip(series.groups, series.requests, strict=True)
    }
    st.caption("Arrivals")
    config = {"displayModeBar": False}
    figure = arrivals_figure(rates, bin_ms=series.bin_ms, theme=theme())
    st.plotly_chart(figure, key="lab:trace_arrivals", theme=None, config=config, alt="Arrivals per second by class")
    lengths: dict[str, list[int]] = {}
    for name, isl in zip(groups[:_LENGTHS_DRAWN], table.isl_tokens, strict=False):
        lengths.setdefault(name, []).append(isl)
    st.caption("Prompt lengths" + (f", of the first {_LENGTHS_DRAWN:,} rows" if len(groups) > _LENGTHS_DRAWN else ""))
    figure = lengths_figure({name: (mine, [1.0] * len(mine)) for name, mine in lengths.items()}, theme=theme())
    st.plotly_chart(figure, key="lab:trace_lengths", theme=None, config=config, alt="Spread of prompt lengths by class")


# The file


def _take_upload() -> None:
    """Keep an uploaded file in this session's own folder; a bad one leaves the last good one in place."""
    state = st.session_state
    uploaded = state["lab:upload"]
    state["lab:trace_error"] = None
    if uploaded is None:
        return
    data: bytes = uploaded.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    path = session_folder() / digest
    path.write_bytes(data)
    try:
        look_at(path)
    except DrrError as error:
        state["lab:trace_error"] = f"{uploaded.name}: {error}"
        path.unlink()
        return
    held: StoredTrace | None = state["lab:trace"]
    if held is None or held.sha256 != digest:
        # What was chosen for another file says nothing about this one.
        state["lab:trace_spec"] = state["lab:first_rows"] = state["lab:trace_window"] = None
        state["lab:trace_spread"] = False
        state["lab:revision"] += 1
    state["lab:trace"] = StoredTrace(uploaded.name, digest, path)


def session_folder() -> Path:
    """A folder that goes away with the session."""
    kept: tempfile.TemporaryDirectory[str] | None = st.session_state.get("lab:folder")
    if kept is None:
        kept = st.session_state["lab:folder"] = tempfile.TemporaryDirectory(prefix="ringside-")
    return Path(kept.name)
