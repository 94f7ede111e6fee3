"""Goals in, quanta out: the form, the search in a worker process, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pandas as pd
import streamlit as st

from drr.analysis.solver import Predicted, Solution
from drr.analysis.solver_goals import Goal, read_goals
from drr.analysis.solver_words import verdict
from drr.errors import DrrError
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.ui import runs, tune_point, tune_work
from drr.ui.job_bar import show_bar, waiting_text
from drr.ui.jobs import Job
from drr.ui.limits import REQUESTS_PER_RUN
from drr.ui.look import RULE_NAMES, plain
from drr.ui.tune_tasks import SolveTask
from drr.workload.experiment import Experiment

VIEW = "goals"
_LINES, _ADD, _SEARCH, _FOUND = "tune:goal_lines", "tune:goal_add", "tune:goals:search", "tune:goals:found"
_BEGUN = "tune:goals:begun"
_RULES = {"both": "both rules", **RULE_NAMES}


@dataclass(slots=True)
class _Search:
    """What was asked for, and the job that looks for it."""

    base: Experiment
    job: Job


@dataclass(frozen=True, slots=True)
class _Found:
    """A solution and the experiment it is for."""

    base: Experiment
    solution: Solution


def show(base: Experiment) -> bool:
    """The whole view; True when the quanta were sent to the Lab."""
    names = [each.name for each in base.profile().classes]
    state = st.session_state
    if not state.get(_BEGUN) and len(names) > 1:
        state[_BEGUN] = True
        state[_LINES] = f"{names[0]} share = 75 %\n{names[1]} wait p95 <= 8 s\nevery class without service <= 5 s"
    left, right = st.container(key="sides").columns([4, 9], gap="large")
    with left:
        st.text_area("Goals, one per line", key=_LINES, height=150)
        _forms(names)
        rule = st.segmented_control(
            "They count under", list(_RULES), key="tune:goal_rule", format_func=_RULES.__getitem__, required=True
        )
        st.selectbox("Seeds per candidate", (3, 5, 10, 20), key="tune:goal_seeds")
        goals, problem = _goals(names)
        if st.button("Find quanta", type="primary", width="stretch", disabled=not goals):
            _start(base, goals, CURSOR_RULES if rule in (None, "both") else (cast("CursorRule", rule),))
        if problem:
            st.error("  \n".join(plain(line) for line in problem.splitlines()))
    with right:
        return _result(base)


def _forms(names: list[str]) -> None:
    """Goals to begin with: a choice adds a line."""
    first, last = names[0], names[-1]
    forms = [
        f"{first} share = 75 %",
        f"{first} : {last} = 10 : 1",
        f"{last} wait p95 <= 2 s",
        f"{first} ttft p95 <= 1 s",
        "every class without service <= 5 s",
        f"{last} refused <= 0",
        f"{first} share max",
    ]
    st.selectbox("Add a goal", forms, index=None, key=_ADD, on_change=_add, placeholder="choose a form, then edit it")


def _add() -> None:
    state = st.session_state
    if state[_ADD]:
        state[_LINES] = f"{state[_LINES].rstrip()}\n{state[_ADD]}".lstrip()
        state[_ADD] = None


def _goals(names: list[str]) -> tuple[tuple[Goal, ...], str]:
    try:
        return read_goals(st.session_state[_LINES].splitlines(), names), ""
    except DrrError as error:
        return (), str(error)


def _start(base: Experiment, goals: tuple[Goal, ...], rules: tuple[CursorRule, ...]) -> None:
    task = SolveTask(base, goals, rules, st.session_state["tune:goal_seeds"], REQUESTS_PER_RUN.value)
    job = runs.run_store().pool.submit(runs.owner_of(tune_work.OWNER), task)
    st.session_state[_SEARCH] = _Search(base, job)
    st.session_state[_FOUND] = None


def _result(base: Experiment) -> bool:
    state = st.session_state
    search: _Search | None = state.get(_SEARCH)
    if search is not None:
        if not search.job.wait(runs.WAIT_SECONDS):
            _progress(search.job)
            return False
        state[_SEARCH] = None
        if search.job.state == "done":
            state[_FOUND] = _Found(search.base, cast("Solution", search.job.result))
        elif search.job.state == "failed":
            st.error(plain(f"Nothing was found: {search.job.error}"))
        else:
            st.warning("The search was cancelled.")
    found: _Found | None = state.get(_FOUND)
    if found is None:
        st.info(
            "Say what every class should get, and the engine is run with one set of quanta after the other until all "
            "goals are kept. You get small quanta, what to expect of them, and which goal stands in the way of more."
        )
        return False
    if found.base.key != base.key:
        st.caption("This was found for an earlier experiment in the Lab.")
    return _show_solution(found)


def _show_solution(found: _Found) -> bool:
    solution = found.solution
    if solution.is_met:
        st.success(plain(verdict(solution)))
    else:
        st.warning(plain(verdict(solution)))
    st.dataframe(goal_table(solution.predicted), hide_index=True)
    for note in solution.notes:
        st.markdown(plain(note))
    st.caption(f"It took {solution.runs:,} runs of the engine.")
    return tune_point.show_way_to_lab(VIEW, found.base, solution.experiment)


def goal_table(predicted: tuple[Predicted, ...]) -> pd.DataFrame:
    """What to expect of every goal, a line per rule."""
    lines = []
    for each in predicted:
        span = "always" if each.low == each.high else f"{each.goal.shown(each.low)} to {each.goal.shown(each.high)}"
        lines.append(
            {
                "goal": each.goal.text(),
                "rule": each.cursor_rule,
                "expected": each.goal.shown(each.mean),
                "one run, 95 %": "–" if each.low is None else span,
                "kept": ("✓ " if each.is_met else "✕ ") + (f"in {each.kept} of {each.seeds}" if each.seeds > 1 else ""),
            }
        )
    return pd.DataFrame(lines)


def _progress(job: Job) -> None:
    @st.fragment(run_every=tune_work.POLL_SECONDS)
    def progress() -> None:
        if job.is_over:
            st.rerun()
        ahead = runs.run_store().ahead_of(job)
        text = waiting_text(ahead) if ahead else f"{job.over:,} sets of quanta tried, {job.total:,} at most"
        cancel, owner = runs.run_store().cancel, runs.owner_of(tune_work.OWNER)
        show_bar(job.over, job.total, text, key="tune:goals:cancel", cancel=cancel, args=(owner,))

    progress()
