"""No edit is left lying when a fragment runs alone.

The browser sends what two components say at the same moment as one message, under the fragment of one of them. Then
the new text of the policy editor comes with a run of the player's fragment, say, and the page itself does not run.
"""

from __future__ import annotations

import streamlit as st

from drr.ui.editor import editor_text
from drr.ui.lab_state import POLICY_EDITOR

_DRAWN = "lab:drawn_policy"


def note_drawn(text: str) -> None:
    """The page is being drawn with this policy text."""
    st.session_state[_DRAWN] = text


def catch_up() -> None:
    """Run the whole page again if the editor holds another text than it was drawn with. For the start of fragments."""
    drawn: str | None = st.session_state.get(_DRAWN)
    if drawn is None:
        return
    text = editor_text(POLICY_EDITOR, drawn)
    if text != drawn:
        note_drawn(text)  # once: another page may not draw it at all
        st.rerun()
