"""Why isn't my ratio biting? The doctor's findings about the run that is shown."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from drr.analysis.doctor import Finding
from drr.ui.look import plain
from drr.ui.runs import RunView

TITLE = "Why isn't my ratio biting?"
SHOWN = 5


def show(view: RunView, *, go_to: Callable[[int], None], use: Callable[[tuple[tuple[str, int], ...]], None]) -> None:
    """Draw the findings. ``go_to`` moves the playhead to a step, ``use`` puts quanta into the policy text."""
    if view.run is None:
        return
    if not view.findings:
        st.caption(f"**{TITLE}** Nothing in this run keeps it from doing so.")
        return
    with st.container(border=True, key="doctor"):
        st.markdown(f"**{TITLE}**" + ("" if view.is_current else " (of the run that is shown)"))
        for number, finding in enumerate(view.findings[:SHOWN]):
            _one(finding, number, view.is_current, go_to, use)
        if len(view.findings) > SHOWN:
            with st.expander(f"{len(view.findings) - SHOWN:,} more"):
                for number, finding in enumerate(view.findings[SHOWN:], SHOWN):
                    _one(finding, number, view.is_current, go_to, use)


def _one(
    finding: Finding,
    number: int,
    is_current: bool,
    go_to: Callable[[int], None],
    use: Callable[[tuple[tuple[str, int], ...]], None],
) -> None:
    sign = "△" if finding.severity == "warning" else "ⓘ"
    st.markdown(f"{sign} **{plain(finding.headline)}** {plain(finding.evidence)}")
    st.caption(f"→ {plain(finding.remedy)}")
    if finding.step is None and not (finding.quanta and is_current):
        return
    with st.container(horizontal=True, gap="small"):
        if finding.step is not None:
            st.button("Show the step", key=f"doctor:step:{number}", on_click=go_to, args=(finding.step,))
        if finding.quanta and is_current:
            st.button("Use these quanta", key=f"doctor:quanta:{number}", on_click=use, args=(finding.quanta,))
