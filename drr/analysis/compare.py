"""Two runs on the same requests side by side: where they part, what they differ in, and how much over many seeds."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace

from drr.analysis.explain import Explanation, decision_number, explain
from drr.analysis.fairness import fairness
from drr.analysis.outcomes import class_figures, shares_differ, why_rules_differ
from drr.analysis.words import counted
from drr.errors import WorkloadError
from drr.policy import Profile
from drr.router.requests import RequestTable
from drr.router.router import QUEUED
from drr.simulation.recording import Run
from drr.simulation.state import StepKind
from drr.workload.experiment import Experiment, SpecWorkload
from drr.workload.spec_reading import load_spec

EVERYBODY = "all classes"
SHARE, TOKENS, REFUSED_REQUESTS = "share while all waited", "tokens served", "refused requests"
COUNTS = (TOKENS, REFUSED_REQUESTS)
WAITS = ("wait p50, ms", "wait p95, ms", "wait p99, ms")
WITHOUT_SERVICE = "longest without service, ms"
JAIN, APART = "Jain index of service per quantum", "largest difference, quanta"

Figures = dict[tuple[str, str], float | None]
"""Figures by (class, figure); figures of the whole run stand under :data:`EVERYBODY`."""

_EMPTY_CALL, _QUEUED_STEP = int(StepKind.EMPTY_CALL), int(StepKind.QUEUED)


def requests_digest(table: RequestTable) -> str:
    """SHA-256 over everything that is known of the requests before anything happens; equal for equal arrivals."""
    columns = {f.name: getattr(table, f.name) for f in fields(table) if f.name != "constraints"}
    constraints = [
        (row, c.pin_worker, c.pin_rank, c.allowed_workers and sorted(c.allowed_workers), sorted(c.required_taints))
        for row, c in sorted(table.constraints.items())
    ]
    text = json.dumps([columns, constraints], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# --- the first difference --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """The first records in which two runs differ; None where a run has ended. ``said`` are their explanations."""

    first_step: int | None
    second_step: int | None
    first_said: Explanation | None
    second_said: Explanation | None
    decision: int | None
    """Running number of the decision, where the first run makes one there."""


def first_difference(first: Run, second: Run) -> Difference | None:
    """Where two runs part: the first record that tells of something else, at another time or about another class.

    Calls that let nothing go are passed over, since they do nothing to a request. None where the runs tell the same.
    """
    mine, theirs = _events(first), _events(second)
    for place in range(max(len(mine), len(theirs))):
        a = mine[place] if place < len(mine) else None
        b = theirs[place] if place < len(theirs) else None
        if a is None or b is None or _event(first, a) != _event(second, b):
            decided = a is not None and first.kinds[a] == StepKind.DECISION
            return Difference(
                a,
                b,
                None if a is None else explain(first, a),
                None if b is None else explain(second, b),
                decision_number(first, a) if decided and a is not None else None,
            )
    return None


def _events(run: Run) -> list[int]:
    return [step for step, kind in enumerate(run.kinds) if kind != _EMPTY_CALL]


def _event(run: Run, step: int) -> tuple[object, ...]:
    row, endpoint = run.step_request[step], run.step_endpoint[step]
    index = run.class_index[row] if row >= 0 else -1
    name = run.class_names[index] if index >= 0 else ""
    where = run.endpoint_names[endpoint] if endpoint >= 0 else ""
    return run.kinds[step], run.times_ms[step], row, name, where


# --- figures ---------------------------------------------------------------------------------------------


def figures(run: Run) -> Figures:
    """The figures that are compared, of one recorded run."""
    fair = fairness(run)
    found: Figures = {}
    for each, drought in zip(class_figures(run), fair.droughts, strict=True):
        spread = (each.wait.p50, each.wait.p95, each.wait.p99)
        found[each.name, SHARE] = each.got_share
        found.update({(each.name, name): value for name, value in zip(WAITS, spread, strict=True)})
        found[each.name, WITHOUT_SERVICE] = drought.longest_ms
        found[each.name, TOKENS] = float(each.service_tokens)
        found[each.name, REFUSED_REQUESTS] = float(each.refused)
    found[EVERYBODY, JAIN] = fair.jain
    found[EVERYBODY, APART] = None if fair.worst is None else float(fair.worst.largest)
    return found


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of both runs; ``difference`` is second minus first, None where one has no such figure."""

    policy_class: str
    figure: str
    first: float | None
    second: float | None
    difference: float | None


def figure_rows(first: Run, second: Run) -> list[FigureRow]:
    """All figures of both runs: classes by name, in the order of the first run, then those of the second alone."""
    mine, theirs = figures(first), figures(second)
    keys = [*mine, *(key for key in theirs if key not in mine)]
    keys.sort(key=lambda key: key[0] == EVERYBODY)
    return [FigureRow(*key, mine.get(key), theirs.get(key), _minus(theirs.get(key), mine.get(key))) for key in keys]


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


# --- over seeds ------------------------------------------------------------------------------------------

# Two-sided 95 % points of Student's t for 1 to 29 degrees of freedom.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045),
)
MOST_SEEDS = len(_T95) + 1


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean of some differences and half the width of its 95 % confidence interval (Student's t)."""

    mean: float
    half_width: float
    count: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return abs(self.mean) > self.half_width


def interval(values: Sequence[float]) -> Interval:
    """The interval of 2 to :data:`MOST_SEEDS` values; raises :class:`ValueError` for fewer or more."""
    count = len(values)
    if not 2 <= count <= MOST_SEEDS:
        raise ValueError(f"{count} values; 2 to {MOST_SEEDS} are allowed")
    if len(set(values)) == 1:
        return Interval(values[0], 0.0, count)  # exactly: a mean in floats need not be
    mean = math.fsum(values) / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return Interval(mean, _T95[count - 2] * deviation / math.sqrt(count), count)


def with_seed(experiment: Experiment, seed: int) -> Experiment:
    """The experiment with other random draws: those of its workload spec, and of ties between equally good workers."""
    workload = experiment.workload
    if isinstance(workload, SpecWorkload):
        text, found = re.subn(r"(?m)^seed:.*$", f"seed: {seed}", workload.text)
        text = text if found else f"{text.rstrip()}\nseed: {seed}\n"
        if load_spec(text).seed != seed:
            raise WorkloadError("the seed of this workload cannot be set: write `seed: 0` on a line of its own")
        return replace(experiment, workload=SpecWorkload(text), seed=seed)
    return replace(experiment, seed=seed)


def differences_over_seeds(
    first: Experiment,
    second: Experiment,
    seeds: Sequence[int],
    progress: Callable[[int, int], object] | None = None,
    *,
    max_requests: int | None = None,
) -> dict[tuple[str, str], Interval]:
    """Run both experiments with every seed; per figure the mean of (second - first), paired by seed, with its interval.

    Figures that are missing in some run are left out. ``progress(runs over, runs in all)`` may raise to end it early.
    """
    gathered: dict[tuple[str, str], list[float]] = {}
    for place, seed in enumerate(seeds):
        runs = []
        for side, experiment in enumerate((first, second)):
            if progress is not None:
                progress(2 * place + side, 2 * len(seeds))
            runs.append(with_seed(experiment, seed).run(max_requests=max_requests))
        for row in figure_rows(*runs):
            if row.difference is not None:
                gathered.setdefault((row.policy_class, row.figure), []).append(row.difference)
    return {key: interval(values) for key, values in gathered.items() if len(values) == len(seeds)}


# --- why -------------------------------------------------------------------------------------------------

_ARBITER_WORDS = {
    "classic_drr": "classic DRR gives a class one quantum when its turn begins and serves it while that lasts; "
    "complete rounds never reach a class behind the winner",
    "quantum_per_request": "one quantum per request lets a class with small requests keep its turn",
    "round_robin": "round robin by request gives every class one request per turn, however many tokens it costs",
    "strict": "strict priority serves a class only while nothing waits in those before it",
    "fcfs": "global FCFS serves requests in order of arrival, so a class gets what it sends and no quantum matters",
}


def reasons(first: Run, second: Run) -> list[str]:
    """Why the two runs differ or do not, in whole sentences: rule or arbiter, policy, workers."""
    mine, theirs = first.inputs, second.inputs
    said = []
    if mine.arbiter != theirs.arbiter:
        words = [_ARBITER_WORDS[each.arbiter] for each in (mine, theirs) if each.arbiter != "drr"]
        said.append(f"{'; '.join(words)}.")
    elif mine.arbiter == "drr" and first.cursor_rule != second.cursor_rule:
        said.append(_rules(first, second))
    said += _policies(first, second)
    if len(mine.workers) != len(theirs.workers):
        said.append(f"A has {counted(len(mine.workers), 'worker')}, B {counted(len(theirs.workers), 'worker')}.")
    if not said:
        said.append("A and B are the same: same policy, same arbitration, same workers.")
    return said


def _rules(first: Run, second: Run) -> str:
    """Why the two cursor rules part, or why they do not."""
    if shares_differ(first, second):
        return why_rules_differ(first)
    costs = [
        run.cost_tokens[row]
        for run in (first, second)
        for row in range(len(run.requests))
        if run.outcomes.outcome[row] == QUEUED
    ]
    if not costs:
        return "nothing ever waited, so no cursor rule had anything to decide."
    quanta = [c.quantum for run in (first, second) for c in run.profile.classes]
    if max(quanta) <= min(costs):
        return (
            f"no quantum is above what a request costs (at most {max(quanta):,}, at least {min(costs):,} tokens), so "
            "what a class has left never pays for its next head: both rules move on after every dispatch."
        )
    if first_difference(first, second) is None:
        return "nothing that happened tells the two rules apart: no carry was lost while it mattered."
    return "the order differs here and there, but no class's share by two points in a hundred."


def _policies(first: Run, second: Run) -> list[str]:
    """Settings in which classes of the same name differ, classes that only one policy has, order, ways to a class."""
    mine = {c.name: asdict(c) for c in first.profile.classes}
    theirs = {c.name: asdict(c) for c in second.profile.classes}
    said = []
    for name in mine:
        if name in theirs:
            changed = [key for key in mine[name] if mine[name][key] != theirs[name][key]]
            words = [f"{key} {_value(mine[name][key])} in A and {_value(theirs[name][key])} in B" for key in changed]
            if words:
                said.append(f"{name} has {', '.join(words)}.")
    only = [
        (side, [n for n in own if n not in other]) for side, own, other in (("A", mine, theirs), ("B", theirs, mine))
    ]
    said += [f"only {side} has {', '.join(names)}." for side, names in only if names]
    if set(mine) == set(theirs) and list(mine) != list(theirs):
        said.append(f"the ring order is {', '.join(mine)} in A and {', '.join(theirs)} in B.")
    return said + _ways_to_a_class(first.profile, second.profile)


def _ways_to_a_class(first: Profile, second: Profile) -> list[str]:
    """Where the policies differ in how a request finds its class: buckets and default family."""
    said = []
    if first.buckets != second.buckets:
        floors = (
            ", ".join(f"{each.name} from {each.min_tokens:,}" for each in profile.buckets) or "none"
            for profile in (first, second)
        )
        said.append("the buckets (tokens) are {} in A; {} in B.".format(*floors))
    if first.default_policy_family != second.default_policy_family:
        said.append(
            f"the default family is {first.default_policy_family} in A and {second.default_policy_family} in B."
        )
    return said


def _value(value: object) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def policy_diff(first: str, second: str) -> str:
    """The difference of two policy texts line by line (unified); empty where they are equal."""
    lines = difflib.unified_diff(first.splitlines(), second.splitlines(), "A", "B", lineterm="", n=2)
    return "\n".join(lines)
