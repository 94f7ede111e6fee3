"""Statistical bounds are two-sided at a confidence of 99.99 % (z = 3.89), on fixed seeds: they hold for good."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random
from statistics import fmean, pstdev
from typing import Any

import pytest

from drr.errors import WorkloadError
from drr.policy import load_policy
from drr.policy.samples import sample
from drr.router.requests import RequestTable
from drr.simulation.replay import replay
from drr.workload.arrivals import (
    Arrivals,
    Burst,
    ClosedLoop,
    Constant,
    Diurnal,
    OnOff,
    Poisson,
    Ramp,
    Spike,
    expected_arrivals,
)
from drr.workload.distributions import (
    Bimodal,
    Distribution,
    Empirical,
    Exponential,
    Fixed,
    Lognormal,
    Uniform,
    Zipf,
    mean,
    sampler,
)
from drr.workload.generate import UNKNOWN_HEADER, expected_requests, generate
from drr.workload.spec import (
    AllowedWorkers,
    BetaHits,
    FixedHits,
    JumpShare,
    Pinned,
    RequiredTaints,
    SessionHits,
    StrictShare,
    WorkloadSpec,
)
from drr.workload.spec_preview import preview_spec
from tests.support import ROOT
from tests.workload.support import Z, assert_count, assert_share, made, stream

EVERYTHING = (
    stream(
        name="a",
        arrivals=Spike(5, 80, 1000, 3000),
        duration_ms=9000,
        input_tokens=Lognormal(700, 0.9, max=30_000),
        output_tokens=Zipf(1.1, 400),
        cache_hits=BetaHits(2, 3, groups=3),
        pinned=Pinned(0.3, ((0, None), (1, 1))),
        strict_priority=(StrictShare(0.1, 2),),
        priority_jump=(JumpShare(0.2, 5.0), JumpShare(0.1, 0.5)),
        missing_header_share=0.1,
        unknown_header_share=0.05,
    ),
    stream(
        name="b",
        header="regular",
        arrivals=ClosedLoop(7),
        requests=300,
        think_time_ms=Exponential(400),
        cache_hits=SessionHits(Uniform(1, 5)),
    ),
    stream(
        name="c", header=None, arrivals=Diurnal(30, 0.8, 5000), duration_ms=8000, output_tokens=Bimodal(5, 500, 0.2)
    ),
)


def digest(table: RequestTable) -> str:
    columns = [getattr(table, name) for name in table.__slots__ if name != "constraints"]
    pins = [(row, c.pin_worker, c.pin_rank) for row, c in sorted(table.constraints.items())]
    return hashlib.sha256(repr((columns, pins)).encode()).hexdigest()


def test_equal_seeds_give_equal_bytes_in_any_process() -> None:
    mine = digest(made(*EVERYTHING, seed=5))
    assert mine == digest(made(*EVERYTHING, seed=5))
    assert mine != digest(made(*EVERYTHING, seed=6))
    code = "from tests.workload.test_generate import *; print(digest(made(*EVERYTHING, seed=5)))"
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        printed = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True, text=True
        )
        assert printed.stdout.strip() == mine


def rows_of(table: RequestTable, output: int) -> list[tuple[Any, ...]]:
    columns = (table.timestamp_ms, table.isl_tokens, table.hash_ids, table.policy_header, table.delay_ms)
    return [row for row, n in zip(zip(*columns, strict=True), table.output_tokens, strict=True) if n == output]


def test_changing_one_stream_leaves_the_requests_of_the_others_as_they_are() -> None:
    kept = stream(name="kept", output_tokens=Fixed(7), input_tokens=Uniform(1, 900), cache_hits=FixedHits(0.5))
    one = made(kept, stream(name="other"))
    two = made(kept, stream(name="other", arrivals=Poisson(3), input_tokens=Zipf(1.0, 50), cache_hits=FixedHits(0.2)))
    assert rows_of(one, 7) == rows_of(two, 7)
    assert len(rows_of(one, 7)) == 4000


def test_changing_one_aspect_of_a_stream_leaves_its_other_draws_as_they_are() -> None:
    base = stream(input_tokens=Uniform(1, 900), strict_priority=(StrictShare(0.5, 1),))
    table, other = made(base), made(replace(base, output_tokens=Uniform(1, 9), arrivals=Constant(5)))
    assert table.isl_tokens == other.isl_tokens
    assert table.strict_priority == other.strict_priority
    assert table.timestamp_ms != other.timestamp_ms


@pytest.mark.parametrize(
    "distribution",
    [
        Fixed(40),
        Uniform(10, 900),
        Lognormal(800, 0.7),
        Lognormal(800, 1.2, min=200, max=2000),
        Lognormal(800, 0.0),
        Exponential(300),
        Exponential(300, max=500),
        Bimodal(100, 4000, 0.25),
        Bimodal(100, 4000, 0.25, spread=0.5),
        Zipf(1.1, 1000),
        Zipf(0.8, 4096, min=64, step=64),
        Empirical((5, 50, 500)),
        Empirical((5, 50, 500), (3, 0, 1)),
    ],
    ids=str,
)
def test_lengths_have_the_mean_and_the_bounds_of_their_distribution(distribution: Distribution) -> None:
    lengths = made(stream(input_tokens=distribution, requests=20_000)).isl_tokens
    expected = mean(distribution, 1)
    bound = Z * pstdev(lengths) / math.sqrt(len(lengths))
    # Rounding to whole tokens moves a mean by at most half a token; it does so near the lower bound of 1.
    assert abs(fmean(lengths) - expected) <= bound + 0.5
    assert min(lengths) >= 1
    match distribution:
        case Uniform(low, high) | Zipf(_, high, low):
            assert low <= min(lengths)
            assert max(lengths) <= high
        case Lognormal(_, _, int(low), int(high)):
            assert min(lengths) == low
            assert max(lengths) == high


SMALL = [
    Fixed(2),
    Uniform(0, 1),
    Uniform(2, 9),
    Lognormal(3, 1.0),
    Lognormal(3, 1.0, max=0),
    Lognormal(3, 0.0, max=0),
    Lognormal(3, 1.0, min=2, max=6),
    Exponential(3),
    Exponential(3, max=0),
    Exponential(3, max=4),
    Bimodal(0, 7, 0.25),
    Bimodal(2, 7, 0.25, spread=1.0),
    Zipf(1.0, 6, min=0),
    Empirical((0, 4, 9), (2, 1, 1)),
]


@pytest.mark.parametrize("least", [0, 1, 4, 40])
@pytest.mark.parametrize("distribution", SMALL, ids=str)
def test_the_mean_is_that_of_the_draws_with_their_lower_bound(distribution: Distribution, least: int) -> None:
    draw = sampler(distribution, Random(3), least)
    draws = [draw() for _ in range(20_000)]
    rounds = isinstance(distribution, Lognormal | Exponential | Bimodal) and least < 40
    bound = Z * pstdev(draws) / math.sqrt(len(draws)) + (0.2 if rounds else 1e-4)
    assert abs(fmean(draws) - mean(distribution, least)) <= bound


@pytest.mark.parametrize("turns", SMALL, ids=str)
def test_any_number_of_turns_is_generated_expected_and_looked_ahead_at(turns: Distribution) -> None:
    chats = stream(
        arrivals=Poisson(50),
        duration_ms=60_000.0,
        input_tokens=Fixed(9),
        cache_hits=SessionHits(turns),
        think_time_ms=turns,
    )
    spec = WorkloadSpec((chats,))
    table = generate(spec)
    assert len(table) == pytest.approx(expected_requests(spec), rel=0.15)
    assert preview_spec(spec).requests == expected_requests(spec)


def certain(**values: Any) -> bool:
    spec = WorkloadSpec((stream(input_tokens=Fixed(300), requests=200, **values),))
    ahead, table = preview_spec(spec), generate(spec)
    exact = (ahead.requests, ahead.input_tokens) == (len(table), sum(table.isl_tokens))
    assert exact or not ahead.is_exact
    return ahead.is_exact


def test_a_preview_is_exact_only_where_nothing_is_left_to_chance() -> None:
    endless = (Burst(), Constant(5), Poisson(5), ClosedLoop(3), OnOff(5, 9, 9), Ramp(9, 1, 9), Diurnal(5, 1.0, 60))
    for arrivals in (*endless, Spike(1, 50, 0, 1000), Spike(0, 50, 1000, 2000), Ramp(50, 0, 6000), Ramp(0, 5, 99)):
        ends = arrivals in (Spike(0, 50, 1000, 2000), Ramp(50, 0, 6000))
        assert certain(arrivals=arrivals) is not ends
        assert not certain(arrivals=arrivals, cache_hits=SessionHits(Uniform(1, 5)))
    assert certain(cache_hits=FixedHits(0.5))


def test_a_lognormal_has_its_median_in_the_middle_and_a_zipf_its_ranks_in_proportion() -> None:
    lengths = made(stream(input_tokens=Lognormal(800, 0.7), requests=10_000)).isl_tokens
    assert_share(sum(n <= 800 for n in lengths), 10_000, 0.5)
    found = Counter(made(stream(input_tokens=Zipf(1.5, 500, min=100, step=100), requests=10_000)).isl_tokens)
    total = sum(k**-1.5 for k in range(1, 6))
    for rank in range(1, 6):
        assert_share(found[rank * 100], 10_000, rank**-1.5 / total)


def test_a_bimodal_and_an_empirical_distribution_keep_their_shares() -> None:
    lengths = made(stream(input_tokens=Bimodal(100, 4000, 0.25), requests=8000)).isl_tokens
    assert_share(lengths.count(4000), 8000, 0.25)
    lengths = made(stream(input_tokens=Empirical((5, 50), (3, 1)), requests=8000)).isl_tokens
    assert_share(lengths.count(50), 8000, 0.25)


def counted(table: RequestTable, start_ms: float, end_ms: float) -> int:
    return sum(t is not None and start_ms <= t < end_ms for t in table.timestamp_ms)


@pytest.mark.parametrize(
    ("arrivals", "windows"),
    [
        (Poisson(40), [(0, 50_000), (50_000, 100_000)]),
        (OnOff(80, 2000, 3000), [(0, 100_000), (0, 2000), (5000, 7000)]),
        (Ramp(0, 80, 80_000), [(0, 40_000), (40_000, 80_000), (80_000, 100_000)]),
        (Ramp(80, 0, 80_000), [(0, 40_000), (40_000, 80_000)]),
        (Spike(10, 100, 20_000, 30_000), [(0, 20_000), (20_000, 30_000), (30_000, 100_000)]),
        (Diurnal(40, 1.0, 100_000, 25_000), [(0, 50_000), (50_000, 100_000), (20_000, 30_000), (70_000, 80_000)]),
    ],
    ids=lambda value: str(value) if isinstance(value, Poisson | OnOff | Ramp | Spike | Diurnal) else "",
)
def test_arrivals_follow_their_rate_in_every_window(arrivals: Any, windows: list[tuple[float, float]]) -> None:
    table = made(stream(arrivals=arrivals, duration_ms=100_000.0))
    assert table.timestamp_ms == sorted(t for t in table.timestamp_ms if t is not None)
    for start, end in windows:
        expected = expected_arrivals(arrivals, end) - expected_arrivals(arrivals, start)
        assert_count(counted(table, start, end), expected)
    assert expected_requests(WorkloadSpec((stream(arrivals=arrivals, duration_ms=100_000.0),))) == pytest.approx(
        len(table), rel=0.1
    )


@pytest.mark.parametrize(
    ("arrivals", "silent"),
    [
        (OnOff(80, 2000, 3000), (2000, 5000)),
        (Spike(0, 50, 20_000, 30_000), (0, 20_000)),
        (Spike(0, 50, 20_000, 30_000), (30_000, math.inf)),
        (Ramp(50, 0, 30_000), (30_000, math.inf)),
    ],
    ids=str,
)
def test_nobody_comes_where_the_rate_is_nought(arrivals: Any, silent: tuple[float, float]) -> None:
    table = made(stream(arrivals=arrivals, duration_ms=100_000.0))
    assert len(table) > 100
    assert counted(table, *silent) == 0


def test_the_expected_count_of_a_day_is_the_integral_of_its_rate() -> None:
    day = Diurnal(40, 0.7, 60_000, 10_000)
    steps = 10_000
    rates = [40 * (1 + 0.7 * math.cos(2 * math.pi * (t * 4.5 - 10_000) / 60_000)) for t in range(steps)]
    assert expected_arrivals(day, 45_000) == pytest.approx(sum(rates) * 4.5 / 1000, rel=1e-3)


def test_poisson_gaps_are_exponential() -> None:
    times = [t for t in made(stream(arrivals=Poisson(100), requests=10_000)).timestamp_ms if t is not None]
    gaps = [b - a for a, b in pairwise(times)]
    assert fmean(gaps) == pytest.approx(10, abs=Z * 10 / math.sqrt(len(gaps)))
    assert_share(sum(gap > 10 for gap in gaps), len(gaps), math.exp(-1))


def test_bursts_come_at_once_taking_turns_and_constant_arrivals_at_equal_gaps() -> None:
    pair = (
        stream(name="p", arrivals=Burst(), requests=3, start_ms=50.0),
        stream(name="r", header="regular", arrivals=Burst(), requests=3, start_ms=50.0),
    )
    table = made(*pair)
    assert table.timestamp_ms == [50.0] * 6
    assert table.policy_header == ["premium", "regular"] * 3
    table = made(stream(arrivals=Constant(8), duration_ms=1000.0, start_ms=5.0))
    assert table.timestamp_ms == [5.0 + 125 * k for k in range(8)]


def test_a_closed_loop_has_a_session_per_client_with_think_times_between_turns() -> None:
    table = made(stream(arrivals=ClosedLoop(7), requests=300, think_time_ms=Exponential(400)))
    sessions = Counter(table.session)
    assert len(sessions) == 7
    assert set(sessions.values()) == {42, 43}
    firsts = [row for row in range(300) if table.timestamp_ms[row] is not None]
    assert len(firsts) == 7
    delays = [delay for delay in table.delay_ms if delay is not None]
    assert len(delays) == 293
    assert abs(fmean(delays) - 400) <= Z * 400 / math.sqrt(293)


def test_a_closed_loop_never_has_more_requests_in_flight_than_clients() -> None:
    profile = load_policy(sample("premium_4_to_1").text()).profile_for()
    table = made(stream(arrivals=ClosedLoop(5), requests=60, think_time_ms=Fixed(20), output_tokens=Fixed(4)))
    run = replay(profile, table)
    events = [(t, 1) for t in run.arrival_ms if t is not None] + [(t, -1) for t in run.last_token_ms if t is not None]
    assert len(events) == 120
    in_flight = peak = 0
    for _, change in sorted(events):
        in_flight += change
        peak = max(peak, in_flight)
    assert peak == 5


def test_shares_of_pins_priorities_jumps_and_headers_are_as_asked() -> None:
    n = 10_000
    table = made(
        stream(
            requests=n,
            pinned=Pinned(0.3, ((0, None), (4, 1))),
            allowed_workers=AllowedWorkers(0.2, (1, 2)),
            required_taints=RequiredTaints(0.1, ("fast", "large")),
            strict_priority=(StrictShare(0.2, 1), StrictShare(0.05, 9)),
            priority_jump=(JumpShare(0.4, 2.5),),
            missing_header_share=0.1,
            unknown_header_share=0.05,
        )
    )
    found = table.constraints.values()
    assert_share(sum(c.pin_worker is not None for c in found), n, 0.3)
    assert_share(sum((c.pin_worker, c.pin_rank) == (4, 1) for c in found), n, 0.15)
    assert_share(sum(c.allowed_workers == frozenset({1, 2}) for c in found), n, 0.2)
    assert_share(sum(c.required_taints == frozenset({"fast", "large"}) for c in found), n, 0.1)
    assert_share(sum(c.pin_worker is not None and c.allowed_workers is not None for c in found), n, 0.06)
    for level, share in ((1, 0.2), (9, 0.05), (0, 0.75)):
        assert_share(table.strict_priority.count(level), n, share)
    assert_share(table.priority_jump.count(2.5), n, 0.4)
    for header, share in ((None, 0.1), (UNKNOWN_HEADER, 0.05), ("premium", 0.85)):
        assert_share(table.policy_header.count(header), n, share)


def test_a_share_of_one_takes_every_request_and_a_share_of_nought_none() -> None:
    table = made(stream(requests=500, pinned=Pinned(1.0, ((0, None),)), strict_priority=(StrictShare(1.0, 3),)))
    assert len(table.constraints) == 500
    assert table.strict_priority == [3] * 500
    assert not made(stream(requests=500, pinned=Pinned(0.0, ((0, None),)))).constraints


def test_progress_is_told_and_what_it_raises_ends_the_generation() -> None:
    seen: list[tuple[int, int]] = []
    generate(WorkloadSpec((stream(requests=10_000),)), lambda done, total: seen.append((done, total)))
    assert seen == [(4096, 10_000), (8192, 10_000), (10_000, 10_000)]

    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(WorkloadSpec((stream(requests=9_000_000),)), cancel)


def test_too_many_requests_or_none_are_told() -> None:
    with pytest.raises(WorkloadError, match="10,000,000 are allowed"):
        made(stream(arrivals=Poisson(1_000_000), duration_ms=1e9))
    with pytest.raises(WorkloadError, match="no request comes"):
        made(stream(arrivals=Poisson(0.001), duration_ms=1.0))


@pytest.mark.parametrize("arrivals", [Burst(), Poisson(5), ClosedLoop(3)], ids=str)
def test_a_number_of_requests_is_kept_exactly(arrivals: Arrivals) -> None:
    for hits in (None, FixedHits(0.5), SessionHits(Uniform(1, 9))):
        assert len(made(stream(arrivals=arrivals, requests=101, cache_hits=hits))) == 101
