"""The words on the stage that change from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drr.analysis.log import KIND_WORDS
from drr.charts.stage_plan import FLOATING, LaneRow, StageLayout
from drr.charts.stage_reading import boxes, busy_classes, held_tokens, rows_shown
from drr.charts.words import BLANK, tokens_text
from drr.scheduler.calls import WINNING_RULES, VisitRule
from drr.simulation.state import EndpointState, LaneState, RunState, StepKind

QUIET, WARN, STRONG = 0, 1, 2
"""Tones of a word; a theme gives them colour and strength."""
Word = tuple[int, str]

_ARRIVAL_WORDS: Mapping[StepKind, tuple[int, str]] = {
    StepKind.BYPASSED: (STRONG, "sent at once"),
    StepKind.QUEUED: (STRONG, "one joins"),
    StepKind.REFUSED: (WARN, "refused"),
    StepKind.ERROR: (WARN, "error"),
}
_SHORT = {"can't pay yet": "can't pay", "not reached": "waits", "sent at once": "sent"}
"""Words for a crowded ring."""


def stage_words(layout: StageLayout, state: RunState, costs: Sequence[int], *, guess: bool = False) -> list[Word]:
    """All words of the stage that change, in the order of the layout's word points (``stage_traces.word_points``)."""
    return [
        *_ring_words(layout, state, guess),
        *(_deficit_word(layout, state, index, held) for index, held in enumerate(held_tokens(state))),
        *_lane_words(layout, state, costs),
        *_worker_words(layout, state),
    ]


def class_word(state: RunState, index: int) -> Word:
    """Tone and word for what the step means to a class."""
    waits = state.classes[index].waiting_requests
    if state.winner == index:
        return STRONG, "goes"
    if state.class_index == index and state.kind in _ARRIVAL_WORDS:
        return _ARRIVAL_WORDS[state.kind]
    if state.classes[index].is_blocked:
        return WARN, "blocked"
    rules = {visit.rule for visit in state.visits if visit.class_index == index}
    if (
        rules & {VisitRule.GRANT_SHORT, VisitRule.BULK_SHORT, VisitRule.CARRY_SHORT}
        and VisitRule.BULK_BEHIND not in rules
    ):
        return QUIET, "can't pay yet"
    if VisitRule.BULK_BEHIND in rules or (state.visits and waits):
        return QUIET, "not reached"
    return QUIET, "waits" if waits else "empty"


def headline(layout: StageLayout, state: RunState, guess: bool) -> str:
    """What and when the step is, in a few words."""
    facts = layout.survey
    time = f"{state.time_ms:,.1f} ms"
    step = f"step {state.step + 1:,} of {facts.n_steps:,}"
    if state.step < 0:
        return f"before the start \u00b7 {facts.n_steps:,} steps"
    what = "who is next?" if guess else KIND_WORDS[state.kind]
    return f"{step} \u00b7 {what} \u00b7 {time}"


def _ring_words(layout: StageLayout, state: RunState, guess: bool) -> list[Word]:
    words = [class_word(state, index) for index in range(len(state.classes))]
    if state.carried >= 0:
        tone, word = words[state.carried]
        both = f"{word}, carry" if layout.ring.lines == 3 else word
        words[state.carried] = (tone, "carry" if tone == QUIET else both)
    counts = [c.waiting_requests for c in state.classes]
    if layout.ring.lines == 3:
        words += [(QUIET, "1 waits" if count == 1 else f"{count:,} wait") for count in counts]
    else:
        words = [
            (tone, f"{_SHORT.get(word, word)} \u00b7 {count:,}" if count else word)
            for (tone, word), count in zip(words, counts, strict=True)
        ]
    return [*words, (QUIET, headline(layout, state, guess))]


def _deficit_word(layout: StageLayout, state: RunState, index: int, held: int) -> Word:
    beyond = "\u00bb " if held > layout.deficits.high_tokens else ""
    here = state.classes[index]
    last = next((visit for visit in reversed(state.visits) if visit.class_index == index), None)
    if last is not None and last.rule in WINNING_RULES:
        return STRONG, f"{beyond}pays {tokens_text(last.charged_tokens)}, {tokens_text(here.deficit_tokens)} left"
    if here.is_blocked:
        return WARN, f"{beyond}{tokens_text(held)}, blocked"
    if last is not None and last.head >= 0:
        return QUIET, f"{beyond}{tokens_text(held)} of {tokens_text(last.head_cost_tokens)}"
    if not here.waiting_requests:
        return QUIET, f"{beyond}{tokens_text(held)}"
    return QUIET, f"{beyond}{tokens_text(held)} kept" if held else "0"


def _lane_words(layout: StageLayout, state: RunState, costs: Sequence[int]) -> list[Word]:
    """Names, reasons and counts of requests that have no box, row by row of each kind."""
    shown = rows_shown(layout, state)
    names = [(QUIET, _lane_name(layout, row, lanes)) for row, lanes in zip(layout.lanes.rows, shown, strict=True)]
    more = []
    for lanes in shown:
        drawn = len(boxes(layout, lanes, costs))
        left = sum(len(lane.waiting) for lane in lanes) - drawn
        more.append((QUIET, f"+{left:,}" if left and drawn else BLANK))
    return [*names, *(_lane_word(layout, state, costs, lanes) for lanes in shown), *more]


def _lane_name(layout: StageLayout, row: LaneRow, lanes: list[LaneState]) -> str:
    if row.endpoint >= 0:
        return layout.survey.endpoint_names[row.endpoint]
    if row.endpoint != FLOATING:
        return "any worker"
    if len(lanes) > 1:
        return f"{len(lanes):,} {'more' if row.place else 'worker'} lanes"
    return layout.survey.endpoint_names[lanes[0].endpoint] if lanes else "\u2013"


def _lane_word(layout: StageLayout, state: RunState, costs: Sequence[int], lanes: list[LaneState]) -> Word:
    if not lanes:
        return QUIET, "empty"
    waiting = sum(len(lane.waiting) for lane in lanes)
    if len(lanes) > 1:
        stopped = sum(bool(lane.blocked_by) for lane in lanes)
        return (WARN if stopped else QUIET), f"{waiting:,} wait" + (f", {stopped:,} blocked" if stopped else "")
    lane = lanes[0]
    if not lane.blocked_by:
        cost = tokens_text(costs[lane.waiting[0]])
        return (
            QUIET,
            f"{cost} next, {waiting:,} in all" if layout.lanes.is_terse else f"next {cost} tokens, {waiting:,} in all",
        )
    return WARN, _reason(layout, state, lane)


def _reason(layout: StageLayout, state: RunState, lane: LaneState) -> str:
    """Why the head waits: the worker that is least above its limit, and how many there are."""
    terse = layout.lanes.is_terse
    nearest = min(lane.blocked_by, key=lambda b: (b.active_prefill_tokens - b.limit_tokens, b.endpoint))
    name = layout.survey.endpoint_names[nearest.endpoint]
    compared = f"{tokens_text(nearest.active_prefill_tokens)} > {tokens_text(nearest.limit_tokens)}"
    if nearest.limit_tokens < 0:
        compared = "held by the script"
    if len(lane.blocked_by) == 1:
        if nearest.limit_tokens < 0:
            return f"{name}: held" if terse else f"waits for {name}: {compared}"
        return f"{name}: {compared}" if terse else f"waits for {name}: {compared} tokens"
    present = sum(endpoint.is_present for endpoint in state.endpoints)
    many = f"all {present:,}" if len(lane.blocked_by) == present else f"{len(lane.blocked_by):,}"
    if terse:
        return f"{many} busy: {compared if nearest.limit_tokens >= 0 else 'held'}"
    return f"{many} workers busy, least {name}: {compared}"


def _worker_words(layout: StageLayout, state: RunState) -> list[Word]:
    if not layout.workers.is_strip:
        return [*(_worker_word(e) for e in state.endpoints), *((QUIET, _running(e)) for e in state.endpoints)]
    busy_for, with_limits = zip(*(busy_classes(e) for e in state.endpoints), strict=True)
    whole = sum(0 < a == b for a, b in zip(busy_for, with_limits, strict=True))
    part = sum(0 < a < b for a, b in zip(busy_for, with_limits, strict=True))
    present = sum(e.is_present for e in state.endpoints)
    running = sum(e.running_requests for e in state.endpoints)
    in_flight = sum(e.in_flight_requests for e in state.endpoints)
    some = f", {part} for some classes" if part else ""
    return [(STRONG, f"{whole} of {present} busy{some}"), (QUIET, f"{running:,} of {in_flight:,} in flight run")]


def _worker_word(endpoint: EndpointState) -> Word:
    load = tokens_text(endpoint.active_prefill_tokens)
    stopped, limited = busy_classes(endpoint)
    if not endpoint.is_present:
        return WARN, "not there"
    if endpoint.is_overloaded:
        return WARN, f"{load} overloaded"
    if -1 in endpoint.limits_tokens:
        return WARN, f"{load} held"
    if stopped == 0:
        return QUIET, f"{load} free" if limited else load
    return (WARN, f"{load} busy") if stopped == limited else (WARN, f"{load} busy {stopped}/{limited}")


def _running(endpoint: EndpointState) -> str:
    if not endpoint.in_flight_requests:
        return "idle" if endpoint.is_present else BLANK
    return f"{endpoint.running_requests:,} of {endpoint.in_flight_requests:,} run"
