"""Arbitration calls in words: who was visited, what was granted and charged, where the cursor went and why."""

from __future__ import annotations

from dataclasses import dataclass

from drr.analysis.explain_waiting import Scene, blocked_classes, blocked_clauses
from drr.analysis.explain_words import TIMES, ceil_rounds, first_up, folded, label, number, verb
from drr.analysis.words import counted, listing
from drr.scheduler.calls import BULK_RULES, CARRY_RULES, WINNING_RULES, Visit, VisitRule
from drr.simulation.state import StepKind

_NAMED = 2
"""So many classes of a kind are named, the rest is counted."""


@dataclass(frozen=True, slots=True)
class VisitLine:
    """One class visit of an arbitration call, in one sentence."""

    visit_index: int
    class_index: int
    rule: VisitRule
    text: str


# --- one visit -----------------------------------------------------------------------------------------------


def visit_text(scene: Scene, position: int) -> str:
    """One sentence about one visit of the step's call."""
    visit = scene.after.visits[position]
    name = scene.name(visit.class_index)
    kept, cost = number(visit.deficit_before), number(visit.head_cost_tokens)
    held = held_text(scene, visit)
    rule = visit.rule
    if rule == VisitRule.EMPTY:
        return f"{name}: nothing waits here, so its deficit is 0."
    if rule == VisitRule.BLOCKED:
        return f"{name}: blocked, so it keeps its {kept} tokens and is granted nothing; it {waits_text(scene, visit)}."
    if rule == VisitRule.CARRY_BLOCKED:
        return f"{name}: carried, so it is looked at first, but it {waits_text(scene, visit)}; the carry is forgotten."
    if rule == VisitRule.CARRY_SHORT:
        return (
            f"{name}: carried, so it is looked at first, but its head costs {cost} tokens, more than the {kept} kept; "
            "the carry is forgotten."
        )
    if rule == VisitRule.GRANT_SHORT:
        return f"{name}: {held}, short of its head's {cost}; the scan goes on."
    if rule in BULK_RULES:
        return _bulk_text(scene, visit, held, cost)
    first = "carried, so it is looked at first: " if rule == VisitRule.CARRY_PAYS else ""
    return f"{name}: {first}{held}, enough for its head's {cost}; {charge_text(scene, visit)}."


def _bulk_text(scene: Scene, visit: Visit, held: str, cost: str) -> str:
    name = scene.name(visit.class_index)
    needs, own = ceil_rounds(visit.head_cost_tokens, visit.deficit_before, _quantum(scene, visit.class_index))
    least = scene.after.bulk_rounds
    fewest = "the fewest, so it gets them" if own == least else f"and gets the fewest anybody needs, {number(least)}"
    start = f"{name}: needs {needs} {verb(own, 'round', 'rounds')}, {fewest}: {held}"
    if visit.rule == VisitRule.BULK_PAYS:
        return f"{start}, enough for its head's {cost}; {charge_text(scene, visit)}."
    if visit.rule == VisitRule.BULK_SHORT:
        return f"{start}, still short of its head's {cost}."
    return f"{start}, which it keeps, since it stands behind the winner."


def _quantum(scene: Scene, class_index: int) -> int:
    return scene.run.profile.classes[class_index].quantum


def held_text(scene: Scene, visit: Visit) -> str:
    """What a class has once it was granted what it was granted: ``0 kept + 512 granted = 512 tokens``."""
    kept = visit.deficit_before
    total = number(kept + visit.granted_tokens)
    if visit.rule in BULK_RULES:
        grant = f"{number(scene.after.bulk_rounds)} {TIMES} {number(_quantum(scene, visit.class_index))}"
        return f"{number(kept)} + {grant} = {total} tokens"
    if visit.granted_tokens:
        return f"{number(kept)} kept + {number(visit.granted_tokens)} granted = {total} tokens"
    return f"{number(kept)} tokens kept"


def charge_text(scene: Scene, visit: Visit) -> str:
    """What the winner pays and what is left."""
    paid = f"it pays {number(visit.charged_tokens)}"
    rest = visit.deficit_before + visit.granted_tokens - visit.charged_tokens
    if scene.after.classes[visit.class_index].waiting_requests:
        return f"{paid} and has {number(rest)} left"
    dropped = f"the {number(rest)} left are dropped and its deficit is 0" if rest else "its deficit is 0"
    return f"{paid}; nothing more waits there, so {dropped}"


def waits_text(scene: Scene, visit: Visit) -> str:
    """``waits for worker 2, which holds ...`` for a class the call found blocked."""
    clause = blocked_clauses(scene, [visit.class_index], when="before")[0]
    return clause.removeprefix(f"{scene.name(visit.class_index)} ")


# --- the whole call ------------------------------------------------------------------------------------------


def visit_lines(scene: Scene) -> tuple[VisitLine, ...]:
    """One line per visit of the step's call, in order; none for other steps."""
    return tuple(
        VisitLine(position, visit.class_index, visit.rule, visit_text(scene, position))
        for position, visit in enumerate(scene.after.visits)
    )


def dispatch_text(scene: Scene) -> str:
    """A call that let a request go: the scan, the payment with the cursor, and what it means for the others."""
    visits = scene.after.visits
    winner = next(visit for visit in visits if visit.rule in WINNING_RULES)
    sentences = []
    if winner.rule == VisitRule.CARRY_PAYS:
        start = f"{scene.name(winner.class_index)} was carried from the last call, so it is looked at first: it had "
    else:
        scan = [visit for visit in visits if visit.rule not in CARRY_RULES | BULK_RULES and visit is not winner]
        forgotten = _forgotten(scene)
        # Where the cursor stood on the winner there is nothing else to tell of the scan.
        cursor = f"the cursor stood on {scene.name(scene.after.cursor_before)}"
        before = f"{forgotten}; {cursor}" if forgotten else f"T{cursor[1:]}"
        if scan:
            sentences.append(f"{before}: {'; '.join(_scan_clauses(scene, scan))}.")
            start = (
                f"{_bulk_start(scene)}{scene.name(winner.class_index)} {'has' if scene.after.bulk_rounds else 'had'} "
            )
        else:
            start = f"{before}: it had "
    sentences.append(f"{start}{held_text(scene, winner)}{_bulk_others(scene, winner)}; {_pays(scene, winner)}.")
    sentences.append(destination_text(scene))
    return " ".join(sentences)


def _pays(scene: Scene, winner: Visit) -> str:
    return f"{charge_text(scene, winner)}, and {_cursor_text(scene, winner)}"


def _forgotten(scene: Scene) -> str:
    """That a carry was forgotten, and why; empty where there was none."""
    visit = scene.after.visits[0] if scene.after.visits else None
    if visit is None or visit.rule not in (VisitRule.CARRY_BLOCKED, VisitRule.CARRY_SHORT):
        return ""
    name = scene.name(visit.class_index)
    if visit.rule == VisitRule.CARRY_BLOCKED:
        why = "is blocked"
    else:
        why = f"kept {number(visit.deficit_before)} of its head's {number(visit.head_cost_tokens)} tokens"
    return f"The carry of {name} is forgotten, since it {why}"


def _scan_clauses(scene: Scene, scan: list[Visit]) -> list[str]:
    """What the first scan found in the classes that did not win; the class under the cursor comes first, as ``it``."""
    cursor = scan[0].class_index
    short = [visit for visit in scan if visit.rule == VisitRule.GRANT_SHORT]
    stopped = [visit for visit in scan if visit.rule == VisitRule.BLOCKED]
    empty = [visit for visit in scan if visit.rule == VisitRule.EMPTY]
    groups = [group for group in (short, stopped, empty) if group]
    groups.sort(key=lambda group: group[0] is not scan[0])
    clauses: list[str] = []
    for group in groups:
        names = ["it" if visit.class_index == cursor else scene.name(visit.class_index) for visit in group]
        are = verb(len(group), "is", "are")
        if group is short:
            clauses += _short_clauses(scene, short, names)
        elif group is empty:
            clauses.append(f"{folded(names)} {are} empty")
        elif len(group) <= _NAMED:
            kept = " and ".join(number(visit.deficit_before) for visit in group)
            clauses.append(
                f"{folded(names)} {are} blocked and {verb(len(group), 'keeps its', 'keep their')} {kept} tokens"
            )
        else:
            clauses.append(f"{folded(names)} are blocked and keep what they have")
    return clauses


def _short_clauses(scene: Scene, short: list[Visit], names: list[str]) -> list[str]:
    """The classes one quantum was not enough for, with the rounds they need where a bulk grant followed."""
    rounds = scene.after.bulk_rounds
    clauses = []
    named = short if len(short) <= _NAMED + 1 else short[:_NAMED]
    for visit, name in zip(named, names, strict=False):
        clause = f"{name} had {held_text(scene, visit)}"
        if rounds:
            needs, own = ceil_rounds(visit.head_cost_tokens, visit.deficit_after, _quantum(scene, visit.class_index))
            clauses.append(f"{clause} and needs {needs} {verb(own, 'round', 'rounds')}")
        else:
            clauses.append(f"{clause}, still short of {number(visit.head_cost_tokens)}")
    left = len(short) - len(named)
    if left and rounds:
        clauses.append(f"{counted(left, 'other class')} {verb(left, 'needs', 'need')} at least {number(rounds)}")
    elif left:
        clauses.append(f"{counted(left, 'other class')} {verb(left, 'is', 'are')} short after one quantum, too")
    return clauses


def _bulk_start(scene: Scene) -> str:
    """How many virtual rounds were granted to whom; empty where one quantum was enough."""
    rounds = scene.after.bulk_rounds
    if not rounds:
        return ""
    candidates = sum(visit.rule in BULK_RULES for visit in scene.after.visits)
    if candidates == 1:
        return f"One quantum is not enough, so {counted(rounds, 'round')} more {verb(rounds, 'is', 'are')} granted: "
    whom = "both get" if candidates == 2 else f"all {candidates:,} get"
    return f"Nobody can pay yet, so {whom} the fewest, {counted(rounds, 'round')}: "


def _bulk_others(scene: Scene, winner: Visit) -> str:
    """What the bulk grant left with the one other candidate, in brackets; several are in the details."""
    others = [v for v in scene.after.visits if v.rule in BULK_RULES and v is not winner]
    if not others:
        return ""
    if len(others) == 1:
        return f" ({scene.name(others[0].class_index)} now has {held_text(scene, others[0])})"
    return f" (the other {len(others):,} keep what they were given)"


def cursor_phrase(winner: int, before: int, after: int, name: str) -> str:
    """What follows ``the cursor``; ``name`` is the class it stands on after the dispatch."""
    if after == winner:
        return f"stays on {name}" if before == winner else f"rests on {name}"
    return f"comes round to {name} again" if after == before else f"moves to {name}"


def _cursor_text(scene: Scene, winner: Visit) -> str:
    """Where the cursor went, and why, under the cursor rule of the run."""
    state = scene.after
    mine = state.classes[winner.class_index]
    name = scene.name(winner.class_index)
    phrase = cursor_phrase(winner.class_index, state.cursor_before, state.cursor, scene.name(state.cursor))
    moves = f"the cursor {phrase}"
    if len(state.classes) == 1 and not _rests(scene, winner):
        moves = f"the cursor comes round to {name} again"
    if not mine.waiting_requests:
        return moves
    if scene.run.cursor_rule == "carry":
        if state.carried == winner.class_index:
            return f"{moves}, but {name} is carried: the next call looks at it first"
        return f"{moves}, as ever under this rule (nothing is left, so {name} is not carried)"
    cost = number(scene.run.cost_tokens[mine.head])
    if not _rests(scene, winner):
        return f"its next head costs {cost}, more than that, so {moves}"
    blocked = " though blocked" if mine.is_blocked else ""
    return f"its next head costs {cost}, affordable already{blocked}, so {moves}"


def _rests(scene: Scene, winner: Visit) -> bool:
    """Whether the documented rule leaves the cursor on the winner: its best head, blocked or not, is affordable."""
    mine = scene.after.classes[winner.class_index]
    if scene.run.cursor_rule == "carry" or not mine.waiting_requests:
        return False
    return scene.run.cost_tokens[mine.head] <= mine.deficit_tokens


def destination_text(scene: Scene) -> str:
    """Where the request went, and who is blocked afterwards."""
    state = scene.after
    text = f"{first_up(label(scene.run, state.request))} "
    blocked = blocked_classes(state)
    if state.kind == StepKind.HEAD_ERROR:
        error = scene.run.reason(state.request)
        text += f"ends in an error, charged like any dispatch: {error}"
    else:
        text += f"goes to {scene.endpoint(state.endpoint)}"
        if not blocked:
            load = counted(state.endpoints[state.endpoint].active_prefill_tokens, "prefill token")
            text += f", which now holds {load}"
    clauses = [*_passed_over(scene), *blocked_clauses(scene, blocked, adverb="now ")]
    return f"{'; '.join([text, *clauses])}."


def _passed_over(scene: Scene) -> list[str]:
    """That a better head of the class stood in a blocked lane; nothing where the best head went."""
    best = scene.before.classes[scene.after.class_index].head
    if best == scene.after.request:
        return []
    return [f"{label(scene.run, best)} would come first, but its lane is blocked"]


def empty_call_text(scene: Scene) -> str:
    """A call that let nothing go: what everybody waits for, what they keep, and that a carry was forgotten."""
    state = scene.after
    cursor = scene.name(state.cursor)
    stopped = [visit for visit in state.visits if visit.rule == VisitRule.BLOCKED]
    if not stopped:
        return f"Nothing waits in any class: every deficit is 0, and the cursor stays on {cursor}."
    sentences = ["; ".join(blocked_clauses(scene, [visit.class_index for visit in stopped], when="before"))]
    if len(stopped) <= _NAMED + 1:
        kept = listing([f"{scene.name(visit.class_index)} keeps {number(visit.deficit_before)}" for visit in stopped])
        sentences.append(f"Nothing is granted: {kept} tokens, and the cursor stays on {cursor}")
    else:
        kept = f"all {len(stopped):,} blocked classes keep what they have"
        sentences.append(f"Nothing is granted: {kept}, and the cursor stays on {cursor}")
    forgotten = _forgotten(scene)
    if forgotten:
        sentences.append(f"{forgotten}; the next call starts at the cursor")
    return " ".join(f"{sentence}." for sentence in sentences)
