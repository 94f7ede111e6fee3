"""What the engine answers to the question of a lesson, and what there is to choose from."""

from __future__ import annotations

from dataclasses import dataclass

from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS
from drr.workload.lessons import Question

NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Answer:
    """The right answer to a question: the ``step`` it is about, the answer as text, and the choices in order.

    ``choices`` is empty where a number of tokens is asked for.
    """

    step: int
    right: str
    choices: tuple[str, ...]

    def is_right(self, given: str) -> bool:
        """Whether an answer is right; figures may be written with separators and spaces."""
        return _bare(given) == _bare(self.right)


def _bare(text: str) -> str:
    return text.replace(",", "").replace(" ", "").casefold()


def answer_of(run: Run, question: Question) -> Answer:
    """Take the answer from a run; raises :class:`ValueError` where the run has no such call or class."""
    calls = [step for step, kind in enumerate(run.kinds) if kind in CALL_KINDS]
    if not 1 <= question.call <= len(calls):
        raise ValueError(f"call {question.call} of a run with {len(calls)} calls")
    step = calls[question.call - 1]
    before, after = run.state_at(step - 1), run.state_at(step)
    if question.kind == "deficit":
        index = run.class_names.index(question.policy_class)
        return Answer(step, f"{after.classes[index].deficit_tokens:,}", ())
    if question.kind == "class":
        right = run.class_names[after.winner] if after.winner >= 0 else NOBODY
        return Answer(step, right, (*run.class_names, NOBODY))
    right = run.requests.label(after.request) if after.request >= 0 else NOBODY
    waiting = sorted(row for lane in before.lanes for row in lane.waiting)
    return Answer(step, right, (*map(run.requests.label, waiting), NOBODY))
