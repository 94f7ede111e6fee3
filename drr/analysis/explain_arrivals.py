"""Arrivals in words: how a request found its class, and why it went at once, joined a lane, was refused or failed."""

from __future__ import annotations

from drr.analysis.explain_waiting import Pool, Scene, blocked_clauses, free_text, pool_of, reason_text
from drr.analysis.explain_words import MINUS, TIMES, cleaned, number, verb, workers_noun
from drr.analysis.words import counted, listing
from drr.policy.schema import PolicyClass, Profile
from drr.router.admission import LimitKind, Refusal
from drr.router.endpoints import SelectionError
from drr.router.requests import Constraint
from drr.scheduler.lanes import SHARED
from drr.simulation.recording import Run
from drr.simulation.state import StepKind

_UNITS: dict[LimitKind, str] = {
    "requests": "request",
    "raw_isl_tokens": "input token",
    "cached_tokens": "cached token",
}


def arrival_text(scene: Scene) -> str:
    """An arrival: its class, what became of it and why, and where it is now."""
    kind = scene.after.kind
    sentences = [class_sentence(scene.run, scene.after.request)]
    if kind == StepKind.BYPASSED:
        sentences += _bypassed(scene)
    elif kind == StepKind.QUEUED:
        sentences += _queued(scene)
    elif kind == StepKind.REFUSED:
        sentences += _refused(scene)
    else:
        sentences.append(f"It ends in an error: {_error_text(scene.run, scene.after.request)}")
    return " ".join(f"{sentence}." for sentence in sentences)


# --- the class -----------------------------------------------------------------------------------------------


def class_sentence(run: Run, row: int) -> str:
    """How a request found its class: header to explicit class or family, uncached tokens to bucket."""
    profile = run.profile
    header = run.requests.policy_header[row]
    policy_class = profile.classes[run.class_index[row]]
    cost = _cost_text(run, row)
    if not profile.families:
        return f"Without a policy everything is of class {policy_class.name}: {cost}"
    if policy_class.is_explicit:
        return f"Its header names the explicit class {policy_class.name}, whatever is cached: {cost}"
    return f"{_family_text(profile, header)}; {cost}, {_bucket_text(profile, policy_class)}: class {policy_class.name}"


def _family_text(profile: Profile, header: str | None) -> str:
    default = f"the default family {profile.default_policy_family} counts"
    if header is None:
        return f"It has no policy header, so {default}"
    if header in profile.families:
        return f"Its header names the family {header}"
    if not header:
        return f"Its policy header is empty, so {default}"
    if any(header == each.name for each in profile.classes):
        return f"Its header {header} is the name of a family's class, which no header reaches, so {default}"
    return f"Its header {cleaned(header)!r} is no family and no explicit class, so {default}"


def _cost_text(run: Run, row: int) -> str:
    """``512 input tokens - 128 cached = 384 uncached``; the cost is named where it is not the uncached tokens."""
    raw, cached = run.requests.isl_tokens[row], run.outcomes.cached_tokens[row]
    if not cached:
        return f"{counted(raw, 'uncached token')}"
    text = f"{counted(raw, 'input token')} {MINUS} {number(cached)} cached = {number(raw - cached)} uncached"
    return text if raw > cached else f"{text} (the least cost is {number(run.cost_tokens[row])})"


def _bucket_text(profile: Profile, policy_class: PolicyClass) -> str:
    place = next(i for i, bucket in enumerate(profile.buckets) if bucket.name == policy_class.cache_bucket)
    span = f"from {number(profile.buckets[place].min_tokens)}"
    if place + 1 < len(profile.buckets):
        span += f", below {number(profile.buckets[place + 1].min_tokens)}"
    return f"in bucket {policy_class.cache_bucket} ({span})"


# --- what became of it ---------------------------------------------------------------------------------------


def class_queues(run: Run, class_index: int) -> bool:
    """Whether requests of a class may wait at all: it has a threshold, or the run lets every class wait."""
    return run.inputs.limit_for_all is not None or run.profile.classes[class_index].has_threshold


def _bypassed(scene: Scene) -> list[str]:
    state, run = scene.after, scene.run
    name = scene.name(state.class_index)
    load = counted(state.endpoints[state.endpoint].active_prefill_tokens, "prefill token")
    where = f"{scene.endpoint(state.endpoint)}, which now holds {load}"
    goes = f"It goes to {where}; ring and deficits have no part"
    if not class_queues(run, state.class_index):
        return [f"{name} has no busy threshold, so its requests never wait", goes]
    pool = _pool(scene, run.outcomes.lane[state.request])
    assert isinstance(pool, Pool), "a request that nobody may serve ends in an error"
    loads = [each.active_prefill_tokens for each in scene.before.endpoints]
    free = free_text(run, state.class_index, pool, loads, scene.cluster_before)
    return [f"Nothing waits in {name}, and {free}", goes]


def _pool(scene: Scene, lane: int) -> Pool | SelectionError:
    """Who might have served the request when it arrived. A request that never waited has its lane worked out here."""
    state = scene.after
    constraint = scene.run.requests.constraints.get(state.request)
    if state.kind == StepKind.BYPASSED and constraint is not None:
        lane = scene.cluster_before.target(constraint)
    return pool_of(
        scene, scene.before, scene.cluster_before, class_index=state.class_index, request=state.request, lane=lane
    )


def _queued(scene: Scene) -> list[str]:
    state, run = scene.after, scene.run
    name = scene.name(state.class_index)
    lane = state.endpoint
    before = scene.before.classes[state.class_index].waiting_requests
    pool = _pool(scene, lane)
    stops = isinstance(pool, Pool) and pool.is_blocked
    if before:
        why = f"{counted(before, 'request')} of {name} {verb(before, 'waits', 'wait')} already, so it waits too"
        if scene.before.classes[state.class_index].is_blocked:
            why += f": {blocked_clauses(scene, [state.class_index], when='before')[0]}"
    elif isinstance(pool, Pool) and stops:
        why = f"Nothing waits in {name} yet, but it waits {reason_text(run, state.class_index, pool)}"
    else:
        why = (
            f"No request of {name} waits and nothing holds this one up, but here it goes through the ring all the same"
        )
    return [why, _place(scene, lane)]


def _place(scene: Scene, lane: int) -> str:
    """Where the newcomer stands in its lane."""
    state = scene.after
    here = next(each for each in state.lanes if each.class_index == state.class_index and each.endpoint == lane)
    place = here.waiting.index(state.request)
    where = f"the shared lane of {scene.name(state.class_index)}"
    if lane != SHARED:
        where = f"{scene.name(state.class_index)}'s lane of {scene.endpoint(lane)}"
    if not place:
        return f"It stands at the head of {where}, {counted(len(here.waiting), 'request')} in all"
    tokens = sum(scene.run.cost_tokens[row] for row in here.waiting[:place])
    before = (
        f"{counted(place, 'request')} {verb(place, 'stands', 'stand')} before it, {counted(tokens, 'token')} in all"
    )
    return f"It is number {number(place + 1)} of {number(len(here.waiting))} in {where}; {before}"


def refusal_product(run: Run, refusal: Refusal) -> str:
    """``1,024 per worker x 2 workers``: what the limit was made of."""
    per_worker = getattr(
        run.profile.classes[refusal.class_index], f"{_LIMIT_FIELDS[refusal.kind]}_queue_limit_per_worker"
    )
    noun = workers_noun(run)
    if per_worker:
        return f"{number(per_worker)} per {noun} {TIMES} {counted(refusal.limit // per_worker, noun)}"
    return f"0 per {noun}"


_LIMIT_FIELDS: dict[LimitKind, str] = {
    "requests": "request",
    "raw_isl_tokens": "raw_isl_token",
    "cached_tokens": "cached_token",
}


def _refused(scene: Scene) -> list[str]:
    refusal = scene.run.refusal_at(scene.after.step)
    assert refusal is not None, "a refused arrival has a refusal"
    name = scene.name(refusal.class_index)
    unit = _UNITS[refusal.kind]
    current = f"{counted(refusal.current, unit)} {verb(refusal.current, 'waits', 'wait')} in {name}"
    limit = f"{number(refusal.limit)} ({refusal_product(scene.run, refusal)})"
    return [
        f"{current} and the limit is {limit}, so nothing more may wait there",
        f"It is refused with HTTP 529, limit kind {refusal.kind}; deficits, cursor and lanes stay as they are",
    ]


def _error_text(run: Run, row: int) -> str:
    """Why no endpoint may serve a request, with the pin, list or taints it carries."""
    constraint = run.requests.constraints.get(row, Constraint())
    asked = []
    if constraint.pin_worker is not None:
        rank = "" if constraint.pin_rank is None else f" rank {constraint.pin_rank}"
        asked.append(f"pinned to worker {constraint.pin_worker}{rank}")
    if constraint.allowed_workers is not None:
        asked.append(f"allowed on {counted(len(constraint.allowed_workers), 'worker')}")
    if constraint.required_taints:
        asked.append(f"wants {listing([cleaned(taint) for taint in sorted(constraint.required_taints)])}")
    brackets = f" ({', '.join(asked)})" if asked else ""
    return f"{run.reason(row)}{brackets}; nothing waits for it and nothing is charged"
