"""No edit is left lying when a fragment runs alone.

The browser sends what two parts of a page say at the same moment as one message, under the fragment of one of them.
Then the new text of the policy editor comes with a run of the player's fragment, say, and the page itself does not run.
"""

from __future__ import annotations

import streamlit as st

from drr.ui.editor import editor_text
from drr.ui.lab_state import DEFAULTS, POLICY_EDITOR, TAB, TABS

_DRAWN, _DUE = "lab:drawn", "lab:page_is_due"


def note_drawn() -> None:
    """The Lab is being drawn with what it holds now."""
    st.session_state[_DRAWN] = _held()
    st.session_state[_DUE] = False


def forget() -> None:
    """Another page than the Lab is being drawn: nothing of the Lab can be older than what is shown."""
    st.session_state.pop(_DRAWN, None)


def note_due() -> None:
    """A callback has changed something that only the whole page shows."""
    st.session_state[_DUE] = True


def catch_up() -> None:
    """Run the whole page again if it was drawn with something older. For the start of fragments."""
    if _DRAWN in st.session_state and (st.session_state[_DUE] or st.session_state[_DRAWN] != _held()):
        note_drawn()  # once: another page may not draw it at all
        st.rerun()


def _held() -> tuple[object, ...]:
    """What the Lab's picture depends on, as the browser last said it."""
    state = st.session_state
    policy = editor_text(POLICY_EDITOR, state["lab:policy"])
    return (policy, state.get(TAB) or TABS[0], *(state.get(name) for name in DEFAULTS))
