"""The pictures of sweeps: what is on them, and that a click finds its point."""

from __future__ import annotations

import pandas as pd
import pytest

from drr.analysis.sweep import Axis, Sweep
from drr.analysis.sweep_frame import intervals_frame, sweep_frame
from drr.analysis.sweep_running import run_sweep
from drr.charts.palette import DARK, LIGHT
from drr.charts.tune import QUANTITIES, Goalposts, SettingAxis, front, heat_figure, lines_figure, trade_figure
from drr.workload.scenarios import scenario

PREMIUM, REGULAR = "policy_classes.premium.quantum", "policy_classes.regular.quantum"
CLASSES = ("premium", "regular")
ACROSS = SettingAxis(PREMIUM, "premium: quantum, tokens", True, 512)
UP = SettingAxis(REGULAR, "regular: quantum, tokens", True, 128)


@pytest.fixture(scope="module")
def means() -> pd.DataFrame:
    base = scenario("premium_burst").experiment
    axes = (Axis(PREMIUM, (128, 512, 2048)), Axis(REGULAR, (128, 512)))
    return intervals_frame(sweep_frame(run_sweep(Sweep(base=base, axes=axes, replications=2))))


@pytest.mark.parametrize("figure", list(QUANTITIES))
def test_lines_show_every_class_and_rule_over_the_setting(means: pd.DataFrame, figure: str) -> None:
    one = means[means[REGULAR] == 128]
    made = lines_figure(one, figure, ACROSS, classes=CLASSES, theme=LIGHT)
    marked = [trace for trace in made.data if trace.customdata is not None]
    assert len(marked) == (2 if figure == "jain" else 4)
    for trace in marked:
        assert list(trace.x) == [128, 512, 2048]
        assert list(trace.customdata) == one["point"].drop_duplicates().tolist()
    assert {trace.line.dash for trace in marked} == {"solid", "6px,4px"}
    assert "<b>512</b><br>now" in made.layout.xaxis.ticktext
    assert made.layout.shapes[0].x0 == 512


def test_the_asked_share_is_dotted_and_the_shipped_router_falls_away_from_it(means: pd.DataFrame) -> None:
    made = lines_figure(means[means[REGULAR] == 128], "got_share", ACROSS, classes=CLASSES, theme=DARK)
    asked = next(trace for trace in made.data if trace.line.dash == "2px,3px")
    assert list(asked.y) == pytest.approx([1 / 2, 4 / 5, 16 / 17])
    by_dash = {trace.line.dash: trace.y for trace in made.data if trace.name == "premium" and trace.customdata}
    assert by_dash["solid"][2] == pytest.approx(16 / 17, abs=0.01)
    assert by_dash["6px,4px"][2] == pytest.approx(4 / 5, abs=0.01)


def test_the_heat_map_has_a_cell_and_a_mark_per_point_and_frames_the_policy_as_it_is(means: pd.DataFrame) -> None:
    made = heat_figure(means, "got_share", (ACROSS, UP), policy_class="premium", cursor_rule="documented", theme=LIGHT)
    cells, marks = made.data
    assert [len(row) for row in cells.z] == [3, 3]
    assert cells.z[0][1] == pytest.approx(0.8, abs=0.01)
    assert sorted(marks.customdata) == [0, 1, 2, 3, 4, 5]
    frame = made.layout.shapes[0]
    assert (frame.x0, frame.y0) == (0.52, -0.48)


def test_the_front_keeps_what_no_other_point_beats() -> None:
    points = [(1.0, 9.0, 0), (2.0, 5.0, 1), (2.5, 5.0, 2), (3.0, 6.0, 3), (4.0, 1.0, 4)]
    assert [point for _, _, point in front(points)] == [0, 1, 4]


def test_waits_are_traded_with_limits_and_the_present_policy_ringed(means: pd.DataFrame) -> None:
    label = dict.fromkeys(range(6), "a < b")
    made = trade_figure(means, CLASSES, goals=Goalposts(4000, None), now=2, theme=LIGHT, label=label)
    marks = {trace.name: trace for trace in made.data if trace.customdata is not None}
    assert set(marks) == {"documented", "carry"}
    assert sorted(marks["carry"].customdata) == [0, 1, 2, 3, 4, 5]
    assert marks["carry"].text[0] == "a &lt; b"
    (limit,) = made.layout.shapes
    assert (limit.x0, limit.x1) == (4, 4)
    assert any("now" in (trace.text or ()) for trace in made.data if trace.mode == "markers+text")
