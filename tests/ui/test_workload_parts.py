"""What the Workload and Workers tabs show: previews, pictures, loads, fits, lines of text, service levels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.analysis.load import OfferedLoad, load_sentence, prefill_seconds
from drr.analysis.slo import RateSearch, Target
from drr.analysis.ttft_fit import fit_ttft, read_points
from drr.charts.palette import DARK, LIGHT, class_styles
from drr.charts.workload import arrivals_figure, lengths_figure
from drr.errors import WorkloadError
from drr.simulation.cluster import CHANGE_KINDS, Change, TimedChange
from drr.ui import slo
from drr.ui.worker_process import CancelledError
from drr.ui.workers_lines import read_changes, read_taints, write_changes, write_taints
from drr.workload.experiment import Experiment, SpecWorkload
from drr.workload.generate import generate
from drr.workload.scenarios import SCENARIOS, build, scenario
from drr.workload.spec_preview import BINS, preview_spec, preview_text
from drr.workload.spec_reading import load_spec
from drr.workload.typed import load_typed
from drr.workload.typed_edits import with_arrival, with_change

SPECS = {s.name: s.experiment.workload.text for s in SCENARIOS if isinstance(s.experiment.workload, SpecWorkload)}


# Preview


@pytest.mark.parametrize("name", SPECS)
def test_the_preview_is_close_to_what_is_generated(name: str) -> None:
    spec = load_spec(SPECS[name])
    table, ahead = generate(spec), preview_spec(spec)
    # Five standard deviations of a Poisson number, and of a mean over so many prompts.
    assert ahead.requests == pytest.approx(len(table), abs=5 * math.sqrt(len(table)))
    assert ahead.input_tokens == pytest.approx(sum(table.isl_tokens), rel=0.25)
    if ahead.is_exact:
        assert (ahead.requests, ahead.input_tokens) == (len(table), sum(table.isl_tokens))
        assert "about" not in preview_text(ahead)


def test_the_rates_of_the_preview_add_up_to_its_requests() -> None:
    ahead = preview_spec(load_spec(SPECS["spike"]))
    for family in ahead.families:
        assert sum(family.per_second) * ahead.bin_ms / 1000 == pytest.approx(family.requests, rel=0.01)
    premium = ahead.families[0].per_second
    assert premium[0] == premium[-1] == 0
    assert max(premium) == pytest.approx(100)


def test_bursts_and_clients_are_no_rates() -> None:
    text = SPECS["premium_burst"] + (
        "  - {name: loop, header: regular, requests: 30, arrivals: {shape: closed_loop, clients: 5}, "
        "input_tokens: 10, output_tokens: 1, think_time_ms: 100}\n"
    )
    premium, regular = preview_spec(load_spec(text)).families
    assert premium.at_once == ((0.0, 320),)
    assert (regular.clients, regular.requests) == (5, 350)
    assert not any(premium.per_second)


def test_a_preview_does_not_depend_on_how_many_requests_there_are() -> None:
    small = load_spec(SPECS["hot_worker"])
    large = replace(small, streams=tuple(replace(s, requests=1_000_000) for s in small.streams))
    a, b = preview_spec(small), preview_spec(large)
    assert [len(f.lengths_tokens) for f in b.families] <= [1200]
    assert len(a.families[0].per_second) == len(b.families[0].per_second) == BINS
    assert b.requests == 2_000_000


def test_conversations_are_previewed_with_their_growing_prompts() -> None:
    text = """\
streams:
  - header: premium
    requests: 400
    arrivals: {shape: poisson, per_second: 2}
    input_tokens: 100
    output_tokens: 50
    cache_hits: {shape: sessions, turns: {shape: fixed, value: 4}}
"""
    spec = load_spec(text)
    assert preview_spec(spec).input_tokens == pytest.approx(sum(generate(spec).isl_tokens), rel=0.02)


# Pictures


def test_a_family_has_its_own_colour_and_dash_in_both_themes() -> None:
    for theme in (LIGHT, DARK):
        figure = arrivals_figure({"premium": [1.0, 2.0], "regular": [3.0, 0.0]}, bin_ms=500, theme=theme)
        looks = class_styles(["premium", "regular"], theme)
        for trace in figure.data:
            assert (trace.line.color, trace.line.dash) == (looks[trace.name].colour, looks[trace.name].dash)
        assert [tuple(t.y) for t in figure.data] == [(1.0, 2.0, 2.0), (3.0, 0.0, 0.0)]
        assert figure.layout.xaxis.title.text == "seconds"
        assert figure.layout.yaxis.title.text == "requests/s"


def test_a_burst_is_a_mark_and_long_spans_are_in_larger_units() -> None:
    figure = arrivals_figure({"a": [1.0] * 4}, bin_ms=3_600_000, theme=LIGHT, bursts={"b": [(7_200_000.0, 50)]})
    mark = next(trace for trace in figure.data if trace.mode == "markers")
    assert (list(mark.x), list(mark.customdata)) == ([2.0], [50])
    assert figure.layout.xaxis.title.text == "hours"


def test_shares_of_lengths_add_up_to_one_per_family() -> None:
    figure = lengths_figure({"a": ([10, 20, 30], [1.0, 1.0, 2.0]), "b": ([5000], [0.1])}, theme=LIGHT)
    assert figure.layout.xaxis.type == "log"
    for trace in figure.data:
        assert sum(trace.y) == pytest.approx(1.0)


def test_names_from_outside_are_shown_as_they_are_written() -> None:
    figure = lengths_figure({"<b>%{x}": ([10], [1.0]), "b": ([20], [1.0])}, theme=LIGHT)
    assert figure.data[0].name == "&lt;b&gt;&#37;{x}"


# Load


def test_the_prefill_of_a_burst_is_said_as_time_and_is_about_what_the_run_takes() -> None:
    chosen = scenario("premium_burst")
    run = build(chosen)
    took = max(time for time in run.last_token_ms if time is not None) / 1000
    ahead = preview_spec(load_spec(SPECS["premium_burst"]))
    load = OfferedLoad(ahead.requests, ahead.input_tokens, 0.0)
    assert prefill_seconds(load, chosen.experiment.engine) == pytest.approx(took, rel=0.1)
    said = load_sentence(load, chosen.experiment.engine, workers=1)
    assert said == "All 640 requests come at once: the prefill alone keeps 1 worker busy for about 7.9 s."


def test_the_load_of_a_rate_is_a_share_of_all_endpoints() -> None:
    engine = scenario("premium_burst").experiment.engine
    load = OfferedLoad(1000, 512_000, 20.0)
    share = prefill_seconds(load, engine) / 20 / 2
    assert load_sentence(load, engine, workers=2) == (
        f"At 50 requests/s the prefill alone keeps 2 workers {share * 100:.0f} % busy."
    )
    half = load_sentence(load, engine, workers=2, dp_size=2)
    assert f"2 workers of 2 ranks {share * 50:.0f} % busy" in half
    assert "times what 1 worker can do" in load_sentence(replace(load, seconds=1.0), engine, workers=1)


def test_clients_that_wait_have_no_rate() -> None:
    said = load_sentence(OfferedLoad(100, 51_200, 0.0, 8), scenario("premium_burst").experiment.engine, workers=1)
    assert said.startswith("8 clients send one request after the other")


# Fit


@given(
    st.floats(0, 1e-5),
    st.floats(0.001, 0.5),
    st.floats(0, 200),
    st.sampled_from(["linear", "quadratic"]),
    st.integers(3, 9),
)
def test_a_fit_finds_the_curve_that_the_points_lie_on(c2: float, c1: float, c0: float, shape: str, count: int) -> None:
    c2 = c2 if shape == "quadratic" else 0.0
    lengths = [128 * 2**k for k in range(count)]
    points = [(t, c2 * t * t + c1 * t + c0) for t in lengths]
    fit = fit_ttft(points, shape)  # type: ignore[arg-type]
    assert fit.largest_residual_ms <= 1e-8 * max(ms for _, ms in points) + 1e-9
    assert np.polyval(fit.prefill, 1000.0) == pytest.approx(c2 * 1e6 + c1 * 1000 + c0, rel=1e-6, abs=1e-6)
    assert not fit.falls or c1 < 1e-6


def test_residuals_are_measured_minus_fitted_and_sum_to_nothing() -> None:
    fit = fit_ttft([(100, 11.0), (200, 19.0), (300, 31.0), (400, 39.0)], "linear")
    assert sum(fit.residuals_ms) == pytest.approx(0, abs=1e-9)
    assert fit.residuals_ms == pytest.approx((0.4, -1.2, 1.2, -0.4))
    assert 0.98 < fit.r_squared < 1


def test_points_are_read_with_what_people_paste_between_them() -> None:
    assert read_points("# mine\n512 31.5\n2048,52\n8192;\t170\n\n") == [(512, 31.5), (2048, 52.0), (8192, 170.0)]


@pytest.mark.parametrize("text", ["512", "512 a", "0 5", "1.5 5", "512 -1", "512 inf", "512 nan", "1 2 3"])
def test_a_bad_point_is_told_with_its_line(text: str) -> None:
    with pytest.raises(WorkloadError, match="line 2"):
        read_points(f"512 31.5\n{text}")


def test_too_few_lengths_are_refused() -> None:
    with pytest.raises(WorkloadError, match="2 different lengths"):
        fit_ttft([(1, 1.0), (1, 2.0), (2, 3.0)])
    assert fit_ttft([(1, 1.0), (2, 3.0)], "linear").prefill == pytest.approx((0, 2, -1))


# Lines


CHANGES = st.lists(
    st.builds(
        TimedChange,
        st.floats(0, 1e9, allow_nan=False),
        st.builds(Change, st.sampled_from(CHANGE_KINDS), st.integers(0, 99_999)),
    ),
    max_size=6,
)


@given(CHANGES)
def test_changes_of_workers_survive_being_written(changes: list[TimedChange]) -> None:
    assert read_changes(write_changes(changes)) == tuple(changes)


@pytest.mark.parametrize(
    "text", ["overload 0", "overload 0 @ 5", "explode 0 @ 5 s", "overload x @ 5 s", "leave 0 @ 1.2.3 s"]
)
def test_a_bad_change_is_told_with_its_line_and_what_is_allowed(text: str) -> None:
    with pytest.raises(WorkloadError, match="line 2"):
        read_changes(f"# a comment\n{text}")


def test_taints_survive_being_written() -> None:
    taints = ((0, ("large-memory", "h100")), (3, ("spot",)))
    assert read_taints(write_taints(taints)) == taints
    for text in ("large-memory", "0:", "x: y", "0: a\n0: b"):
        with pytest.raises(WorkloadError, match="line"):
            read_taints(text)


def test_an_arrival_keeps_comments_and_finds_the_last_line_of_its_class() -> None:
    text = "# lesson\nA (60): 25 45 # first\nB (60): 50\nA: 10\n"
    assert with_arrival(text, "A", 30, after=2) == "# lesson\nA (60): 25 45 # first\nB (60): 50\nA: 10 30@2\n"
    assert with_arrival(text, "B", 7) == "# lesson\nA (60): 25 45 # first\nB (60): 50 7\nA: 10\n"
    assert with_arrival("A (60): 25 # one\n", "A", 5) == "A (60): 25 5 # one\n"
    assert with_arrival(text, "C", 5).endswith("A: 10\nC: 5\n")
    assert len(load_typed(with_arrival(text, "A", 30, after=2)).requests) == 5


def test_a_change_is_a_line_of_its_own() -> None:
    assert with_change("A (60): 25", "hold", 1, after=1) == "A (60): 25\n* hold 1 @1\n"
    assert with_change("", "free", 0) == "* free 0\n"


# Service levels


def spike_at(per_second: float) -> Experiment:
    chosen = scenario("premium_burst").experiment
    text = SPECS["premium_burst"].replace("shape: burst", f"shape: constant, per_second: {per_second}")
    return replace(chosen, workload=SpecWorkload(text.replace("320", "60")))


def test_a_search_finds_the_rate_and_says_it() -> None:
    task = slo.SearchTask(spike_at(10), (("premium", Target(ttft_ms=500.0)), ("regular", Target(500.0))), 0.95, 10_000)
    told: list[tuple[int, int]] = []
    found = task.run(lambda over, total: told.append((over, total)))
    assert isinstance(found, RateSearch)
    assert found.best is not None
    assert found.next_miss is not None
    assert found.next_miss.speedup_ratio / found.best.speedup_ratio <= 1.02
    assert [over for over, _ in told] == sorted(over for over, _ in told)
    assert all(over <= total for over, total in told)
    line = slo.search_line(found, 0.95)
    assert line.startswith("The highest rate is ")
    assert "requests/s" in line
    assert f"({len(found.trials)} runs)" in line


def test_a_search_can_be_ended_in_the_middle_of_a_run() -> None:
    task = slo.SearchTask(spike_at(10), (("premium", Target(ttft_ms=500.0)),), 0.95, 10_000)
    calls = 0

    def progress(over: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise CancelledError

    with pytest.raises(CancelledError):
        task.run(progress)
    assert calls == 2


def test_what_nobody_keeps_is_said_so() -> None:
    task = slo.SearchTask(spike_at(10), (("premium", Target(ttft_ms=0.5)),), 0.95, 10_000)
    assert slo.search_line(task.run(lambda over, total: None), 0.95).startswith("Even at ")
