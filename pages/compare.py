"""Compare: two policies, cursor rules, arbiters or clusters on the same requests, scrubbed together."""

from __future__ import annotations

import streamlit as st

from drr.ui import compare, compare_state, compare_style, front_door

front_door.require("Compare")

compare_style.apply()
compare_state.prepare()
compare_state.show_presets()
left, right = st.container(key="cmp_sides").columns(2, gap="large")
with left:
    compare_state.show_side("A")
    experiment_a, problem_a = compare_state.experiment_of("A")
    run_a = compare.run_side("A", experiment_a, problem_a)
with right:
    compare_state.show_side("B")
    experiment_b, problem_b = compare_state.experiment_of("B")
    run_b = compare.run_side("B", experiment_b, problem_b)
pair = compare.pair_of((experiment_a, experiment_b), (run_a, run_b))
if pair is None:
    st.stop()

compare.show_verdict(pair)
compare.show_stages(pair)
st.subheader("Figures", anchor=False)
over_seeds = compare.show_seeds(pair)
compare.show_figures(pair, over_seeds)
st.subheader("Policies, A against B", anchor=False)
if compare.show_policies(pair):
    st.switch_page("pages/lab.py")
