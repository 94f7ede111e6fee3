from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.policy.schema import synthetic_profile
from drr.router.requests import Constraint, RequestTable
from drr.simulation.replay import replay
from drr.workload.traces import read_trace
from drr.workload.traces_edit import cut_window, merge_traces, scale_rate, spread_ticks
from drr.workload.traces_reading import TraceReading


def reading_of(*rows, name="a", **more):
    """Rows of (time in ms, input tokens) or (time, input tokens, session, pause)."""
    table = RequestTable()
    for ms, isl, *rest in rows:
        session, delay = rest or (None, None)
        table.append(isl, timestamp_ms=ms, session=session, delay_ms=delay, hash_ids=(isl, 7))
    return TraceReading(table, list(range(1, len(rows) + 1)), name=name, **more)


def times(reading):
    return reading.requests.timestamp_ms


def test_a_window_is_half_open_and_counts_from_the_first_arrival():
    reading = reading_of((500, 1), (100, 2), (300, 3), (200, 4), columns={"who": list("abcd")})
    reading.requests.constraints[3] = Constraint(pin_worker=2)
    cut = cut_window(reading, 100, 400)
    assert cut.requests.isl_tokens == [3, 4]
    assert (cut.lines, cut.columns) == ([3, 4], {"who": ["c", "d"]})
    assert cut.requests.constraints == {1: Constraint(pin_worker=2)}
    assert cut.notes == ["window from 100 ms to 400 ms after the first arrival: 2 of 4 requests"]
    assert len(reading.requests) == 4


def test_a_session_is_cut_whole_by_its_first_turn():
    reading = reading_of((0, 1), (100, 2, "s", None), (5000, 3, "s", None), (None, 4, "s", 9.0), (5000, 5))
    assert cut_window(reading, 50, 200).requests.isl_tokens == [2, 3, 4]
    assert cut_window(reading, 200, 9000).requests.isl_tokens == [5]


@pytest.mark.parametrize(("start", "end"), [(10, 10), (20, 10), (1000, 2000)])
def test_an_empty_window_is_refused(start, end):
    with pytest.raises(WorkloadError, match=r"window|no request arrives"):
        cut_window(reading_of((0, 1), (5, 2)), start, end)


def test_scaling_the_rate_is_the_arrival_speed_up_of_the_replay():
    rows = [(700.1 + 37.3 * i, 100 + i) for i in range(20)] + [(800.7, 5, "s", None), (None, 6, "s", 33.3)]
    reading = reading_of(*rows)
    scaled = scale_rate(reading, 3)
    assert scaled.notes == ["arrival rate x 3, time counted from the first arrival"]
    by_option = replay(synthetic_profile(), reading.requests, arrival_speedup_ratio=3.0, record=False)
    by_trace = replay(synthetic_profile(), scaled.requests, record=False)
    assert list(by_trace.last_token_ms) == list(by_option.last_token_ms)
    assert list(by_trace.first_admit_ms) == list(by_option.first_admit_ms)


@pytest.mark.parametrize("factor", [0, -1, float("inf"), float("nan")])
def test_a_rate_factor_has_to_be_above_zero(factor):
    with pytest.raises(WorkloadError, match="a number above 0 is allowed"):
        scale_rate(reading_of((0, 1)), factor)


def test_equal_times_are_spread_up_to_the_next_one_in_file_order():
    reading = reading_of((0, 1), (3000, 2), (0, 3), (3000, 4), (0, 5), (9000, 6), (9000, 7))
    spread = spread_ticks(reading)
    assert times(spread) == [0, 3000, 1000, 6000, 2000, 9000, 11250]
    assert times(spread_ticks(reading, 300)) == [0, 3000, 100, 3150, 200, 9000, 9150]
    assert spread.notes == [
        "4 requests spread over the tick: these times are made up, the trace has equal ones",
    ]
    assert times(reading)[2] == 0


def test_a_session_is_spread_as_a_whole():
    reading = reading_of((0, 1), (0, 2, "s", None), (10, 3, "s", None), (None, 4, "s", 5.0), (100, 5))
    assert times(spread_ticks(reading)) == [0, 50, 60, None, 100]


@given(st.lists(st.integers(0, 8), min_size=1, max_size=30), st.sampled_from([None, 0.5, 100.0]))
def test_spreading_keeps_the_order_of_arrival(stamps, tick):
    reading = reading_of(*((stamp, 1) for stamp in stamps))
    spread = times(spread_ticks(reading, tick))
    order = sorted(range(len(stamps)), key=stamps.__getitem__)
    assert sorted(range(len(stamps)), key=spread.__getitem__) == order
    assert all(after >= before for before, after in zip(stamps, spread, strict=True))


def test_merged_traces_run_on_one_clock_and_know_their_file():
    first = reading_of((0, 1), (10, 2), (20, 3), name="one.jsonl", columns={"who": ["x", None, "y"]}, notes=["n"])
    second = reading_of((10, 4), (5, 5), (30, 6), name="two.jsonl")
    merged = merge_traces([first, second])
    assert merged.requests.isl_tokens == [1, 2, 4, 5, 3, 6]
    assert merged.columns["file"] == ["one.jsonl"] * 2 + ["two.jsonl"] * 2 + ["one.jsonl", "two.jsonl"]
    assert merged.columns["who"] == ["x", None, None, None, "y", None]
    assert merged.lines == [1, 2, 1, 2, 3, 3]
    assert merged.name == "one.jsonl + two.jsonl"
    assert merged.notes == ["one.jsonl: n", "2 traces on one clock, as written"]


def test_blocks_and_sessions_of_different_files_are_kept_apart():
    first = reading_of((0, 1, "s", None), (None, 2, "s", 1.0))
    second = reading_of((0, 1, "s", None))
    merged = merge_traces([first, second])
    assert merged.requests.session == ["a/s", "a/s", "a (2)/s"]
    assert merged.requests.hash_ids == [(1, 7), (2, 7), (9, 15)]
    shared = merge_traces([first, second], shared_blocks=True)
    assert shared.requests.hash_ids == [(1, 7), (2, 7), (1, 7)]


def test_dates_put_traces_where_they_belong():
    azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    late = read_trace(azure + "2023-11-16 18:56:33.5,5,1\n", name="late")
    early = read_trace(azure + "2023-11-16 18:56:22.25,6,1\n2023-11-16 18:56:40,7,1\n", name="early")
    merged = merge_traces([late, early])
    assert merged.requests.isl_tokens == [6, 5, 7]
    assert times(merged) == [250.0, 11500.0, 18000.0]
    assert merged.clock_start_ns == early.clock_start_ns
    together = merge_traces([late, early], clock="starts")
    assert times(together) == [0.0, 0.0, 17750.0]
    assert together.requests.isl_tokens == [5, 6, 7]
    mixed = merge_traces([late, reading_of((77, 9))])
    assert times(mixed) == [0.0, 0.0]
    with pytest.raises(WorkloadError, match="a has no dates"):
        merge_traces([late, reading_of((77, 9))], clock="dates")


def test_blocks_of_different_sizes_cannot_be_merged():
    small = reading_of((0, 1), name="small", block_size_tokens=16)
    with pytest.raises(WorkloadError, match=r"different sizes cannot be merged \(a: 512, small: 16 tokens\)"):
        merge_traces([reading_of((0, 1)), small])


def test_the_two_azure_services_meet_on_one_clock(shared_folder):
    names = ("azure2023_conv.csv", "azure2023_code.csv")
    merged = merge_traces([read_trace(shared_folder / "traces" / name) for name in names])
    assert len(merged.requests) == 6481
    assert times(merged) == sorted(times(merged))
    assert merged.columns["file"].count("azure2023_code.csv") == 1481
    assert times(merged)[0] == 73.265
    assert merged.columns["file"][:40].count("azure2023_code.csv") == 0
