"""The probe's tab: a bounded load on an endpoint that the user names and agrees to, with our prediction beside."""

from __future__ import annotations

import time

import pandas as pd
import streamlit as st

from drr.charts.real import completion_figure
from drr.dynamo.probe_plan import MOST_PER_SECOND, MOST_REQUESTS, MOST_SECONDS, PROMPT_KINDS, ProbeError, ProbePlan
from drr.dynamo.probe_results import (
    class_results,
    in_completion_order,
    prefix_counts,
    reasons,
    result_line,
    results_csv,
    results_jsonl,
)
from drr.ui import job_slot, real_state
from drr.ui.look import plain, theme
from drr.ui.probe_job import ProbeJob, probe_board
from drr.ui.real_task import Prediction, PredictTask

SLOT = "probe:prediction"
LIVE_SECONDS = 0.5
PROMPT_WORDS = {"ids": "token ids", "text": "words", "chat": "chat messages"}


def show() -> None:
    """Draw the tab."""
    left, right = st.container(key="sides").columns([4, 8], gap="large")
    with left:
        plan = _show_form()
    with right:
        job: ProbeJob | None = st.session_state["probe:job"]
        shown = plan if job is None else job.plan
        prediction = _prediction(shown)
        if job is None:
            _show_start(plan, prediction)
        elif job.is_over:
            _show_results(job, prediction)
        else:
            _live(job, prediction)


# --- the form --------------------------------------------------------------------------------------------------------


def _show_form() -> ProbePlan | None:
    """The fields, the line to agree to, and the button; the plan where everything is allowed."""
    st.text_input("Endpoint, OpenAI-compatible", key="probe:url", help="As http://127.0.0.1:8123; its /v1 is used.")
    st.text_input("Model", key="probe:model")
    st.text_input(
        "Requests per class",
        key="probe:classes",
        help=f"As premium=320 regular=320; at most {MOST_REQUESTS:,} in all. The names go into the class header.",
    )
    first, second = st.columns(2)
    first.number_input("Prompt, tokens", 1, None, key="probe:tokens")
    second.number_input("Output, tokens", 1, None, key="probe:output_tokens")
    st.segmented_control("Send", (real_state.AT_ONCE, real_state.PACED), key="probe:pace", required=True)
    if st.session_state["probe:pace"] == real_state.PACED:
        st.number_input("Requests per second", 0.01, MOST_PER_SECOND, key="probe:per_second")
    with st.expander("Limits, prompts, header"):
        _show_more()
    try:
        plan = real_state.plan()
    except ProbeError as error:
        st.error(plain(_sentence(error)))
        return None
    st.caption(plain(real_state.key_variable(plan.url)[1]))
    line = plan.consent_line()
    agreed = st.checkbox(plain(line), key=f"probe:agreed:{line}")
    job: ProbeJob | None = st.session_state["probe:job"]
    is_running = job is not None and not job.is_over
    st.button(
        "Send", type="primary", disabled=not agreed or is_running, on_click=_start, args=(plan,), key="probe:send"
    )
    if st.session_state["probe:error"]:
        st.error(plain(st.session_state["probe:error"]))
    return plan


def _show_more() -> None:
    first, second = st.columns(2)
    first.number_input("End after, seconds", 1, int(MOST_SECONDS), key="probe:max_seconds")
    second.number_input("Longest silence, seconds", 1, int(MOST_SECONDS), key="probe:idle_seconds")
    st.selectbox(
        "Prompts as",
        PROMPT_KINDS,
        key="probe:prompt",
        format_func=PROMPT_WORDS.__getitem__,
        help="Token ids have exact lengths; an endpoint that takes none gets words.",
    )
    if st.session_state["probe:prompt"] == "ids":
        st.number_input("Token ids below", 320, 1_000_000, key="probe:vocabulary")
    st.text_input("Class header", key="probe:header")
    st.number_input("Seed of the prompts", 0, 2**31, key="probe:seed")
    st.toggle("Predict with the Lab's policy and workers", key="probe:predict")


def _sentence(error: ProbeError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _start(plan: ProbePlan) -> None:
    state = st.session_state
    state["probe:error"] = ""
    try:
        state["probe:job"] = probe_board().start(plan)
    except ProbeError as error:
        state["probe:error"] = _sentence(error)


# --- prediction ------------------------------------------------------------------------------------------------------


def _prediction(plan: ProbePlan | None) -> Prediction | None:
    experiment = real_state.lab_experiment()
    if plan is None or experiment is None or not st.session_state["probe:predict"]:
        return None
    if not experiment.policy_text.strip():
        return None
    answer = job_slot.ask(SLOT, PredictTask(plan, experiment), Prediction)
    if answer.is_pending:
        job_slot.show_progress(SLOT, lambda job: "predicting")
    if answer.error and answer.error != "cancelled":
        st.caption(f"No prediction: {plain(answer.error)}.")
    return answer.result


# --- results ---------------------------------------------------------------------------------------------------------


def _first(plan: ProbePlan) -> int:
    return max(1, plan.count // 2)


def _show_start(plan: ProbePlan | None, prediction: Prediction | None) -> None:
    if plan is None:
        st.info("Put the fields right; nothing is sent before you agree to it.")
        return
    st.info(
        "Nothing has been sent. Agree to the line on the left, then send. "
        "No endpoint at hand? docs/real-router.md starts one on this machine."
    )
    if prediction is not None:
        first = _first(plan)
        counts = prefix_counts(plan, prediction.order, first)
        told = " : ".join(f"{count:,}" for count in counts)
        names = " : ".join(plan.class_names)
        st.markdown(f"**Prediction:** of the first {first:,} completions {plain(told)} ({plain(names)}).")
        _show_chart(plan, [], prediction, key="probe:forecast")


@st.fragment(run_every=LIVE_SECONDS)
def _live(job: ProbeJob, prediction: Prediction | None) -> None:
    if job.is_over:
        st.rerun()
    bar, button = st.columns([5, 1], vertical_alignment="center")
    over, total = len(job.rows), job.plan.count
    elapsed = time.monotonic() - job.started_s
    words = "stopping" if job.is_stopped else f"{over:,} of {total:,} answers, {elapsed:,.0f} s"
    bar.progress(min(over / total, 1.0), text=words)
    button.button("Stop", key="probe:stop", on_click=job.stop, width="stretch")
    _show_chart(job.plan, _order(job), prediction, key="probe:live")


def _order(job: ProbeJob) -> list[str]:
    return [row.policy_class for row in in_completion_order(list(job.rows))]


def _show_chart(plan: ProbePlan, order: list[str], prediction: Prediction | None, *, key: str) -> None:
    names = dict(zip((name for name, _ in plan.classes), plan.class_names, strict=True))
    figure = completion_figure(
        plan.class_names,
        [names[name] for name in order],
        None if prediction is None else [names[name] for name in prediction.order],
        planned=plan.count,
        first=_first(plan),
        theme=theme(),
    )
    alt = "Completions of each class over all completions, measured and predicted"
    st.plotly_chart(figure, key=key, theme=None, config={"displayModeBar": False}, alt=alt)


def _show_results(job: ProbeJob, prediction: Prediction | None) -> None:
    if job.error:
        st.error(plain(f"{job.error[:1].upper()}{job.error[1:]}."))
        if not job.rows:
            return
    for remark in job.remarks:
        st.caption(plain(remark))
    plan, rows, first = job.plan, sorted(job.rows, key=lambda row: row.row), _first(job.plan)
    results = class_results(plan, rows, first)
    st.subheader(plain(result_line(plan, results, first)), anchor=False)
    if prediction is not None:
        counts = prefix_counts(plan, prediction.order, first)
        told = " : ".join(f"{count:,}" for count in counts)
        st.caption(f"Predicted with the Lab's policy and workers, carry rule: {plain(told)}.")
    _show_chart(plan, _order(job), prediction, key="probe:result")
    frame = pd.DataFrame(
        {
            "class": [r.name for r in results],
            "sent": [r.planned for r in results],
            "done": [r.done for r in results],
            "refused": [r.refused for r in results],
            "failed": [r.failed for r in results],
            "unfinished": [r.unfinished for r in results],
            f"of first {first:,}": [r.in_first for r in results],
            "left at the end of the first": [r.left_when_first_ended for r in results],
            "TTFT p50, ms": [r.ttft.p50 for r in results],
            "TTFT p95, ms": [r.ttft.p95 for r in results],
            "TTFT p99, ms": [r.ttft.p99 for r in results],
        }
    )
    if prediction is not None:
        frame["TTFT p50 predicted, ms"] = [spread.p50 for spread in prediction.ttft]
        frame["TTFT p95 predicted, ms"] = [spread.p95 for spread in prediction.ttft]
    number = st.column_config.NumberColumn(format="localized")
    whole = frame.round(0)
    st.dataframe(whole, hide_index=True, column_config=dict.fromkeys(frame.columns[1:], number))
    for text, count in reasons(rows):
        st.caption(f"{count:,} × {plain(text)}")
    with st.container(horizontal=True, gap="small"):
        _offer("Results as CSV", results_csv(rows), "probe.csv", "text/csv")
        _offer("Results as JSONL", results_jsonl(plan, rows), "probe.jsonl", "application/jsonl")


def _offer(label: str, text: str, name: str, mime: str) -> None:
    st.download_button(label, text, name, mime, key=f"probe:file:{name}", on_click="ignore")
