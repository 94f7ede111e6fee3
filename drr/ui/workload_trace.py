"""A trace file: recognised, its reading open to change, its requests given to classes, shown before it runs."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from drr.charts.workload import arrivals_figure, lengths_figure
from drr.errors import DrrError
from drr.policy.schema import Profile
from drr.ui import workload_mapping
from drr.ui.lab_state import StoredTrace
from drr.ui.limits import UPLOAD_BYTES
from drr.ui.look import plain, theme
from drr.workload.mapping import ClassMapping, apply, preview, unknown_headers
from drr.workload.trace_stats import TraceStats, over_time, trace_stats
from drr.workload.traces import read_trace
from drr.workload.traces_formats import FIELD_NAMES, NEEDED, TraceLook, TraceSpec, look_at
from drr.workload.traces_reading import TraceReading
from drr.workload.traces_values import TIME_UNITS, UNIT_WORDS, TimeUnit

PROBLEMS_SHOWN = 100
_LENGTHS_DRAWN = 20_000
_NO_COLUMN = "—"


def show(profile: Profile | None) -> None:
    """Draw the upload and, where there is a trace, everything about it."""
    st.file_uploader(
        "Trace: Mooncake, Azure, BurstGPT, Qwen, or other JSONL and CSV (.gz too)",
        key="lab:upload",
        on_change=_take_upload,
        max_upload_size=max(1, UPLOAD_BYTES.value // 2**20),
    )
    if st.session_state.get("lab:trace_error"):
        st.error(plain(st.session_state["lab:trace_error"]))
    trace: StoredTrace | None = st.session_state["lab:trace"]
    if trace is None or trace.path is None:
        return
    look = look_of(str(trace.path), trace.sha256)
    spec: TraceSpec = st.session_state["lab:trace_spec"] or look.spec
    st.markdown(f"**{plain(trace.name)}**: {plain(spec.text())}")
    _read_differently(look, spec)
    try:
        reading = reading_of(str(trace.path), trace.sha256, spec)
    except DrrError as error:
        st.error(plain(str(error)))
        return
    _counts(reading)
    st.caption(plain(stats_line(stats_of(str(trace.path), trace.sha256, spec))))
    workload_mapping.show(reading, profile)
    rows = st.session_state["lab:first_rows"]
    st.number_input(
        "First rows only", 1, max(len(reading.requests), rows or 1), None, key="lab:first_rows", placeholder="all"
    )
    if profile is not None:
        _per_class(reading, profile)
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


@lru_cache(maxsize=4)
def reading_of(path: str, sha256: str, spec: TraceSpec) -> TraceReading:
    """A stored file as the spec reads it, bad rows left out; kept by its digest."""
    return read_trace(Path(path), spec, lenient=True)


@lru_cache(maxsize=4)
def stats_of(path: str, sha256: str, spec: TraceSpec) -> TraceStats:
    """Figures of a stored file."""
    return trace_stats(reading_of(path, sha256, spec))


def stats_line(stats: TraceStats) -> str:
    """The figures of a trace in one line."""
    parts = [f"{stats.span_ms / 60_000:,.1f} minutes" if stats.span_ms >= 120_000 else f"{stats.span_ms / 1000:,.1f} s"]
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


def _read_differently(look: TraceLook, spec: TraceSpec) -> None:
    """Time unit, block size and columns."""
    revision = st.session_state["lab:revision"]
    with st.expander("Read it differently: unit of time, columns", expanded=bool(_lost(spec))):
        unit, block = st.columns(2)
        key = f"trace:unit:{revision}"
        unit.selectbox(
            "Times are in",
            TIME_UNITS,
            TIME_UNITS.index(spec.time_unit),
            key=key,
            format_func=UNIT_WORDS.__getitem__,
            on_change=_set_unit,
            args=(spec, key),
        )
        key = f"trace:block:{revision}"
        block.number_input(
            "Tokens per prefix block",
            1,
            1_000_000,
            spec.block_size_tokens,
            key=key,
            on_change=_set_block,
            args=(spec, key),
        )
        if spec.format != "mooncake":
            columns = st.columns(2)
            names = [_NO_COLUMN, *look.column_names]
            there = dict(spec.columns)
            for number, ours in enumerate(FIELD_NAMES):
                key = f"trace:column:{ours}:{revision}"
                columns[number % 2].selectbox(
                    ours + (" (needed)" if ours in NEEDED else ""),
                    names,
                    names.index(there.get(ours, _NO_COLUMN)),
                    key=key,
                    on_change=_set_column,
                    args=(spec, ours, key),
                )


def _lost(spec: TraceSpec) -> bool:
    return spec.format != "mooncake" and not set(NEEDED) <= set(dict(spec.columns))


def _set_unit(spec: TraceSpec, key: str) -> None:
    unit: TimeUnit = st.session_state[key]
    st.session_state["lab:trace_spec"] = replace(spec, time_unit=unit, why_unit="chosen here")


def _set_block(spec: TraceSpec, key: str) -> None:
    st.session_state["lab:trace_spec"] = replace(spec, block_size_tokens=st.session_state[key])


def _set_column(spec: TraceSpec, ours: str, key: str) -> None:
    chosen: str = st.session_state[key]
    columns = {**dict(spec.columns), ours: chosen}
    kept = tuple((name, columns[name]) for name in FIELD_NAMES if columns.get(name, _NO_COLUMN) != _NO_COLUMN)
    st.session_state["lab:trace_spec"] = replace(spec, columns=kept)


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
        state["lab:trace_spec"] = state["lab:first_rows"] = None
        state["lab:revision"] += 1
    state["lab:trace"] = StoredTrace(uploaded.name, digest, path)


def session_folder() -> Path:
    """A folder that goes away with the session."""
    kept: tempfile.TemporaryDirectory[str] | None = st.session_state.get("lab:folder")
    if kept is None:
        kept = st.session_state["lab:folder"] = tempfile.TemporaryDirectory(prefix="ringside-")
    return Path(kept.name)
