"""A page with nothing but players, for the browser tests: ``?run=premium&also=premium-64&linked=both``."""

from __future__ import annotations

import streamlit as st

from drr.ui import stage_view, style
from drr.ui.player import plotly_source
from drr.ui.player.component import current_view, go_to
from tests.ui.player_runs import named_run

SECOND = "second"


# This script runs again and again, the module it changes stays.
CHUNKS = vars(plotly_source).setdefault("chunks_as_they_are", plotly_source._chunks)


def watching() -> None:
    asked = st.query_params
    plotly_source._chunks = (lambda: ()) if asked.get("plotly") == "package" else CHUNKS
    name = st.session_state.get("name", asked.get("run", "premium"))
    run = named_run(name)
    stale = "Not from this text." if st.session_state.get("stale") else ""
    start = int(asked["start"]) if "start" in asked else None
    view = stage_view.show(run, slot="test", start=start, linked=asked.get("linked", ""), stale=stale)
    also = asked.get("also")
    if also:
        stage_view.show(named_run(also), slot="test", key=SECOND, parts=(), linked=asked.get("linked", ""))
    st.code(f"runs {st.session_state.setdefault('count', 0) + 1}", language=None)
    st.session_state.count += 1
    if view is not None:
        st.caption(f"python saw step {current_view(run, 'test:stage').step}")


def elsewhere() -> None:
    st.title("Elsewhere")


st.set_page_config(page_title="Player", layout="wide")
style.apply()
with st.sidebar:
    st.button("Rerun")
    other = st.query_params.get("next", "premium-64")
    st.button("Another run", on_click=lambda: st.session_state.update(name=other))
    st.button("First run", on_click=lambda: st.session_state.update(name="premium"))
    st.button("Stale", on_click=lambda: st.session_state.update(stale=not st.session_state.get("stale")))
    st.button("Go to step 40", on_click=lambda: go_to("test:stage", step=40))
pages = [st.Page(watching, title="Watching", default=True), st.Page(elsewhere, title="Elsewhere")]
st.navigation(pages).run()
