"""Random policies, clusters, workloads and scripts for whole runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.simulation.manual import Action, Arrive, At, Call, Change, Drain, Finish


@st.composite
def profiles(draw: st.DrawFn, *, largest: int = 2_000, limits: bool = True) -> Profile:
    """One to three families over one or two buckets, and perhaps an explicit class."""
    floors = draw(st.sampled_from([(0,), (0, 300)]))
    buckets = tuple(CacheBucket(floor, f"b{i}") for i, floor in enumerate(floors))
    limit = st.none() | st.integers(0, 4) if limits else st.none()

    def policy_class(name: str, family: str | None, bucket: str | None) -> PolicyClass:
        return PolicyClass(
            name,
            quantum=draw(st.integers(1, largest)),
            policy_family=family,
            cache_bucket=bucket,
            queue_policy=draw(st.sampled_from(["fcfs", "wspt"])),
            prefill_busy_threshold=draw(st.sampled_from([None, 0, largest // 2, largest])),
            prefill_busy_threshold_frac=draw(st.sampled_from([None, None, 0.25])),
            busy_worker_ratio=draw(st.sampled_from([None, None, 0.5])),
            request_queue_limit_per_worker=draw(limit),
            raw_isl_token_queue_limit_per_worker=draw(st.none() | st.just(3 * largest)) if limits else None,
        )

    families = [f"f{i}" for i in range(draw(st.integers(1, 3)))]
    classes = [policy_class(f"{f}-{b.name}", f, b.name) for f in families for b in buckets]
    if draw(st.booleans()):
        classes.insert(draw(st.integers(0, len(classes))), policy_class("batch", None, None))
    return Profile(families[0], buckets, tuple(classes))


def constraints(workers: int, ranks: int) -> st.SearchStrategy[Constraint | None]:
    ids = st.integers(0, workers)  # one more than there are: a pin may name a worker that is not there
    return st.one_of(
        st.none(),
        st.none(),
        st.none(),
        st.builds(Constraint, pin_worker=ids, pin_rank=st.sampled_from([None, *range(ranks)])),
        st.builds(Constraint, allowed_workers=st.frozensets(ids, min_size=1)),
        st.just(Constraint(required_taints=frozenset({"big"}))),
    )


@dataclass
class ReplayInputs:
    """Everything :func:`drr.simulation.replay.replay` takes."""

    profile: Profile
    requests: RequestTable
    settings: dict[str, Any]


engines = st.builds(
    EngineOptions,
    max_num_seqs=st.sampled_from([1, 2, 4, 256]),
    max_num_batched_tokens=st.sampled_from([128, 1_000, 8_192]),
    block_size=st.sampled_from([16, 64]),
    num_gpu_blocks=st.sampled_from([40, 150, 2_000]),
    enable_prefix_caching=st.booleans(),
    enable_chunked_prefill=st.booleans(),
    speedup_ratio=st.sampled_from([1.0, 3.0]),
    max_model_len=st.sampled_from([None, None, 900]),
    timing_model=st.sampled_from([None, None, FixedTiming(10.0, 2.0)]),
)


@st.composite
def replay_inputs(draw: st.DrawFn, *, most: int = 25) -> ReplayInputs:
    workers = draw(st.integers(1, 3))
    ranks = draw(st.sampled_from([1, 1, 2]))
    plain = draw(st.booleans())
    profile = draw(profiles())
    headers = st.sampled_from([None, "nobody", *profile.families, *(c.name for c in profile.classes)])
    table = RequestTable()
    sessions: set[str] = set()
    for _ in range(draw(st.integers(0, most))):
        isl = draw(st.integers(1, 1_000))
        session = draw(st.sampled_from([None, None, "s", "t"]))
        later_turn = session in sessions
        if session is not None:
            sessions.add(session)
        table.append(
            isl,
            output_tokens=draw(st.sampled_from([0, 1, 1, 2, 5])),
            timestamp_ms=float(draw(st.sampled_from([0, 0, 5, 40, 41, 300]))),
            hash_ids=draw(st.sampled_from([(), tuple(range(8)), (0, 1, 9, 10, 11, 12, 13, 14)])),
            policy_header=draw(headers),
            priority_jump=float(draw(st.sampled_from([0, 0, 0, 1]))),
            strict_priority=draw(st.sampled_from([0, 0, 0, 2])),
            session=session,
            delay_ms=float(draw(st.sampled_from([0, 10]))) if later_turn else None,
            constraint=None if plain else draw(constraints(workers, ranks)),
        )
    cluster = [
        Worker(i, ranks, max_num_batched_tokens=2_000, taints=frozenset({"big"}) if i % 2 else frozenset())
        for i in range(workers)
    ]
    settings: dict[str, Any] = {
        "workers": cluster,
        "engine": draw(engines),
        "trace_block_size": 128,
        "arrival_speedup_ratio": draw(st.sampled_from([1.0, 7.0])),
        "cursor_rule": draw(st.sampled_from(["documented", "carry"])),
        "arrivals": draw(st.sampled_from(["bypass", "through_ring"])),
        "seed": draw(st.integers(0, 3)),
        "abort_on_refusal": draw(st.sampled_from([False, False, True])),
    }
    return ReplayInputs(profile, table, settings)


@dataclass
class ManualInputs:
    """Everything :func:`drr.simulation.manual.run_manual` takes."""

    profile: Profile
    requests: RequestTable
    script: list[Action]
    settings: dict[str, Any]


@st.composite
def manual_inputs(draw: st.DrawFn, *, largest: int = 60, most: int = 25) -> ManualInputs:
    workers = draw(st.integers(0, 3))
    ranks = draw(st.sampled_from([1, 1, 2]))
    plain = draw(st.booleans())
    fixed_hits = draw(st.booleans())
    profile = draw(profiles(largest=largest))
    headers = st.sampled_from([*profile.families, *(c.name for c in profile.classes)])
    table = RequestTable()
    script: list[Action] = []
    clock = 0.0
    ids = st.integers(0, max(workers, 1))
    change = st.builds(Change, st.sampled_from(["hold", "free", "overload", "recover", "join", "leave"]), ids)
    other = st.one_of(
        change,
        change,
        st.builds(Change, st.just("join"), st.builds(Worker, ids, st.sampled_from([1, 2]), st.sampled_from([0, 0, 1]))),
        st.builds(Call, st.integers(1, 4)),
        st.just(Drain()),
        st.just(Finish()),
        st.builds(Finish, worker=ids),
    )
    for _ in range(draw(st.integers(0, most))):
        if draw(st.booleans()):
            clock += draw(st.sampled_from([0.0, 10.0, 700.0]))
            script.append(At(clock))
        if draw(st.integers(0, 2)):
            isl = draw(st.integers(1, 2 * largest))
            row = table.append(
                isl,
                policy_header=draw(headers),
                priority_jump=float(draw(st.sampled_from([0, 0, 1]))),
                strict_priority=draw(st.sampled_from([0, 0, 2])),
                cached_tokens=draw(st.integers(0, isl)) if fixed_hits else -1,
                constraint=None if plain else draw(constraints(workers, ranks)),
            )
            script.append(Arrive(row, wait=draw(st.booleans())))
        else:
            script.append(draw(other))
    settings: dict[str, Any] = {
        "workers": [Worker(i, ranks, taints=frozenset({"big"}) if i % 2 else frozenset()) for i in range(workers)],
        "capacity": draw(st.sampled_from(["open", "one", "policy"])),
        "cursor_rule": draw(st.sampled_from(["documented", "carry"])),
        "arrivals": draw(st.sampled_from(["bypass", "through_ring"])),
        "seed": draw(st.integers(0, 3)),
    }
    return ManualInputs(profile, table, script, settings)
