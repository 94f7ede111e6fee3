"""How a trace file is read, open to change: the unit of its times, its prefix blocks, what its columns mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from drr.workload.traces_formats import FIELD_NAMES, NEEDED, TraceLook, TraceSpec
from drr.workload.traces_values import TIME_UNITS, UNIT_WORDS

_NO_COLUMN = "—"
Put = Callable[[TraceSpec], None]


def lost(spec: TraceSpec) -> bool:
    """Whether no column is known to hold what every request needs."""
    return spec.format != "mooncake" and not set(NEEDED) <= set(dict(spec.columns))


def show(look: TraceLook, spec: TraceSpec, prefix: str, put: Put) -> None:
    """Draw the fields; an edit hands the changed spec to ``put``. Keys of the widgets start with ``prefix``."""
    unit, block = st.columns(2)
    key = f"{prefix}:unit"
    unit.selectbox(
        "Times are in",
        TIME_UNITS,
        TIME_UNITS.index(spec.time_unit),
        key=key,
        format_func=UNIT_WORDS.__getitem__,
        on_change=_set_unit,
        args=(spec, key, put),
    )
    key = f"{prefix}:block"
    block.number_input(
        *("Tokens per prefix block", 1, 1_000_000, spec.block_size_tokens),
        key=key,
        on_change=_set_block,
        args=(spec, key, put),
    )
    if spec.format == "mooncake":
        return
    columns = st.columns(2)
    names = [_NO_COLUMN, *dict.fromkeys(look.column_names)]
    there = dict(spec.columns)
    for number, ours in enumerate(FIELD_NAMES):
        key = f"{prefix}:column:{ours}"
        columns[number % 2].selectbox(
            ours + (" (needed)" if ours in NEEDED else ""),
            names,
            names.index(there.get(ours, _NO_COLUMN)),
            key=key,
            on_change=_set_column,
            args=(spec, ours, key, put),
        )


def _set_unit(spec: TraceSpec, key: str, put: Put) -> None:
    put(replace(spec, time_unit=st.session_state[key], why_unit="chosen here"))


def _set_block(spec: TraceSpec, key: str, put: Put) -> None:
    put(replace(spec, block_size_tokens=st.session_state[key]))


def _set_column(spec: TraceSpec, ours: str, key: str, put: Put) -> None:
    columns = {**dict(spec.columns), ours: st.session_state[key]}
    kept = tuple((name, columns[name]) for name in FIELD_NAMES if columns.get(name, _NO_COLUMN) != _NO_COLUMN)
    put(replace(spec, columns=kept))
