"""Small builders for tests of runs: rings by name, requests by class, and what a run did in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drr.policy import load_policy
from drr.policy.samples import sample
from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.requests import RequestTable
from drr.scheduler.ring import CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, Call, run_manual
from drr.simulation.recording import Run

SEED_ENGINE = EngineOptions(max_num_seqs=4, block_size=512, num_gpu_blocks=100_000, enable_prefix_caching=False)


def ring_of(quanta: Mapping[str, int], **settings: Any) -> Profile:
    """A profile with one class per name, in this order, each a family of its own; ``settings`` go to every class."""
    classes = (PolicyClass(n, quantum=q, policy_family=n, cache_bucket="all", **settings) for n, q in quanta.items())
    return Profile(next(iter(quanta)), (CacheBucket(0, "all"),), tuple(classes))


def add(table: RequestTable, policy_class: str, *costs_tokens: int, **settings: Any) -> list[int]:
    """Append requests of one class, named after it and counted from 1: a1, a2 ...; returns their rows."""
    before = sum(header == policy_class for header in table.policy_header)
    return [
        table.append(cost, policy_header=policy_class, name=f"{policy_class.lower()}{number}", **settings)
        for number, cost in enumerate(costs_tokens, start=before + 1)
    ]


def queued_first(costs: Mapping[str, Sequence[int]], **settings: Any) -> tuple[RequestTable, list[Action]]:
    """Requests of every class, and a script that lets all of them wait and then calls until each is dispatched."""
    table = RequestTable()
    for name, tokens in costs.items():
        add(table, name, *tokens, **settings)
    script: list[Action] = [Arrive(row, wait=True) for row in range(len(table))]
    return table, [*script, Call(len(table))]


def run_queued(
    quanta: Mapping[str, int],
    costs: Mapping[str, Sequence[int]],
    cursor_rule: CursorRule = "documented",
    **settings: Any,
) -> Run:
    """All requests queued before the first call, nothing ever busy, one request per call."""
    table, script = queued_first(costs)
    return run_manual(ring_of(quanta, **settings), table, script, cursor_rule=cursor_rule)


def order(run: Run) -> list[str]:
    """The requests in the order in which calls dispatched them, by name."""
    return [run.requests.label(run.step_request[step]) for step in run.decision_steps]


def deficits_at(run: Run, step: int) -> tuple[int, ...]:
    """The deficit of every class right after a step, in tokens."""
    return tuple(each.deficit_tokens for each in run.state_at(step).classes)


def deficits_after_dispatches(run: Run) -> list[tuple[int, ...]]:
    """The deficits right after every dispatch."""
    return [deficits_at(run, step) for step in run.decision_steps]


def waiting_at(run: Run, step: int) -> list[str]:
    """Names of everything that waits after a step, lane by lane."""
    return [run.requests.label(row) for lane in run.state_at(step).lanes for row in lane.waiting]


def sample_profile(name: str) -> Profile:
    """The root profile of a sample policy."""
    return load_policy(sample(name).text()).profile_for()
