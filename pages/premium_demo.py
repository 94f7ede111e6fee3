"""Premium demo: 320 + 320 requests under equal and weighted quanta, then a premium spike and its end."""

from __future__ import annotations

import streamlit as st

from drr.ui import front_door, premium_demo

front_door.require("Premium demo")

premium_demo.prepare()
if not premium_demo.is_started():
    premium_demo.show_start()
    st.stop()

equal, weighted = premium_demo.run_burst()
if equal is None or weighted is None:
    st.stop()

if premium_demo.is_speaker_mode():
    premium_demo.show_to_audience(equal, weighted)
    st.stop()

premium_demo.show_result(equal, weighted)
premium_demo.show_controls(weighted)
premium_demo.show_burst(equal, weighted)
premium_demo.show_table(equal, weighted)
st.divider()
st.subheader("Then a spike: premium comes, gets its share, and goes", anchor=False)
premium_demo.show_spike()
st.divider()
premium_demo.show_decisions(weighted)
