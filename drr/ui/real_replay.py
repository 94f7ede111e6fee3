"""The Lab's experiment on the real router's offline replay: verdict, overlay, differences row by row, hand-over."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pandas as pd
import streamlit as st

from drr.analysis.words import counted
from drr.charts.real import service_figure
from drr.dynamo.case import ReplayCase
from drr.dynamo.handover import (
    COMMANDS_FILE,
    POLICY_FILE,
    SCRIPT_FILE,
    TRACE_FILE,
    commands_text,
    handover_zip,
    replay_script,
)
from drr.dynamo.process import CHECKED_VERSION, WHEEL, router_unavailable_because, router_version
from drr.dynamo.side_by_side import (
    RULES,
    SideBySide,
    case_of,
    difference_columns,
    differences_csv,
    not_replayable,
)
from drr.errors import DrrError
from drr.policy import read_policy
from drr.scheduler.ring import CursorRule
from drr.ui import job_slot, real_state
from drr.ui.jobs import Job
from drr.ui.limits import REAL_REQUESTS, SECONDS_PER_RUN
from drr.ui.look import RULE_NAMES, plain, theme
from drr.ui.real_task import RealTask
from drr.workload.experiment import Experiment, SpecWorkload
from drr.workload.scenarios import SCENARIOS

SLOT = "real:replay"
ROWS_SHOWN = 500
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def show() -> None:
    """Draw the tab."""
    experiment = real_state.lab_experiment()
    if experiment is None:
        st.warning("What the Lab holds is not valid. Put it right there, then come back.")
        return
    st.markdown(f"**From the Lab:** {plain(_facts(experiment))}")
    reasons = not_replayable(experiment)
    if reasons:
        st.info(
            "The real router's offline replay cannot run this experiment:\n"
            + "".join(f"\n- {plain(reason)}" for reason in reasons)
            + "\n\nGenerated workloads and traces on equal workers can be compared; choose one in the Lab."
        )
        return
    _note_sections(experiment)
    with st.container():
        if _show_router():
            _show_comparison(experiment)
    st.subheader("Take it to the real thing", anchor=False)
    _show_handover(experiment)


def _facts(experiment: Experiment) -> str:
    titles = [each.title for each in SCENARIOS if each.experiment == experiment]
    workload = experiment.workload
    what = "generated requests" if isinstance(workload, SpecWorkload) else getattr(workload, "name", "typed queues")
    engine = experiment.engine
    return " · ".join(
        [
            titles[0] if titles else what,
            counted(experiment.workers, "worker"),
            f"{counted(engine.max_num_seqs, 'sequence')} at a time",
            f"prefix caching {'on' if engine.enable_prefix_caching else 'off'}",
        ]
    )


def _note_sections(experiment: Experiment) -> None:
    reading = read_policy(experiment.policy_text) if experiment.policy_text.strip() else None
    if reading is not None and reading.document is not None and reading.document.sections:
        names = plain(", ".join(reading.document.sections))
        st.caption(f"The real router also follows {names} of the policy file, which is not simulated here.")


def _show_router() -> bool:
    """Say which router there is; False where there is none to ask."""
    missing = router_unavailable_because()
    if missing is None:
        version = router_version() or "?"
        note = "" if version == CHECKED_VERSION else f" Ringside was checked with {CHECKED_VERSION}."
        st.caption(f"Real router: {WHEEL} {plain(version)}, in a process of its own.{plain(note)}")
        return True
    with st.container(border=True):
        st.markdown("**The real router is not here.** The hand-over below works without it; so does the probe.")
        st.caption(plain(missing[:1].upper() + missing[1:]))
        st.code(f"pip install {WHEEL}=={CHECKED_VERSION}", language="bash")
    return False


def _ask(experiment: Experiment) -> None:
    st.session_state["real:asked"] = experiment


def _show_comparison(experiment: Experiment) -> None:
    state = st.session_state
    is_asked = state["real:asked"] == experiment
    if not is_asked:
        again = state["real:asked"] is not None
        st.button("Run on the real router", type="primary", on_click=_ask, args=(experiment,), key="real:run")
        if again:
            st.caption("The Lab has changed since the last comparison.")
        return
    task = RealTask(experiment, REAL_REQUESTS.value, SECONDS_PER_RUN.value)
    answer = job_slot.ask(SLOT, task, SideBySide)
    job_slot.show_state(SLOT, answer, _progress_text)
    if answer.result is not None:
        _show_result(answer.result)


def _progress_text(job: Job) -> str:
    if not job.total or not job.over:
        return "the real router is at work"
    return f"ours under both cursor rules: {min(job.over, len(RULES))} of {len(RULES)}"


def _show_result(found: SideBySide) -> None:
    st.subheader(plain(found.verdict()), anchor=False)
    st.markdown(plain(found.counts_text()))
    if found.real.observed is None:
        st.caption(
            "The real replay ends at the first request that meets a full class. In the Lab such a request is refused "
            "and the run goes on. Lift the queue limit to compare whole runs."
        )
        return
    queued = sum(row.outcome == "queued" for row in found.real.observed)
    ties = " Where workers cost the same, ours takes the one the real router drew." if found.case.workers > 1 else ""
    st.caption(
        f"{queued:,} of {len(found.case.rows):,} requests went through the ring. Compared per row: sent at once or by "
        f"the ring, when, to which worker, when admitted, first and last token; times to the last bit.{plain(ties)}"
    )
    figure = service_figure(found, theme=theme())
    if figure is not None:
        st.markdown("**Share of service so far**")
        alt = "Share of the tokens released so far by class over time: the real router and ours under both rules"
        st.plotly_chart(figure, key="real:service", theme=None, config={"displayModeBar": False}, alt=alt)
    _show_differences(found)


def _show_differences(found: SideBySide) -> None:
    apart = [answer.rule for answer in found.answers if answer.differing]
    if not apart:
        return
    state = st.session_state
    if state["real:rule"] not in RULES:
        state["real:rule"] = apart[0]
    state["real:rule"] = state["real:rule"]
    st.markdown("**Rows that differ from the real router**")
    st.segmented_control(
        "Ours under",
        RULES,
        key="real:rule",
        format_func=RULE_NAMES.__getitem__,
        required=True,
        label_visibility="collapsed",
    )
    rule: CursorRule = state["real:rule"]
    answer = found.answer(rule)
    if not answer.differing:
        st.success(f"No row differs under {rule}: all {answer.rows:,} are identical.")
        return
    _show_rows(found, rule)
    more = f"The first {ROWS_SHOWN:,} of {len(answer.differing):,}, " if len(answer.differing) > ROWS_SHOWN else "In "
    st.caption(f"{more}{'in ' if more != 'In ' else ''}the order of time. Later ones may follow from the first.")
    st.download_button(
        f"All {len(answer.differing):,} as CSV",
        lambda: differences_csv(found, rule),
        f"differences-{rule}.csv",
        "text/csv",
        key="real:differences",
        on_click="ignore",
    )


def _show_rows(found: SideBySide, rule: CursorRule) -> None:
    columns = difference_columns(found, rule, ROWS_SHOWN)
    # What is the same on both sides in every row is left out, to have room for what is not.
    for name in [name.removesuffix("_real") for name in columns if name.endswith("_real")]:
        if columns[f"{name}_real"] == columns[f"{name}_ours"]:
            del columns[f"{name}_real"], columns[f"{name}_ours"]
    frame = pd.DataFrame({_label(name): values for name, values in columns.items()})
    time = st.column_config.NumberColumn(format="%.3f")
    number = st.column_config.NumberColumn(format="localized")
    formats = {_label(name): time for name in columns if "_ms_" in name} | {"row": number, "cost, tokens": number}
    st.dataframe(frame, hide_index=True, column_config=formats, height=320)


def _label(name: str) -> str:
    """The title of a column of the differences: ``released_at_ms_real`` is "released, ms, real"."""
    for ending, words in (("_at_ms", ", ms"), ("_ms", ", ms"), ("_tokens", ", tokens"), ("_real", ", real")):
        name = name.replace(ending, words)
    return name.replace("_ours", ", ours").replace("_", " ")


# --- hand-over -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _case(experiment: Experiment) -> ReplayCase:
    return case_of(experiment, max_requests=REAL_REQUESTS.value)


def _show_handover(experiment: Experiment) -> None:
    st.caption("The policy, the requests and the command lines, to run them on the real router anywhere.")
    files: dict[str, tuple[str, Callable[[], str | bytes]]] = {
        "ringside-hand-over.zip": ("application/zip", lambda: handover_zip(_case(experiment))),
        POLICY_FILE: ("application/yaml", lambda: experiment.policy_text),
        TRACE_FILE: ("application/jsonl", lambda: _case(experiment).trace_text()),
        SCRIPT_FILE: ("text/x-python", lambda: replay_script(_case(experiment))),
        COMMANDS_FILE: ("text/markdown", lambda: commands_text(_case(experiment))),
    }
    if not experiment.policy_text.strip():
        del files[POLICY_FILE]
    with st.container(horizontal=True, gap="small"):
        for name, (mime, content) in files.items():
            label = "All as one zip" if name.endswith(".zip") else name
            st.download_button(label, content, name, mime, key=f"real:file:{name}", on_click="ignore")
    commands = st.expander("Command lines", key="real:commands", on_change="rerun")
    if commands.open:
        with commands:
            _show_commands(experiment)


def _show_commands(experiment: Experiment) -> None:
    try:
        text = commands_text(_case(experiment))
    except (DrrError, OSError) as error:
        st.error(plain(f"{error}."))
    else:
        st.markdown(_HEADING.sub(r"**\1**", text.partition("\n\n")[2]))
