"""Learn: ten short lessons, each with a prepared run on the stage and one question that the engine answers."""

from __future__ import annotations

import streamlit as st

from drr.ui import front_door, learn

front_door.require("Learn")

learn.prepare()
if learn.is_handout():
    learn.show_handout()
    st.stop()

learn.show_progress()
number = learn.current_number()
left, right = st.container(key="sides").columns([4, 7], gap="large")
with left:
    learn.show_text(number)
    learn.show_question(number)
    opens_lab = learn.show_footer(number)
with right:
    learn.show_stage(number)
if opens_lab:
    st.switch_page("pages/lab.py")
