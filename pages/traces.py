"""Traces: real traces in, looked at, cut, mapped to policy classes, sent to the Lab or out as a file."""

from __future__ import annotations

import streamlit as st

from drr.ui import front_door, traces, traces_panel, traces_state

front_door.require("Traces")

traces_state.prepare()
left, right = st.container(key="sides").columns([4, 9], gap="large")
with left, st.container():
    traces_panel.show_uploader()
    if not traces_state.files():
        traces_panel.show_sample_button()
with right:
    if not traces_state.files():
        traces_panel.show_start()
        st.stop()
with left, st.container():
    traces_panel.show_files()
with right, st.container():
    source = traces.source()
    view = traces.look(source)
with left:
    opens_lab = traces.show_controls(view)
with right:
    traces.show_look(view)
if opens_lab:
    st.switch_page("pages/lab.py")
