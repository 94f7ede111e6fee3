"""Durations of passes, to the last bit."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import EngineOptionError
from drr.router.requests import RequestTable
from drr.simulation.engine_options import EngineOptions, FixedTiming, PolynomialTiming, timing_mapping
from drr.simulation.replay import replay
from drr.simulation.timing import PassTiming, duration_ms, nanoseconds
from tests.simulation.building import ring_of

COUNTS = ("max_num_seqs", "max_num_batched_tokens", "block_size", "num_gpu_blocks", "max_model_len")
BAD_SPEEDUPS = (5e-324, 1e-310, 1e-200, 9e-10, 1.1e9, 1e300, -1.0, math.inf, math.nan)


def test_four_prompts_of_512_take_49_36_ms() -> None:
    timing = PassTiming(EngineOptions())
    assert round(timing.prefill_ms(4, 4 * 512, 0), 2) == 49.36


def test_milliseconds_come_back_through_seconds_of_whole_nanoseconds() -> None:
    assert nanoseconds(21.5 / 1000.0) == 21_500_000
    assert duration_ms(21.5) == (21_500_000 / 1e9) * 1000.0
    # Plain rounding of milliseconds would give other floats for about one duration in four of this size.
    assert duration_ms(0.03) == (30_000 / 1e9) * 1000.0 == 0.030000000000000002
    assert duration_ms(0.07) == 0.06999999999999999


@given(seconds=st.floats(0, 10**6, allow_nan=False))
def test_nanoseconds_are_the_exact_value_rounded_half_to_even(seconds: float) -> None:
    with localcontext() as context:
        context.prec = 1_200
        exact = Decimal(seconds) * 10**9
        assert nanoseconds(seconds) == int(exact.to_integral_value(ROUND_HALF_EVEN))
    assert nanoseconds(seconds) == round(Fraction(seconds) * 10**9)


@given(ms=st.floats(0, 10**6, allow_nan=False), ratio=st.sampled_from([1.0, 2.0, 3.0, 0.1, 1000.0]))
def test_a_speedup_divides_the_rounded_seconds_and_rounds_again(ms: float, ratio: float) -> None:
    n = round(Fraction(ms / 1000.0) * 10**9)
    seconds = n // 10**9 + (n % 10**9) / 1e9
    if ratio != 1.0:
        n = round(Fraction(seconds / ratio) * 10**9)
        seconds = n // 10**9 + (n % 10**9) / 1e9
    assert duration_ms(ms, ratio) == seconds * 1000.0


def test_integer_means_come_first_in_the_prefill_time() -> None:
    timing = PassTiming(EngineOptions())
    # 3 x (333 - 33) tokens both times, though the second has 3 x (333.67 - 33.67).
    assert timing.prefill_ms(3, 1_000, 100) == timing.prefill_ms(1, 900, 0)
    assert timing.prefill_ms(3, 1_001, 101) == timing.prefill_ms(1, 900, 0)
    assert timing.prefill_ms(0, 0, 0) == 0.0
    assert timing.prefill_ms(2, 1_025, 1_024) == 0.0, "no whole token on average"


@given(context=st.integers(1, 10**8))
def test_decode_time_follows_the_fill_of_the_pool_and_is_at_least_1_ms(context: int) -> None:
    options = EngineOptions(num_gpu_blocks=1_000, block_size=16)
    fill = min(1.0, context / 16_000)
    model = max(1.0, -25.74 * fill * fill + 54.01 * fill + 5.74)
    assert PassTiming(options).decode_ms(context) == pytest.approx(model, rel=1e-6)
    assert PassTiming(options).decode_ms(context) >= 1.0


def test_first_tokens_are_free_under_every_timing() -> None:
    fixed = PassTiming(EngineOptions(timing_model=FixedTiming(10.0, 3.0)))
    assert fixed.decode_ms(0) == PassTiming(EngineOptions()).decode_ms(0) == 0.0
    assert fixed.decode_ms(5) == 3.0
    assert fixed.prefill_ms(2, 100, 0) == 10.0
    assert fixed.prefill_ms(0, 0, 0) == 0.0


def test_decode_is_sped_up_by_both_ratios_and_prefill_by_one() -> None:
    options = EngineOptions(speedup_ratio=2.0, decode_speedup_ratio=5.0, timing_model=FixedTiming(100.0, 100.0))
    assert PassTiming(options).prefill_ms(1, 10, 0) == pytest.approx(50.0)
    assert PassTiming(options).decode_ms(10) == pytest.approx(10.0)


OPTION_ERRORS = [
    *({name: value} for name in ("speedup_ratio", "decode_speedup_ratio") for value in BAD_SPEEDUPS),
    *({name: value} for name in COUNTS for value in (0, -1, 2**63 + 1, 10**400, 1.0, True)),
    {"block_size": 1},
    *({"timing_model": FixedTiming(*times)} for times in ((1e13, 1), (1, -1.0), (math.nan, 1), (1, math.inf))),
    *({"timing_model": PolynomialTiming(prefill=(c2, 0, 0))} for c2 in (1e303, -1e10, math.nan, math.inf)),
    *({"timing_model": PolynomialTiming(decode=(0, 0, c0))} for c0 in (1e303, -1e10, math.nan, math.inf)),
]


@pytest.mark.parametrize("options", OPTION_ERRORS, ids=str)
def test_an_option_out_of_its_range_is_refused_with_the_range(options: dict[str, Any]) -> None:
    with pytest.raises(EngineOptionError, match=r"from (0|1|2|1e-9|-1e\+09) to "):
        EngineOptions(**options)
    shown = options.get("timing_model")
    mapping = {"timing_model": timing_mapping(shown)} if shown is not None else options
    with pytest.raises(EngineOptionError):
        EngineOptions.from_mapping(mapping)


@given(
    counts=st.fixed_dictionaries({name: st.sampled_from([2, 64, 2**63]) for name in COUNTS}),
    speedups=st.tuples(*[st.sampled_from([0.0, 1e-9, 1.0, 1e9])] * 2),
    timing=st.sampled_from(
        [
            None,
            FixedTiming(1e12, 1e12),
            FixedTiming(0.0, 0.0),
            PolynomialTiming((1e9,) * 3, (1e9,) * 3),
            PolynomialTiming((-1e9,) * 3, (-1e9,) * 3),
        ]
    ),
    isl=st.sampled_from([1, 500, 2**63, 2**126]),
    arrival_speedup_ratio=st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_within_the_ranges_every_run_ends_at_finite_times(
    counts: dict[str, int],
    speedups: tuple[float, float],
    timing: FixedTiming | PolynomialTiming | None,
    isl: int,
    arrival_speedup_ratio: float,
) -> None:
    ratios = dict(zip(("speedup_ratio", "decode_speedup_ratio"), speedups, strict=True))
    options = EngineOptions(**counts, **ratios, timing_model=timing, enable_prefix_caching=False)
    table = RequestTable()
    for row in range(3):
        table.append(isl, output_tokens=2, timestamp_ms=row * 1e6)
    profile = ring_of({"A": 1}, prefill_busy_threshold_frac=1e308)
    # Prompts that a pass takes in pieces of two tokens would take for ever.
    if isl <= 500 * counts["max_num_batched_tokens"]:
        run = replay(profile, table, engine=options, arrival_speedup_ratio=arrival_speedup_ratio, record=False)
        times = [*run.arrival_ms, *run.first_token_ms, *run.last_token_ms]
        assert all(math.isfinite(time) for time in times if time is not None)
