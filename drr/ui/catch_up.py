"""No edit is left lying when a fragment runs alone.

The browser sends what two components say at the same moment as one message, under the fragment of one of them. Then
the new text of the policy editor comes with a run of the player's fragment, say, and the page itself does not run.
"""

from __future__ import annotations

import streamlit as st

from drr.ui.editor import editor_text
from drr.ui.lab_state import POLICY_EDITOR

_DRAWN, _DUE = "lab:drawn_policy", "lab:page_is_due"


def note_drawn(text: str) -> None:
    """The page is being drawn with this policy text."""
    st.session_state[_DRAWN] = text
    st.session_state[_DUE] = False


def note_due() -> None:
    """A callback has changed something that only the whole page shows."""
    st.session_state[_DUE] = True


def catch_up() -> None:
    """Run the whole page again if it was drawn with something older. For the start of fragments."""
    drawn: str | None = st.session_state.get(_DRAWN)
    if drawn is None:
        return
    text = editor_text(POLICY_EDITOR, drawn)
    if text != drawn or st.session_state[_DUE]:
        note_drawn(text)  # once: another page may not draw it at all
        st.rerun()
