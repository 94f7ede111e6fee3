"""Every step of a run in one to three plain sentences, made from the record, with all arithmetic.

Texts are plain: names from outside (requests, headers) are put on one line and shortened, but not escaped for HTML or
Markdown; whoever shows them does that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from drr.analysis.explain_arrivals import arrival_text
from drr.analysis.explain_calls import VisitLine, dispatch_text, empty_call_text, visit_lines, visit_text
from drr.analysis.explain_rivals import (
    is_rival,
    rival_dispatch_text,
    rival_empty_text,
    rival_visit_lines,
    rival_visit_text,
)
from drr.analysis.explain_waiting import Scene, scene_at
from drr.analysis.explain_words import label, number
from drr.analysis.explain_workers import change_headline, change_text, completion_headline, signal_text
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind

__all__ = ["Explanation", "VisitLine", "decision_number", "explain", "explain_visit"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A step in words: ``headline`` is short and meant to stand out, ``text`` one to three sentences after it.

    ``details`` has one line per class visit of an arbitration call, in order; it is empty for other steps.
    """

    headline: str
    text: str
    details: tuple[VisitLine, ...] = ()

    def __str__(self) -> str:
        """Headline and text in one line."""
        return f"{self.headline} {self.text}"


def explain(run: Run, step: int) -> Explanation:
    """Explain what happened at a step (0 is the first record, -1 the state before it).

    Raises :class:`IndexError` where the run has no such step and :class:`ValueError` for a run without recording.
    """
    if step == -1:
        first = run.class_names[run.state_at(-1).cursor]
        return Explanation(
            "Before the first step.", f"Nothing has arrived; every deficit is 0 and the cursor stands on {first}."
        )
    if not 0 <= step < run.n_steps:
        raise IndexError(f"step {step} of a run with {run.n_steps} steps")
    scene = scene_at(run, step)
    lines = rival_visit_lines(scene) if is_rival(scene) else visit_lines(scene)
    return Explanation(_headline(scene), _text(scene), lines)


def explain_visit(run: Run, step: int, visit_index: int) -> str:
    """One sentence about one class visit of an arbitration call: the sub-step of "by rule".

    Raises :class:`IndexError` where the step has no such visit.
    """
    scene = scene_at(run, step)
    visits = len(scene.after.visits)
    if not 0 <= visit_index < visits:
        raise IndexError(f"visit {visit_index} of a step with {visits} visits")
    return rival_visit_text(scene, visit_index) if is_rival(scene) else visit_text(scene, visit_index)


def decision_number(run: Run, step: int) -> int:
    """The running number of a decision among the decisions of its run, from 1; for other steps that of the last one."""
    return bisect_right(run.decision_steps, step)


def _headline(scene: Scene) -> str:
    state = scene.after
    request = label(scene.run, state.request) if state.request >= 0 else ""
    class_name = scene.name(state.class_index) if state.class_index >= 0 else ""
    match state.kind:
        case StepKind.DECISION:
            return f"Decision {number(decision_number(scene.run, state.step))}: {class_name} goes."
        case StepKind.EMPTY_CALL:
            return "Call: nothing goes."
        case StepKind.HEAD_ERROR:
            return f"Call: the head of {class_name} ends in an error."
        case StepKind.BYPASSED:
            return f"Arrival: {request} ({class_name}) goes at once."
        case StepKind.QUEUED:
            return f"Arrival: {request} joins {class_name}."
        case StepKind.REFUSED:
            return f"Arrival: {request} is refused, {class_name} is full."
        case StepKind.ERROR:
            return f"Arrival: {request} ({class_name}) ends in an error."
        case StepKind.FIRST_TOKEN:
            return f"First token of {request} ({class_name}) on {scene.endpoint(state.endpoint)}."
        case StepKind.COMPLETION:
            return completion_headline(scene)
        case StepKind.WORKER_CHANGE:
            return change_headline(scene)


def _text(scene: Scene) -> str:
    kind = scene.after.kind
    if kind == StepKind.EMPTY_CALL:
        return rival_empty_text(scene) if is_rival(scene) else empty_call_text(scene)
    if kind in CALL_KINDS:
        return rival_dispatch_text(scene) if is_rival(scene) else dispatch_text(scene)
    if kind in (StepKind.FIRST_TOKEN, StepKind.COMPLETION):
        return signal_text(scene)
    if kind == StepKind.WORKER_CHANGE:
        return change_text(scene)
    return arrival_text(scene)
