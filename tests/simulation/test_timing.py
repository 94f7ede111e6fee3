"""Durations of passes, to the last bit."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.simulation.timing import PassTiming, duration_ms, nanoseconds


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
