"""Quanta, thresholds and limits under the editor: they change the numbers in the text, and undo there works on them.

``quanta/assets`` holds the component's JavaScript.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from drr.charts.palette import class_styles
from drr.errors import PolicyError
from drr.policy import PolicyReading, read_policy
from drr.policy.schema import Profile
from drr.ui.catch_up import note_due
from drr.ui.look import theme
from drr.ui.quantum_edits import KEYS, edited, new_edits, profile_path

KEY = "lab:quanta"
CLASS_SLOTS = "player:slots"
"""Where the session keeps which class has which colour."""
_SEQ, _PROBLEM, _SHOWN = f"{KEY}:seq", f"{KEY}:problem", f"{KEY}:shown"


def show(reading: PolicyReading, *, text: Callable[[], str], put: Callable[[str], None]) -> None:
    """Draw the fields for the profile of the chosen model.

    ``text()`` is the newest policy text and ``put(text)`` replaces it; both are called from a callback. While the text
    is not valid the last fields stay, and cannot be used.
    """
    document = reading.document
    if document is not None:
        profile = document.profile_for(st.session_state.get("lab:model"))
        st.session_state[_SHOWN] = profile if profile.families else None
    shown: Profile | None = st.session_state.get(_SHOWN)
    if shown is None:
        return
    is_on = document is not None
    data = {
        "seq": st.session_state.get(_SEQ, 0),
        "classes": _classes(shown),
        "disabled": not is_on,
        "about": "" if is_on else "The text above is not valid; these are the last valid numbers.",
        "problem": st.session_state.get(_PROBLEM, "") if is_on else "",
    }
    _component()(key=KEY, data=data, on_edits_change=lambda: take_edits(text, put))


def read(text: str) -> tuple[Profile, str] | None:
    """The profile of the chosen model in a text, and where it stands there; None where the text is not valid."""
    document = read_policy(text).document
    if document is None:
        return None
    model = st.session_state.get("lab:model")
    return document.profile_for(model), profile_path(model, document.models)


def take_edits(text: Callable[[], str], put: Callable[[str], None]) -> None:
    """Apply the edits that have not been applied yet, in order; one that cannot be done says why."""
    state: Any = st.session_state.get(KEY)
    new = new_edits(state.get("edits") if state else None, st.session_state.get(_SEQ, 0))
    if not new:
        return
    now = text()
    note_due()
    st.session_state[_PROBLEM] = ""
    for edit in new:
        st.session_state[_SEQ] = edit["seq"]
        try:
            reading = read(now)
            if reading is None:
                raise PolicyError("the text is not valid at the moment, so no number was changed in it")
            now = edited(now, edit, *reading)
        except PolicyError as error:
            st.session_state[_PROBLEM] = f"{error}."
    put(now)


def _classes(profile: Profile) -> list[dict[str, Any]]:
    styles = class_styles([each.name for each in profile.classes], theme(), keep=st.session_state.get(CLASS_SLOTS))
    return [
        {
            "name": each.name,
            "colour": styles[each.name].colour,
            # As text: JavaScript's numbers end where quanta do not.
            "values": {key: _written(getattr(each, key)) for key in KEYS if getattr(each, key) is not None},
        }
        for each in profile.classes
    ]


def _written(value: float) -> str:
    return f"{value:d}" if isinstance(value, int) else f"{value:.15g}"


@cache
def _component() -> Callable[..., Any]:
    """The declared component; not made at import, when no runtime may be there that knows the declaration."""
    component: Callable[..., Any] = st.components.v2.component("ringside.quanta", js="quanta.js")
    return component
