"""The Workload tab: generated requests, hand-typed queues, or a trace."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import streamlit as st

from drr.errors import DrrError
from drr.ui.lab_state import KINDS, StoredTrace
from drr.ui.limits import UPLOAD_BYTES
from drr.workload.traces import read_trace

CAPACITIES = {
    "open": "everything may go: one call after the other",
    "one": "one request at a time",
    "policy": "the policy's thresholds decide",
}


def show(problems: tuple[str, ...]) -> None:
    """Draw the tab."""
    st.segmented_control("Requests", KINDS, key="lab:workload_kind", label_visibility="collapsed")
    kind = st.session_state["lab:workload_kind"] or KINDS[0]
    if kind == "Generated":
        st.text_area("Workload spec, YAML", key="lab:spec", height=330)
    elif kind == "Typed queues":
        _typed()
    else:
        _trace()
    for problem in problems:
        st.error(problem.replace("$", "\\$"))


def _typed() -> None:
    st.text_area("Queues", key="lab:typed", height=200)
    st.caption(
        "One class per line. After a number: `@2` arrives after 2 dispatches, `!1` strict priority, `^5` priority jump "
        "in seconds, `>0` only worker 0, `/80` of its tokens are cached."
    )
    st.toggle("These lines make the classes (the policy is not used)", key="lab:typed_alone")
    st.radio("Capacity", list(CAPACITIES), key="lab:capacity", format_func=CAPACITIES.__getitem__)


def _trace() -> None:
    st.file_uploader(
        "Trace: Mooncake, Azure, BurstGPT, Qwen or another (.gz too)",
        key="lab:upload",
        on_change=_take_upload,
        max_upload_size=max(1, UPLOAD_BYTES.value // 2**20),
    )
    trace: StoredTrace | None = st.session_state.get("lab:trace")
    error = st.session_state.get("lab:trace_error")
    if error:
        st.error(error)
    if trace is not None:
        st.caption(trace.name)


def _take_upload() -> None:
    """Keep an uploaded file in this session's own folder; a bad one leaves the last good one in place."""
    uploaded = st.session_state["lab:upload"]
    st.session_state["lab:trace_error"] = None
    if uploaded is None:
        return
    data: bytes = uploaded.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    path = session_folder() / digest
    path.write_bytes(data)
    try:
        read_trace(path, lenient=True)
    except DrrError as error:
        st.session_state["lab:trace_error"] = f"{uploaded.name}: {error}"
        path.unlink()
        return
    st.session_state["lab:trace"] = StoredTrace(uploaded.name, digest, path)


def session_folder() -> Path:
    """A folder that goes away with the session."""
    kept: tempfile.TemporaryDirectory[str] | None = st.session_state.get("lab:folder")
    if kept is None:
        kept = st.session_state["lab:folder"] = tempfile.TemporaryDirectory(prefix="ringside-")
    return Path(kept.name)
