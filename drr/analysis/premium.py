"""The premium demonstration in figures: the burst under two policies, the spike, and the moments worth a caption.

Everything is counted from runs; only :data:`PUBLISHED` is quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from drr.analysis.outcomes import completed_first, left_when_done
from drr.policy import dump_policy, load_policy
from drr.simulation.recording import Run
from drr.simulation.state import StepKind
from drr.workload.experiment import Experiment
from drr.workload.scenarios import scenario

PREMIUM, REGULAR = 0, 1
"""Class indices in every policy of the demonstration."""
FIRST = 320
"""Completions that are compared: as many as each class has requests."""
_APART_MS = 0.001
PREMIUM_QUANTUM_TOKENS, REGULAR_QUANTUM_TOKENS = 512, 128


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One source of figures for the burst: premium : regular in the first 320 completions, regular requests left."""

    source: str
    first: str
    left: str
    equal_first: str
    equal_left: str


PUBLISHED = (
    PublishedRow("The router's own test, 4 runs", "254–257 : 63–66", "237–240", "159–161 : 159–161", "0–3"),
    PublishedRow("Real router behind its frontend, mock engine", "256 : 64", "240", "", ""),
)
"""Published with the real router (the first row), and measured on it. Empty: not measured."""

WHY_THEY_DIFFER = (
    "Completions are counted in the order in which requests end. Here requests arrive strictly in turn, premium first, "
    "and the first four go before anything waits: two of each class, whatever the quanta. The real test sends 640 "
    "requests over HTTP, so a few change places from run to run; that moves its figures by one or two. If all premium "
    "requests came first, it would be 257 : 63.",
    "Only the first 320 show the share, because both classes still wait then. Over the whole run it is 320 : 320: what "
    "was not served first is served later.",
)


@dataclass(frozen=True, slots=True)
class BurstFigures:
    """What the burst came to under one policy; pairs are (premium, regular)."""

    first: tuple[int, int]
    """Of the first 320 completions."""
    left: tuple[int, int]
    """Requests not completed when premium's last one was."""
    whole: tuple[int, int]
    """Completions of the whole run."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which something can be seen, what it is called in links and on buttons, and what to say there."""

    name: str
    label: str
    time_ms: float
    caption: str


def burst_experiment(premium_quantum_tokens: int, regular_quantum_tokens: int = REGULAR_QUANTUM_TOKENS) -> Experiment:
    """320 + 320 requests of 512 tokens on one worker with four sequences and a busy threshold of 1,536 tokens."""
    base = scenario("premium_burst").experiment
    quanta = (premium_quantum_tokens, regular_quantum_tokens)
    document = load_policy(base.policy_text)
    assert document.root is not None
    if tuple(c.quantum for c in document.root.classes) == quanta:
        return base
    pairs = zip(document.root.classes, quanta, strict=True)
    classes = tuple(replace(each, quantum=quantum) for each, quantum in pairs)
    return replace(base, policy_text=dump_policy(replace(document, root=replace(document.root, classes=classes))))


def equal_experiment() -> Experiment:
    """The same burst with 512 tokens for both."""
    return scenario("equal_control").experiment


def spike_experiment() -> Experiment:
    """Steady regular traffic, and a premium spike from second 2 to second 5."""
    return scenario("spike").experiment


def burst_figures(run: Run) -> BurstFigures:
    """Count a burst."""
    first, left = completed_first(run, FIRST), left_when_done(run, PREMIUM)
    whole = completed_first(run, len(run.requests))
    return BurstFigures(_pair(first), _pair(left), _pair(whole))


def completion_times(run: Run, class_index: int | None = None) -> list[float]:
    """When requests completed (ms), in that order; of one class, or of all.

    Requests that end together are set a microsecond apart, so that a time tells how far the order has got.
    """
    times, last, at = [], -1.0, 0.0
    for row in run.completion_order:
        ended = run.last_token_ms[row]
        assert ended is not None, "a completed request has a last token"
        at = at + _APART_MS if ended == last else ended
        last = ended
        if class_index is None or run.class_index[row] == class_index:
            times.append(at)
    return times


def burst_moments(equal: Run, weighted: Run) -> tuple[Moment, ...]:
    """What happens in the burst, in order of time; figures are those of the two runs."""
    even, mine = burst_figures(equal), burst_figures(weighted)
    ends = completion_times(weighted)
    premium_done = completion_times(weighted, PREMIUM)[-1]
    quanta = [c.quantum for c in weighted.profile.classes]
    done_first = PREMIUM if completion_times(weighted, REGULAR)[-1] >= premium_done else REGULAR
    names = ("Premium", "regular") if done_first == PREMIUM else ("Regular", "premium")
    left = mine.left[REGULAR] if done_first == PREMIUM else left_when_done(weighted, REGULAR)[PREMIUM]
    over = premium_done if done_first == PREMIUM else completion_times(weighted, REGULAR)[-1]
    moments = (
        Moment(
            "start", "Start", 0.0, "640 requests at once: 320 premium, 320 regular. The worker runs four at a time."
        ),
        Moment(
            "sharing",
            "Both wait",
            ends[FIRST // 4],
            f"Both classes wait. Each round of the ring grants premium {quanta[0]:,} tokens and regular {quanta[1]:,}; "
            "on the left both get the same.",
        ),
        Moment(
            "first-320",
            "First 320",
            ends[FIRST - 1],
            f"The first 320 answers: {mine.first[0]} premium and {mine.first[1]} regular. "
            f"With equal quanta {even.first[0]} and {even.first[1]}.",
        ),
        Moment(
            "premium-done" if done_first == PREMIUM else "regular-done",
            f"{names[0]} done",
            over,
            f"{names[0]} is finished. {left:,} {names[1]} requests are left, and they have the whole worker now.",
        ),
        Moment(
            "end",
            "End",
            ends[-1],
            "In the end everybody was served, 320 and 320. A quantum decides who goes first, not how much is done.",
        ),
    )
    return tuple(sorted(moments, key=lambda moment: moment.time_ms))


def spike_moments(run: Run) -> tuple[Moment, ...]:
    """Premium comes, gets its share, goes; regular takes all capacity."""
    arrivals = [
        t for t, index in zip(run.arrival_ms, run.class_index, strict=True) if index == PREMIUM and t is not None
    ]
    comes, goes = min(arrivals), max(arrivals)
    out, end = completion_times(run, PREMIUM)[-1], completion_times(run)[-1]
    both = [_completed_between(run, index, comes + (goes - comes) / 6, goes) for index in (PREMIUM, REGULAR)]
    share = both[PREMIUM] / sum(both)
    waiting = waiting_at(run, goes)
    backlog = waiting_at(run, out)[REGULAR]
    rate = _completed_between(run, REGULAR, out, end) / (end - out) * 1000
    before = _completed_between(run, REGULAR, 0.0, comes) / comes * 1000
    return (
        Moment(
            "quiet",
            "Quiet",
            0.0,
            f"Only regular asks, about {before:.0f} requests a second. The worker can do 80, so nobody waits.",
        ),
        Moment(
            "spike",
            "Premium comes",
            comes,
            f"Premium comes with {len(arrivals) / (goes - comes) * 1000:.0f} requests a second, more than the whole "
            "worker can do.",
        ),
        Moment(
            "share",
            "Its share",
            comes + (goes - comes) / 2,
            f"Premium gets its share: {share:.0%} of the answers, as 512 : 128 asks. Regular gets the rest, it never "
            "stops.",
        ),
        Moment(
            "fades",
            "Premium goes",
            goes,
            f"No new premium request. {waiting[PREMIUM]:,} still wait, and so do {waiting[REGULAR]:,} regular ones: "
            "4 : 1 goes on until premium is out.",
        ),
        Moment(
            "alone",
            "Regular alone",
            out,
            f"The last premium request is out. Regular has all of the worker, {rate:.0f} a second, and works off the "
            f"{backlog:,} that wait.",
        ),
        Moment(
            "after",
            "All served",
            end,
            "Everything was served. No capacity was kept free for premium, and none was lost when it left.",
        ),
    )


def waiting_at(run: Run, time_ms: float) -> tuple[int, int]:
    """How many premium and regular requests wait right after a time."""
    waiting = [0] * len(run.class_names)
    for step in range(run.step_at_time(time_ms) + 1):
        if run.kinds[step] == StepKind.QUEUED:
            waiting[run.class_index[run.step_request[step]]] += 1
        elif run.kinds[step] in (StepKind.DECISION, StepKind.HEAD_ERROR):
            waiting[run.class_index[run.step_request[step]]] -= 1
    return _pair(waiting)


def shipped_line(run: Run) -> str:
    """What the shipped router (cursor rule ``carry``) makes of a burst, beside the documented rule, in one line."""
    other = run.other_rule
    documented, shipped = (other, run) if run.cursor_rule == "carry" else (run, other)
    mine, theirs = burst_figures(documented).first, burst_figures(shipped).first
    quanta = " : ".join(f"{c.quantum:,}" for c in run.profile.classes)
    given = f"The shipped router (cursor rule carry) gives {theirs[0]} : {theirs[1]} with {quanta}"
    if abs(theirs[0] - mine[0]) <= 2:
        return f"{given}, like the documented rule."
    return (
        f"{given}, the documented rule {mine[0]} : {mine[1]}. The shipped one moves on after every dispatch here, so a "
        "quantum above a request's 512 tokens brings no more."
    )


def _completed_between(run: Run, class_index: int, start_ms: float, end_ms: float) -> int:
    return sum(start_ms < time <= end_ms for time in completion_times(run, class_index))


def _pair(counts: Sequence[int]) -> tuple[int, int]:
    return counts[PREMIUM], counts[REGULAR]
