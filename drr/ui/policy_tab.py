"""The Policy tab: a sample or a file, the text, what is wrong with it and where, the model."""

from __future__ import annotations

import streamlit as st

from drr.policy import PolicyReading
from drr.policy.samples import SAMPLES, sample
from drr.ui.editor import editor_text, policy_editor, put_text
from drr.ui.look import plain

EDITOR = "lab:policy_editor"
OWN = "own text"
SHOWN_FINDINGS = 6

_SIGNS = {"error": "✕ error", "warning": "△ warning", "info": "ⓘ note"}


def current_text() -> str:
    """The policy text as it is in the editor now."""
    return editor_text(EDITOR, st.session_state["lab:policy"])


def load_text(text: str) -> None:
    """Put another policy text into the editor (one undo step there)."""
    st.session_state["lab:policy"] = text
    put_text(EDITOR, text)


def _choose_sample() -> None:
    name = st.session_state["lab:sample"]
    if name != OWN:
        load_text(sample(name).text())


def show(reading: PolicyReading) -> bool:
    """Draw the tab; True when the editor asked for a run just now."""
    titles = {each.name: each.title for each in SAMPLES}
    text = st.session_state["lab:policy"]
    st.selectbox(
        "Sample",
        list(titles),
        key="lab:sample",
        format_func=titles.__getitem__,
        on_change=_choose_sample,
        help="Loads another policy into the editor; Ctrl+Z there brings yours back.",
    )
    state = policy_editor(text, diagnostics=reading.diagnostics, key=EDITOR, height=420)
    _findings(reading)
    _model(reading)
    st.download_button("Download YAML", text, "policy-classes.yaml", "application/yaml", on_click="ignore")
    return state.run_requested


def _findings(reading: PolicyReading) -> None:
    """Errors first, then warnings, each with its place."""
    order = {"error": 0, "warning": 1, "info": 2}
    found = sorted(reading.diagnostics, key=lambda each: (order[each.severity], each.line, each.column))
    for diagnostic in found[:SHOWN_FINDINGS]:
        show_one = (
            st.error if diagnostic.severity == "error" else st.warning if diagnostic.severity == "warning" else st.info
        )
        place = f"line {diagnostic.line}, column {diagnostic.column}"
        parts = [f"**{_SIGNS[diagnostic.severity]}**, {place}: {plain(diagnostic.message)}"]
        if diagnostic.allowed:
            parts.append(f"Allowed: {plain(diagnostic.allowed)}.")
        if diagnostic.suggestion is not None:
            parts.append(f"Did you mean `{diagnostic.suggestion}`?")
        show_one(" ".join(parts))
    if len(found) > SHOWN_FINDINGS:
        st.caption(f"and {len(found) - SHOWN_FINDINGS:,} more; every one is marked in the text")


def _model(reading: PolicyReading) -> None:
    """Choose the model where the policy names some."""
    if reading.document is None or not reading.document.models:
        st.session_state["lab:model"] = None
        return
    names = [None, *reading.document.models]
    if st.session_state["lab:model"] not in names:
        st.session_state["lab:model"] = None
    st.selectbox("Model", names, key="lab:model", format_func=lambda name: name or "any other (root profile)")
