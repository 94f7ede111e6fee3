"""The doctor's checks that look at requests: headers, classes nobody reaches, refusals, and who is overtaken."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from statistics import median
from typing import NamedTuple

from drr.analysis.doctor_survey import Finding, Survey
from drr.analysis.words import counted, listed

MANY_OVERTOOK = 10
"""A request is called starved when at least so many later ones of its lane went before it."""

_LIMIT_KEYS = {
    "requests": ("request_queue_limit_per_worker", "requests"),
    "raw_isl_tokens": ("raw_isl_token_queue_limit_per_worker", "input tokens"),
    "cached_tokens": ("cached_token_queue_limit_per_worker", "cached tokens"),
}


def headers(survey: Survey) -> Iterator[Finding]:
    """Requests whose policy header is missing, or names no family and no explicit class."""
    run, profile = survey.run, survey.run.profile
    explicit = [c.name for c in profile.classes if c.is_explicit]
    known = {*profile.families, *explicit}
    if not profile.families or len(known) < 2:
        return
    arrived = [row for rows in survey.rows_of for row in rows]
    default = profile.default_policy_family
    unknown: dict[str, list[int]] = defaultdict(list)
    missing = []
    for row in arrived:
        header = run.requests.policy_header[row]
        if not header:
            missing.append(row)
        elif header not in known:
            unknown[header].append(row)
    allowed = listed(sorted(known))
    if unknown:
        count = sum(map(len, unknown.values()))
        most = max(unknown, key=lambda header: len(unknown[header]))
        evidence = f"The most frequent one is “{most}”, {len(unknown[most]):,} times"
        if most in survey.names:
            evidence += "; that is a class, and only its family is a header"
        elif close := get_close_matches(most, known, 1):
            evidence += f"; did the client mean “{close[0]}”?"
        yield Finding(
            "unknown_header",
            f"{count:,} of {len(arrived):,} requests name a family that the policy does not have.",
            f"{evidence.rstrip('?.')}{'?' if evidence.endswith('?') else '.'} They are served as {default}.",
            f"Let clients send one of {allowed} in x-dynamo-meta-policy-class, or add the family to the policy.",
            survey.first_step_of(row for rows in unknown.values() for row in rows),
            "warning",
        )
    if missing:
        yield Finding(
            "missing_header",
            f"{len(missing):,} of {len(arrived):,} requests come without a policy header.",
            f"They are served as {default}, the default family.",
            f"If they are not meant to be {default}, let clients send x-dynamo-meta-policy-class: {allowed}.",
            survey.first_step_of(missing),
            "warning" if len(missing) == len(arrived) else "info",
        )


def unreached(survey: Survey) -> Iterator[Finding]:
    """Families, explicit classes and cache buckets that no request belongs to."""
    profile = survey.run.profile
    reached = [c for c, rows in zip(profile.classes, survey.rows_of, strict=True) if rows]
    if not reached or not profile.families:
        return
    asked = {c.policy_family or c.name for c in reached}
    names = dict.fromkeys(c.policy_family or c.name for c in profile.classes)
    idle = [name for name in names if name not in asked]
    total = sum(map(len, survey.rows_of))
    if idle:
        yield Finding(
            "unreached_family",
            f"No request is of {listed(idle)}.",
            f"All {total:,} requests of the run are of {listed(sorted(asked))}, so the quanta of the others do nothing "
            "here.",
            "Add such requests to the workload, or leave it as it is if that traffic is only expected.",
            None,
            "info",
        )
    matrix_rows = [
        row for c, rows in zip(profile.classes, survey.rows_of, strict=True) if not c.is_explicit for row in rows
    ]
    buckets = {c.cache_bucket for c in reached}
    unused = [bucket.name for bucket in profile.buckets if bucket.name not in buckets]
    if unused and matrix_rows:
        costs = survey.run.cost_tokens
        low, high = min(costs[row] for row in matrix_rows), max(costs[row] for row in matrix_rows)
        floors = ", ".join(f"{bucket.name} from {bucket.min_tokens:,}" for bucket in profile.buckets)
        spread = f"{low:,}" if low == high else f"between {low:,} and {high:,}"
        yield Finding(
            "unreached_bucket",
            f"No request falls into the bucket {listed(unused)}.",
            f"The requests have {spread} uncached tokens; the buckets are {floors}.",
            "Move the floors (min_tokens) to where the lengths of your requests divide, or give up the bucket.",
            None,
            "info",
        )


def refusals(survey: Survey) -> Iterator[Finding]:
    """Requests that met a full class, by class and limit."""
    met: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row, refusal in survey.run.outcomes.refusal.items():
        met[refusal.class_index, refusal.kind].append(row)
    for (index, kind), rows in sorted(met.items()):
        limit = survey.run.outcomes.refusal[rows[0]]
        key, unit = _LIMIT_KEYS[kind]
        name, total = survey.names[index], len(survey.rows_of[index])
        yield Finding(
            "refusals",
            f"{len(rows):,} of {total:,} requests of {name} were refused (HTTP 529).",
            f"When the first one came, {limit.current:,} {unit} of {name} waited; the limit was {limit.limit:,} "
            f"({key} times the workers). What is refused takes no part in the sharing.",
            f"Raise {key} of {name}, add workers, or let clients slow down when they see 529.",
            survey.first_step_of(rows),
            "warning",
        )


class _Overtaken(NamedTuple):
    """A request, and how many later ones of its lane went before it: of its own tier, and of higher tiers."""

    row: int
    by_same: int
    by_higher: int


def _overtaken(survey: Survey, rows: list[int]) -> list[_Overtaken]:
    """For requests of one lane in order of enqueueing. O(n log n), however many tiers they have.

    A lane lets nothing of a lower tier past, so whatever passed and is not of the same tier is of a higher one.
    """
    run, gone_step = survey.run, survey.walked.gone_step
    tiers = [run.requests.strict_priority[row] for row in rows]
    members = Counter(tiers)
    seen: Counter[int] = Counter()
    in_tier = []
    for tier in tiers:
        in_tier.append(seen[tier])
        seen[tier] += 1
    gone, gone_of = _Places(len(rows)), {tier: _Places(count) for tier, count in members.items()}
    found = []
    for place in sorted(range(len(rows)), key=lambda place: gone_step.get(rows[place], run.n_steps)):
        own, mine = gone_of[tiers[place]], in_tier[place]
        same = own.behind(mine)
        found.append(_Overtaken(rows[place], same, gone.behind(place) - same))
        if rows[place] in gone_step:
            gone.add(place)
            own.add(mine)
    return found


class _Places:
    """A set of places, counted from 0, that tells how many of them lie behind one (a Fenwick tree). O(log n) each."""

    def __init__(self, size: int) -> None:
        self._sums = [0] * (size + 1)
        self._count = 0

    def add(self, place: int) -> None:
        self._count += 1
        at = place + 1
        while at < len(self._sums):
            self._sums[at] += 1
            at += at & -at

    def behind(self, place: int) -> int:
        left, at = self._count, place + 1
        while at:
            left -= self._sums[at]
            at &= at - 1
        return left


def starved(survey: Survey) -> Iterator[Finding]:
    """Large requests that wspt keeps back, and low tiers that strict priority keeps back."""
    run = survey.run
    costs, tiers = run.cost_tokens, run.requests.strict_priority
    for index, queued in enumerate(survey.queued_of):
        is_wspt = survey.classes[index].queue_policy == "wspt"
        if not is_wspt and len({tiers[row] for row in queued}) < 2:
            continue
        lanes: dict[int, list[int]] = defaultdict(list)
        for row in sorted(queued, key=lambda row: survey.walked.arrival_step.get(row, -1)):
            lanes[run.outcomes.lane[row]].append(row)
        overtaken = [each for rows in lanes.values() for each in _overtaken(survey, rows)]
        typical = median(costs[row] for row in queued) if queued else 0
        large = [each for each in overtaken if costs[each.row] > typical and each.by_same >= MANY_OVERTOOK]
        if is_wspt and large:
            yield _wspt(survey, index, large)
        low = [each for each in overtaken if each.by_higher >= MANY_OVERTOOK]
        if low:
            yield _strict(survey, index, low)


def _waited(survey: Survey, row: int) -> str:
    """How long a request waited, in words."""
    run = survey.run
    until, arrival = run.released_at_ms[row], run.arrival_ms[row] or 0.0
    if until is None:
        return "and still waits at the end"
    return f"and waited {until - arrival:,.0f} ms"


def _wspt(survey: Survey, index: int, large: list[_Overtaken]) -> Finding:
    run, name = survey.run, survey.names[index]
    worst = max(large, key=lambda each: each.by_same)
    return Finding(
        "wspt_starves_large",
        f"Many cheaper requests passed {counted(len(large), 'large one')} of {name}.",
        f"{run.requests.label(worst.row)}, {run.cost_tokens[worst.row]:,} tokens, was passed by {worst.by_same:,} "
        f"later ones {_waited(survey, worst.row)}; the typical request costs {survey.typical_cost[index]:,.0f} tokens.",
        f"Let {name} be fcfs, or give large requests a bucket and so a class of their own: the ring then gives them "
        "their share.",
        survey.walked.gone_step.get(worst.row, run.n_steps - 1),
        "warning",
    )


def _strict(survey: Survey, index: int, low: list[_Overtaken]) -> Finding:
    run, name = survey.run, survey.names[index]
    worst = max(low, key=lambda each: each.by_higher)
    tiers = Counter(run.requests.strict_priority[each.row] for each in low)
    return Finding(
        "strict_starves_low",
        f"Strict priority kept back {counted(len(low), 'request')} of {name}, "
        f"tier {listed([str(t) for t in sorted(tiers)])}.",
        f"{run.requests.label(worst.row)} was passed by {worst.by_higher:,} later requests of a higher tier "
        f"{_waited(survey, worst.row)}. No quantum makes up for that: the tier decides inside a class first.",
        "Use a policy family for urgent requests in the place of strict_priority: a class with a large quantum goes "
        "first and still leaves the others their share.",
        survey.walked.gone_step.get(worst.row, run.n_steps - 1),
        "warning",
    )
