"""Tune: the Lab's experiment over ranges of its numbers, quanta for goals, and what was saved."""

from __future__ import annotations

import streamlit as st

from drr.ui import front_door, tune, tune_goals, tune_saved, tune_state, tune_two

front_door.require("Tune")

tune_state.prepare()
base = tune_state.base()
st.segmented_control("View", tune_state.VIEWS, key="tune:view", label_visibility="collapsed", required=True)
tune.show_start(base)
opens_lab = False
if st.session_state["tune:view"] == tune_state.SAVED:
    opens_lab = tune_saved.show(base)
elif base is not None:
    match st.session_state["tune:view"]:
        case tune_state.ONE:
            opens_lab = tune.show_one(base)
        case tune_state.TWO:
            opens_lab = tune_two.show(base)
        case tune_state.GOALS:
            opens_lab = tune_goals.show(base)
if opens_lab:
    st.switch_page("pages/lab.py")
