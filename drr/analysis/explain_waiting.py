"""What a waiting head waits for: the endpoints that may serve it, which of them are busy, and that in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drr.analysis.explain_words import AT_MOST, folded, number, ratio_text, verb, workers_noun
from drr.analysis.words import counted
from drr.router.endpoints import NEVER_BUSY, Endpoints, SelectionError, pool_is_busy
from drr.router.requests import Constraint
from drr.scheduler.lanes import SHARED
from drr.simulation.recording import Run
from drr.simulation.state import BusyEndpoint, LaneState, RunState

_ANYWHERE = Constraint()


@dataclass(frozen=True, slots=True)
class Scene:
    """One step with what its sentences are made from: the states before and after it, and the clusters of both.

    The clusters tell who is eligible and where busy begins; loads are those of the states.
    """

    run: Run
    before: RunState
    after: RunState
    cluster_before: Endpoints
    cluster_after: Endpoints

    def name(self, class_index: int) -> str:
        """Name of a class."""
        return self.run.class_names[class_index]

    def endpoint(self, index: int) -> str:
        """Name of an endpoint."""
        return self.run.endpoint_names[index]


def scene_at(run: Run, step: int) -> Scene:
    """The scene of a step; raises :class:`IndexError` where the run has no such step."""
    after, before = run.state_at(step), run.state_at(step - 1)
    changed = run.recorder.changes if run.recorder is not None else {}
    changes = sum(each <= step for each in changed)
    cluster = run.snapshots.cluster
    return Scene(run, before, after, cluster(changes - (step in changed)), cluster(changes))


@dataclass(frozen=True, slots=True)
class Pool:
    """The endpoints that may serve a head from its lane, and those of them that are busy for its class."""

    eligible: tuple[int, ...]
    stopped: tuple[BusyEndpoint, ...]
    is_blocked: bool


def find_pool(
    run: Run, cluster: Endpoints, loads: Sequence[int], *, class_index: int, request: int, lane: int
) -> Pool | SelectionError:
    """Who may serve a request that stands, or would stand, at the head of a lane; or why nobody may.

    ``loads`` are active prefill tokens per endpoint. An exact lane asks its own endpoint alone.
    """
    eligible = cluster.eligible(run.requests.constraints.get(request, _ANYWHERE))
    if isinstance(eligible, SelectionError):
        return eligible
    among = eligible if lane == SHARED else (lane,)
    limits = cluster.limits[class_index]
    stopped = tuple(BusyEndpoint(e, loads[e], limits[e]) for e in among if loads[e] > limits[e])
    ratio = run.profile.classes[class_index].busy_worker_ratio if lane == SHARED else None
    return Pool(among, stopped, pool_is_busy(len(stopped), len(among), ratio))


def pool_of(
    scene: Scene, state: RunState, cluster: Endpoints, *, class_index: int, request: int, lane: int
) -> Pool | SelectionError:
    """:func:`find_pool` at one of the two states of a scene."""
    loads = [e.active_prefill_tokens for e in state.endpoints]
    return find_pool(scene.run, cluster, loads, class_index=class_index, request=request, lane=lane)


def load_text(run: Run, busy_one: BusyEndpoint) -> str:
    """``worker 2, which holds 2,048 > 1,536 tokens``; a script may hold it busy instead."""
    name = run.endpoint_names[busy_one.endpoint]
    if busy_one.limit_tokens < 0:
        return f"{name}, which the script holds busy"
    return f"{name}, which holds {number(busy_one.active_prefill_tokens)} > {number(busy_one.limit_tokens)} tokens"


def least_busy(stopped: Sequence[BusyEndpoint]) -> BusyEndpoint:
    """The busy endpoint that is nearest to its limit; one that a script holds only where all are held."""
    free_able = [each for each in stopped if each.limit_tokens >= 0] or list(stopped)
    return min(free_able, key=lambda each: (each.active_prefill_tokens - each.limit_tokens, each.endpoint))


def reason_text(run: Run, class_index: int, pool: Pool) -> str:
    """What follows ``waits``: for one endpoint, for any of several, or because of the busy share."""
    if len(pool.eligible) == 1:
        return f"for {load_text(run, pool.stopped[0])}"
    noun = workers_noun(run)
    least = least_busy(pool.stopped)
    if len(pool.stopped) == len(pool.eligible):
        if least.limit_tokens < 0:
            return f"for any of {counted(len(pool.eligible), noun)}, all held busy by the script"
        return f"for any of {counted(len(pool.eligible), noun)}, all busy, the least of them {load_text(run, least)}"
    # Not all are busy, so the class has a ratio, and it is reached.
    share = ratio_text(run.profile.classes[class_index], len(pool.eligible), len(pool.stopped))
    many = f"{len(pool.stopped):,} of {counted(len(pool.eligible), noun)}"
    are = verb(len(pool.stopped), "is busy and reaches", "are busy and reach")
    return f"because {many} {are} busy_worker_ratio {share}, the least of them {load_text(run, least)}"


def head_lane(state: RunState, class_index: int) -> LaneState | None:
    """The lane whose head is the class's best head, None where nothing waits."""
    head = state.classes[class_index].head
    return next((lane for lane in state.lanes if lane.class_index == class_index and lane.waiting[0] == head), None)


def class_reason(scene: Scene, state: RunState, cluster: Endpoints, class_index: int) -> str:
    """What follows ``waits`` for a blocked class: what its best head waits for."""
    lane = head_lane(state, class_index)
    assert lane is not None, "a blocked class has a head"
    pool = pool_of(scene, state, cluster, class_index=class_index, request=lane.waiting[0], lane=lane.endpoint)
    assert isinstance(pool, Pool), "a head that nobody may serve is not blocked"
    lanes = sum(each.class_index == class_index for each in state.lanes)
    text = reason_text(scene.run, class_index, pool)
    return text if lanes == 1 else f"{text} (its best head; all {lanes:,} lanes are blocked)"


def blocked_clauses(
    scene: Scene, classes: Sequence[int], *, when: str = "after", adverb: str = "", shown: int = 2
) -> list[str]:
    """Who waits for what, classes with one reason together: ``premium and regular wait for worker 0, which ...``.

    At most ``shown`` reasons are named; the classes of the others are counted in a last clause.
    """
    state, cluster = (scene.before, scene.cluster_before) if when == "before" else (scene.after, scene.cluster_after)
    groups: dict[str, list[str]] = {}
    for index in classes:
        groups.setdefault(class_reason(scene, state, cluster, index), []).append(scene.name(index))
    reasons = list(groups)
    named = reasons if len(reasons) <= shown else reasons[:shown]
    clauses = [
        f"{folded(groups[reason], 3)} {adverb}{verb(len(groups[reason]), 'waits', 'wait')} {reason}" for reason in named
    ]
    left = sum(len(groups[reason]) for reason in reasons[len(named) :])
    if left:
        clauses.append(f"{counted(left, 'other class')} {verb(left, 'is', 'are')} blocked")
    return clauses


def blocked_classes(state: RunState) -> list[int]:
    """Indices of the classes in which requests wait and no head may go, in ring order."""
    return [index for index, each in enumerate(state.classes) if each.is_blocked]


def free_text(run: Run, class_index: int, pool: Pool, loads: Sequence[int], cluster: Endpoints) -> str:
    """Why a head need not wait: an endpoint that is not busy for its class, or the busy share that is not reached."""
    limits = cluster.limits[class_index]
    stopped = {each.endpoint for each in pool.stopped}
    free = [e for e in pool.eligible if e not in stopped]
    first = min(free, key=lambda e: (loads[e] - limits[e], e))
    noun = workers_noun(run)
    if limits[first] >= NEVER_BUSY:
        held = "is never busy for it"
    else:
        held = f"holds {number(loads[first])} {AT_MOST} {number(limits[first])} tokens"
    if len(pool.eligible) == 1:
        return f"{run.endpoint_names[first]} {held}"
    text = f"{len(free):,} of {counted(len(pool.eligible), noun)} {verb(len(free), 'is', 'are')} free for it"
    if stopped and run.profile.classes[class_index].busy_worker_ratio is not None:
        share = ratio_text(run.profile.classes[class_index], len(pool.eligible), len(stopped))
        text += f" and {len(stopped):,} busy, below busy_worker_ratio {share}"
    return f"{text} ({run.endpoint_names[first]} {held})"
