"""Real router: the Lab's experiment on Dynamo's own router, row by row, and a probe of a live endpoint."""

from __future__ import annotations

import streamlit as st

from drr.ui import front_door, real_probe, real_replay, real_state

front_door.require("Real router")

real_state.prepare()
titles = [real_state.REPLAY, real_state.PROBE]
replay, probe = st.tabs(titles, default=real_state.first_tab(), key="real:tab", on_change=real_state.note_tab)
# Only the open tab is drawn: behind the other one there is no width to draw in.
if replay.open:
    with replay:
        real_replay.show()
if probe.open:
    with probe:
        real_probe.show()
