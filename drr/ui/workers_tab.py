"""The Workers tab: the cursor rule, how many workers there are, their engines, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from drr.analysis.load import OfferedLoad, load_sentence
from drr.errors import DrrError, WorkloadError
from drr.router.router import ARRIVAL_MODES, ArrivalMode
from drr.scheduler.ring import CURSOR_RULES
from drr.ui import workers_timing, workload_spec
from drr.ui.lab_state import LARGEST_NUMBER
from drr.ui.look import RULE_NAMES, plain
from drr.ui.workers_lines import read_changes, read_taints, write_changes, write_taints
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload

ARRIVAL_TEXTS: dict[ArrivalMode, str] = {
    "bypass": "goes past the ring (offline replay)",
    "through_ring": "goes through the ring (live service)",
}


def show(experiment: Experiment | None) -> None:
    """Draw the tab; ``experiment`` is what the Lab holds, None where that is not valid."""
    is_typed = st.session_state["lab:workload_kind"] == "Typed queues"
    said = load_of(experiment)
    with st.container():
        if said:
            st.markdown(plain(said))
    st.radio(
        "Cursor rule",
        CURSOR_RULES,
        key="lab:cursor_rule",
        format_func=RULE_NAMES.__getitem__,
        help="What the cursor does after a dispatch: as Dynamo documents it, or as the shipped router does it. "
        "The result of the other rule always stands beside.",
    )
    left, right = st.columns(2)
    _count(left, "Workers", "lab:workers", 1)
    _count(right, "dp ranks of each", "lab:dp_size", 1, "Every rank is an endpoint of its own.")
    if not is_typed:
        _count(left, "max_num_seqs", "lab:max_num_seqs", 1, "Requests a worker runs at the same time.")
        _count(right, "max_num_batched_tokens", "lab:max_num_batched_tokens", 1, "Tokens of one engine pass.")
    with st.container():
        if is_typed:
            st.caption("Typed queues run on workers without an engine: what they do is said under Workload.")
        else:
            with st.expander("KV cache and prefill"):
                _engine()
            with st.expander("Timing"):
                workers_timing.show()
    with st.expander("Taints" if is_typed else "Taints, overload and outages"):
        _lines("Taints", "lab:taints", read_taints, write_taints, "0: large-memory")
        if not is_typed:
            _lines(
                "What happens to workers",
                "lab:changes",
                read_changes,
                write_changes,
                "overload 0 @ 5 s\nrecover 0 @ 8 s\nleave 1 @ 10 s\njoin 1 @ 20 s",
            )
    with st.expander("Arrivals, seed" if is_typed else "Arrivals, speed-up, seed"):
        st.selectbox(
            "A request that need not wait",
            ARRIVAL_MODES,
            key="lab:arrival_mode",
            format_func=ARRIVAL_TEXTS.__getitem__,
            help="Outside the ring a request costs its class nothing.",
        )
        left, right = st.columns(2)
        _count(left, "Seed (ties)", "lab:seed", 0, "Breaks ties between equally cheap workers.")
        if not is_typed:
            least = min(0.001, st.session_state["lab:speedup"])
            right.number_input("Arrival speed-up", least, None, key="lab:speedup", format="%g")


def _count(place: Any, label: str, key: str, least: int, about: str | None = None) -> None:
    """A whole number; what no number field can hold is shown and stays."""
    if st.session_state[key] <= LARGEST_NUMBER:
        place.number_input(label, least, LARGEST_NUMBER, key=key, help=about)
    else:
        place.caption(f"{label}: {st.session_state[key]}")


def _engine() -> None:
    left, right = st.columns(2)
    _count(left, "block_size, tokens", "lab:block_size", 2)
    _count(right, "num_gpu_blocks", "lab:num_gpu_blocks", 1, "KV blocks of one worker.")
    left.toggle("Prefix caching", key="lab:prefix_caching")
    right.toggle("Chunked prefill", key="lab:chunked_prefill")


def _lines(label: str, name: str, read: Callable[[str], Any], write: Callable[[Any], str], placeholder: str) -> None:
    """A value written as lines; text that cannot be read is named and leaves the last value in place."""
    key = f"{name}:text:{st.session_state['lab:revision']}"
    wrong = f"{key}:wrong"

    def changed() -> None:
        st.session_state[wrong] = None
        try:
            st.session_state[name] = read(st.session_state[key])
        except WorkloadError as error:
            st.session_state[wrong] = str(error)

    text = write(st.session_state[name])
    st.text_area(label, text, key=key, height=100, placeholder=placeholder, on_change=changed)
    with st.container():
        if st.session_state.get(wrong):
            st.error(plain(st.session_state[wrong]))


def load_of(experiment: Experiment | None) -> str:
    """One sentence on the load the workload puts on the workers, "" where nothing can be said."""
    if experiment is None:
        return ""
    workload = experiment.workload
    load: OfferedLoad | None = None
    if isinstance(workload, SpecWorkload):
        ahead = workload_spec.preview_of(workload.text)
        if ahead is not None:
            clients = sum(each.clients for each in ahead.families)
            load = OfferedLoad(ahead.requests, ahead.input_tokens, ahead.span_ms / 1000.0, clients)
    elif isinstance(workload, TraceWorkload):
        load = _load_of_trace(workload)
    if load is None:
        return ""
    load = OfferedLoad(
        load.requests, load.input_tokens, load.seconds / experiment.arrival_speedup_ratio, load.closed_loop_clients
    )
    return load_sentence(load, experiment.engine, workers=experiment.workers, dp_size=experiment.dp_size)


def _load_of_trace(workload: TraceWorkload) -> OfferedLoad | None:
    try:
        table = workload.reading().requests
    except (DrrError, OSError):
        return None
    if workload.first_rows is not None:
        table = table.head(workload.first_rows)
    stamps = [stamp for stamp in table.timestamp_ms if stamp is not None]
    seconds = (max(stamps) - min(stamps)) / 1000.0 if stamps else 0.0
    return OfferedLoad(len(table), sum(table.isl_tokens), seconds)
