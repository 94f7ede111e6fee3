"""Links to a page work even for the first visitor of a server.

Until a session has run ``st.navigation``, Streamlit serves the files in ``pages/`` by themselves, without ``app.py``.
A page that finds itself served like this sends its visitor through the front door, which sends him on to the page.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from drr.ui import held

_PASSED = "front_door:passed"
_WANTED = "front_door:wanted"


def require(title: str) -> None:
    """To be called first on every page, with its title: go through ``app.py`` if the visitor has not yet."""
    held.enter(title)
    if not st.session_state.get(_PASSED):
        st.session_state[_WANTED] = (title, st.query_params.to_dict())
        # Where a page is run by itself (in tests) there is no front door to go through.
        with contextlib.suppress(StreamlitAPIException):
            st.switch_page("app.py")


def send_on(pages: Sequence[Any]) -> None:
    """To be called in ``app.py`` once the pages are known: note the visit and go on to the wanted page."""
    st.session_state[_PASSED] = True
    wanted: tuple[str, Mapping[str, str]] | None = st.session_state.pop(_WANTED, None)
    if wanted is not None:
        for page in pages:
            if page.title == wanted[0]:
                st.switch_page(page, query_params=dict(wanted[1]))
