"""Calls of the rival arbiters in words: each by its own rule, not by that of the ring."""

from __future__ import annotations

from drr.analysis.explain_calls import (
    VisitLine,
    charge_text,
    destination_text,
    empty_call_text,
    held_text,
    visit_text,
    waits_text,
)
from drr.analysis.explain_waiting import Scene, blocked_clauses
from drr.analysis.explain_words import ceil_rounds, folded, label, number, verb
from drr.analysis.words import counted
from drr.scheduler.calls import WINNING_RULES, Visit, VisitRule

_SHORT = frozenset({VisitRule.GRANT_SHORT, VisitRule.KEPT_SHORT})
_WITHOUT_DEFICITS = frozenset({"round_robin", "strict", "fcfs"})

CHOSEN_BECAUSE = {
    "round_robin": "next in turn",
    "strict": "first in file order",
    "fcfs": "enqueued first",
}
"""Why an arbiter without deficits chose its winner, in the fewest words."""


def is_rival(scene: Scene) -> bool:
    """Whether another arbiter than the router's own made the call."""
    return scene.run.inputs.arbiter != "drr"


def rival_visit_lines(scene: Scene) -> tuple[VisitLine, ...]:
    """One line per visit of a rival's call, in order."""
    return tuple(
        VisitLine(position, visit.class_index, visit.rule, rival_visit_text(scene, position))
        for position, visit in enumerate(scene.after.visits)
    )


def rival_visit_text(scene: Scene, position: int) -> str:
    """One sentence about one visit of a rival's call."""
    visit = scene.after.visits[position]
    name = scene.name(visit.class_index)
    arbiter = scene.run.inputs.arbiter
    if visit.rule == VisitRule.CHOSEN:
        return f"{name}: {_chosen_because(scene, visit)}, so it goes and pays {number(visit.charged_tokens)}."
    if visit.rule == VisitRule.PASSED:
        return f"{name}: its head {label(scene.run, visit.head)} was enqueued after the one that goes."
    if visit.rule == VisitRule.KEPT_SHORT:
        kept, cost = number(visit.deficit_before), number(visit.head_cost_tokens)
        return f"{name}: its turn went on with {kept} tokens kept, short of its head's {cost}; its turn ends."
    if arbiter in _WITHOUT_DEFICITS:
        if visit.rule == VisitRule.EMPTY:
            return f"{name}: nothing waits here."
        return f"{name}: blocked; it {waits_text(scene, visit)}."
    if arbiter == "classic_drr" and visit.rule == VisitRule.BULK_SHORT:
        return _skipped_visit(scene, visit)
    if arbiter == "classic_drr" and visit.rule == VisitRule.GRANT_SHORT:
        held, cost = held_text(scene, visit), number(visit.head_cost_tokens)
        return f"{name}: {held}, short of its head's {cost}; it goes to the back of the list."
    return visit_text(scene, position)


def _skipped_visit(scene: Scene, visit: Visit) -> str:
    quantum = scene.run.profile.classes[visit.class_index].quantum
    needs, own = ceil_rounds(visit.head_cost_tokens, visit.deficit_before, quantum)
    skipped = scene.after.bulk_rounds
    many = f"{counted(skipped, 'round')} in which nobody can pay {verb(skipped, 'is', 'are')} granted at once"
    name = scene.name(visit.class_index)
    held = held_text(scene, visit)
    return f"{name}: needs {needs} {verb(own, 'round', 'rounds')}; {many}: {held}."


def _chosen_because(scene: Scene, winner: Visit) -> str:
    arbiter = scene.run.inputs.arbiter
    if arbiter == "fcfs":
        heads = sum(visit.head >= 0 for visit in scene.after.visits)
        request = label(scene.run, winner.head)
        return (
            f"of the {counted(heads, 'head')} that may go, {request} was enqueued first"
            if heads > 1
            else (f"{request} is the only head that may go")
        )
    if arbiter == "strict":
        return "it is the first class in file order with a request that may go"
    return "it is the next class in turn with a request that may go"


def rival_dispatch_text(scene: Scene) -> str:
    """A rival's call that let a request go: who was passed over, what the winner paid and why it won, what follows."""
    visits = scene.after.visits
    winner = next(visit for visit in visits if visit.rule in WINNING_RULES)
    name = scene.name(winner.class_index)
    sentences = [f"{clause}." for clause in _passed_over(scene, winner)]
    if winner.rule == VisitRule.CHOSEN:
        tokens = counted(winner.charged_tokens, "token")
        sentences.append(f"{name} goes: {_chosen_because(scene, winner)}; its cost of {tokens} plays no part.")
    else:
        start = f"{_rounds_start(scene)}{name} had "
        ends = _turn_text(scene, winner)
        sentences.append(f"{start}{held_text(scene, winner)}; {charge_text(scene, winner)}, and {ends}.")
    return " ".join([*sentences, destination_text(scene)])


def _passed_over(scene: Scene, winner: Visit) -> list[str]:
    """One sentence about the classes that were looked at and did not win; none where there are none."""
    groups: dict[str, list[str]] = {}
    for visit in scene.after.visits:
        if visit is winner or visit.rule == VisitRule.PASSED or visit.class_index == winner.class_index:
            continue
        kind = "empty" if visit.rule == VisitRule.EMPTY else "blocked" if visit.rule == VisitRule.BLOCKED else "short"
        if visit.rule in _SHORT or kind != "short":
            names = groups.setdefault(kind, [])
            if scene.name(visit.class_index) not in names:
                names.append(scene.name(visit.class_index))
    words = {"short": "short of the cost of {} head", "blocked": "blocked", "empty": "empty"}
    clauses = []
    for kind, names in groups.items():
        what = words[kind].format(verb(len(names), "its", "their"))
        clauses.append(f"{folded(names)} {verb(len(names), 'is', 'are')} {what}")
    return ["; ".join(clauses)] if clauses else []


def _rounds_start(scene: Scene) -> str:
    rounds = scene.after.bulk_rounds
    if not rounds:
        return ""
    if scene.run.inputs.arbiter == "classic_drr":
        many = f"{counted(rounds, 'more round')} in which nobody can pay {verb(rounds, 'was', 'were')}"
        return f"{many} granted at once, then "
    return f"Everybody was granted {counted(rounds, 'more round')}, then "


def _turn_text(scene: Scene, winner: Visit) -> str:
    """What becomes of the winner's turn."""
    state = scene.after
    mine = state.classes[winner.class_index]
    if scene.run.inputs.arbiter == "quantum_per_request":
        if state.cursor == winner.class_index and mine.waiting_requests:
            return "since that pays for its next head it stays in turn and is granted a quantum again"
        return f"the turn passes to {scene.name(state.cursor)}"
    if not mine.waiting_requests:
        return "it leaves the list of active classes"
    cost = number(scene.run.cost_tokens[mine.head])
    if scene.run.cost_tokens[mine.head] <= mine.deficit_tokens:
        return f"its next head costs {cost}, affordable already, so its turn goes on"
    return f"its next head costs {cost}, so its turn ends and it goes to the back of the list"


def rival_empty_text(scene: Scene) -> str:
    """A rival's call that let nothing go."""
    stopped = [visit.class_index for visit in scene.after.visits if visit.rule == VisitRule.BLOCKED]
    if scene.run.inputs.arbiter not in _WITHOUT_DEFICITS:
        return empty_call_text(scene)
    if not stopped:
        return "Nothing waits in any class."
    return f"{'; '.join(blocked_clauses(scene, stopped, when='before'))}."
