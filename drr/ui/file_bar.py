"""What a session does with the policy file that the server follows: take its changes, keep unsaved edits, save."""

from __future__ import annotations

import difflib
from pathlib import Path

import streamlit as st

from drr.ui.catch_up import catch_up
from drr.ui.lab_state import load_policy_text
from drr.ui.look import plain
from drr.ui.policy_file import PolicyFile, PolicyFileError, named_path

POLL_SECONDS = 0.3
SHOWN_DIFFERENCE_LINES = 400

# The file's text that this session's text began with; the version of the file it has looked at; why saving failed.
_BASE, _SEEN, _ERROR, _DIFFERENCE = "lab:file_base", "lab:file_seen", "lab:file_error", "lab:file_difference"


def followed() -> PolicyFile | None:
    """The file that whoever started the server named, if any."""
    path = named_path()
    return None if path is None else _watched(str(path))


@st.cache_resource(show_spinner=False)
def _watched(path: str) -> PolicyFile:
    """One watch per file and server."""
    return PolicyFile(Path(path))


def start() -> None:
    """Begin a session with the file's text. To be called before the Lab gives its values their defaults."""
    file = followed()
    if file is not None and file.text is not None and "lab:policy" not in st.session_state:
        st.session_state["lab:policy"] = file.text


def follow() -> None:
    """Take a changed file into the editor, unless there are unsaved edits. To be called before the editor is drawn."""
    file = followed()
    if file is None:
        return
    state = st.session_state
    mine: str = state["lab:policy"]
    state[_SEEN] = file.version
    base = state.setdefault(_BASE, mine)
    if file.text is None or file.text == base:
        return
    if mine in (base, file.text):
        _take(file.text)


def _take(text: str) -> None:
    st.session_state[_BASE] = text
    st.session_state[_DIFFERENCE] = False
    if text != st.session_state["lab:policy"]:
        load_policy_text(text)


def show() -> None:
    """The file's name and state, a button to save, and the question that unsaved edits and a changed file raise."""
    file = followed()
    if file is None:
        return
    name = plain(file.path.name)
    mine, base = st.session_state["lab:policy"], st.session_state[_BASE]
    has_edits = mine != base or (file.text is None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{name}** · {'unsaved edits' if has_edits else 'watching the file'}", width="stretch")
        st.button("Save", key="lab:save", on_click=_save, disabled=not has_edits and not file.problem)
    if error := st.session_state.pop(_ERROR, ""):
        st.error(plain(error))
    if file.problem:
        st.warning(f"{plain(file.problem)}.")
    elif file.text not in (base, mine):
        _question(file, name, mine)
    _poll(file)


def _question(file: PolicyFile, name: str, mine: str) -> None:
    st.warning(f"{name} has changed on disk, and there are unsaved edits here.")
    theirs = file.text or ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Keep mine", key="lab:keep_mine", on_click=_keep_mine, args=(theirs,))
        st.button("Take theirs", key="lab:take_theirs", on_click=_take, args=(theirs,))
        st.toggle("See the difference", key=_DIFFERENCE)
    if st.session_state[_DIFFERENCE]:
        lines = difference(mine, theirs)
        st.code("\n".join(lines[:SHOWN_DIFFERENCE_LINES]), language="diff")
        if len(lines) > SHOWN_DIFFERENCE_LINES:
            st.caption(f"and {len(lines) - SHOWN_DIFFERENCE_LINES:,} more lines")


def difference(mine: str, theirs: str) -> list[str]:
    """What it would take to get from the text here to the file, as a unified diff."""
    return list(difflib.unified_diff(mine.splitlines(), theirs.splitlines(), "here", "on disk", lineterm="", n=2))


def _keep_mine(theirs: str) -> None:
    """The file's new text is known and not wanted; the next save replaces it."""
    st.session_state[_BASE] = theirs
    st.session_state[_DIFFERENCE] = False


def _save() -> None:
    file = followed()
    if file is None:
        return
    text: str = st.session_state["lab:policy"]
    try:
        file.save(text, expected=st.session_state[_BASE])
    except PolicyFileError as error:
        st.session_state[_ERROR] = f"Not saved: {error}."
    else:
        st.session_state[_BASE] = text


@st.fragment(run_every=POLL_SECONDS)
def _poll(file: PolicyFile) -> None:
    """Run the page again when the file has changed."""
    catch_up()
    if file.version != st.session_state.get(_SEEN):
        st.rerun()
