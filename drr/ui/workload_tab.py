"""The Workload tab: generated requests, hand-typed queues, or a trace."""

from __future__ import annotations

import streamlit as st

from drr.ui import workload_spec, workload_trace, workload_typed
from drr.ui.lab_state import KINDS, LabInputs
from drr.ui.look import plain
from drr.workload.experiment import TypedWorkload


def is_typed(inputs: LabInputs) -> bool:
    """Whether the Lab runs queues that were typed by hand."""
    return inputs.experiment is not None and isinstance(inputs.experiment.workload, TypedWorkload)


def show(inputs: LabInputs) -> None:
    """Draw the tab."""
    st.segmented_control(
        "Kind of workload", KINDS, key="lab:workload_kind", required=True, label_visibility="collapsed"
    )
    with st.container():
        for problem in inputs.problems:
            st.error(plain(problem))
    match st.session_state["lab:workload_kind"]:
        case "Generated":
            workload_spec.show(inputs.diagnostics)
        case "Typed queues":
            workload_typed.show(inputs.diagnostics, inputs.experiment)
        case _:
            document = inputs.reading.document
            workload_trace.show(document.profile_for(st.session_state["lab:model"]) if document is not None else None)
