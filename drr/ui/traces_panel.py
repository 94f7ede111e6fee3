"""The left side of the Traces page: the files and how each is read, the window, the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from drr.policy.samples import SAMPLES
from drr.ui import trace_fields, traces_state, workload_mapping
from drr.ui.limits import UPLOAD_BYTES
from drr.ui.look import plain
from drr.ui.traces_state import AUTOMATIC
from drr.ui.workload_trace import look_of
from drr.workload.mapping import ClassMapping, possible_headers
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_formats import TraceSpec
from drr.workload.traces_reading import counted
from drr.workload.traces_survey import FIRST_BLOCK, ColumnValues, TraceSurvey

CLOCKS = {
    AUTOMATIC: "by date where all have dates, else as written",
    "dates": "by their dates",
    "starts": "first arrivals together",
    "as_written": "as the times are written",
}
VALUES_SHOWN = 6
# The page has a list of the files of its own, which says more and outlives the uploader.
_CSS = """
<style>
.st-key-traces-upload [data-testid="stFileChip"]:not(
  :has([data-testid="stFileChipIconSpinner"], [data-testid="stFileChipIconError"])) { display: none; }
</style>
"""
_NO_HEADER = "no header"


def show_uploader() -> None:
    """The place to drop files, and what of them is no trace."""
    st.html(_CSS)
    st.file_uploader(
        "Trace files, .gz too; several are put on one clock",
        key=traces_state.UPLOAD,
        accept_multiple_files=True,
        on_change=traces_state.take_drop,
        max_upload_size=max(1, UPLOAD_BYTES.value // 2**20),
    )
    for file_id, error in st.session_state["traces:errors"]:
        st.error(plain(error))
        dismiss, name = traces_state.dismiss, plain(error.partition(":")[0])
        key = f"traces:dismiss:{file_id}"
        st.button(f"Close the note on {name}", key=key, type="tertiary", on_click=dismiss, args=(file_id,))


def show_sample_button() -> None:
    """For those who have no trace at hand."""
    st.button("Nothing at hand? Take a made-up trace", on_click=traces_state.take_sample, width="stretch")


def show_start() -> None:
    """What the page is for, while there is no trace."""
    st.subheader("Bring a trace, see it, run it", anchor=False)
    st.markdown(
        "Drop the requests of a real deployment: **Mooncake** or **Qwen-Bailian** JSONL, **Azure** or **BurstGPT** "
        "CSV, or any JSONL or CSV with time and prompt length. See when requests come, how long they are and what a "
        "prefix cache can save; cut a window, map the requests to policy classes, and run them in the Lab."
    )


def show_files() -> None:
    """Every file: its name, how it is read, a way to read it differently and to take it away."""
    held = traces_state.files()
    for each in held:
        _file(each)
    if len(held) > 1:
        st.selectbox("One clock for all files", list(CLOCKS), key="traces:clock", format_func=CLOCKS.__getitem__)
        if any(_has_blocks(each) for each in held):
            st.checkbox("Equal block ids mean equal content in all files", key="traces:shared_blocks")


def _file(trace: TraceWorkload) -> None:
    spec = _spec(trace)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(trace.name)}**", width="stretch")
        key = f"traces:remove:{trace.sha256}"
        st.button("Take away", key=key, type="tertiary", on_click=traces_state.remove, args=(trace.sha256,))
    st.caption(plain(spec.text()))
    with st.expander("Read it differently", expanded=trace_fields.lost(spec)):
        with st.container():
            if trace_fields.lost(spec):
                st.info("Say which columns hold the time and the prompt length.")
        look = look_of(trace.path, trace.sha256)
        trace_fields.show(look, spec, f"traces:read:{trace.sha256[:16]}", partial(traces_state.set_spec, trace.sha256))


def _spec(trace: TraceWorkload) -> TraceSpec:
    return trace.spec or look_of(trace.path, trace.sha256).spec


def _has_blocks(trace: TraceWorkload) -> bool:
    spec = _spec(trace)
    return spec.format == "mooncake" or "hash_ids" in dict(spec.columns)


def all_readable() -> bool:
    """Whether every file has its needed columns named."""
    return not any(trace_fields.lost(_spec(each)) for each in traces_state.files())


def show_window(found: TraceSurvey | None) -> None:
    """Window, rate, and equal timestamps."""
    first, last, rate = st.columns(3)
    first.number_input("From, s", 0.0, None, None, key="traces:from_s", format="%g", step=10.0, placeholder="start")
    last.number_input("To, s", 0.0, None, None, key="traces:to_s", format="%g", step=10.0, placeholder="end")
    rate.number_input(
        "Rate ×", 0.001, 10_000.0, key="traces:rate", format="%g", step=1.0, help="So many times as many per second."
    )
    spread: bool = st.session_state["traces:spread"]
    equal = found is not None and found.stats.largest_tick_rows > 1
    with st.container():
        if equal or spread:
            st.toggle(
                "Spread equal timestamps over the tick",
                key="traces:spread",
                help="Requests of one and the same time are spread evenly up to the next time, in file order. "
                "Without it they arrive at once, in file order.",
            )
        if spread:
            st.caption("△ The spread times are made up: the trace says that these requests come at once.")


def show_classes(found: TraceSurvey) -> None:
    """The policy whose classes count, and the rule that gives every request its header."""
    titles = {traces_state.LAB: "what the Lab holds", **{each.name: each.title for each in SAMPLES}}
    st.selectbox("Policy", list(titles), key="traces:policy", format_func=titles.__getitem__)
    profile = traces_state.policy().profile()
    with st.container():
        if profile is None:
            st.warning("The Lab's policy is not valid: headers are shown instead of classes.")
    names = [each.name for each in found.columns if each.name != FIRST_BLOCK]
    has_blocks = found.column(FIRST_BLOCK) is not None
    workload_mapping.show(names, profile, has_blocks=has_blocks, slot="traces")
    mapping: ClassMapping = st.session_state["traces:class_mapping"]
    column = FIRST_BLOCK if mapping.kind == "first_block" else mapping.column if mapping.kind == "column" else ""
    values = found.column(column) if column else None
    headers = mapping.headers or (possible_headers(profile) if profile is not None else ())
    with st.container():
        if values is not None and values.top and headers:
            _show_values(values, mapping, headers)
        if found.mapping_problem:
            st.error(plain(found.mapping_problem))


def _show_values(values: ColumnValues, mapping: ClassMapping, headers: Sequence[str]) -> None:
    """The most frequent values of the column, and what each is given."""
    # Without a word on who gets what, the most frequent value gets the first header, and so on.
    automatic = zip((value for value, _ in values.top), headers, strict=False)
    given: dict[str, str | None] = dict(mapping.given) or dict(automatic)
    revision = st.session_state["traces:revision"]
    choices = list(dict.fromkeys((*headers, *(header for header in given.values() if header), "")))
    columns = st.columns(2)
    for number, (value, rows) in enumerate(values.top[:VALUES_SHOWN]):
        key = f"traces:value:{revision}:{mapping.kind}:{mapping.column}:{number}"
        now = given.get(value, mapping.default) or ""
        st.session_state[key] = now
        columns[number % 2].selectbox(
            plain(f"{value}: {counted(rows, 'request')}"),
            choices if now in choices else [*choices, now],
            key=key,
            format_func=lambda header: header or _NO_HEADER,
            on_change=_give,
            args=(key, value, given),
        )
    more = values.distinct - VALUES_SHOWN
    if more > 0:
        st.caption(f"and {more:,} more values: everybody else, unless named above")


def _give(key: str, value: str, given: dict[str, str | None]) -> None:
    """Give one value another header: what was automatic so far is written down with it."""
    state = st.session_state
    mapping: ClassMapping = state["traces:class_mapping"]
    state["traces:class_mapping"] = replace(mapping, given=tuple({**given, value: state[key] or None}.items()))
    state["traces:revision"] += 1
