"""The premium demonstration: its figures, its captions, its pictures, and the page around them."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from drr.analysis.premium import (
    PREMIUM,
    PUBLISHED,
    REGULAR,
    burst_experiment,
    burst_figures,
    burst_moments,
    completion_times,
    equal_experiment,
    shipped_line,
    spike_experiment,
    spike_moments,
    waiting_at,
)
from drr.charts.burst_scene import burst_scene
from drr.charts.palette import DARK, LIGHT
from drr.charts.spike_scene import spike_scene
from drr.simulation.recording import Run
from drr.ui import premium_demo
from drr.workload.scenarios import scenario
from tests.support import ROOT


@pytest.fixture(scope="module")
def equal() -> Run:
    return equal_experiment().run()


@pytest.fixture(scope="module")
def weighted() -> Run:
    return burst_experiment(512).run()


@pytest.fixture(scope="module")
def spike() -> Run:
    return spike_experiment().run()


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.replace(":", " ").replace("–", " ").split()]


def test_weighted_quanta_give_255_to_65_and_239_left(weighted: Run) -> None:
    figures = burst_figures(weighted)
    assert (figures.first, figures.left, figures.whole) == ((255, 65), (0, 239), (320, 320))


def test_equal_quanta_give_160_to_160_and_1_left(equal: Run) -> None:
    figures = burst_figures(equal)
    assert (figures.first, figures.left, figures.whole) == ((160, 160), (0, 1), (320, 320))


def test_our_figures_lie_in_the_published_ranges(equal: Run, weighted: Run) -> None:
    row = PUBLISHED[0]
    low, high, low_regular, high_regular = numbers(row.first)
    mine, even = burst_figures(weighted), burst_figures(equal)
    assert low <= mine.first[0] <= high
    assert low_regular <= mine.first[1] <= high_regular
    least, most = numbers(row.left)
    assert least <= mine.left[1] <= most
    assert numbers(row.equal_first)[0] <= even.first[0] <= numbers(row.equal_first)[1]
    assert numbers(row.equal_left)[0] <= even.left[1] <= numbers(row.equal_left)[1]
    assert (PUBLISHED[1].first, PUBLISHED[1].left) == ("256 : 64", "240")


def test_with_all_premium_first_it_would_be_257_to_63() -> None:
    from drr.analysis.outcomes import completed_first
    from drr.router.requests import RequestTable
    from drr.simulation.replay import replay

    experiment = burst_experiment(512)
    table = RequestTable()
    for name in ("premium", "regular"):
        for _ in range(320):
            table.append(512, policy_header=name)
    run = replay(experiment.profile(), table, engine=experiment.engine)
    assert completed_first(run, 320) == [257, 63]


def test_the_seed_quanta_are_the_samples_own_text() -> None:
    assert burst_experiment(512).key == scenario("premium_burst").experiment.key
    assert [c.quantum for c in burst_experiment(2048).profile().classes] == [2048, 128]


def test_the_first_four_completions_are_two_of_each_class(equal: Run, weighted: Run) -> None:
    for run in (equal, weighted):
        assert sorted(run.class_index[row] for row in run.completion_order[:4]) == [0, 0, 1, 1]


def test_times_of_completions_tell_their_order(weighted: Run) -> None:
    times = completion_times(weighted)
    assert times == sorted(set(times))
    done = completion_times(weighted, PREMIUM)[-1]
    assert sum(time > done for time in completion_times(weighted, REGULAR)) == 239


@pytest.mark.parametrize(
    ("quantum", "documented", "shipped"), [(512, "255 : 65", "255 : 65"), (2048, "300 : 20", "255 : 65")]
)
def test_the_shipped_router_gets_a_line_of_its_own(quantum: int, documented: str, shipped: str) -> None:
    line = shipped_line(burst_experiment(quantum).run())
    assert f"gives {shipped} with {quantum:,} : 128" in line
    assert ("like the documented rule" in line) == (documented == shipped)
    assert documented in line


def test_captions_of_the_burst_quote_its_figures(equal: Run, weighted: Run) -> None:
    moments = {moment.name: moment for moment in burst_moments(equal, weighted)}
    assert list(moments) == ["start", "sharing", "first-320", "premium-done", "end"]
    assert "255 premium and 65 regular" in moments["first-320"].caption
    assert "160 and 160" in moments["first-320"].caption
    assert "239 regular" in moments["premium-done"].caption
    assert sum(time <= moments["first-320"].time_ms for time in completion_times(weighted)) == 320


def test_where_regular_is_granted_more_it_is_regular_that_ends_first(equal: Run) -> None:
    names = [moment.name for moment in burst_moments(equal, burst_experiment(64).run())]
    assert "regular-done" in names
    assert "premium-done" not in names


def test_the_spike_comes_gets_its_share_and_goes(spike: Run) -> None:
    moments = spike_moments(spike)
    assert tuple(moment.name for moment in moments) == premium_demo._spike_names()
    times = [moment.time_ms for moment in moments]
    assert times == sorted(times)
    _, comes, _, goes, alone, after = times
    regular, premium = completion_times(spike, REGULAR), completion_times(spike, PREMIUM)
    assert waiting_at(spike, comes - 1) == (0, 0)
    both = [sum(comes + 500 < t <= goes for t in each) for each in (premium, regular)]
    assert both[0] / sum(both) == pytest.approx(0.8, abs=0.01)
    assert premium[-1] == alone
    assert sum(alone < t <= alone + 1000 for t in regular) >= 78
    assert regular[-1] == after
    assert "80%" in moments[2].caption


@pytest.mark.parametrize("width", [560, 1000, 1320])
@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_everything_in_a_scene_lies_inside_its_picture(
    equal: Run, weighted: Run, spike: Run, width: int, scale: float
) -> None:
    scenes = (
        burst_scene(equal, weighted, burst_moments(equal, weighted), theme=LIGHT, width=width, scale=scale),
        spike_scene(spike, spike_moments(spike), theme=DARK, width=width, scale=scale),
    )
    for scene in scenes:
        pages = [
            trace for trace in scene["figure"]["data"] if trace["uid"].startswith("still") or trace["uid"] == "words"
        ]
        page_axis = f"x{len(scene['panels']) + 1}"
        for trace in (trace for trace in pages if trace["xaxis"] == page_axis):
            assert all(0 <= x <= width for x in trace["x"] if x is not None)
            assert all(0 <= y <= scene["height"] for y in trace["y"] if y is not None)
        for panel in scene["panels"]:
            assert 0 < panel["left"] < panel["left"] + panel["width"] < width
            assert panel["bottom"] < scene["height"]


def test_a_burst_scene_has_a_mark_for_every_completion(equal: Run, weighted: Run) -> None:
    scene = burst_scene(equal, weighted, burst_moments(equal, weighted), theme=LIGHT, width=1320)
    assert [len(block["t"]) for block in scene["covers"]] == [320, 320, 320, 320]
    last = [counter["text"][-1] for counter in scene["counters"]]
    # Regular and premium: of the first 320, and left at the end; equal, then weighted.
    assert last == ["160", "160", "0", "0", "65", "255", "0", "0"]


def page_at(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages/premium_demo.py"), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    return settled(app.run())


def settled(app: AppTest) -> AppTest:
    """Run the page again until none of its runs is on its way any more; in a browser the progress bar does that."""
    for _ in range(200):
        if not any(button.label == "Cancel" for button in app.button):
            return app
        time.sleep(0.1)
        app.run()
    raise AssertionError("the runs of the page never came")


def test_the_page_asks_before_it_runs_and_then_shows_the_figures() -> None:
    app = page_at()
    assert not app.get("bidi_component")
    settled(app.button[0].click().run())
    assert not app.exception
    assert "255 of the first 320" in app.subheader[0].value.replace("\\", "")
    table = next(each.value for each in app.markdown if each.value.startswith("| |"))
    for text in ("254–257 : 63–66", "237–240", "256 : 64", "**255 : 65**", "**239**", "**160 : 160**", "**1**"):
        assert text in table
    assert len(list(app.get("bidi_component"))) == 2


def test_another_quantum_runs_again_and_keeps_the_seed_row() -> None:
    app = page_at()
    settled(app.button[0].click().run())
    settled(app.select_slider[0].set_value(2048).run())
    table = next(each.value for each in app.markdown if each.value.startswith("| |"))
    assert "Ringside, 2,048 : 128 | 300 : 20 | 299" in table
    assert "**255 : 65**" in table
    assert any("gives 255 : 65 with 2,048 : 128" in each.value.replace("\\", "") for each in app.caption)


def test_a_link_opens_a_moment_with_its_quantum_in_speaker_mode() -> None:
    app = page_at(moment="alone", quantum="1024", speaker="1")
    assert not app.exception
    assert app.session_state[premium_demo._QUANTUM] == 1024
    assert app.toggle[0].value is True
    (shown,) = app.get("bidi_component")
    assert shown.proto.component_name == "ringside.scene"
    playing = json.loads(shown.proto.json)["playing"]
    assert playing["moment"] == "alone"
    assert (playing["is_large"], playing["autoplay"], playing["hold_ms"]) == (True, True, premium_demo.SPEAKER_HOLD_MS)


@pytest.mark.parametrize("quantum", ["0", "-5", "513", "many", "<b>"])
def test_a_link_with_a_quantum_that_cannot_be_chosen_opens_the_seed(quantum: str) -> None:
    assert page_at(moment="end", quantum=quantum).select_slider[0].value == 512
