from __future__ import annotations

import pytest

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.workload.trace_stats import Spread, over_time, quantile, trace_stats
from drr.workload.traces import read_trace
from drr.workload.traces_reading import TraceReading


@pytest.mark.parametrize(
    ("name", "rows", "span_ms", "times", "tick", "p50", "p95", "largest"),
    [
        ("mooncake_conversation.jsonl", 3000, 987_000, 330, 19, 7_993, 45_135, 123_192),
        ("mooncake_mixed_1000.jsonl", 1000, 177_098, 59, 26, 6_558, 27_307, 121_290),
        ("mooncake_synthetic.jsonl", 600, 148_177, 598, 2, None, None, 191_374),
        ("azure2023_conv.csv", 5000, 1_066_329, 5000, 1, 1_033, 2_766, 7_219),
        ("azure2023_code.csv", 1481, 1_066_862, 1481, 1, 1_541, 7_429, 7_437),
    ],
)
def test_real_traces_have_the_known_figures(shared_folder, name, rows, span_ms, times, tick, p50, p95, largest):
    stats = trace_stats(read_trace(shared_folder / "traces" / name))
    assert (stats.rows, round(stats.span_ms), stats.skipped_rows) == (rows, span_ms, 0)
    assert (stats.distinct_times, stats.largest_tick_rows) == (times, tick)
    assert stats.input.largest == largest
    if p50 is not None:
        assert (round(stats.input.p50), round(stats.input.p95)) == (p50, p95)
    assert (stats.cache is None) == name.startswith("azure")


def test_what_the_notes_on_the_real_traces_say_holds(shared_folder):
    folder = shared_folder / "traces"
    conversation = read_trace(folder / "mooncake_conversation.jsonl").requests
    assert sum(tokens > 100_000 for tokens in conversation.isl_tokens) == 22
    synthetic = trace_stats(read_trace(folder / "mooncake_synthetic.jsonl"))
    assert synthetic.input.least == 13
    mixed = read_trace(folder / "mooncake_mixed_1000.jsonl").requests
    firsts = [ids[0] for ids in mixed.hash_ids]
    assert [firsts.count(block) for block in (0, 46, 74)] == [486, 361, 153]
    assert trace_stats(read_trace(folder / "azure2023_code.csv")).longest_silence_ms == pytest.approx(217_170, abs=5)


def test_figures_of_a_small_trace():
    table = RequestTable()
    for ms, isl, output in ((5.0, 10, 0), (1.0, 20, 3), (5.0, 40, 1), (11.0, 30, 1)):
        table.append(isl, timestamp_ms=ms, output_tokens=output)
    stats = trace_stats(TraceReading(table))
    assert (stats.span_ms, stats.longest_silence_ms, stats.rows_earlier_than_before) == (10.0, 6.0, 1)
    assert (stats.input.total, stats.input.mean, stats.input.p50) == (100, 25, 25)
    assert (stats.zero_output_rows, stats.rows_with_blocks, stats.cache) == (1, 0, None)
    assert stats.rows_per_second == 400
    with pytest.raises(WorkloadError, match="no request"):
        trace_stats(TraceReading())


def test_quantiles_lie_between_neighbours():
    assert [quantile([1, 2, 3, 5], share) for share in (0, 0.5, 0.9, 1)] == [1, 2.5, pytest.approx(4.4), 5]
    assert Spread.of([]) is None
    only = Spread.of([7])
    assert (only.least, only.p50, only.p99, only.largest) == (7, 7, 7, 7)


def test_tokens_over_time_by_group():
    table = RequestTable()
    for ms, isl in ((100.0, 1), (109.9, 2), (110.0, 4), (200.0, 8)):
        table.append(isl, timestamp_ms=ms, output_tokens=isl * 10)
    series = over_time(table, ["a", "b", "a", "b"], bins=10)
    assert (series.bin_ms, series.groups) == (10.0, ("a", "b"))
    assert [[*row[:3], row[9]] for row in series.input_tokens] == [[1, 4, 0, 0], [2, 0, 0, 8]]
    assert [sum(row) for row in series.requests] == [2, 2]
    assert [sum(row) for row in series.output_tokens] == [50, 100]


def test_all_at_once_is_one_bin():
    table = RequestTable()
    table.append(5)
    table.append(6)
    series = over_time(table, ["a", "a"], bins=3)
    assert series.input_tokens == ((11, 0, 0),)
    assert trace_stats(TraceReading(table)).rows_per_second is None
