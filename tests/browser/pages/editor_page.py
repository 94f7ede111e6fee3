"""A page with nothing but the policy editor and what Python makes of its text, for the browser tests.

``?words=spec`` gives it the words of workload specs instead.
"""

from __future__ import annotations

import json
import time

import streamlit as st

from drr.policy import read_policy
from drr.policy.edits import set_value
from drr.policy.samples import sample
from drr.ui.editor import POLICY_VOCABULARY, editor_text, put_text, yaml_editor
from drr.ui.editor.spec_help import SPEC_VOCABULARY

KEY = "policy"


def note() -> None:
    st.session_state.setdefault("changes", []).append(round(time.time() * 1000))


def quanta_of(text: str) -> list[int] | None:
    document = read_policy(text).document
    return None if document is None else [each.quantum for each in document.profile_for().classes]


def halve_premium() -> None:
    text = editor_text(KEY)
    put_text(KEY, set_value(text, "policy_classes[0].quantum", 256))


def add_comment() -> None:
    put_text(KEY, editor_text(KEY) + "# written by Python\n")


def carriage_returns() -> None:
    put_text(KEY, editor_text(KEY).replace("\n", "\r\n"))


@st.fragment
def editor() -> None:
    text = editor_text(KEY, sample("premium_4_to_1").text())
    delay_ms = int(st.query_params.get("delay", "0"))
    time.sleep(delay_ms / 1000)
    reading = read_policy(text)
    state = yaml_editor(
        text,
        label="Policy, YAML",
        vocabulary=SPEC_VOCABULARY if st.query_params.get("words") == "spec" else POLICY_VOCABULARY,
        diagnostics=reading.diagnostics,
        key=KEY,
        height=460,
        on_change=note,
    )
    if state.run_requested:
        st.session_state.setdefault("runs", []).append(quanta_of(text))
    st.button("Run", on_click=lambda: st.session_state.setdefault("clicked", []).append(quanta_of(editor_text(KEY))))
    noted = {name: st.session_state.get(name, []) for name in ("runs", "clicked", "changes")}
    st.code(json.dumps({"text": state.text, "rev": state.rev, **noted}), language=None)


def editing() -> None:
    st.title("Editor")
    editor()
    with st.sidebar:
        st.button("Halve premium", on_click=halve_premium)
        st.button("Add a comment", on_click=add_comment)
        st.button("Carriage returns", on_click=carriage_returns)


def elsewhere() -> None:
    st.title("Elsewhere")


st.set_page_config(page_title="Editor", layout="wide")
st.navigation([st.Page(editing, title="Editing", default=True), st.Page(elsewhere, title="Elsewhere")]).run()
