"""Runs to look at in the player: the premium experiment, random ones of any size, and those of particular cases."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from drr.policy import load_policy
from drr.policy.samples import sample
from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.arbiters import ARBITERS
from drr.simulation.cluster import Change
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, Call, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay

NAMES = (
    *("premium", "regular", "batch", "agents", "cached", "uncached.long-context", "interactive", "evaluation"),
    *("nightly-batch", "search", "code", "vision", "internal_tools", "free-tier"),
)
SEED_ENGINE = EngineOptions(max_num_seqs=4, block_size=512, num_gpu_blocks=100_000, enable_prefix_caching=False)


@cache
def premium_run(quantum: int = 128, per_class: int = 320) -> Run:
    """The seed experiment without queue limits; ``quantum`` is that of the regular class, premium has 512."""
    text = sample("premium_4_to_1").text().replace("quantum: 128", f"quantum: {quantum}")
    table = RequestTable()
    for _ in range(per_class):
        table.append(512, policy_header="premium")
        table.append(512, policy_header="regular")
    profile = load_policy(text).profile_for()
    unlimited = tuple(
        replace(c, request_queue_limit_per_worker=None, raw_isl_token_queue_limit_per_worker=None)
        for c in profile.classes
    )
    return replay(replace(profile, classes=unlimited), table, engine=SEED_ENGINE)


@cache
def random_run(seed: int, classes: int = 5, workers: int = 3, requests: int = 160, carry: bool = False) -> Run:
    """Mixed costs, priorities, pins, limits and thresholds; some requests are refused, some classes get bulk grants."""
    rng = random.Random(seed)
    profile = Profile(
        NAMES[0],
        (CacheBucket(0, "all"),),
        tuple(
            PolicyClass(
                NAMES[i],
                policy_family=NAMES[i],
                cache_bucket="all",
                quantum=rng.choice((64, 128, 512, 1024, 2048)),
                queue_policy=rng.choice(("fcfs", "fcfs", "wspt")),
                prefill_busy_threshold=rng.choice((1024, 1536, 3072)),
                request_queue_limit_per_worker=rng.choice((None, None, 6)),
            )
            for i in range(classes)
        ),
    )
    table = RequestTable()
    for _ in range(requests):
        pin = rng.random() < 0.12
        table.append(
            rng.choice((64, 256, 512, 2048, 6000)),
            output_tokens=rng.choice((1, 4, 30)),
            timestamp_ms=rng.random() * 400,
            policy_header=rng.choice(NAMES[:classes]),
            strict_priority=rng.choice((0, 0, 0, 1)),
            priority_jump=rng.choice((0.0, 0.0, 0.5)),
            constraint=Constraint(pin_worker=rng.randrange(workers)) if pin else None,
        )
    return replay(
        profile,
        table,
        workers=[Worker(i) for i in range(workers)],
        engine=EngineOptions(max_num_seqs=4, enable_prefix_caching=False),
        cursor_rule="carry" if carry else "documented",
    )


@cache
def coming_and_going_run() -> Run:
    """Three classes: only the second has requests at the start, the third comes in the middle, the second is empty at
    the end.
    """
    profile = Profile(
        "one",
        (CacheBucket(0, "all"),),
        tuple(
            PolicyClass(name, policy_family=name, cache_bucket="all", quantum=512, prefill_busy_threshold=512)
            for name in ("one", "two", "three")
        ),
    )
    table = RequestTable()
    for _ in range(12):
        table.append(512, timestamp_ms=0.0, policy_header="two")
    for _ in range(8):
        table.append(512, timestamp_ms=150.0, policy_header="three")
    for _ in range(6):
        table.append(512, timestamp_ms=400.0, policy_header="one")
    return replay(profile, table, engine=SEED_ENGINE)


@cache
def long_run(per_class: int = 10_000) -> Run:
    """Two classes with quanta 512 and 128, so many requests of 512 tokens in each, all at once."""
    return premium_run(128, per_class)


@cache
def wide_run() -> Run:
    """Quanta and costs that need more than 53 bits, and bulk rounds of them."""
    profile = Profile(
        "a",
        (CacheBucket(0, "all"),),
        tuple(
            PolicyClass(name, policy_family=name, cache_bucket="all", quantum=quantum)
            for name, quantum in (("a", 2**60 + 1), ("b", 3), ("c", 2**40 + 7))
        ),
    )
    table = RequestTable()
    for i in range(12):
        table.append(1 + i, cached_tokens=0, policy_header="abc"[i % 3])
        table.append(2**55 + i, cached_tokens=0, policy_header="abc"[(i + 1) % 3])
    arrivals = [Arrive(i, wait=True) for i in range(len(table))]
    return run_manual(profile, table, [*arrivals, Call(len(table) + 2)])


@cache
def changing_run() -> Run:
    """Workers that are held, freed, overloaded, leave and come back while requests wait for all or one of them."""
    profile = Profile(
        "a",
        (CacheBucket(0, "all"),),
        tuple(
            PolicyClass(name, policy_family=name, cache_bucket="all", quantum=512, prefill_busy_threshold=600)
            for name in ("a", "b")
        ),
    )
    table = RequestTable()
    for i in range(30):
        pin = Constraint(pin_worker=i % 3) if i % 5 == 0 else Constraint(allowed_workers=frozenset({0, 1}))
        table.append(500, policy_header="ab"[i % 2], constraint=pin if i % 2 else None)
    script: list[Action] = []
    changes = [
        Change("hold", 0),
        Change("overload", 1),
        Change("leave", 2),
        Change("free", 0),
        Change("join", Worker(2)),
        Change("recover", 1),
    ]
    for i in range(len(table)):
        script += [Arrive(i, wait=True), *([Call()] if i % 2 else [])]
        if i % 4 == 3 and changes:
            script.append(changes.pop(0))
    script.append(Call(12))
    return run_manual(profile, table, script, workers=3, capacity="policy")


@cache
def rival_run(number: int) -> Run:
    """A random run under one of the rival arbiters."""
    inputs = random_run(number).inputs
    return replay(
        inputs.profile,
        inputs.requests,
        workers=list(inputs.workers),
        engine=EngineOptions(max_num_seqs=4, enable_prefix_caching=False),
        arbiter=list(ARBITERS)[number],
    )


def named_run(name: str) -> Run:
    """The run a page's address asks for: ``premium``, ``premium-64``, ``coming``, ``long-N``, ``random-SEED-C-W``..."""
    kind, *numbers = name.split("-")
    values = [int(number) for number in numbers]
    if kind == "premium":
        return premium_run(*values)
    if kind == "coming":
        return coming_and_going_run()
    if kind == "long":
        return long_run(*values)
    if kind == "wide":
        return wide_run()
    if kind == "changes":
        return changing_run()
    if kind == "rival":
        return rival_run(*values)
    return random_run(*values)
