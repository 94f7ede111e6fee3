"""The probe's tab: a bounded load on an endpoint that the user names and agrees to, with our prediction beside."""

from __future__ import annotations

import time
from typing import Any

import pandas as pd
import streamlit as st

from drr.analysis.outcomes import Spread
from drr.analysis.words import listing
from drr.charts.real import completion_figure
from drr.dynamo.probe_plan import MOST_PER_SECOND, MOST_REQUESTS, MOST_SECONDS, PROMPT_KINDS, ProbeError, ProbePlan
from drr.dynamo.probe_results import (
    ClassResult,
    class_results,
    in_completion_order,
    prefix_counts,
    reasons,
    result_line,
    results_csv,
    results_jsonl,
)
from drr.ui import job_slot, real_state
from drr.ui.job_bar import show_bar
from drr.ui.look import plain, theme
from drr.ui.probe_job import ProbeJob, probe_board
from drr.ui.real_task import Prediction, PredictTask

SLOT = "probe:prediction"
LIVE_SECONDS = 0.5
_TTFT = "TTFT p50 / p95 / p99, ms"
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
    st.markdown(plain(line))
    # No Markdown in the label: it is what a screen reader says, and the host has no characters that mean anything.
    agreed = st.checkbox(f"I agree: send this to {plan.target.name}", key=f"probe:agreed:{line}", wrap=True)
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
    job_slot.show_state(SLOT, answer, lambda job: "predicting", trouble="no prediction: ")
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
    _show_prediction(plan, prediction)


def _show_prediction(plan: ProbePlan, prediction: Prediction | None) -> None:
    if prediction is not None:
        st.markdown(f"**Prediction:** of the first {_first(plan):,} completions {plain(_counts(plan, prediction))}.")
        _show_chart(plan, [], prediction, key="probe:forecast")


def _counts(plan: ProbePlan, prediction: Prediction) -> str:
    counts = prefix_counts(plan, prediction.order, _first(plan))
    return listing([f"{count:,} {name}" for name, count in zip(plan.class_names, counts, strict=True)])


@st.fragment(run_every=LIVE_SECONDS)
def _live(job: ProbeJob, prediction: Prediction | None) -> None:
    if job.is_over:
        st.rerun()
    over, total = len(job.rows), job.plan.count
    elapsed = time.monotonic() - job.started_s
    words = "stopping" if job.is_stopped else f"{over:,} of {total:,} answers, {elapsed:,.0f} s"
    show_bar(over, total, words, key="probe:stop", cancel=job.stop, word="Stop")
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
        _show_prediction(job.plan, prediction)
        return
    plan, rows, first = job.plan, sorted(job.rows, key=lambda row: row.row), _first(job.plan)
    results = class_results(plan, rows, first)
    st.subheader(plain(result_line(plan, results, first)), anchor=False)
    said = [f"Sent: {plan.load_text()}.", *(f"{remark}." for remark in job.remarks)]
    if prediction is not None:
        said.append(f"Predicted with the Lab's policy and workers: {_counts(plan, prediction)}.")
    st.caption(plain(" ".join(said)))
    _show_chart(plan, _order(job), prediction, key="probe:result")
    _show_table(results, prediction, first)
    for text, count in reasons(rows):
        st.caption(f"{count:,} × {plain(text)}")
    with st.container(horizontal=True, gap="small"):
        _offer("Results as CSV", results_csv(rows), "probe.csv", "text/csv")
        _offer("Results as JSONL", results_jsonl(plan, rows), "probe.jsonl", "application/jsonl")


def _show_table(results: list[ClassResult], prediction: Prediction | None, first: int) -> None:
    """Figures per class; what happened to no request has no column."""
    columns: dict[str, list[object]] = {"class": [r.name for r in results], "sent": [r.planned for r in results]}
    for what in ("done", "refused", "failed", "unfinished"):
        counts = [getattr(r, what) for r in results]
        if what == "done" or any(counts):
            columns[what] = counts
    columns[f"of first {first:,}"] = [r.in_first for r in results]
    columns["left"] = [r.left_when_first_ended for r in results]
    columns[_TTFT] = [_spread_text(r.ttft) for r in results]
    if prediction is not None:
        columns["predicted"] = [_spread_text(spread) for spread in prediction.ttft]
    number = st.column_config.NumberColumn(format="localized")
    config: dict[str, Any] = dict.fromkeys([name for name in columns if name != "class"], number)
    config["left"] = st.column_config.NumberColumn(
        format="localized", help="Completed only after the first class was through."
    )
    config |= dict.fromkeys((_TTFT, "predicted"), st.column_config.TextColumn(alignment="right"))
    st.dataframe(pd.DataFrame(columns), hide_index=True, column_config=config)


def _spread_text(spread: Spread) -> str:
    if spread.p50 is None or spread.p95 is None or spread.p99 is None:
        return "–"
    return f"{spread.p50:,.0f} / {spread.p95:,.0f} / {spread.p99:,.0f}"


def _offer(label: str, text: str, name: str, mime: str) -> None:
    st.download_button(label, text, name, mime, key=f"probe:file:{name}", on_click="ignore")
