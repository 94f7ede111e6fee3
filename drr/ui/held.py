"""What a page holds for a session, kept while the page's widgets are away.

Streamlit forgets the widgets of a page that is left, and under their keys it may then have values from long ago. So
every page has a copy of its values, taken whenever it runs. When the page comes back, or another page asks for what it
holds, the copy counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

_PAGE, _IS_NEW, _COPIES = "held:page", "held:is_new", "held:copies"


def enter(page: str) -> None:
    """A page's script begins."""
    st.session_state[_IS_NEW] = not is_open(page)
    st.session_state[_PAGE] = page


def is_open(page: str) -> bool:
    """Whether the session is on that page, as far as it knows."""
    return bool(st.session_state.get(_PAGE, page) == page)


def hold(page: str, defaults: Mapping[str, object]) -> None:
    """Give what a page holds its values: those of its widgets, else the copies, else the defaults.

    To be called before any of the page's widgets is drawn, and by other pages that ask for the values.
    """
    state, copies = st.session_state, _copies(page)
    has_widgets = is_open(page) and not state.get(_IS_NEW, False)
    for name, default in defaults.items():
        first, second = (state, copies) if has_widgets else (copies, state)
        state[name] = copies[name] = first[name] if name in first else second.get(name, default)


def keep(page: str, names: Iterable[str]) -> None:
    """What was just put under these names is what the page holds, even if it is left before it runs again."""
    copies = _copies(page)
    copies.update({name: st.session_state[name] for name in names if name in st.session_state})


def _copies(page: str) -> dict[str, object]:
    copies: dict[str, dict[str, object]] = st.session_state.setdefault(_COPIES, {})
    return copies.setdefault(page, {})
