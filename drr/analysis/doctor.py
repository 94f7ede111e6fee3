"""Why isn't my ratio biting? What a finished run says about the policy that made it.

Every finding names its evidence in figures of the run, a remedy, and the step that shows it. The checks on requests
are in :mod:`drr.analysis.doctor_requests`; what is asked of a run is gathered in :mod:`drr.analysis.doctor_survey`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from drr.analysis import doctor_requests
from drr.analysis.doctor_survey import Finding, FindingKind, Survey, furthest_off
from drr.analysis.outcomes import shares
from drr.analysis.words import listed, percent
from drr.router.router import REFUSED
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind

__all__ = ["Finding", "FindingKind", "findings"]

TOGETHER_TOO_RARE = 0.1
"""Below this share of the waiting time the compared classes are said to hardly ever wait together."""
BULK_OFTEN = 0.25
"""From this share of the decisions on, virtual rounds are called frequent."""
MANY_ROUNDS = 4
LANE_WAITS_LONG = 0.1
OTHERS_FREE = 0.5


def findings(run: Run) -> list[Finding]:
    """Everything there is to say about a run, the gravest first. A run without recording has no steps to name."""
    survey = Survey(run)
    checks: tuple[Callable[[Survey], Iterator[Finding]], ...] = (
        _thresholds,
        _together,
        _quanta_above_costs,
        _quanta_far_below_costs,
        _blocked_on_one_worker,
        doctor_requests.refusals,
        doctor_requests.starved,
        doctor_requests.headers,
        doctor_requests.unreached,
    )
    found = [finding for check in checks for finding in check(survey)]
    return sorted(found, key=lambda finding: finding.severity != "warning")


def _thresholds(survey: Survey) -> Iterator[Finding]:
    """Classes whose requests never wait, because they have no threshold or because nothing ever reaches it."""
    run = survey.run
    if run.inputs.limit_for_all is not None:
        return
    with_rows = [i for i, rows in enumerate(survey.rows_of) if rows]
    without = [i for i in with_rows if not survey.classes[i].has_threshold]
    if without:
        count = sum(len(survey.rows_of[i]) for i in without)
        names = listed([survey.names[i] for i in without])
        yield Finding(
            "no_threshold",
            f"{names} {'have' if len(without) > 1 else 'has'} no busy threshold, so nothing of it ever waits.",
            f"All {count:,} requests went to a worker the moment they came, past the ring: quantum, order and limits "
            "were never asked.",
            "Set prefill_busy_threshold (tokens) or prefill_busy_threshold_frac in the class.",
            survey.first_step_of(survey.rows_of[without[0]]),
            "warning",
        )
    outcomes = run.outcomes.outcome
    idle = [
        i
        for i in with_rows
        if survey.classes[i].has_threshold
        and not survey.queued_of[i]
        and not any(outcomes[row] == REFUSED for row in survey.rows_of[i])
    ]
    if idle and run.recorder is not None:
        peak = survey.walked.peak_tokens
        cluster = run.snapshots.cluster(len(run.recorder.changes))
        # Held by the script is no limit that anything could reach, nor is that of a worker that left.
        usable = [e for e, is_there in enumerate(cluster.present) if is_there and not cluster.held[e]]
        lowest = min((cluster.limits[i][e] for i in idle for e in usable), default=None)
        compared = "" if lowest is None else f"; a worker counts as busy above {lowest:,}"
        names = listed([survey.names[i] for i in idle])
        yield Finding(
            "threshold_never_reached",
            f"No request of {names} ever had to wait.",
            f"The fullest worker held {peak:,} prefill tokens{compared}. The quanta of classes that never wait decide "
            "nothing.",
            "Lower prefill_busy_threshold, send more traffic, or take away workers, if they are meant to share.",
            survey.walked.peak_step,
            "warning" if len(idle) == len(with_rows) else "info",
        )


def _together(survey: Survey) -> Iterator[Finding]:
    """Compared classes that hardly ever wait at the same time: quanta decide between classes that both wait."""
    compared = survey.shares.compared
    names = listed([survey.names[i] for i in compared])
    if len(compared) == 1 and sum(1 for rows in survey.rows_of if rows) > 1:
        waits = survey.names[compared[0]]
        yield Finding(
            "never_together",
            f"Only {waits} ever waited, so there was nobody to share with.",
            f"{len(survey.queued_of[compared[0]]):,} requests of {waits} waited, none of any other class: 0 % of the "
            "time two classes waited together.",
            "A ratio shows while two classes wait at once: send more traffic of the others, or lower their threshold.",
            survey.walked.apart_step or next(iter(survey.walked.gone_step.values()), None),
            "warning",
        )
    share = survey.together_share
    if len(compared) < 2 or share is None or share >= TOGETHER_TOO_RARE:
        return
    word = "both" if len(compared) == 2 else "all"
    unit = "time in which anything waited" if survey.walked.some_wait_ms > 0 else "decisions"
    yield Finding(
        "never_together",
        f"{names} {'never' if not share else 'hardly ever'} waited at the same time.",
        f"In {percent(share)} of the {unit} {word} had requests waiting. Whoever waits alone gets everything, "
        "whatever the quanta say.",
        "A ratio shows while classes wait at once: let their traffic overlap, or send more of it.",
        survey.walked.apart_step,
        "warning",
    )


def _quanta_above_costs(survey: Survey) -> Iterator[Finding]:
    """Quanta that the shipped router cannot spend, because it moves on after every dispatch that ends a drain."""
    run = survey.run
    if run.inputs.arbiter != "drr":
        return
    carry = run if run.cursor_rule == "carry" else run.other_rule
    there = shares(carry)
    worst = furthest_off(carry, there)
    costs = survey.typical_cost
    above = [i for i in there.compared if (cost := costs[i]) is not None and survey.classes[i].quantum > cost]
    if worst is None or not above:
        return
    top = max(above, key=lambda i: survey.classes[i].quantum / (costs[i] or 1))
    quanta = survey.quanta_that_bind()
    yield Finding(
        "quanta_above_costs",
        f"The shipped router gives {survey.names[worst.class_index]} {percent(worst.got)}, the quanta ask for "
        f"{percent(worst.asked)}.",
        f"{survey.names[top]}'s quantum is {survey.classes[top].quantum:,} tokens, its typical request costs "
        f"{costs[top]:,.0f}. Where capacity comes back one request at a time, the shipped router (rule carry) serves a "
        "class at most one request per ring round, so what a quantum has above the cost is lost.",
        f"Keep the ratio, but no quantum above its costs: {_quanta_text(quanta)}.",
        _rests_step(survey, top),
        "warning",
        quanta,
    )


def _rests_step(survey: Survey, index: int) -> int | None:
    """The first decision for a class after which its deficit would pay for one more typical request that waits."""
    run, cost = survey.run, survey.typical_cost[index]
    if run.recorder is None or cost is None:
        return None
    for walker in run.snapshots.walk(with_visits=False):
        row = run.step_request[walker.step]
        if (
            run.kinds[walker.step] == StepKind.DECISION
            and run.class_index[row] == index
            and walker.waiting[index]
            and walker.deficits[index] >= cost
        ):
            return walker.step
    return next((step for step in run.decision_steps if run.class_index[run.step_request[step]] == index), None)


def _quanta_far_below_costs(survey: Survey) -> Iterator[Finding]:
    """Quanta that pay for nothing without virtual rounds, which all classes get the same number of."""
    run = survey.run
    if run.recorder is None or run.inputs.arbiter != "drr":
        return
    bulk = [rounds for rounds in run.recorder.calls.rounds if rounds]
    decisions = survey.walked.decisions
    if len(survey.shares.compared) < 2 or not bulk or len(bulk) / decisions < BULK_OFTEN:
        return
    typical = median(bulk)
    worst = furthest_off(run, survey.shares)
    if typical < MANY_ROUNDS and worst is None:
        return
    if worst is not None:
        said = (
            f" {survey.names[worst.class_index]} got {percent(worst.got)} of the tokens while all waited, its quantum "
            f"asks for {percent(worst.asked)}: with quanta this small the place in the ring decides who is paid first."
        )
    else:
        said = " The shares come out right all the same." if survey.shares.is_measured else ""
    quanta = survey.quanta_that_bind()
    at = next(call for call, rounds in enumerate(run.recorder.calls.rounds) if rounds)
    yield Finding(
        "quanta_far_below_costs",
        f"In {percent(len(bulk) / decisions)} of the decisions one quantum paid for nobody.",
        f"Then all classes get the same number of virtual rounds at once, typically {typical:,.0f}.{said}",
        f"Keep the ratio with quanta nearer to what requests cost: {_quanta_text(quanta)}.",
        _step_of_call(run, at),
        "info" if worst is None else "warning",
        quanta,
    )


def _step_of_call(run: Run, call: int) -> int | None:
    """The step of the ``call``-th arbitration call."""
    steps = (step for step, kind in enumerate(run.kinds) if kind in CALL_KINDS)
    return next((step for number, step in enumerate(steps) if number == call), None)


def _quanta_text(quanta: tuple[tuple[str, int], ...]) -> str:
    return listed([f"{name} {quantum:,}" for name, quantum in quanta])


def _blocked_on_one_worker(survey: Survey) -> Iterator[Finding]:
    """Exact-worker lanes that wait for long while another worker would be free for their class."""
    run, total = survey.run, survey.duration_ms
    for (index, endpoint), lane in sorted(survey.walked.lanes.items()):
        waits, free = lane.waiting_ms, lane.other_free_ms
        if not total or waits / total < LANE_WAITS_LONG or free / waits < OTHERS_FREE:
            continue
        name, worker = survey.names[index], run.endpoint_names[endpoint]
        yield Finding(
            "blocked_on_one_worker",
            f"Requests of {name} that only {worker} may serve waited in {percent(waits / total)} of the run.",
            f"Up to {lane.most:,} of them waited; in {percent(free / waits)} of that time another worker was free for "
            f"{name}. A blocked class keeps its deficit but is given nothing.",
            f"Spread what is pinned to {worker}, or let those requests go to any worker.",
            lane.most_step,
            "warning",
        )
