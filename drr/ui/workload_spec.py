"""Generated workloads: the spec as a form or as text, how much comes of it, and two small pictures."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from drr.charts.workload import arrivals_figure, lengths_figure
from drr.policy import Diagnostic
from drr.ui import runs, workload_findings, workload_form
from drr.ui.editor import editor_text, yaml_editor
from drr.ui.editor.spec_help import SPEC_VOCABULARY
from drr.ui.look import plain, theme
from drr.workload.spec_preview import SpecPreview, look_ahead, preview_text
from drr.workload.spec_reading import read_spec

VIEWS = ("Form", "Text")
LINE_PIXELS = 20
_EDITOR = "lab:spec_editor"
_NAMED = 3


def show(diagnostics: Sequence[Diagnostic]) -> None:
    """Draw the view that is chosen, what is wrong with the text, and what is going to come."""
    text: str = st.session_state["lab:spec"]
    st.segmented_control(
        "View", VIEWS, key="lab:spec_view", required=True, label_visibility="collapsed", help="Both show the same spec."
    )
    if st.session_state["lab:spec_view"] == "Form":
        workload_form.show()
    else:
        _editor(text, diagnostics)
    with st.container():
        workload_findings.show(text, diagnostics)
    preview = preview_of(text)
    if preview is not None:
        _pictures(preview)


def _editor(text: str, diagnostics: Sequence[Diagnostic]) -> None:
    lines = min(max(text.count("\n") + 2, 8), 22)
    state = yaml_editor(
        text,
        diagnostics=diagnostics,
        key=_EDITOR,
        label="Workload spec, YAML",
        height=LINE_PIXELS * lines + 40,
        vocabulary=SPEC_VOCABULARY,
        on_change=_take_text,
    )
    if state.run_requested:
        runs.forget("lab")


def _take_text() -> None:
    st.session_state["lab:spec"] = editor_text(_EDITOR)


@st.cache_data(max_entries=64, show_spinner=False)
def preview_of(text: str) -> SpecPreview | None:
    """What is going to come of a text; None where it has errors."""
    spec = read_spec(text).spec
    return None if spec is None else look_ahead(spec)


def _pictures(preview: SpecPreview) -> None:
    said = preview_text(preview)
    st.markdown(plain(f"{said[:1].upper()}{said[1:]}."))
    families = preview.families
    if preview.span_ms > 0:
        figure = arrivals_figure(
            {each.name: each.per_second for each in families},
            bin_ms=preview.bin_ms,
            theme=theme(),
            bursts={each.name: each.at_once for each in families},
        )
        st.caption("Arrivals, expected")
        _chart(figure, "arrivals", "Expected arrivals per second over time, by policy family")
    elif any(each.at_once for each in families):
        bursts = [f"{count:,} of {each.name} at {at / 1000:g} s" for each in families for at, count in each.at_once]
        more = f" and {len(bursts) - 2 * _NAMED:,} more" if len(bursts) > 2 * _NAMED else ""
        st.caption(plain("At once: " + ", ".join(bursts[: 2 * _NAMED]) + more))
    if any(each.clients for each in families):
        loops = [f"{each.clients:,} clients of {each.name}" for each in families if each.clients]
        st.caption(plain("In closed loops, at times the run decides: " + ", ".join(loops)))
    if all(len(set(each.lengths_tokens)) == 1 for each in families):
        lengths = {each.lengths_tokens[0] for each in families}
        each_has = [f"{each.lengths_tokens[0]:,} in {each.name}" for each in families]
        said = f"{lengths.pop():,} tokens" if len(lengths) == 1 else f"tokens: {', '.join(each_has)}"
        st.caption(plain(f"Every prompt has {said}"))
    else:
        st.caption("Prompt lengths")
        samples = {each.name: (each.lengths_tokens, each.length_shares) for each in families}
        _chart(lengths_figure(samples, theme=theme()), "lengths", "Spread of prompt lengths by policy family")


def _chart(figure: object, key: str, alt: str) -> None:
    st.plotly_chart(figure, key=f"lab:{key}", theme=None, config={"displayModeBar": False}, alt=alt)
