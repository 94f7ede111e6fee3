from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.analysis.outcomes import shares
from drr.charts.palette import DARK, LIGHT, class_styles
from drr.charts.series import asked_shares, deficits, refusals, service_share, step_axis, thin, waiting, worker_load
from drr.charts.stage import stage_figure
from drr.charts.survey import endpoint_loads, survey, waiting_requests
from drr.charts.timelines import PANELS, playhead_x, timeline_figure
from drr.charts.words import text_width
from drr.simulation.manual import Arrive, Call, run_manual
from drr.simulation.recording import Run
from drr.simulation.state import StepKind
from tests.charts.made_up import NAMES
from tests.charts.real_run import real_run
from tests.simulation.building import add, queued_first, ring_of


@pytest.fixture(scope="module")
def run() -> Run:
    return real_run({"premium": 512, "regular": 128, "batch": 256}, 60, limit=8, workers=2)


def trace(figure: Any, uid: str) -> Any:
    return next(t for t in figure.data if t.uid == uid)


def test_the_columns_are_those_of_the_states(run: Run):
    loads = [endpoint_loads(run, e) for e in range(2)]
    queued = waiting_requests(run)
    for step in range(0, run.n_steps, 7):
        state = run.state_at(step)
        assert [int(load[step]) for load in loads] == [e.active_prefill_tokens for e in state.endpoints]
        assert [int(column[step]) for column in queued] == [c.waiting_requests for c in state.classes]


def test_the_survey_bounds_every_state(run: Run):
    facts = survey(run)
    most = 0
    for step in range(-1, run.n_steps):
        state = run.state_at(step)
        most = max(most, *(c.waiting_requests for c in state.classes))
        assert all(e.active_prefill_tokens <= facts.most_active_tokens for e in state.endpoints)
        assert {(lane.class_index, lane.endpoint) for lane in state.lanes} <= set(facts.lanes)
        for visit in state.visits:
            bound = facts.largest_costs_tokens[visit.class_index] + facts.quanta[visit.class_index]
            assert visit.deficit_before + visit.granted_tokens <= bound
    assert facts.most_waiting == most
    assert facts.limits_tokens == ((1536,) * 3,) * 2


def test_service_shares_add_up_to_one_and_end_at_what_was_dispatched(run: Run):
    lines = service_share(run)
    assert np.allclose(sum(line.y for line in lines), 1)
    rows = [run.step_request[step] for step in run.decision_steps]
    tokens = [sum(run.cost_tokens[r] for r in rows if run.class_index[r] == c) for c in range(3)]
    assert [line.y[-1] for line in lines] == pytest.approx([t / sum(tokens) for t in tokens])
    recent = service_share(run, unit="requests", window=100.0)
    assert np.allclose(sum(line.y for line in recent), 1)
    assert asked_shares(run) == pytest.approx([512 / 896, 128 / 896, 256 / 896])


def test_asked_are_the_shares_of_the_result_table_and_a_class_that_never_waits_has_none():
    quanta = {"premium": 512, "regular": 128, "batch": 256}
    table, script = queued_first({"premium": [64] * 9, "regular": [64] * 9})
    add(table, "batch", 64)
    alone = [Arrive(len(table) - 1), *script[:-1], Call(18)]
    run = run_manual(ring_of(quanta, prefill_busy_threshold=1_000), table, alone, capacity="policy", arrivals="bypass")
    assert asked_shares(run) == shares(run).asked == (0.8, 0.2, None)
    figure = timeline_figure(run, theme=LIGHT, panels=("share", "recent_share"))
    dashes = [t.y[0] for t in figure.data if str(t.uid).startswith("asked.")]
    assert dashes == pytest.approx([0.8, 0.2] * 2)
    said = [str(text) for text in trace(figure, "page.words").text]
    assert [text.partition(", asked ")[2] for text in said if ", asked " in text] == ["80%", "20%"]


def test_deficits_waiting_and_refusals_are_those_of_the_run(run: Run):
    calls = [k for k in range(run.n_steps) if run.state_at(k).visits or run.kinds[k] == StepKind.EMPTY_CALL]
    assert [int(v) for v in deficits(run)[1].y] == [run.state_at(k).classes[1].deficit_tokens for k in calls]
    assert max(line.y.max() for line in waiting(run)) == survey(run).most_waiting
    tokens = waiting(run, unit="tokens")
    where = step_axis(run)[0]
    for at in where[::7]:
        last = int(np.searchsorted(where, at, side="right")) - 1
        for line, each in zip(tokens, run.state_at(last).classes, strict=True):
            assert line.y[np.searchsorted(line.x, at, side="right") - 1] == each.waiting_tokens
    refused = [
        sum(run.outcome[r] == "refused" for r in range(len(run.requests)) if run.class_index[r] == c) for c in range(3)
    ]
    assert [line.y[-1] for line in refusals(run)] == refused
    assert sum(refused) > 0


def test_many_workers_are_drawn_as_most_mean_and_least():
    lines = worker_load(real_run({"premium": 512}, 60, workers=9))
    assert [line.name for line in lines] == ["most of 9", "mean", "least of 9"]
    assert np.all(lines[0].y >= lines[1].y)
    assert np.all(lines[1].y >= lines[2].y)


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), most=st.integers(8, 60))
def test_thinning_keeps_ends_and_extremes_and_makes_nothing_up(values: list[float], most: int):
    y = np.asarray(values)
    keep = thin(np.arange(len(y)), y, most)
    assert np.all(np.diff(keep) > 0)
    assert keep[0] == 0
    assert keep[-1] == len(y) - 1
    assert y[keep].max() == y.max()
    assert y[keep].min() == y.min()
    assert len(keep) == len(y) if len(y) <= most else len(keep) <= most + 4


def test_thinning_survives_gaps():
    y = np.full(100, np.nan)
    y[50] = 3
    assert 50 in thin(np.arange(100), y, 8)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize("width", [900, 740])
def test_line_labels_do_not_overlap_and_are_not_cut(theme: Any, width: int):
    many = real_run({n: 256 * (1 + i % 4) for i, n in enumerate(NAMES)}, 20, limit=9, workers=8)
    figure = timeline_figure(many, theme=theme, width=width)
    words = trace(figure, "page.words")
    points = zip(words.x, words.y, words.text, words.textfont.size, words.textposition, strict=True)
    boxes = [(x, y, t, 0.94 * text_width(t, s)) for x, y, t, s, place in points if place == "middle right"]
    for x, y, text, wide in boxes:
        assert x + wide <= width + 1, text
        assert 0 < y < figure.layout.height
    for i, (x, y, text, wide) in enumerate(boxes):
        for u, v, other, far in boxes[:i]:
            across = min(x + wide, u + far) - max(x, u)
            assert across <= 1 or abs(y - v) >= 12, (text, other)


def test_a_class_looks_the_same_on_stage_and_timelines_and_no_two_lines_alike(run: Run):
    figure = timeline_figure(run, theme=LIGHT)
    styles = class_styles(run.class_names, LIGHT)
    for index, name in enumerate(run.class_names):
        for panel in ("share", "deficits", "waiting"):
            line = trace(figure, f"{panel}.{index}")
            assert (line.line.color, line.line.dash, line.marker.symbol) == (
                styles[name].colour,
                styles[name].dash,
                styles[name].symbol,
            )
    stage = stage_figure(run, 5, theme=LIGHT)
    assert list(trace(stage, "deficits.kept").marker.color) == [styles[n].colour for n in run.class_names]
    assert len({(s.dash, s.symbol) for s in styles.values()}) == 3


def test_thinning_is_said_on_the_chart_and_only_where_it_happens(run: Run):
    said = " ".join(trace(timeline_figure(run, theme=LIGHT, most_points=40), "page.words").text)
    assert "lowest and highest of every" in said
    assert "lowest and highest" not in " ".join(trace(timeline_figure(run, theme=LIGHT), "page.words").text)


def test_every_panel_has_a_playhead_at_the_step(run: Run):
    figure = timeline_figure(run, theme=LIGHT, playhead_step=100)
    for name in PANELS:
        assert list(trace(figure, f"playhead.{name}").x) == [playhead_x(run, 100)] * 2
    assert playhead_x(run, 100) == run.times_ms[100]


def test_a_run_without_refusals_says_so_instead_of_showing_an_empty_panel():
    figure = timeline_figure(real_run({"premium": 512}, 20), theme=LIGHT)
    assert not any(t.uid.startswith("refusals") for t in figure.data)
    assert any("nothing was refused" in text for text in trace(figure, "page.words").text)
