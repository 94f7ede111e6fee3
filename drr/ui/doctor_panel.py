"""Why isn't my ratio biting? The doctor's findings about the run that is shown."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from drr.analysis.doctor import Finding
from drr.ui.look import plain
from drr.ui.runs import RunView

TITLE = "Why isn't my ratio biting?"
SHOWN = 5


Use = Callable[[tuple[tuple[str, int], ...]], None]
"""Puts quanta by class name into the policy text."""


def show(view: RunView, *, go_to: Callable[[int], None], use: Use | None) -> None:
    """Draw the findings. ``go_to`` moves the playhead to a step; without ``use`` no quanta are offered."""
    if view.run is None:
        return
    if not view.findings:
        st.caption(f"**{TITLE}** Nothing in this run keeps it from doing so.")
        return
    with st.container(border=True, key="doctor"):
        st.markdown(f"**{TITLE}**" + ("" if view.is_current else " (of the run that is shown)"))
        for number, finding in enumerate(view.findings[:SHOWN]):
            _one(finding, number, go_to, use if view.is_current else None)
        if len(view.findings) > SHOWN:
            with st.expander(f"{len(view.findings) - SHOWN:,} more"):
                for number, finding in enumerate(view.findings[SHOWN:], SHOWN):
                    _one(finding, number, go_to, use if view.is_current else None)


def _one(finding: Finding, number: int, go_to: Callable[[int], None], use: Use | None) -> None:
    sign = "△" if finding.severity == "warning" else "ⓘ"
    st.markdown(f"{sign} **{plain(finding.headline)}** {plain(finding.evidence)}")
    st.caption(f"→ {plain(finding.remedy)}")
    quanta = finding.quanta if use is not None else ()
    if finding.step is None and not quanta:
        return
    with st.container(horizontal=True, gap="small"):
        if finding.step is not None:
            st.button("Show the step", key=f"doctor:step:{number}", on_click=go_to, args=(finding.step,))
        if quanta:
            st.button("Use these quanta", key=f"doctor:quanta:{number}", on_click=use, args=(quanta,))
