"""The Policy tab: where the text comes from and goes to, the text, what is wrong with it and where, its numbers."""

from __future__ import annotations

import streamlit as st

from drr.policy import PolicyReading
from drr.policy.edits import joined_path, set_value
from drr.policy.samples import SAMPLES, sample
from drr.ui import commands, file_bar, quantum_sliders, share
from drr.ui.editor import POLICY_VOCABULARY, editor_text, yaml_editor
from drr.ui.lab_state import POLICY_EDITOR, STAGE, LabInputs, load_policy_text, stand_at
from drr.ui.look import plain, with_code
from drr.ui.player.component import current_view, go_to
from drr.ui.runs import shown_run

EDITOR_HEIGHT = 400
SHOWN_FINDINGS = 6

_SIGNS = {"error": "✕ error", "warning": "△ warning", "info": "ⓘ note"}


def current_text() -> str:
    """The policy text as it is in the editor now."""
    return editor_text(POLICY_EDITOR, st.session_state["lab:policy"])


def show_step(step: int) -> None:
    """Move the playhead of the Lab to a step."""
    go_to(STAGE, step=step)


def use_quanta(quanta: tuple[tuple[str, int], ...]) -> None:
    """Put quanta by class name into the text of the policy that is shown."""
    text = current_text()
    reading = quantum_sliders.read(text)
    if reading is None:
        return
    profile, path = reading
    wanted = dict(quanta)
    for index, each in enumerate(profile.classes):
        if each.name in wanted:
            text = set_value(text, f"{joined_path(path, 'policy_classes')}[{index}].quantum", wanted[each.name])
    load_policy_text(text)


def show(inputs: LabInputs) -> bool:
    """Draw the tab; True when the editor asked for a run just now."""
    reading = inputs.reading
    with st.container():
        file_bar.show()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _open_menu()
        _share_menu(inputs)
    share.show_messages()
    text = st.session_state["lab:policy"]
    state = yaml_editor(
        text,
        diagnostics=reading.diagnostics,
        key=POLICY_EDITOR,
        label="Policy, YAML",
        height=EDITOR_HEIGHT,
        vocabulary=POLICY_VOCABULARY,
    )
    with st.container():
        show_findings(reading)
        _model(reading)
    quantum_sliders.show(reading, text=current_text, put=load_policy_text)
    return state.run_requested


def show_commands(reading: PolicyReading) -> None:
    """How to run the policy on the real router."""
    if reading.document is not None:
        model = st.session_state["lab:model"]
        file = file_bar.followed()
        name = commands.FILE_NAME if file is None else file.path.name
        commands.show(reading.document.profile_for(model), model=model, file_name=name)


def _choose_sample() -> None:
    name = st.session_state["lab:sample"]
    if name is not None:
        load_policy_text(sample(name).text())


def _open_menu() -> None:
    titles = {each.name: each.title for each in SAMPLES}
    with st.popover("Open"):
        st.selectbox(
            "Sample",
            list(titles),
            key="lab:sample",
            format_func=titles.__getitem__,
            on_change=_choose_sample,
            help="Loads another policy into the editor; Ctrl+Z there brings yours back.",
        )
        share.show_open(stand_at)


def _share_menu(inputs: LabInputs) -> None:
    text: str = st.session_state["lab:policy"]
    # Made when asked for: a file that waits on the server is gone after the next edit, while the browser looks for it.
    st.download_button(
        "Download", lambda: text.removeprefix("\ufeff"), commands.FILE_NAME, "application/yaml", on_click="ignore"
    )
    with st.popover("Share"):
        share.show_share(inputs.experiment, shown_step)


def shown_step() -> int | None:
    """The step under the playhead of the Lab, None where there is no picture."""
    run = shown_run("lab")
    return None if run is None or not run.n_steps else current_view(run, STAGE).step


def show_findings(reading: PolicyReading) -> None:
    """Errors first, then warnings, each with its place."""
    order = {"error": 0, "warning": 1, "info": 2}
    found = sorted(reading.diagnostics, key=lambda each: (order[each.severity], each.line, each.column))
    for diagnostic in found[:SHOWN_FINDINGS]:
        show_one = (
            st.error if diagnostic.severity == "error" else st.warning if diagnostic.severity == "warning" else st.info
        )
        place = f"line {diagnostic.line}, column {diagnostic.column}"
        parts = [f"**{_SIGNS[diagnostic.severity]}**, {place}: {with_code(diagnostic.message)}"]
        if diagnostic.allowed:
            parts.append(f"Allowed: {with_code(diagnostic.allowed)}.")
        if diagnostic.suggestion is not None:
            parts.append(f"Did you mean {plain(diagnostic.suggestion)}?")
        show_one(" ".join(parts))
    if len(found) > SHOWN_FINDINGS:
        st.caption(f"and {len(found) - SHOWN_FINDINGS:,} more; every one is marked in the text")


def _model(reading: PolicyReading) -> None:
    """Choose the model where the policy names some."""
    if reading.document is None:
        return
    if not reading.document.models:
        st.session_state["lab:model"] = None
        return
    names = [None, *reading.document.models]
    if st.session_state["lab:model"] not in names:
        st.session_state["lab:model"] = None
    st.selectbox("Model", names, key="lab:model", format_func=lambda name: name or "any other (root profile)")
